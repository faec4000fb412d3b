//! The daemon's side: reads one request and writes the lines of its answer.

use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::access::{Access, answer_to};
use crate::answer::{Failure, RowSink};
use crate::{Backend, Caller, Envelope, Line, MAX_CONFIGURATION, MAX_REQUEST, Request, VERSION};

/// Answers one request. Returns when the answer is written or the client has disconnected. Blocks, so it needs its
/// own thread.
///
/// A client that reads nothing for a minute is disconnected, because its answer holds a snapshot. `on_progress` is called
/// when the request has arrived, and each time that the client has taken bytes.
pub fn serve_connection(
    stream: UnixStream,
    backend: &dyn Backend,
    caller: &Caller,
    on_progress: &dyn Fn(),
) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let request = read_request(&stream, caller);
    on_progress();
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    let mut sink = SocketSink::new(&stream, on_progress);
    let result = request.and_then(
        |Envelope {
             request,
             on_behalf_of,
             ..
         }| {
            let caller = caller.on_behalf_of(on_behalf_of.as_deref());
            answer_to(&caller, &request, backend, &mut sink)
        },
    );
    match result {
        Ok(done) => sink.write_row(&Line::Done(done))?,
        Err(failure) => {
            let (reason, message) = failure.into_parts()?;
            sink.write_row(&Line::Error { message, reason })?;
        }
    }
    sink.flush()?;
    drain(&stream)
}

/// Writes JSON lines through a buffer of fixed size.
struct SocketSink<'a> {
    out: BufWriter<ReportedWriter<'a>>,
    stream: &'a UnixStream,
}

impl<'a> SocketSink<'a> {
    fn new(stream: &'a UnixStream, on_progress: &'a dyn Fn()) -> Self {
        let writer = ReportedWriter {
            stream,
            on_progress,
        };
        SocketSink {
            out: BufWriter::with_capacity(BUFFER, writer),
            stream,
        }
    }
}

/// A stream that reports when it took bytes.
struct ReportedWriter<'a> {
    stream: &'a UnixStream,
    on_progress: &'a dyn Fn(),
}

impl io::Write for ReportedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes)?;
        (self.on_progress)();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl RowSink for SocketSink<'_> {
    fn write_row(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Waits up to the read timeout of the stream.
    fn client_has_disconnected(&self) -> bool {
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
}

/// Reads the rest of the client's input, up to a limit. With unread input the kernel would discard our answer.
fn drain(mut stream: &UnixStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let mut rest = [0; 4096];
    for _ in 0..64 {
        if !matches!(stream.read(&mut rest), Ok(1..)) {
            break;
        }
    }
    Ok(())
}

fn read_request(stream: &UnixStream, caller: &Caller) -> Result<Envelope, Failure> {
    let mut line = Vec::new();
    let mut input = BufReader::new(stream);
    let mut start = input.by_ref().take(MAX_REQUEST as u64 + 1);
    start.read_until(b'\n', &mut line)?;
    if line.len() > MAX_REQUEST {
        return Err(Failure::refused(format!(
            "the request is longer than {MAX_REQUEST} bytes"
        )));
    }
    let mut envelope = parse_request(&line)?;
    // Others are refused anyway.
    if let Access::Control = caller.access {
        match &mut envelope.request {
            Request::Apply(order) => {
                let text = order.text_bytes.map(|bytes| read_text(input, bytes));
                order.text = text.transpose()?;
            }
            Request::DiffText(diff) => diff.text = read_text(input, diff.text_bytes)?,
            _ => {}
        }
    }
    Ok(envelope)
}

/// Reads the text that follows a request.
fn read_text(input: impl io::Read, bytes: u64) -> Result<String, Failure> {
    if bytes > MAX_CONFIGURATION {
        return Err(Failure::refused(format!(
            "the configuration is larger than {MAX_CONFIGURATION} bytes"
        )));
    }
    let mut text = Vec::new();
    input.take(bytes).read_to_end(&mut text)?;
    if (text.len() as u64) < bytes {
        return Err(Failure::refused("the configuration ended too early"));
    }
    String::from_utf8(text).map_err(|_| Failure::refused("the configuration is not UTF-8"))
}

fn parse_request(line: &[u8]) -> Result<Envelope, Failure> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let unreadable = |e: serde_json::Error| {
        Failure::refused(format!(
            "the request is not valid: {e}; write for example \
             {{\"version\":{VERSION},\"request\":\"peers\"}}"
        ))
    };
    let Version { version } = serde_json::from_slice(line).map_err(unreadable)?;
    if version != VERSION {
        return Err(Failure::refused(format!(
            "this daemon speaks version {VERSION} of the management protocol, not {version}"
        )));
    }
    serde_json::from_slice(line).map_err(unreadable)
}

/// The size of the output buffer, bytes.
const BUFFER: usize = 64 * 1024;
/// The time limit for the request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The time limit for a write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn refusal(line: &str) -> String {
        match parse_request(line.as_bytes()) {
            Err(Failure::Refused(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read_and_errors_are_explained() {
        let envelope = parse_request(br#"{"version":1,"request":{"routes":{"best":true}}}"#);
        let request = envelope.map(|envelope| envelope.request);
        assert!(matches!(request, Ok(Request::Routes(f)) if f.best && !f.rejected));
        assert!(refusal(r#"{"version":9,"request":"quarks"}"#).contains("speaks version 1"));
        assert!(refusal(r#"{"version":1,"request":"quarks"}"#).contains("quarks"));
        assert!(refusal(r#"{"version":1,"request":{"routes":{"bset":true}}}"#).contains("bset"));
        assert!(refusal("").contains("not valid"));
    }
}
