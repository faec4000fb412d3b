//! A client's connection, on which nobody waits for longer than is right, nor once everything ends.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::io_timeout::is_timeout;
use rutter_service::ShutdownSignal;

/// The octets of a client, in and out.
pub(super) struct Connection {
    socket: TcpStream,
    shutdown: ShutdownSignal,
    /// Until then the client must have said that it speaks WebSocket; `None` once it has.
    greeting: Option<Instant>,
}

/// How long a reader waits before it has other things to do, and how often a writer looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(20);
/// A client that takes nothing for so long is gone.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

impl Connection {
    /// The client has until then to say that it speaks WebSocket.
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

    /// The client speaks WebSocket: from now on it may say nothing for as long as it likes.
    pub fn greeted(&mut self) {
        self.greeting = None;
    }

    /// Why not to wait any longer, if so.
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
            // One octet now and then is no greeting either.
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
