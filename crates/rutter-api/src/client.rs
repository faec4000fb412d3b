//! The client side: sends a request and reads the answer.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::{Envelope, Line, Request};

/// A connection to a daemon, for one request.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
}

impl From<UnixStream> for Client {
    /// A client on a connected socket.
    fn from(stream: UnixStream) -> Self {
        Client { stream }
    }
}

impl Client {
    /// Sets the longest time to wait for the next bytes of an answer. Without it a client waits for ever.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.set_write_timeout(Some(patience))?;
        self.stream.set_read_timeout(Some(patience))
    }

    /// Connects to the socket.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        UnixStream::connect(socket).map(|stream| Client { stream })
    }

    /// Sends the request, and the text of one that has a text. The answer is a stream of lines; the last one is
    /// [`Line::Done`] or [`Line::Error`].
    pub fn call(self, request: Request) -> io::Result<Answer> {
        self.send(Envelope::new(request))
    }

    /// As [`Client::call`], for a user that the audit log names beside this program.
    pub fn call_for(self, user: &str, request: Request) -> io::Result<Answer> {
        let mut envelope = Envelope::new(request);
        envelope.on_behalf_of = Some(user.to_owned());
        self.send(envelope)
    }

    fn send(mut self, mut envelope: Envelope) -> io::Result<Answer> {
        let text = match &mut envelope.request {
            Request::Apply(order) => {
                let text = order.text.take();
                order.text_bytes = text.as_ref().map(|text| text.len() as u64);
                text
            }
            Request::DiffText(diff) => {
                diff.text_bytes = diff.text.len() as u64;
                Some(std::mem::take(&mut diff.text))
            }
            _ => None,
        };
        let mut message = serde_json::to_vec(&envelope)?;
        message.push(b'\n');
        message.extend(text.unwrap_or_default().into_bytes());
        match self.stream.write_all(&message) {
            // The daemon refuses the request before it has read the text: the answer says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            result => result?,
        }
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
    /// Returns the next line without its line feed, or `None` after the last one. The line is not parsed, so this is
    /// the fast way to forward an answer.
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
    /// Returns whether more of the answer is buffered. If not, flush the output before the next read.
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

/// An unparsed line.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// The JSON of the line.
    pub line: &'a [u8],
    /// This is the last line of the answer.
    pub is_last: bool,
}

/// The prefixes of a last line: `kind` is the first member.
const LAST: [&[u8]; 2] = [br#"{"kind":"done""#, br#"{"kind":"error""#];
