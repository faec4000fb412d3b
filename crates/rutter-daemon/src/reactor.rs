//! The loop of an I/O thread: poll, read, decide, write.
//!
//! ```text
//! poll ─► commands ─► read each ready socket ─► one commit a socket ─► timers ─► one flush ─► write
//! ```

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};
use rutter_rib::{Batch, Sweeper};

use crate::connection::{self, Buffers};
use crate::mailbox::Mailbox;
use crate::peer::Peer;
use crate::privileges;
use crate::shared::{Shared, unix_us};
use crate::timers::Timers;

/// What an I/O thread owns. It stands behind a lock that its thread holds during a turn, not while it sleeps:
/// another thread that has little to say to its clients says it in place (see [`Reactor::help`]).
pub(crate) struct Reactor {
    registry: Registry,
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    /// Neighbors that this thread owns.
    pub(crate) peers: Vec<Option<Peer>>,
    pub(crate) free: Vec<usize>,
    pub(crate) by_address: HashMap<IpAddr, usize>,
    pub(crate) timers: Timers,
    pub(crate) batch: Batch,
    pub(crate) buffers: Buffers,
    /// Connections whose sockets may have input.
    pub(crate) to_read: Vec<ConnectionKey>,
    /// Neighbors that may have something to be written.
    pub(crate) to_write: Vec<usize>,
    /// The mailbox may hold something.
    pub(crate) woken: bool,
    /// Clients lag so far behind that nothing is read.
    pub(crate) congested: bool,
    /// When to look for lagging clients again.
    relief_ms: u64,
    /// The streams of all clients may have something new.
    pub(crate) streams_grew: bool,
    /// The neighbor that is written to first the next time all are.
    pub(crate) first_served: usize,
    /// Routes of sessions that ended.
    pub(crate) sweeper: Sweeper,
    /// Closed connections that still drain, and until when.
    pub(crate) lingering: Vec<(TcpStream, u64)>,
    pub(crate) now_ms: u64,
    /// Octets read in this turn.
    pub(crate) read_bytes: usize,
    pub(crate) unix_us: u64,
    /// The end has begun; by then all connections are closed.
    pub(crate) stop_by_ms: Option<u64>,
}

/// One of the two connections that a neighbor may have at a time (RFC 4271 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionKey {
    pub(crate) slot: usize,
    pub(crate) side: usize,
}

impl ConnectionKey {
    pub(crate) fn token(self) -> Token {
        Token(self.slot * 2 + self.side)
    }

    fn of(token: Token) -> Self {
        ConnectionKey {
            slot: token.0 / 2,
            side: token.0 % 2,
        }
    }
}

/// The token of the thread's [`Mailbox`].
pub(crate) const WAKE: Token = Token(usize::MAX);
/// A turn that read no more than this has little to tell.
const SMALL_TURN: usize = 4_096;
/// A thread with more neighbors than this is woken to write to them itself.
const FEW_CLIENTS: usize = 16;
/// Poll again this soon while reading is suspended: another thread's writing ends it.
const CONGESTED_POLL: Duration = Duration::from_millis(2);
/// Look this often whether the neighbors have closed their side while the daemon stops.
const STOPPING_POLL: Duration = Duration::from_millis(10);
/// While reading is suspended, lagging clients are looked for this often.
const RELIEF_MS: u64 = 20;
/// A closed connection drains at most this long.
const LINGER_MS: u64 = 1_000;
/// Neighbors of a thread from which on a turn looks for more input before it writes.
const MANY_PEERS: usize = 32;
/// It looks at most this often, and not after this many octets.
const MOST_POLLS: usize = 8;
const MUCH_INPUT: usize = 256 * 1024;
const MOST_LINGERING: usize = 256;

/// Turns until all sessions have ended after a shutdown.
pub(crate) fn run(shared: &Shared, index: usize, mut poll: Poll) {
    privileges::routes();
    let place = &shared.threads[index].reactor;
    let mut events = Events::with_capacity(1_024);
    let mut timeout = Some(Duration::ZERO);
    loop {
        match poll.poll(&mut events, timeout) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::error!(%error, "an I/O thread ends");
                return;
            }
        }
        let mut place = place.lock();
        let Some(reactor) = place.as_mut() else {
            return;
        };
        reactor.turn(&mut poll, &mut events);
        if reactor.has_ended() {
            *place = None;
            return;
        }
        timeout = reactor.timeout();
    }
}

