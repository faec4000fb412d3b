//! One connection to a station.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rutter_wire::bmp::{write_initiation, write_termination};

use crate::io_timeout::is_timeout;
use crate::keepalive::keep_alive;
use rutter_service::ShutdownSignal;

/// A connection for one router, and its unsent bytes.
pub(super) struct Connection {
    socket: TcpStream,
    shutdown: ShutdownSignal,
    send_timeout: Duration,
    pub out: Vec<u8>,
}

/// Our software name, for the Initiation message.
const SOFTWARE: &str = concat!("Rutter ", env!("CARGO_PKG_VERSION"));
/// The timeout for connecting, and for sending [`MIN_PROGRESS`] bytes.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes that a station must accept within that time. A slower station counts as gone.
const MIN_PROGRESS: usize = 16 * 1024;
/// The interval at which a waiting thread checks for shutdown.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(100);
/// The time that stations have for the unsent bytes after a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of unsent bytes that causes a write.
const FLUSH_AT: usize = 256 * 1024;

impl Connection {
    /// Connects and queues the Initiation message.
    pub fn open(address: SocketAddr, name: &str, shutdown: &ShutdownSignal) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, SEND_TIMEOUT)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(SHUTDOWN_CHECK))?;
        keep_alive(&socket)?;
        let mut out = Vec::new();
        write_initiation(&mut out, name, SOFTWARE);
        Ok(Connection {
            socket,
            shutdown: shutdown.clone(),
            send_timeout: SEND_TIMEOUT,
            out,
        })
    }

    /// Writes the unsent bytes if there are many.
    pub fn flush_some(&mut self) -> io::Result<()> {
        match self.out.len() {
            0..FLUSH_AT => Ok(()),
            _ => self.flush(),
        }
    }

    /// Writes all unsent bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut at = 0;
        // The position and time of the last sufficient progress.
        let mut mark = (0, Instant::now());
        while at < self.out.len() {
            self.check_progress(at - mark.0, mark.1)?;
            match self.socket.write(&self.out[at..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => at += count,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            if at - mark.0 >= MIN_PROGRESS {
                mark = (at, Instant::now());
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Fails if the station accepted too few bytes since that time.
    fn check_progress(&self, accepted: usize, since: Instant) -> io::Result<()> {
        // A slow station must not delay the shutdown.
        if self
            .shutdown
            .triggered_at()
            .is_some_and(|since| since.elapsed() >= SHUTDOWN_TIMEOUT)
        {
            return Err(io::Error::other("the collector is stopping"));
        }
        if since.elapsed() < self.send_timeout {
            return Ok(());
        }
        let seconds = self.send_timeout.as_secs();
        Err(io::Error::other(match accepted {
            0 => format!("the station has taken nothing for {seconds} s"),
            _ => format!("the station has taken {accepted} octets in {seconds} s"),
        }))
    }

    /// Fails if the station closed the connection. The next write would be lost without an error.
    pub fn check(&mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        let received = self.socket.read(&mut [0; 256]);
        self.socket.set_nonblocking(false)?;
        match received {
            Ok(0) => Err(io::Error::other("the station closed the connection")),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            // Data from the station is ignored.
            _ => Ok(()),
        }
    }

    /// Sends a Termination message and closes the connection.
    pub fn close(mut self) {
        write_termination(&mut self.out, 0, "the collector is stopping");
        // The station may be gone already.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Writes more than the socket buffers hold to a station that reads a few bytes at a time, with pauses.
    fn written_to(takes: usize, send_timeout: Duration) -> io::Result<()> {
        let station = TcpListener::bind("127.0.0.1:0")?;
        let address = station.local_addr()?;
        let reading = thread::spawn(move || {
            let (mut socket, _) = station.accept()?;
            let mut octets = vec![0; takes];
            while socket.read(&mut octets)? > 0 {
                thread::sleep(Duration::from_millis(5));
            }
            Ok::<(), io::Error>(())
        });
        let mut connection = Connection::open(address, "c", &ShutdownSignal::new())?;
        connection.send_timeout = send_timeout;
        connection.out.resize(16 << 20, 0);
        let written = connection.flush();
        drop(reading);
        written
    }

    #[test]
    fn a_station_that_takes_octet_after_octet_is_given_up() {
        let why = written_to(1, Duration::from_secs(1)).unwrap_err();
        let why = why.to_string();
        assert!(why.starts_with("the station has taken "), "{why}");
        // The station's thread may have to wait for a processor.
        written_to(256 * 1024, Duration::from_secs(120)).unwrap();
    }
}
