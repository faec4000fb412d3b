//! Passwords that are not logged.

use std::fmt;

/// A password (TCP MD5). `Debug` does not print it; there is no `Display` and no serialization.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Wraps a password.
    pub fn new(octets: impl Into<Vec<u8>>) -> Self {
        Secret(octets.into())
    }

    /// Returns the bytes of the password.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}
