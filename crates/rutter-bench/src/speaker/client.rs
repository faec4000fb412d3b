//! One client: a socket, its position in its stream, and the routes that it holds.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Instant;

use mio::net::TcpStream;
use socket2::{Domain, Protocol, Socket, Type};

use crate::judge::Judge;
use crate::speaker::message::{self, KEEPALIVE, Offer, kind};
use crate::tracker::{Bench, Tracker};

/// The state of a session: the states of RFC 4271 §8 that a client passes through. Idle is split by its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not started, or stopped by us.
    Idle,
    /// The TCP connection is being opened.
    Connect,
    /// Our OPEN is out.
    OpenSent,
    /// Theirs is in.
    OpenConfirm,
    /// UPDATEs flow.
    Established,
    /// The daemon closed it, or the socket failed.
    Down(String),
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its index in the workload.
    pub index: usize,
    /// The state of the session.
    pub state: State,
    /// The socket.
    pub socket: Option<TcpStream>,
    /// The routes that it holds.
    pub tracker: Tracker,
    /// The socket may have something to read.
    pub readable: bool,
    /// The daemon will send no more; read until the end.
    pub hung_up: bool,
    /// The socket may accept more bytes.
    pub writable: bool,
    /// UPDATEs may be sent.
    pub feeding: bool,
    /// Bytes of the stream that were written.
    pub fed: usize,
    /// Most bytes to read at once; small for a slow reader.
    pub read_budget: Option<usize>,
    /// When something was written last.
    pub last_write: Instant,
    /// A slow reader may read again.
    pub may_read: bool,
    /// It is in its worker's list of ready clients.
    pub queued: bool,
    /// `true` if it was last counted as exact.
    pub was_exact: bool,
    /// `true` if its stream was last counted as written.
    pub was_fed: bool,
    /// We closed its last session. The daemon may therefore refuse new ones for a while.
    pub crashed: bool,
    /// When to connect again.
    pub retry_at: Option<Instant>,
    out: Vec<u8>,
    partial: Vec<u8>,
}

/// The work of one turn of a client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Octets read.
    pub received: usize,
    /// Octets written.
    pub sent: usize,
    /// UPDATEs read.
    pub updates: u64,
    /// Prefixes announced in them.
    pub prefixes: u64,
}

