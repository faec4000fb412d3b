//! Why a command failed.

use std::io;

/// Why a command failed, for a person.
#[derive(Debug)]
pub(crate) enum Failure {
    /// In words; a hint may follow on further lines.
    Text(String),
    /// Whoever read our output has gone: nothing to complain about.
    NobodyReads,
}

impl Failure {
    /// In words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Failure::Text(text.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::Text(error.to_string()),
        }
    }
}
