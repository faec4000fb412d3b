//! The failure of a command.

use std::io;

/// The failure of a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A message, with optional hints on further lines.
    Text(String),
    /// An error of a command for which the exit status 1 is none: the status is 2. Without a message the errors have
    /// been printed already.
    Status2(Option<String>),
    /// The errors have been printed already.
    AlreadyReported,
    /// The reader of our output closed it, which is not an error.
    OutputClosed,
}

impl Failure {
    /// Creates a failure with a message.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Failure::Text(text.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Text(error.to_string()),
        }
    }
}
