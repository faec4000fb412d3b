//! The other half: asks and reads lines.

use std::io;
use std::path::Path;

use crate::{Line, Request};

/// A connection to a daemon, good for one request.
pub struct Client(());

impl Client {
    /// Connects.
    pub fn connect(_socket: &Path) -> io::Result<Self> {
        todo!()
    }

    /// Asks; the lines come as they are read, the last one is [`Line::Done`] or [`Line::Error`].
    pub fn call(self, _request: Request) -> io::Result<Answer> {
        todo!()
    }
}

/// The lines of an answer.
pub struct Answer(());

impl Iterator for Answer {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
