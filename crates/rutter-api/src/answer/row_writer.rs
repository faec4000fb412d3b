//! Where rows go.

use std::io::{self, Read as _, Write};
use std::os::unix::net::UnixStream;

use crate::Line;

/// Why an answer ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request cannot be answered; the text is for the person who asked.
    Refused(String),
    /// The client is gone or too slow.
    Gone(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Gone(error)
    }
}

impl Failure {
    /// A refusal in words.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Failure::Refused(text.into())
    }
}

/// Writes lines through one buffer of fixed size.
pub(crate) struct RowWriter<'a> {
    out: io::BufWriter<&'a UnixStream>,
    stream: &'a UnixStream,
    count: u64,
}

impl<'a> RowWriter<'a> {
    /// Lines to this client.
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
        self.write(line).map_err(Failure::Gone)
    }

    /// Writes the last line and sends everything.
    pub(crate) fn end(&mut self, line: &Line) -> io::Result<()> {
        self.write(line)?;
        self.out.flush()
    }

    /// Sends what is buffered, for rows that somebody is waiting for.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::Gone)
    }

    /// Rows written so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the client has closed its end. Needs a read timeout on the stream; waits that long.
    pub(crate) fn client_is_gone(&self) -> bool {
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
