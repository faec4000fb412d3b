//! The error of a command.

use std::io;

/// The error of a command, for users.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A message. Hints may follow on further lines.
    Text(String),
    /// The reader of our output has closed the pipe. This is not an error.
    NobodyReads,
}

impl Failure {
    /// Returns a failure with this message.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Failure::Text(text.into())
    }

    /// The message.
    pub(crate) fn words(&self) -> &str {
        match self {
            Failure::Text(text) => text,
            Failure::NobodyReads => "the reader has closed the pipe",
        }
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
