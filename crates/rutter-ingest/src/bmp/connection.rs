//! The connection of one router: receives bytes, decodes messages.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rutter_config::Bmp;
use rutter_wire::bmp::next_packet;
use rutter_wire::handover::{self, BadRecord, Reader};

use super::names::Names;
use super::peer_shares::PeerShares;
use super::router::{Next, Router};
use super::status::Routers;
use crate::clock::unix_us;
use crate::io_timeout::is_timeout;
use crate::writer::Writer;
use rutter_server::LogRateLimit;
use rutter_service::{Context, ShutdownSignal};

/// A connection from a router.
pub(super) struct Connection {
    number: u64,
    socket: Arc<TcpStream>,
    router: Router,
    buffer: Vec<u8>,
    filled: usize,
    published: Instant,
    begun: Instant,
    /// The time since which nothing was received.
    quiet: Option<Instant>,
    /// The buffer may hold further complete messages.
    behind: bool,
    silence: Duration,
    shared: Shared,
    name: Name,
}

/// The place from which a connection's thread takes turns. Between two turns the connection can be taken out: it stands still.
pub(super) struct Slot {
    place: Mutex<Place>,
    changed: Condvar,
}

enum Place {
    Open(Box<Connection>),
    /// The connection stands still elsewhere.
    Held,
    /// The connection is closed, or another process has it.
    Empty,
}

impl Slot {
    pub fn new(connection: Connection) -> Self {
        Slot {
            place: Mutex::new(Place::Open(Box::new(connection))),
            changed: Condvar::new(),
        }
    }

    /// Takes the connection out, if it is open. `None` if its turn lasts too long.
    pub fn hold(&self, until: Instant) -> Option<Option<Box<Connection>>> {
        let mut place = self.place.try_lock_until(until)?;
        match std::mem::replace(&mut *place, Place::Held) {
            Place::Open(connection) => Some(Some(connection)),
            other => {
                *place = other;
                Some(None)
            }
        }
    }

    /// Lets a connection go on that was taken out.
    pub fn put_back(&self, connection: Box<Connection>) {
        *self.place.lock() = Place::Open(connection);
        self.changed.notify_all();
    }

    /// Ends the thread of a connection that was taken out.
    pub fn leave_empty(&self) {
        *self.place.lock() = Place::Empty;
        self.changed.notify_all();
    }

    /// Waits until the connection does not stand still.
    fn lock(&self) -> MutexGuard<'_, Place> {
        let mut place = self.place.lock();
        let is_held = |place: &mut Place| matches!(place, Place::Held);
        self.changed.wait_while(&mut place, is_held);
        place
    }
}

/// State that all connections share.
#[derive(Clone)]
pub(super) struct Shared {
    /// The status for operators.
    pub routers: Routers,
    pub names: Names,
    pub peer_shares: PeerShares,
    pub invalid_connections: InvalidConnectionLog,
}

/// The connection owns its router's name. No peer is added before.
enum Name {
    Unasked,
    /// Another connection has owned the name at least since then.
    Awaited(Instant),
    Own,
}

/// Limits log lines about connections that sent no BMP.
pub(super) type InvalidConnectionLog = Arc<Mutex<LogRateLimit>>;

/// The longest accepted message in bytes. An UPDATE has at most 65,535 octets; Route Mirroring may hold several.
const LONGEST: usize = 1 << 20;
/// The bytes requested from the socket at once.
const CHUNK: usize = 256 * 1024;
/// The interval at which the thread checks for shutdown.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(200);
/// The longest time for which one turn handles messages. With thousands of sessions for the same prefixes, one read
/// can take many seconds to handle.
const MAX_TURN: Duration = Duration::from_millis(100);
/// The number of messages after which the thread checks for shutdown.
const CHECK_EVERY: u32 = 16;
/// The interval at which the router's status is published.
const PUBLISH: Duration = Duration::from_secs(1);

