//! A password, in the file or beside it.

use crate::item::{Item, Section};
use crate::secret::Secret;

/// `password` or `password-file` of a section.
pub(super) fn password(section: &Section<'_>) -> Option<Secret> {
    let mut password = None;
    section.set("password", &mut password, |i| {
        Some(Some(secret(i, i.str("text")?.as_bytes())?))
    });
    if let Some(file) = section.get("password-file") {
        if section.get("password").is_some() {
            file.error(
                "there are both `password` and `password-file`",
                "keep one of them",
            );
        }
        password = from_file(&file);
    }
    password
}

fn from_file(file: &Item<'_>) -> Option<Secret> {
    let path = file.source.beside(file.str("reader.key")?);
    match std::fs::read(&path) {
        Ok(octets) => secret(file, octets.trim_ascii_end()),
        Err(why) => {
            file.error(
                format!("cannot read {}: {why}", path.display()),
                "see to it that the file is there and can be read",
            );
            None
        }
    }
}

/// Whoever asks for a password would let in everybody with an empty one: a file that was made before it was filled.
fn secret(item: &Item<'_>, octets: &[u8]) -> Option<Secret> {
    if octets.is_empty() {
        item.error(
            "this password is empty",
            "write at least one octet, or remove the key",
        );
        return None;
    }
    Some(Secret::new(octets))
}