impl Client {
    /// Not connected.
    pub fn new(index: usize, expected: u32) -> Self {
        Client {
            index,
            state: State::Idle,
            socket: None,
            tracker: Tracker::new(index as u32, expected),
            readable: false,
            hung_up: false,
            writable: false,
            feeding: false,
            fed: 0,
            read_budget: None,
            last_write: Instant::now(),
            may_read: false,
            queued: false,
            was_exact: false,
            was_fed: false,
            crashed: false,
            retry_at: None,
            out: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Starts a connection from the client's own address. The OPEN is queued.
    pub fn connect(&mut self, target: SocketAddr, bench: &Bench, offer: &Offer) -> io::Result<()> {
        let peer = &bench.workload.peers[self.index];
        let socket = Socket::new(
            Domain::IPV4,
            Type::STREAM.nonblocking(),
            Some(Protocol::TCP),
        )?;
        socket.set_reuse_address(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.bind(&SocketAddr::V4(SocketAddrV4::new(peer.address, 0)).into())?;
        match socket.connect(&target.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(IN_PROGRESS) => {}
            Err(error) => return Err(error),
        }
        self.socket = Some(TcpStream::from_std(socket.into()));
        self.state = State::Connect;
        self.out = message::open(peer.asn, peer.router_id, offer);
        self.partial.clear();
        self.fed = 0;
        self.retry_at = None;
        (self.readable, self.writable, self.hung_up) = (false, false, false);
        Ok(())
    }

    /// Closes the socket and removes the routes of the session.
    pub fn disconnect(&mut self, state: State) {
        self.socket = None;
        self.state = state;
        self.tracker.reset();
        self.out.clear();
        self.partial.clear();
        (self.readable, self.writable, self.fed) = (false, false, 0);
    }

    /// Returns whether the kernel has accepted the whole stream.
    pub fn is_fed(&self, bench: &Bench) -> bool {
        self.feeding
            && self.out.is_empty()
            && self.fed == bench.workload.peers[self.index].stream.len()
    }

    /// Returns whether another message may be inserted: no message of the stream is partly written.
    pub fn is_between_messages(&self, bench: &Bench) -> bool {
        self.fed == 0 || self.fed == bench.workload.peers[self.index].stream.len()
    }

    /// Queues a message of our own (KEEPALIVE, probe).
    pub fn send(&mut self, message: &[u8]) {
        self.out.extend_from_slice(message);
    }

    /// Writes up to a chunk of the queued bytes. `Err`: the socket failed.
    fn write(&mut self, bench: &Bench, turn: &mut Turn) -> io::Result<()> {
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        if self.state == State::Connect {
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
            self.state = State::OpenSent;
        }
        let stream = &bench.workload.peers[self.index].stream;
        let mut budget = WRITE_CHUNK;
        while self.writable && budget > 0 {
            let feed = self.feeding && self.state == State::Established && self.fed < stream.len();
            let from: &[u8] = match (self.out.is_empty(), feed) {
                (false, _) => &self.out,
                (true, true) => &stream[self.fed..(self.fed + budget).min(stream.len())],
                (true, false) => break,
            };
            match socket.write(from) {
                Ok(written) => {
                    self.writable = written == from.len();
                    if self.out.is_empty() {
                        self.fed += written;
                    } else {
                        self.out.drain(..written);
                    }
                    turn.sent += written;
                    budget = budget.saturating_sub(written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads and writes as far as the socket allows. `Err`: the session is over.
    pub fn serve(
        &mut self,
        buffer: &mut [u8],
        judge: &mut Judge,
        bench: &Bench,
        turn: &mut Turn,
    ) -> io::Result<()> {
        if self.writable {
            self.write(bench, turn)?;
        }
        if self.readable && (self.read_budget.is_none() || self.may_read) {
            self.may_read = false;
            self.read(buffer, judge, bench, turn)?;
            if self.writable && !self.out.is_empty() {
                self.write(bench, turn)?;
            }
        }
        Ok(())
    }

    /// Returns whether bytes of the stream may be sent now.
    pub fn may_feed(&self, bench: &Bench) -> bool {
        let stream = bench.workload.peers[self.index].stream.len();
        self.feeding && self.state == State::Established && self.fed < stream
    }

    /// Returns whether the sockets allow any work.
    pub fn is_ready(&self, bench: &Bench) -> bool {
        (self.readable && self.read_budget.is_none())
            || (self.writable && (!self.out.is_empty() || self.may_feed(bench)))
    }

    /// Reads once into `buffer`, which all clients of a thread share, and processes all whole messages.
    fn read(
        &mut self,
        buffer: &mut [u8],
        judge: &mut Judge,
        bench: &Bench,
        turn: &mut Turn,
    ) -> io::Result<()> {
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        let kept = self.partial.len();
        buffer[..kept].copy_from_slice(&self.partial);
        let most = self
            .read_budget
            .map_or(buffer.len(), |budget| (kept + budget).min(buffer.len()));
        let read = match socket.read(&mut buffer[kept..most]) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the daemon closed the connection",
                ));
            }
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        turn.received += read;
        if read >= MUCH {
            self.tracker.prefetch();
        }
        // A short read means that the socket is empty; the next event announces more.
        self.readable = kept + read == most || self.hung_up;
        self.take_in(&buffer[..kept + read], judge, bench, turn)
    }

    fn take_in(
        &mut self,
        mut bytes: &[u8],
        judge: &mut Judge,
        bench: &Bench,
        turn: &mut Turn,
    ) -> io::Result<()> {
        while bytes.len() >= 19 {
            let length = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
            if length < 19 {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a message length below 19",
                ));
            }
            let Some(message) = bytes.get(..length) else {
                break;
            };
            self.message(message[18], &message[19..], judge, bench, turn)?;
            bytes = &bytes[length..];
        }
        self.partial.clear();
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn message(
        &mut self,
        kind: u8,
        body: &[u8],
        judge: &mut Judge,
        bench: &Bench,
        turn: &mut Turn,
    ) -> io::Result<()> {
        match kind {
            kind::UPDATE => {
                turn.updates += 1;
                let before = self.tracker.announced;
                self.tracker.update(body, judge, bench);
                turn.prefixes += self.tracker.announced - before;
            }
            kind::OPEN => {
                self.state = State::OpenConfirm;
                self.out.extend_from_slice(&KEEPALIVE);
            }
            kind::KEEPALIVE if self.state == State::OpenConfirm => self.state = State::Established,
            kind::NOTIFICATION => {
                return Err(io::Error::new(
                    io::ErrorKind::ConnectionReset,
                    message::notification_text(body),
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The size of one read, besides the rest of a message.
pub(crate) const READ_BUFFER: usize = 64 * 1024;
/// A read of this size probably touches most of the client's destinations.
const MUCH: usize = 16 * 1024;
const WRITE_CHUNK: usize = 256 * 1024;
/// EINPROGRESS on Linux.
const IN_PROGRESS: i32 = 115;
