//! `GET /metrics` over HTTP/1.1.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::{Backend, prometheus};

/// Answers one HTTP request: `/metrics` with the metrics, other paths with 404. Blocks, so it needs its own thread.
pub fn serve_metrics(stream: TcpStream, backend: &dyn Backend) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let head = read_head(&stream)?;
    let (status, body) = match target(&head) {
        Some("/metrics") => ("200 OK", prometheus::render(backend)),
        Some(_) => ("404 Not Found", "The metrics are at /metrics.\n".to_owned()),
        None => ("400 Bad Request", "Only GET is supported.\n".to_owned()),
    };
    let kind = match status {
        "200 OK" => "text/plain; version=0.0.4; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    write!(
        &stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    (&stream).write_all(body.as_bytes())
}

/// Reads the request head, up to its empty line or [`MAX_HEAD`] bytes.
fn read_head(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") && head.len() < MAX_HEAD {
        match stream.read(&mut chunk)? {
            0 => break,
            n => head.extend_from_slice(&chunk[..n]),
        }
    }
    Ok(head)
}

/// Returns the path of a GET request, without its query.
fn target(head: &[u8]) -> Option<&str> {
    let line = head.split(|b| *b == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    match (words.next()?, words.next()?) {
        ("GET", target) => target.split('?').next(),
        _ => None,
    }
}

const MAX_HEAD: usize = 8 * 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_path_of_a_get() {
        assert_eq!(
            target(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"),
            Some("/metrics")
        );
        assert_eq!(target(b"POST /metrics HTTP/1.1\r\n\r\n"), None);
        assert_eq!(target(b"\xff\xff"), None);
        assert_eq!(target(b""), None);
    }
}
