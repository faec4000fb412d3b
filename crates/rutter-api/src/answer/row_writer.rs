//! Writes the rows of an answer to the client.

use std::io::{self, Read as _, Write};
use std::os::unix::net::UnixStream;

use crate::Line;

/// The reason why an answer ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is refused, with a message for the user.
    Refused(String),
    /// The client has disconnected or is too slow.
    Disconnected(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Disconnected(error)
    }
}

impl Failure {
    /// Refuses the request with a message.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Failure::Refused(text.into())
    }
}

/// Writes lines through a buffer of fixed size.
pub(crate) struct RowWriter<'a> {
    out: io::BufWriter<&'a UnixStream>,
    stream: &'a UnixStream,
    count: u64,
}

impl<'a> RowWriter<'a> {
    /// Creates a writer for this client.
    pub(crate) fn new(stream: &'a UnixStream) -> Self {
        RowWriter {
            out: io::BufWriter::with_capacity(BUFFER, stream),
            stream,
            count: 0,
        }
    }

    /// Writes a row.
    pub(crate) fn send(&mut self, line: &Line) -> Result<(), Failure> {
        self.count += 1;
        self.write(line).map_err(Failure::Disconnected)
    }

    /// Writes the last line and flushes the buffer.
    pub(crate) fn end(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.out.flush()
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Disconnected)
    }

    /// Returns the number of rows written.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether the client has closed the connection. Waits up to the read timeout of the stream.
    pub(crate) fn client_has_disconnected(&self) -> bool {
        let mut byte = [0];
        match (&mut &*self.stream).read(&mut byte) {
            Ok(0) => true,
            Ok(_) => false,
            Err(e) => !matches!(
                e.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
            ),
        }
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}

const BUFFER: usize = 64 * 1024;