impl Reactor {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, registry: Registry) -> Self {
        Reactor {
            registry,
            index,
            shared,
            peers: Vec::new(),
            free: Vec::new(),
            by_address: HashMap::new(),
            timers: Timers::default(),
            batch: Batch::new(),
            buffers: Buffers::default(),
            to_read: Vec::new(),
            to_write: Vec::new(),
            woken: false,
            congested: false,
            relief_ms: 0,
            streams_grew: false,
            first_served: 0,
            sweeper: Sweeper::default(),
            lingering: Vec::new(),
            now_ms: 0,
            read_bytes: 0,
            unix_us: 0,
            stop_by_ms: None,
        }
    }

    fn turn(&mut self, poll: &mut Poll, events: &mut Events) {
        self.now_ms = self.shared.clock.now_ms();
        self.unix_us = unix_us();
        self.read_bytes = 0;
        for event in events.iter() {
            self.note(event);
        }
        self.run_commands();
        self.congested = self.shared.rib.congested();
        if self.congested {
            self.relieve();
        }
        self.read_sockets();
        self.read_more(poll, events);
        self.run_timers();
        if !self.sweeper.is_idle() && !self.congested {
            self.sweeper.step(&self.shared.rib);
        }
        if self.shared.rib.flush() {
            self.streams_grew = true;
            self.tell_others();
        }
        self.write_sockets();
        self.drop_lingering();
    }

    /// Takes in what has arrived meanwhile. A turn costs a write a client, however little there is to say, so
    /// with many clients it is worth a poll to say more.
    fn read_more(&mut self, poll: &mut Poll, events: &mut Events) {
        for _ in 0..MOST_POLLS {
            let quiet = self.read_bytes == 0 || self.congested || self.peers.len() < MANY_PEERS;
            if quiet || self.read_bytes > MUCH_INPUT {
                return;
            }
            let polled = poll.poll(events, Some(Duration::ZERO));
            if polled.is_err() || events.is_empty() {
                return;
            }
            for event in events.iter() {
                self.note(event);
            }
            self.read_sockets();
        }
    }

    /// The other threads' clients have something new to hear.
    fn tell_others(&mut self) {
        let small = self.read_bytes <= SMALL_TURN;
        for index in 0..self.shared.threads.len() {
            if index != self.index && !(small && self.help(index)) {
                self.shared.threads[index].mailbox.wake();
            }
        }
    }

    /// Writes to the few clients of another thread that sleeps: waking it takes longer than that. `false` when it
    /// has to be woken after all.
    fn help(&mut self, index: usize) -> bool {
        let shared = Arc::clone(&self.shared);
        let Some(mut other) = shared.threads[index].reactor.try_lock() else {
            return false;
        };
        let Some(other) = other.as_mut() else {
            return true;
        };
        if other.by_address.len() > FEW_CLIENTS {
            return false;
        }
        let deadline = other.timers.next_deadline();
        other.now_ms = self.now_ms;
        other.streams_grew = true;
        other.write_sockets();
        // What is left over, or newly waited for, is for its own thread.
        other.to_write.is_empty() && other.timers.next_deadline() == deadline
    }

    /// Remembers what an event says; nothing is done yet.
    fn note(&mut self, event: &mio::event::Event) {
        if event.token() == WAKE {
            self.mailbox().awake();
            self.woken = true;
            self.streams_grew = true;
            return;
        }
        let key = ConnectionKey::of(event.token());
        let Some(Some(peer)) = self.peers.get_mut(key.slot) else {
            return;
        };
        let Some(connection) = peer.connections[key.side].as_mut() else {
            return;
        };
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.read_closed |= event.is_read_closed() || event.is_error();
            if !connection.readable {
                connection.readable = true;
                self.to_read.push(key);
            }
        }
        if (event.is_writable() || event.is_error()) && !connection.writable {
            connection.writable = true;
            self.to_write.push(key.slot);
        }
    }

    /// How long the poll may sleep.
    fn timeout(&mut self) -> Option<Duration> {
        if !self.to_write.is_empty() || !self.sweeper.is_idle() && !self.congested {
            return Some(Duration::ZERO);
        }
        if !self.to_read.is_empty() || !self.sweeper.is_idle() {
            return Some(if self.congested {
                CONGESTED_POLL
            } else {
                Duration::ZERO
            });
        }
        let timer = self.timers.next_deadline();
        let linger = self.lingering.first().map(|(_, until)| *until);
        if self.stop_by_ms.is_some() {
            return Some(STOPPING_POLL);
        }
        let next = [timer, linger, self.stop_by_ms]
            .into_iter()
            .flatten()
            .min()?;
        Some(Duration::from_millis(
            next.saturating_sub(self.shared.clock.now_ms()),
        ))
    }

    /// Lets lagging clients leave the shared log. The others' threads may sleep: they are woken to do the same.
    fn relieve(&mut self) {
        if self.now_ms < self.relief_ms {
            return;
        }
        self.relief_ms = self.now_ms + RELIEF_MS;
        let established = self
            .peers
            .iter_mut()
            .flatten()
            .filter_map(|p| p.established.as_mut());
        for stream in established.filter_map(|e| e.stream.as_mut()) {
            stream.check_lag(&self.shared.rib, self.now_ms);
        }
        self.shared.wake_all_but(self.index);
    }

    fn run_timers(&mut self) {
        while let Some(slot) = self.timers.pop_due(self.now_ms) {
            self.tick(slot);
        }
    }

    /// Registers a connection for both directions, once: events are edges, so an idle or a full socket costs
    /// nothing.
    pub(crate) fn register(&self, socket: &mut TcpStream, key: ConnectionKey) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(socket, key.token(), both)
    }

    /// Lets a closed connection drain for a moment, so that the NOTIFICATION on it arrives.
    pub(crate) fn linger(&mut self, mut socket: TcpStream) {
        let _ = self.registry.deregister(&mut socket);
        if self.lingering.len() == MOST_LINGERING {
            let (mut oldest, _) = self.lingering.remove(0);
            connection::discard_input(&mut oldest, &mut self.buffers.input);
        }
        self.lingering.push((socket, self.now_ms + LINGER_MS));
    }

    fn drop_lingering(&mut self) {
        let (now_ms, stopping) = (self.now_ms, self.stop_by_ms.is_some());
        let input = &mut self.buffers.input;
        self.lingering.retain_mut(|(socket, until)| {
            let look = stopping || *until <= now_ms;
            !(look && (connection::discard_input(socket, input) || *until <= now_ms))
        });
    }

    fn has_ended(&self) -> bool {
        let Some(stop_by_ms) = self.stop_by_ms else {
            return false;
        };
        let open = self.peers.iter().flatten().any(Peer::has_connection);
        let busy = open || !self.lingering.is_empty();
        !busy || self.now_ms >= stop_by_ms
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.shared.threads[self.index].mailbox
    }
}
