//! One connection to a station.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rutter_wire::bmp::{write_initiation, write_termination};

use crate::keepalive::keep_alive;

/// A connection of one router's name, and what waits to be written.
pub(super) struct Connection {
    socket: TcpStream,
    pub out: Vec<u8>,
}

/// What we call ourselves.
const SOFTWARE: &str = concat!("Rutter ", env!("CARGO_PKG_VERSION"));
/// How long connecting, and one write, may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets that are written at once.
const FLUSH_AT: usize = 256 * 1024;

impl Connection {
    /// Connects and says who we are.
    pub fn open(address: SocketAddr, name: &str) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        keep_alive(&socket)?;
        let mut out = Vec::new();
        write_initiation(&mut out, name, SOFTWARE);
        Ok(Connection { socket, out })
    }

    /// Writes once much waits.
    pub fn flush_some(&mut self) -> io::Result<()> {
        match self.out.len() {
            0..FLUSH_AT => Ok(()),
            _ => self.flush(),
        }
    }

    /// Writes all that waits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Fails when the station is gone: what is written to it next would be lost before anybody noticed.
    pub fn check(&mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        let heard = self.socket.read(&mut [0; 256]);
        self.socket.set_nonblocking(false)?;
        match heard {
            Ok(0) => Err(io::Error::other("the station closed the connection")),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            // A station has nothing to say.
            _ => Ok(()),
        }
    }

    /// Says goodbye.
    pub fn close(mut self) {
        write_termination(&mut self.out, 0, "the collector is stopping");
        // The station may be gone already.
        let _ = self.flush();
    }
}
