//! Reads passwords.

use crate::safe_file;
use crate::secret::Secret;
use crate::toml_values::{Item, Section};

/// Reads `password` or `password-file` of a section.
pub(crate) fn password(section: &Section<'_>) -> Option<Secret> {
    let mut password = None;
    section.set("password", &mut password, |i| {
        Some(Some(secret(i, i.str("text")?.as_bytes())?))
    });
    if let Some(file) = section.get("password-file") {
        if section.get("password").is_some() {
            file.error(
                "`password` and `password-file` are both present",
                "keep one of them",
            );
        }
        password = from_file(&file);
    }
    password
}

/// Reads a file with a password.
pub(crate) fn from_file(file: &Item<'_>) -> Option<Secret> {
    let path = file.source.beside(file.str("reader.key")?);
    match safe_file::read(&path, safe_file::PASSWORD) {
        Ok(octets) => secret(file, octets.trim_ascii_end()),
        Err(why) => {
            file.error(
                format!("cannot read {}: {why}", path.display()),
                "make sure that the file exists and is readable",
            );
            None
        }
    }
}

/// Refuses an empty password, because a login with it would be open to everybody.
fn secret(item: &Item<'_>, octets: &[u8]) -> Option<Secret> {
    if octets.is_empty() {
        item.error(
            "this password is empty",
            "write a password, or remove the key",
        );
        return None;
    }
    Some(Secret::new(octets))
}
