//! A minimal PostgreSQL client for benchmarks: it sends queries and reads the answers without decoding them.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// A connection that logged in without a password.
pub(super) struct QueryLoad {
    stream: BufReader<TcpStream>,
    message: Vec<u8>,
}

impl QueryLoad {
    /// Connects and waits until the server is ready for queries.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut startup = Vec::from(VERSION);
        startup.extend(b"user\0bench\0database\0rutter\0\0");
        stream.write_all(&with_length(&startup))?;
        let mut asker = QueryLoad {
            stream: BufReader::with_capacity(256 * 1024, stream),
            message: Vec::new(),
        };
        asker.until_ready()?;
        Ok(asker)
    }

    /// Sends one query and reads the whole answer.
    pub fn ask(&mut self, sql: &str) -> io::Result<()> {
        let mut query = vec![b'Q'];
        query.extend(with_length(&[sql.as_bytes(), b"\0"].concat()));
        self.stream.get_mut().write_all(&query)?;
        self.until_ready()
    }

    fn until_ready(&mut self) -> io::Result<()> {
        let mut error = None;
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let [kind, length @ ..] = head;
            let length = u32::from_be_bytes(length).saturating_sub(4);
            self.message.resize(length as usize, 0);
            self.stream.read_exact(&mut self.message)?;
            match (kind, error.take()) {
                (READY, None) => return Ok(()),
                (READY, Some(error)) => return Err(error),
                (ERROR, _) => {
                    let text = String::from_utf8_lossy(&self.message).replace('\0', " ");
                    error = Some(io::Error::other(text));
                }
                (_, before) => error = before,
            }
        }
    }
}

/// Prepends the length, which counts itself.
fn with_length(body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 4;
    [&length.to_be_bytes(), body].concat()
}

/// Version 3.0 of the protocol.
const VERSION: [u8; 4] = [0, 3, 0, 0];
/// `ReadyForQuery` and `ErrorResponse`.
const READY: u8 = b'Z';
const ERROR: u8 = b'E';
