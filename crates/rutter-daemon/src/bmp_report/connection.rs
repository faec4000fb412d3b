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
        if self.unsent() > 0 {
            match self.socket.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count;
                    self.taken += count as u64;
                }
                Err(error) if is_temporary(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.forget_written();
        self.check_progress()
    }

    /// Frees the memory of written bytes, also for a station that always leaves some bytes unsent.
    fn forget_written(&mut self) {
        if self.unsent() == 0 || self.written >= FULL {
            self.out.drain(..self.written);
            self.written = 0;
            // A large burst is over.
            self.out.shrink_to(4 * FULL);
        }
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
            Err(error) if !is_temporary(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns whether the same call may succeed later.
fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// A connection and the station's end of it, between which the kernel keeps few bytes.
    fn pair() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let small = 16 * 1024;
        SockRef::from(&listener)
            .set_recv_buffer_size(small)
            .expect("a buffer");
        let address = listener.local_addr().expect("an address");
        let connection = Connection::open(address, Duration::from_secs(600)).expect("open");
        SockRef::from(&connection.socket)
            .set_send_buffer_size(small)
            .expect("a buffer");
        let (station, _) = listener.accept().expect("accept");
        (connection, station)
    }

    #[test]
    fn a_station_that_never_takes_everything_costs_bounded_memory() {
        let (mut connection, mut station) = pair();
        station.set_nonblocking(true).expect("a mode");
        let mut sent = 0;
        while connection.taken < 8 * FULL as u64 {
            while !connection.is_full() {
                connection.out.extend_from_slice(&[1; 64 * 1024]);
            }
            connection.write().expect("write");
            assert!(connection.unsent() > 0);
            assert!(connection.out.len() < 3 * FULL, "{}", connection.out.len());
            while let Ok(count @ 1..) = station.read(&mut [0; 4_096]) {
                sent += count as u64;
            }
        }
        assert!(sent <= connection.taken);
    }

    /// The reader takes some bytes in each [`WRITE_TIMEOUT`].
    #[test]
    fn a_slow_station_does_not_hold_the_thread() {
        let (mut connection, mut station) = pair();
        let has_returned = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut taken = 0;
                while !has_returned.load(Ordering::Relaxed) && taken < 4 << 20 {
                    taken += station.read(&mut [0; 4_096]).expect("read");
                    thread::sleep(Duration::from_millis(5));
                }
            });
            connection.out.resize(4 << 20, 1);
            connection.write().expect("write");
            has_returned.store(true, Ordering::Relaxed);
            assert!(connection.unsent() > 0);
        });
    }
}
