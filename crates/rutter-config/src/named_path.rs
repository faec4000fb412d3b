//! The files, folders and sockets that a configuration names, for checks before the start.

use std::path::PathBuf;

use crate::{ConfigError, Severity};

/// The purpose of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathRole {
    /// A certificate chain, PEM.
    Certificate,
    /// Its private key, PEM.
    PrivateKey,
    /// Certificates of trusted authorities, PEM.
    Authorities,
    /// Validated ROA payloads.
    Vrps,
    /// A list of an AS-SET or of a member.
    IrrList,
    /// ARIN's whois dump.
    ArinDump,
    /// The dump of registro.br.
    RegistroBrDump,
    /// A dump of PeeringDB's networks.
    PeeringDbDump,
    /// A file that Rutter creates or appends to, in a folder that exists.
    AppendedFile,
    /// A key of TCP-AO.
    AoKey,
    /// Any other file to read.
    Data,
    /// A folder to write to; created if missing.
    Folder,
    /// Our own socket; its folder is created if missing.
    Socket,
    /// A socket of another program, or its folder.
    ForeignSocket,
}

/// A path and its position in the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedPath {
    /// The purpose of the path.
    pub role: PathRole,
    /// The path that the key names.
    pub path: PathBuf,
    /// The configuration file that names it.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The full key: `sql.tls-key`.
    pub key: String,
}

impl NamedPath {
    /// Creates a finding at this position.
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
