//! The other half: asks and reads lines.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::{Envelope, Line, Request};

/// A connection to a daemon, good for one request.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
}

impl Client {
    /// Connects.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        UnixStream::connect(socket).map(|stream| Client { stream })
    }

    /// Asks; the lines come as they are read, the last one is [`Line::Done`] or [`Line::Error`].
    pub fn call(mut self, request: Request) -> io::Result<Answer> {
        let mut line = serde_json::to_vec(&Envelope::new(request))?;
        line.push(b'\n');
        self.stream.write_all(&line)?;
        Ok(Answer {
            input: BufReader::with_capacity(64 * 1024, self.stream),
            ended: false,
        })
    }
}

/// The lines of an answer.
#[derive(Debug)]
pub struct Answer {
    input: BufReader<UnixStream>,
    ended: bool,
}

impl Answer {
    /// The next line as it came, without its line feed; `None` after the last one. Does not understand rows, so it is
    /// the fast way for those who pass them on.
    pub fn next_raw<'a>(&mut self, line: &'a mut Vec<u8>) -> Option<io::Result<RawLine<'a>>> {
        if self.ended {
            return None;
        }
        line.clear();
        match self.input.read_until(b'\n', line) {
            Ok(_) if line.last() != Some(&b'\n') => {
                self.ended = true;
                Some(Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the daemon closed the connection in the middle of its answer",
                )))
            }
            Ok(_) => {
                line.pop();
                let is_last = LAST.iter().any(|kind| line.starts_with(kind));
                self.ended = is_last;
                Some(Ok(RawLine { line, is_last }))
            }
            Err(e) => {
                self.ended = true;
                Some(Err(e))
            }
        }
    }
}

impl Answer {
    /// Whether a further line may be had without waiting: time to show what was printed so far if not.
    pub fn has_more_waiting(&self) -> bool {
        !self.input.buffer().is_empty()
    }
}

impl Iterator for Answer {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut buffer = Vec::new();
        let raw = self.next_raw(&mut buffer)?;
        Some(raw.and_then(|raw| Ok(serde_json::from_slice(raw.line)?)))
    }
}

/// A line as it came.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// The JSON text.
    pub line: &'a [u8],
    /// It says how the answer ended.
    pub is_last: bool,
}

/// How the last line of an answer begins: `kind` is written first.
const LAST: [&[u8]; 2] = [br#"{"kind":"done""#, br#"{"kind":"error""#];
