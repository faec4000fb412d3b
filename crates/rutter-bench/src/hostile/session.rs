//! A BGP session over a blocking socket, which can send any bytes.

use std::io::{self, BufReader, Read, Write as _};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::speaker::message::{KEEPALIVE, kind, notification_text};
use crate::workload::Peer;

/// The capabilities of an OPEN, and the socket below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    /// Capabilities beside both unicast families, route refresh and four-octet AS numbers, as code, length and value.
    pub capabilities: Vec<u8>,
    /// Hold Time in seconds.
    pub hold_time_s: u16,
    /// The size of the socket's receive buffer in bytes, if it is not the system's.
    pub receive_buffer: Option<usize>,
}

/// An established session.
#[derive(Debug)]
pub(super) struct Session {
    socket: TcpStream,
}

impl Session {
    /// Connects from the member's address and waits until the session is established.
    pub(super) fn establish(target: SocketAddr, peer: &Peer, offer: &Offer) -> io::Result<Session> {
        let mut session = Session::connect(target, peer, offer)?;
        session.send(&open(peer, offer))?;
        session.expect(kind::OPEN)?;
        session.send(&KEEPALIVE)?;
        session.expect(kind::KEEPALIVE)?;
        session.socket.set_read_timeout(None)?;
        Ok(session)
    }

    /// Connects from the member's address and sends nothing.
    pub(super) fn connect(target: SocketAddr, peer: &Peer, offer: &Offer) -> io::Result<Session> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_tcp_nodelay(true)?;
        if let Some(bytes) = offer.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(&SocketAddr::V4(SocketAddrV4::new(peer.address, 0)).into())?;
        socket.connect_timeout(&target.into(), HANDSHAKE)?;
        socket.set_read_timeout(Some(HANDSHAKE))?;
        Ok(Session {
            socket: socket.into(),
        })
    }

    /// Another handle of the same session.
    pub(super) fn try_clone(&self) -> io::Result<Session> {
        Ok(Session {
            socket: self.socket.try_clone()?,
        })
    }

    /// Writes bytes, and waits for the socket without a timeout.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Reads one message: its type and its body.
    ///
    /// A NOTIFICATION is an error with its codes.
    pub(super) fn receive(&mut self, body: &mut Vec<u8>) -> io::Result<u8> {
        receive(&mut self.socket, body)
    }

    /// Reads messages from now on, many at once: a listener that took two system calls for each small message would
    /// measure itself.
    pub(super) fn listen(&self) -> io::Result<Listener> {
        let socket = self.socket.try_clone()?;
        Ok(Listener(BufReader::with_capacity(LISTENER_BUFFER, socket)))
    }

    /// Reads at most so many bytes and ignores them.
    pub(super) fn discard(&mut self, bytes: usize) -> io::Result<usize> {
        let mut buffer = vec![0; bytes];
        self.socket.read(&mut buffer)
    }

    /// Ends both directions, so that threads that wait for the socket return.
    pub(super) fn close(&self) {
        // The other side may have closed it already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn expect(&mut self, wanted: u8) -> io::Result<()> {
        let mut body = Vec::new();
        let received = self.receive(&mut body)?;
        if received == wanted {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "message type {received} instead of {wanted}"
        )))
    }
}

/// The reading side of a session.
#[derive(Debug)]
pub(super) struct Listener(BufReader<TcpStream>);

impl Listener {
    /// As [`Session::receive`].
    pub(super) fn receive(&mut self, body: &mut Vec<u8>) -> io::Result<u8> {
        receive(&mut self.0, body)
    }
}

fn receive(from: &mut impl Read, body: &mut Vec<u8>) -> io::Result<u8> {
    let mut header = [0; 19];
    from.read_exact(&mut header)?;
    let length = usize::from(u16::from_be_bytes([header[16], header[17]]));
    body.resize(length.saturating_sub(19), 0);
    from.read_exact(body)?;
    if header[18] == kind::NOTIFICATION {
        return Err(io::Error::other(notification_text(body)));
    }
    Ok(header[18])
}

/// An OPEN with both unicast families, route refresh, four-octet AS numbers and the capabilities of the offer.
pub(super) fn open(peer: &Peer, offer: &Offer) -> Vec<u8> {
    let mut capabilities = vec![1, 4, 0, 1, 0, 1, 1, 4, 0, 2, 0, 1, 2, 0, 65, 4];
    capabilities.extend_from_slice(&peer.asn.0.to_be_bytes());
    capabilities.extend_from_slice(&offer.capabilities);
    let two_octets = if peer.asn.is_two_octet() {
        peer.asn.0 as u16
    } else {
        AS_TRANS
    };
    let hold_time = if offer.hold_time_s == 0 {
        HOLD_TIME
    } else {
        offer.hold_time_s
    };
    let mut body = vec![4];
    body.extend_from_slice(&two_octets.to_be_bytes());
    body.extend_from_slice(&hold_time.to_be_bytes());
    body.extend_from_slice(&peer.router_id.octets());
    body.extend_from_slice(&[capabilities.len() as u8 + 2, 2, capabilities.len() as u8]);
    body.extend_from_slice(&capabilities);
    message(kind::OPEN, &body)
}

/// A message with its header (RFC 4271 §4.1).
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0xff; 16];
    out.extend_from_slice(&(19 + body.len() as u16).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(body);
    out
}

const LISTENER_BUFFER: usize = 256 * 1024;
const AS_TRANS: u16 = 23_456;
const HOLD_TIME: u16 = 30;
const HANDSHAKE: Duration = Duration::from_secs(20);
