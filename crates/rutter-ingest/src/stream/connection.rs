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
    greeting: Option<Instant>,
}

/// The socket timeout. A reader then returns to its other work, and a writer checks for shutdown.
const PATIENCE: Duration = Duration::from_millis(20);
/// The time after which a client that accepts no data is disconnected.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

impl Connection {
    /// The client must complete the handshake before `greeting`.
    pub fn new(
        socket: TcpStream,
        shutdown: &ShutdownSignal,
        greeting: Instant,
    ) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Connection {
            socket,
            shutdown: shutdown.clone(),
            greeting: Some(greeting),
        })
    }

    /// Ends the time limit of the handshake.
    pub fn greeted(&mut self) {
        self.greeting = None;
    }

    /// Fails if the collector stops or the time limit has passed.
    fn given_up(&self, until: Instant, what: &str) -> io::Result<()> {
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
        let Some(until) = self.greeting else {
            return self.socket.read(buffer);
        };
        loop {
            // A client that sends single bytes must keep the time limit, too.
            self.given_up(until, "it does not say that it speaks WebSocket")?;
            match self.socket.read(buffer) {
                Err(error) if is_timeout(&error) => {}
                read => return read,
            }
        }
    }
}

impl Write for Connection {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let until = Instant::now() + WRITE_PATIENCE;
        loop {
            match self.socket.write(octets) {
                Err(error) if is_timeout(&error) => self.given_up(until, "it takes nothing")?,
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
    fn who_is_slow_to_greet_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let mut connection =
            Connection::new(socket, &ShutdownSignal::new(), Instant::now()).unwrap();
        client.write_all(b"G").unwrap();
        let error = connection.read(&mut [0; 16]).unwrap_err();
        assert!(error.to_string().contains("WebSocket"), "{error}");
        connection.greeted();
        assert_eq!(connection.read(&mut [0; 16]).unwrap(), 1);
        assert!(is_timeout(&connection.read(&mut [0; 16]).unwrap_err()));
    }
}
