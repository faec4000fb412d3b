//! One connection to a station.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rutter_wire::bmp::{write_initiation, write_termination};

use crate::io_timeout::is_timeout;
use crate::keepalive::keep_alive;
use rutter_service::ShutdownSignal;

/// A connection of one router's name, and what waits to be written.
pub(super) struct Connection {
    socket: TcpStream,
    shutdown: ShutdownSignal,
    patience: Duration,
    pub out: Vec<u8>,
}

/// What we call ourselves.
const SOFTWARE: &str = concat!("Rutter ", env!("CARGO_PKG_VERSION"));
/// How long connecting may take, and how long a station may take for [`LEAST`].
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets that a station must take in that time while so many wait: one that takes them one by one is as good as away.
const LEAST: usize = 16 * 1024;
/// Who waits for the station looks this often whether to end.
const LOOK: Duration = Duration::from_millis(100);
/// How long stations may take for the rest once everything ends.
const FAREWELL: Duration = Duration::from_secs(1);
/// Octets that are written at once.
const FLUSH_AT: usize = 256 * 1024;

impl Connection {
    /// Connects and says who we are.
    pub fn open(address: SocketAddr, name: &str, shutdown: &ShutdownSignal) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(LOOK))?;
        keep_alive(&socket)?;
        let mut out = Vec::new();
        write_initiation(&mut out, name, SOFTWARE);
        Ok(Connection {
            socket,
            shutdown: shutdown.clone(),
            patience: PATIENCE,
            out,
        })
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
        let mut at = 0;
        // Up to where the station had got, and when.
        let mut mark = (0, Instant::now());
        while at < self.out.len() {
            self.check_patience(at - mark.0, mark.1)?;
            match self.socket.write(&self.out[at..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => at += count,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            if at - mark.0 >= LEAST {
                mark = (at, Instant::now());
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Fails when the station, which took so many octets since then, has had its time.
    fn check_patience(&self, taken: usize, since: Instant) -> io::Result<()> {
        // However little it takes at a time.
        if self
            .shutdown
            .triggered_at()
            .is_some_and(|since| since.elapsed() >= FAREWELL)
        {
            return Err(io::Error::other("the collector is stopping"));
        }
        if since.elapsed() < self.patience {
            return Ok(());
        }
        let seconds = self.patience.as_secs();
        Err(io::Error::other(match taken {
            0 => format!("the station has taken nothing for {seconds} s"),
            _ => format!("the station has taken {taken} octets in {seconds} s"),
        }))
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Writes more than sockets hold to a station that takes so many octets at a time, with pauses.
    fn written_to(takes: usize, patience: Duration) -> io::Result<()> {
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
        connection.patience = patience;
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
        // Its thread may have to wait for a processor.
        written_to(256 * 1024, Duration::from_secs(120)).unwrap();
    }
}
