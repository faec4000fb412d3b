//! What of the disk a configuration names, and where it does: for who looks at it before anything is started.

use std::path::PathBuf;

use crate::{ConfigError, Severity};

/// What a path is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathRole {
    /// A certificate and those that it hangs on, PEM.
    Certificate,
    /// Its private key, PEM.
    PrivateKey,
    /// Validated ROA payloads.
    Vrps,
    /// A folder that is made where it is missing, and written to.
    Folder,
    /// A socket of ours; its folder is made where it is missing.
    Socket,
    /// A socket of another program, or its folder.
    Door,
}

/// A path and its place in the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPath {
    /// What it is for.
    pub role: PathRole,
    /// The path.
    pub path: PathBuf,
    /// The file that names it.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, from the top: `sql.tls-key`.
    pub key: String,
}

impl NamedPath {
    /// A finding about what lies there.
    pub fn finding(
        &self,
        severity: Severity,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ConfigError {
        ConfigError {
            severity,
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            key: self.key.clone(),
            message: message.into(),
            hint: hint.into(),
        }
    }
}
