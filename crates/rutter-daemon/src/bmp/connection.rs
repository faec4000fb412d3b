//! The connection to a station.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

/// A connection, and the bytes that wait for it.
pub(super) struct Connection {
    socket: TcpStream,
    /// Messages are appended here.
    pub(super) out: Vec<u8>,
    /// The bytes of `out` that are written.
    written: usize,
    /// The bytes that the station has taken so far.
    pub(super) taken: u64,
    /// The time of the last sufficient progress, and the bytes taken until then.
    progress: (Instant, u64),
    send_timeout: Duration,
}

/// While more bytes wait, no routes are added.
const FULL: usize = 256 * 1024;
/// The bytes that a station must take within the timeout. A slower one counts as gone.
const MIN_PROGRESS: u64 = 16 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A write that waits for the station returns after this time, so that the thread reads the log of changes.
const WRITE_TIMEOUT: Duration = Duration::from_millis(50);
/// A dead station is found after about a minute.
const KEEPALIVE: Duration = Duration::from_secs(10);

impl Connection {
    pub(super) fn open(address: SocketAddr, send_timeout: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE);
        SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        Ok(Connection {
            socket,
            out: Vec::new(),
            written: 0,
            taken: 0,
            progress: (Instant::now(), 0),
            send_timeout,
        })
    }

    /// The bytes that wait for the station.
    pub(super) fn unsent(&self) -> usize {
        self.out.len() - self.written
    }

    /// Returns whether so many bytes wait that no routes should be added.
    pub(super) fn is_full(&self) -> bool {
        self.unsent() >= FULL
    }

    /// Writes what the station takes within [`WRITE_TIMEOUT`].
    pub(super) fn write(&mut self) -> io::Result<()> {
        while self.unsent() > 0 {
            match self.socket.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    self.taken += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.unsent() == 0 {
            self.out.clear();
            self.written = 0;
            // A large burst is over.
            self.out.shrink_to(4 * FULL);
        }
        self.check_progress()
    }

    /// Fails if the station took too few bytes for too long.
    fn check_progress(&mut self) -> io::Result<()> {
        let (since, before) = self.progress;
        if self.unsent() == 0 || self.taken - before >= MIN_PROGRESS {
            self.progress = (Instant::now(), self.taken);
            return Ok(());
        }
        if since.elapsed() < self.send_timeout {
            return Ok(());
        }
        let (bytes, seconds) = (self.taken - before, self.send_timeout.as_secs());
        Err(io::Error::other(format!(
            "the station has taken {bytes} bytes in {seconds} s"
        )))
    }

    /// Fails if the station closed the connection. Data from the station is ignored (RFC 7854 §3.1).
    pub(super) fn check_open(&mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        let received = self.socket.read(&mut [0; 256]);
        self.socket.set_nonblocking(false)?;
        match received {
            Ok(0) => Err(io::Error::other("the station closed the connection")),
            Err(error) if !is_timeout(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
