//! Closed connections that stay open for a moment, so that the NOTIFICATION on them arrives.

use std::collections::VecDeque;

use mio::net::TcpStream;

use crate::connection::discard_input;

/// Sockets whose write side is shut down, and which the neighbor has not closed yet.
///
/// Invariant: the sockets are in the order of their deadlines, and there are at most [`MAX_SOCKETS`].
pub(crate) struct LingeringSockets {
    sockets: VecDeque<(TcpStream, u64)>,
    buffer: Box<[u8]>,
}

/// The longest time for which a closed connection stays open, milliseconds.
const LINGER_MS: u64 = 1_000;
/// The same while the daemon stops: a neighbor that goes on sending must not hold it up for long.
const STOPPING_LINGER_MS: u64 = 500;
const MAX_SOCKETS: usize = 256;
/// Read at once, bytes.
const BUFFER_LEN: usize = 64 * 1024;

impl Default for LingeringSockets {
    fn default() -> Self {
        LingeringSockets {
            sockets: VecDeque::new(),
            buffer: vec![0; BUFFER_LEN].into(),
        }
    }
}

impl LingeringSockets {
    /// Adds a socket. Closes the oldest one where there are too many.
    pub(crate) fn push(&mut self, socket: TcpStream, now_ms: u64) {
        if self.sockets.len() == MAX_SOCKETS
            && let Some((mut oldest, _)) = self.sockets.pop_front()
        {
            discard_input(&mut oldest, &mut self.buffer);
        }
        self.sockets.push_back((socket, now_ms + LINGER_MS));
    }

    /// Closes the sockets whose time is over and, while the daemon stops, the sockets that the neighbor has closed.
    pub(crate) fn close_finished(&mut self, now_ms: u64, stopping: bool) {
        let buffer = &mut self.buffer;
        self.sockets.retain_mut(|(socket, until)| {
            if stopping {
                *until = (*until).min(now_ms + STOPPING_LINGER_MS);
            }
            let is_over = *until <= now_ms;
            let look = stopping || is_over;
            !(look && (discard_input(socket, buffer) || is_over))
        });
    }

    /// The time at which the next socket is closed.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.sockets.front().map(|(_, until)| *until)
    }

    /// Returns whether all sockets are closed.
    pub(crate) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_socket_closes_with_its_time_or_its_neighbor() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("an address");
        let connect = || {
            let near = std::net::TcpStream::connect(address).expect("connect");
            near.set_nonblocking(true).expect("non-blocking");
            let (far, _) = listener.accept().expect("accept");
            (TcpStream::from_std(near), far)
        };
        let mut lingering = LingeringSockets::default();
        let (near, mut far) = connect();
        lingering.push(near, 0);
        lingering.close_finished(LINGER_MS - 1, true);
        assert_eq!(lingering.next_deadline(), Some(LINGER_MS));
        lingering.close_finished(LINGER_MS, false);
        assert!(lingering.is_empty());
        assert_eq!(far.read(&mut [0; 1]).expect("the end"), 0);

        let (near, _far) = connect();
        lingering.push(near, 0);
        lingering.close_finished(1, true);
        lingering.close_finished(STOPPING_LINGER_MS, true);
        assert!(!lingering.is_empty());
        lingering.close_finished(STOPPING_LINGER_MS + 1, true);
        assert!(lingering.is_empty(), "a daemon that stops waits less");

        let (near, far) = connect();
        lingering.push(near, 0);
        drop(far);
        lingering.close_finished(1, false);
        assert!(
            !lingering.is_empty(),
            "only a daemon that stops looks early"
        );
        lingering.close_finished(1, true);
        assert!(lingering.is_empty());
    }
}
