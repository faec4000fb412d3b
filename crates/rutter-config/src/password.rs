//! Reads passwords.

use std::path::{Path, PathBuf};

use crate::safe_file;
use crate::secret::Secret;
use crate::toml_values::{Item, Section};

/// The password of a login that we make again and again: of the configuration itself, or of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Password {
    /// As it was when the configuration was read.
    first: Secret,
    file: Option<PathBuf>,
}

impl Password {
    /// A password that is in no file.
    pub fn new(octets: impl Into<Vec<u8>>) -> Self {
        Password {
            first: Secret::new(octets),
            file: None,
        }
    }

    /// A password in a file.
    ///
    /// # Errors
    ///
    /// As [`Password::current`].
    pub fn in_file(path: &Path) -> Result<Self, String> {
        Ok(Password {
            first: read(path)?,
            file: Some(path.to_owned()),
        })
    }

    /// Returns the password as it was when the configuration was read.
    pub(crate) fn into_first(self) -> Secret {
        self.first
    }

    /// Returns the password for the next login. A file is read again.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is empty. The error names it.
    pub fn current(&self) -> Result<Secret, String> {
        match &self.file {
            Some(path) => read(path),
            None => Ok(self.first.clone()),
        }
    }
}

fn read(path: &Path) -> Result<Secret, String> {
    let octets = safe_file::read(path, safe_file::PASSWORD)
        .map_err(|why| format!("cannot read {}: {why}", path.display()))?;
    match octets.trim_ascii_end() {
        [] => Err(format!("the password in {} is empty", path.display())),
        octets => Ok(Secret::new(octets)),
    }
}

/// Reads `password` or `password-file` of a section.
pub(crate) fn password(section: &Section<'_>) -> Option<Password> {
    let mut password = None;
    section.set("password", &mut password, |i| {
        let first = secret(i, i.str("text")?.as_bytes())?;
        Some(Some(Password { first, file: None }))
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
pub(crate) fn from_file(file: &Item<'_>) -> Option<Password> {
    let path = file.source.beside(file.str("reader.key")?);
    match safe_file::read(&path, safe_file::PASSWORD) {
        Ok(octets) => Some(Password {
            first: secret(file, octets.trim_ascii_end())?,
            file: Some(path),
        }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_for_each_login() {
        let name = format!("rutter-password-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "sesame\n").unwrap();
        let password = Password::in_file(&file).unwrap();
        std::fs::write(&file, "another\n").unwrap();
        assert_eq!(password.current().unwrap().reveal(), b"another");
        for (text, why) in [("\n", "is empty"), ("", "is empty")] {
            std::fs::write(&file, text).unwrap();
            let error = password.current().unwrap_err();
            assert!(
                error.contains(why) && error.contains("rutter-password-"),
                "{error}"
            );
        }
        std::fs::remove_file(&file).unwrap();
        let error = password.current().unwrap_err();
        assert!(error.starts_with("cannot read /"), "{error}");
        assert_eq!(Password::new("a").current().unwrap().reveal(), b"a");
    }
}
