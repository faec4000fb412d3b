//! A connection to an IRRd server: queries in, replies out, several under way at a time.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::irrd_limits::IrrdLimits;
use super::irrd_query::IrrdQuery;
use super::irrd_reply::{IrrdReply, IrrdReplyError};

/// A failed connection or query. It states the server and, where known, the query.
#[derive(Debug)]
pub struct IrrdError {
    server: String,
    query: Option<String>,
    why: IrrdFault,
}

/// The reason of an [`IrrdError`].
#[derive(Debug)]
pub enum IrrdFault {
    /// The server cannot be reached, or the connection broke.
    Io(std::io::Error),
    /// The server's name has no address.
    NoAddress,
    /// The server closed the connection before its reply.
    Closed,
    /// The server sent nothing for this time.
    Idle(Duration),
    /// The connection took longer than this time.
    TooLong(Duration),
    /// The reply broke the protocol or a limit.
    Reply(IrrdReplyError),
    /// The server refused the query, with its reason.
    Refused(String),
    /// The caller asked to stop.
    Stopped,
}

impl IrrdError {
    /// The reason.
    pub fn fault(&self) -> &IrrdFault {
        &self.why
    }
}

impl fmt::Display for IrrdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IRR server {}: ", self.server)?;
        if let Some(query) = &self.query {
            write!(f, "query `{query}`: ")?;
        }
        match &self.why {
            IrrdFault::Io(error) => error.fmt(f),
            IrrdFault::NoAddress => f.write_str("the name has no address"),
            IrrdFault::Closed => f.write_str("the server closed the connection before its reply"),
            IrrdFault::Idle(time) => write!(f, "the server sent nothing for {} s", time.as_secs()),
            IrrdFault::TooLong(time) => write!(f, "no end after {} s", time.as_secs()),
            IrrdFault::Reply(error) => error.fmt(f),
            IrrdFault::Refused(why) => write!(f, "the server refused it: {why}"),
            IrrdFault::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for IrrdError {}

/// Returns whether the caller wants to stop. Asked about twice a second.
pub type StopCheck = Box<dyn Fn() -> bool + Send>;

/// A connection to a server.
pub struct IrrdClient {
    server: String,
    stream: TcpStream,
    limits: IrrdLimits,
    stop: StopCheck,
    end: Instant,
    /// Received bytes. The bytes before `read` belong to earlier replies.
    buffer: Vec<u8>,
    read: usize,
}

impl IrrdClient {
    /// Connects to `server`, a name or address with a port such as `rr.ntt.net:43`, and asks for several queries per
    /// connection (`!!`).
    ///
    /// # Errors
    /// If no address of the server can be reached within the limits.
    pub fn connect(server: &str, limits: IrrdLimits, stop: StopCheck) -> Result<Self, IrrdError> {
        let failed = |why| IrrdError {
            server: server.to_owned(),
            query: None,
            why,
        };
        let addresses = server
            .to_socket_addrs()
            .map_err(|error| failed(IrrdFault::Io(error)))?;
        let mut last = IrrdFault::NoAddress;
        for address in addresses.take(MAX_ADDRESSES) {
            match TcpStream::connect_timeout(&address, limits.connect_timeout) {
                Ok(stream) => {
                    let mut client = IrrdClient {
                        server: server.to_owned(),
                        stream,
                        limits,
                        stop,
                        end: Instant::now() + limits.total_timeout,
                        buffer: Vec::new(),
                        read: 0,
                    };
                    client
                        .open()
                        .map_err(|error| failed(IrrdFault::Io(error)))?;
                    return Ok(client);
                }
                Err(error) => last = IrrdFault::Io(error),
            }
        }
        Err(failed(last))
    }

    fn open(&mut self) -> std::io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(SLICE))?;
        self.stream
            .set_write_timeout(Some(self.limits.idle_timeout))?;
        self.stream.write_all(b"!!\n")
    }

    /// Sends a query and waits for its reply.
    ///
    /// # Errors
    /// If the connection fails, or the reply breaks the protocol or a limit. The client is then of no further use.
    pub fn query(&mut self, query: IrrdQuery) -> Result<IrrdReply, IrrdError> {
        let mut answer = IrrdReply::Empty;
        self.query_all(std::slice::from_ref(&query), |_, reply| answer = reply)?;
        Ok(answer)
    }

    /// Sends queries without waiting for each reply, and calls `each` with the place of a query and its reply, in order.
    ///
    /// # Errors
    /// As [`query`](Self::query). The error is that of the query behind the last one that `each` received.
    pub fn query_all(
        &mut self,
        queries: &[IrrdQuery],
        mut each: impl FnMut(usize, IrrdReply),
    ) -> Result<(), IrrdError> {
        let window = self.limits.pipeline.max(1);
        let mut sent = 0;
        for (at, query) in queries.iter().enumerate() {
            // Half a window at a time, so that the server always has queries.
            if sent - at <= window / 2 {
                let next = &queries[sent..queries.len().min(at + window)];
                self.send(next).map_err(|why| self.error(query, why))?;
                sent += next.len();
            }
            let reply = self.receive().map_err(|why| self.error(query, why))?;
            each(at, reply);
        }
        Ok(())
    }

    /// An error of this connection.
    pub(crate) fn error(&self, query: &IrrdQuery, why: IrrdFault) -> IrrdError {
        IrrdError {
            server: self.server.clone(),
            query: Some(query.to_string()),
            why,
        }
    }

    fn send(&mut self, queries: &[IrrdQuery]) -> Result<(), IrrdFault> {
        let lines: String = queries.iter().map(|query| format!("{query}\n")).collect();
        self.stream
            .write_all(lines.as_bytes())
            .map_err(IrrdFault::Io)
    }

    fn receive(&mut self) -> Result<IrrdReply, IrrdFault> {
        let mut last_byte = Instant::now();
        loop {
            let bytes = &self.buffer[self.read..];
            let parsed = IrrdReply::parse(bytes, self.limits.max_reply);
            if let Some((reply, len)) = parsed.map_err(IrrdFault::Reply)? {
                self.read += len;
                return Ok(reply);
            }
            if self.fill()? {
                last_byte = Instant::now();
            }
            if (self.stop)() {
                return Err(IrrdFault::Stopped);
            }
            if last_byte.elapsed() >= self.limits.idle_timeout {
                return Err(IrrdFault::Idle(self.limits.idle_timeout));
            }
            if Instant::now() >= self.end {
                return Err(IrrdFault::TooLong(self.limits.total_timeout));
            }
        }
    }

    /// Reads what has arrived, or waits for a moment. Returns whether bytes arrived.
    fn fill(&mut self) -> Result<bool, IrrdFault> {
        if self.read > 0 {
            self.buffer.drain(..self.read);
            self.read = 0;
        }
        let mut chunk = [0; CHUNK];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(IrrdFault::Closed),
            Ok(len) => {
                self.buffer.extend_from_slice(&chunk[..len]);
                Ok(true)
            }
            Err(error) if is_pause(&error) => Ok(false),
            Err(error) => Err(IrrdFault::Io(error)),
        }
    }
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// A read waits this long before the client looks at its deadlines.
const SLICE: Duration = Duration::from_millis(500);
/// The bytes of one read.
const CHUNK: usize = 64 << 10;
/// The most addresses of a server's name that are tried.
const MAX_ADDRESSES: usize = 8;
