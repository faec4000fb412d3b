//! A client's connection with time limits, which ends when the collector stops.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::io_timeout::is_timeout;
use rutter_service::ShutdownSignal;

/// The socket of a client.
pub(super) struct Connection {
    socket: TcpStream,
    shutdown: ShutdownSignal,
    /// The time at which the handshake must be complete; `None` after the handshake.
    handshake_until: Option<Instant>,
}

/// The socket timeout. A reader then returns to its other work, and a writer checks for shutdown.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(20);
/// The time after which a client that accepts no data is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

impl Connection {
    /// The client must complete the handshake before `greeting`.
    pub fn new(
        socket: TcpStream,
        shutdown: &ShutdownSignal,
        handshake_until: Instant,
    ) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SHUTDOWN_CHECK))?;
        socket.set_write_timeout(Some(SHUTDOWN_CHECK))?;
        Ok(Connection {
            socket,
            shutdown: shutdown.clone(),
            handshake_until: Some(handshake_until),
        })
    }

    /// Ends the time limit of the handshake.
    pub fn finish_handshake(&mut self) {
        self.handshake_until = None;
    }

    /// Fails if the collector stops or the time limit has passed.
    fn check_deadline(&self, until: Instant, what: &str) -> io::Result<()> {
        if self.shutdown.is_triggered() {
            return Err(io::Error::other("the collector is stopping"));
        }
        match Instant::now() < until {
            true => Ok(()),
            false => Err(io::Error::other(what)),
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(until) = self.handshake_until else {
            return self.socket.read(buffer);
        };
        loop {
            // A client that sends single bytes must keep the time limit, too.
            self.check_deadline(until, "it does not say that it speaks WebSocket")?;
            match self.socket.read(buffer) {
                Err(error) if is_timeout(&error) => {}
                read => return read,
            }
        }
    }
}

impl Write for Connection {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let until = Instant::now() + WRITE_TIMEOUT;
        loop {
            match self.socket.write(octets) {
                Err(error) if is_timeout(&error) => {
                    self.check_deadline(until, "it takes nothing")?
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_slow_handshake_is_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let mut connection =
            Connection::new(socket, &ShutdownSignal::new(), Instant::now()).unwrap();
        client.write_all(b"G").unwrap();
        let error = connection.read(&mut [0; 16]).unwrap_err();
        assert!(error.to_string().contains("WebSocket"), "{error}");
        connection.finish_handshake();
        assert_eq!(connection.read(&mut [0; 16]).unwrap(), 1);
        assert!(is_timeout(&connection.read(&mut [0; 16]).unwrap_err()));
    }
}