impl Connection {
    pub fn new(
        context: &Context,
        number: u64,
        socket: TcpStream,
        address: SocketAddr,
        settings: &Bmp,
        shared: Shared,
    ) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(SHUTDOWN_CHECK))?;
        let writer = Writer::new(Arc::clone(&context.rib), context.shutdown.clone());
        let shares = &shared.peer_shares;
        let router = Router::new(writer, address, settings.max_peers, shares, unix_us());
        let now = Instant::now();
        Ok(Connection {
            number,
            socket: Arc::new(socket),
            router,
            buffer: vec![0; CHUNK],
            filled: 0,
            published: now,
            begun: now,
            quiet: None,
            behind: false,
            silence: Duration::from_secs(settings.silence_s),
            shared,
            name: Name::Unasked,
        })
    }

    /// Appends the connection, with the part of a message that has come.
    pub fn write_state(&self, out: &mut handover::Writer) {
        let ms = |since: Instant| since.elapsed().as_millis() as u64;
        out.number(self.number);
        out.number(ms(self.begun));
        out.optional(self.quiet.map(ms));
        out.octets(&self.buffer[..self.filled]);
        self.router.write_state(out);
    }

    /// Reads a connection. The peers of its router must be in the table. Its name is taken from the others.
    pub fn from_state(
        context: &Context,
        socket: TcpStream,
        settings: &Bmp,
        shared: Shared,
        record: &[u8],
    ) -> Result<Self, BadRecord> {
        let now = Instant::now();
        let before = |ms: u64| now.checked_sub(Duration::from_millis(ms)).unwrap_or(now);
        let mut state = Reader::new(record);
        let number = state.number("connection")?;
        let begun = before(state.number("time")?);
        let quiet = state.optional("time")?.map(before);
        let received = state.octets("received bytes")?;
        if received.len() > LONGEST + CHUNK {
            return Err(BadRecord("received bytes"));
        }
        let writer = Writer::new(Arc::clone(&context.rib), context.shutdown.clone());
        let router =
            Router::from_state(writer, settings.max_peers, &shared.peer_shares, &mut state)?;
        let mut buffer = received.to_vec();
        buffer.resize(received.len().max(CHUNK), 0);
        let name = match router.is_named() {
            true if shared.names.claim(router.name(), number) => Name::Own,
            true => return Err(BadRecord("name of a router")),
            false => Name::Unasked,
        };
        if !state.is_empty() {
            return Err(BadRecord("end"));
        }
        Ok(Connection {
            number,
            socket: Arc::new(socket),
            router,
            filled: received.len(),
            buffer,
            published: now,
            begun,
            quiet,
            // The part that has come may hold messages for which there was no time.
            behind: true,
            silence: Duration::from_secs(settings.silence_s),
            shared,
            name,
        })
    }

    /// The number of the connection in this process and those before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The remote address.
    pub fn address(&self) -> SocketAddr {
        self.router.address()
    }

    /// Reads until the connection is closed, another process has it, or the collector stops.
    pub fn run(slot: &Slot, shutdown: &ShutdownSignal) {
        let (socket, mut pause) = match &*slot.lock() {
            Place::Open(connection) => connection.begin(),
            _ => return,
        };
        loop {
            let (asked, arrived) = (Instant::now(), pause.wait(&socket));
            let mut place = slot.lock();
            let Place::Open(connection) = &mut *place else {
                return;
            };
            let next = match shutdown.is_triggered() {
                true => Err("the collector is stopping".to_owned()),
                false => connection.turn(asked, arrived, shutdown),
            };
            let reason = match next {
                Ok(Next::Continue) => None,
                Ok(Next::Close(reason)) => Some(format!("the router closed it: {reason}")),
                Err(reason) => Some(reason),
            };
            if let Some(reason) = reason {
                connection.close(&reason, shutdown);
                *place = Place::Empty;
                return;
            }
            pause = connection.pause();
            // Whoever wants to keep the connection still would wait for long otherwise.
            MutexGuard::unlock_fair(place);
        }
    }

    fn begin(&self) -> (Arc<TcpStream>, Pause) {
        let Shared { routers, .. } = &self.shared;
        routers.publish(self.number, self.router.status());
        (Arc::clone(&self.socket), self.pause())
    }

    /// What the thread waits for before the next turn.
    fn pause(&self) -> Pause {
        match self.name {
            Name::Awaited(_) => Pause::ForName,
            _ if self.behind => Pause::None,
            _ => Pause::ForBytes,
        }
    }

    fn close(&mut self, reason: &str, shutdown: &ShutdownSignal) {
        let Shared { routers, names, .. } = self.shared.clone();
        let router = self.router.name();
        if self.router.has_sent_bmp() {
            tracing::info!(router, %reason, "BMP router disconnected");
        } else if let Some(left_out) = self.shared.invalid_connections.lock().allow(Instant::now())
        {
            tracing::warn!(router, %reason, left_out, "a connection that was no BMP router's");
        }
        names.leave(self.number);
        if !shutdown.is_triggered() {
            self.router.end(&format!("BMP: {reason}"), unix_us());
        }
        routers.remove(self.number);
        names.release(self.number);
    }

    /// Reads available bytes and handles their messages. The thread waited since `asked`; `arrived` says whether bytes
    /// have come. An error is the reason to close the connection.
    fn turn(
        &mut self,
        asked: Instant,
        arrived: io::Result<bool>,
        shutdown: &ShutdownSignal,
    ) -> Result<Next, String> {
        match self.name {
            // TCP buffers the messages that arrive in this time.
            Name::Awaited(_) => {}
            _ if self.behind => {}
            _ => match arrived {
                Ok(true) => self.read()?,
                // The time spent on earlier messages does not count as silence.
                Ok(false) => drop(self.quiet.get_or_insert(asked)),
                Err(error) => return Err(error.to_string()),
            },
        }
        let next = self.take_messages(shutdown);
        self.router.commit();
        if matches!(next, Ok(Next::Continue)) {
            self.check_silence()?;
        }
        if self.published.elapsed() >= PUBLISH {
            self.published = Instant::now();
            let status = self.router.status();
            self.shared.routers.publish(self.number, status);
            self.router.log_changes();
        }
        next
    }

    fn read(&mut self) -> Result<(), String> {
        if self.filled == self.buffer.len() {
            // The message is longer than the buffer. Its length was checked.
            let len = (self.buffer.len() * 2).min(LONGEST + CHUNK);
            self.buffer.resize(len, 0);
        }
        match (&*self.socket).read(&mut self.buffer[self.filled..]) {
            Ok(0) => return Err("the router closed the connection".into()),
            Ok(count) => {
                self.filled += count;
                self.quiet = None;
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// A router may be silent for days, but not before its first message or inside a message.
    fn check_silence(&self) -> Result<(), String> {
        let (what, since) = match (self.router.has_sent_bmp(), self.quiet) {
            _ if matches!(self.name, Name::Awaited(_)) => return Ok(()),
            (true, Some(quiet)) if self.filled > 0 => ("the rest of a message has not come", quiet),
            (true, _) => return Ok(()),
            (false, _) => ("it has not said a message", self.begun),
        };
        match since.elapsed() < self.silence {
            true => Ok(()),
            false => Err(format!("{what} for {} s", self.silence.as_secs())),
        }
    }

    fn take_messages(&mut self, shutdown: &ShutdownSignal) -> Result<Next, String> {
        let (begun, now) = (Instant::now(), unix_us());
        let (mut at, mut taken) = (0, 0u32);
        let mut next = Ok(Next::Continue);
        self.behind = false;
        while matches!(next, Ok(Next::Continue)) {
            let ends = taken % CHECK_EVERY == 0 && shutdown.is_triggered();
            if ends || begun.elapsed() >= MAX_TURN {
                self.behind = true;
                break;
            }
            match next_packet(&self.buffer[at..self.filled], LONGEST) {
                Ok(Some(packet)) => {
                    match packet.decode() {
                        Ok(message)
                            if self.router.adds_session(&message)
                                && !self.name.is_own(
                                    self.number,
                                    &mut self.router,
                                    &self.shared.names,
                                ) =>
                        {
                            break;
                        }
                        Ok(message) => next = Ok(self.router.handle(&message, now)),
                        Err(fault) => self.router.count_fault(fault),
                    }
                    at += packet.len;
                    taken = taken.wrapping_add(1);
                }
                Ok(None) => break,
                Err(fault) => next = Err(format!("not readable as BMP: {fault}")),
            }
        }
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        next
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What the thread waits for between two turns, without the lock.
enum Pause {
    None,
    ForBytes,
    ForName,
}

impl Pause {
    /// Returns whether bytes or the end of the connection have arrived. Waits a moment at most. The bytes stay in the socket:
    /// another process may read them.
    fn wait(&self, socket: &TcpStream) -> io::Result<bool> {
        match self {
            Pause::None => Ok(true),
            Pause::ForName => {
                thread::sleep(SHUTDOWN_CHECK);
                Ok(true)
            }
            Pause::ForBytes => match socket.peek(&mut [0]) {
                Ok(_) => Ok(true),
                Err(error) if is_timeout(&error) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

impl Name {
    /// Takes the router's name. After a long wait it takes a similar one.
    fn is_own(&mut self, connection: u64, router: &mut Router, names: &Names) -> bool {
        let since = match self {
            Name::Own => return true,
            Name::Unasked => Instant::now(),
            Name::Awaited(since) => *since,
        };
        let name = router.name().to_owned();
        let Some(own) = names.take(&name, connection, since.elapsed()) else {
            *self = Name::Awaited(since);
            return false;
        };
        if own != name {
            tracing::warn!(
                router = own,
                "another router, or another connection of this one, is called {name}"
            );
        }
        router.set_name(&own);
        *self = Name::Own;
        true
    }
}
