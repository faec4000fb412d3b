//! Errors and warnings in a configuration file.

use std::fmt;
use std::path::PathBuf;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is accepted, but needs attention.
    Warning,
}

/// An error or warning in a configuration file.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct ConfigError {
    /// Error or warning.
    pub severity: Severity,
    /// The file with the error, or the name of the text.
    pub file: PathBuf,
    /// Line, from 1; 0 for the whole file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The full key: `neighbor.max-prefix.v4`.
    pub key: String,
    /// The error.
    pub message: String,
    /// A correction.
    pub hint: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, " {severity}: ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\n    {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
