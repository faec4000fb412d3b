//! The connection of one router: receives bytes, decodes messages.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_config::Bmp;
use rutter_wire::bmp::next_packet;

use super::names::Names;
use super::router::{Next, Router};
use super::status::Routers;
use crate::clock::unix_us;
use crate::io_timeout::is_timeout;
use crate::writer::Writer;
use rutter_limits::LogRateLimit;
use rutter_service::{Context, ShutdownSignal};

/// A connection from a router.
pub(super) struct Connection {
    number: u64,
    socket: TcpStream,
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

/// State that all connections share.
#[derive(Clone)]
pub(super) struct Shared {
    /// The status for operators.
    pub routers: Routers,
    pub names: Names,
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
        Ok(Connection {
            number,
            socket,
            router: Router::new(writer, address, settings.max_peers, unix_us()),
            buffer: vec![0; CHUNK],
            filled: 0,
            published: Instant::now(),
            begun: Instant::now(),
            quiet: None,
            behind: false,
            silence: Duration::from_secs(settings.silence_s),
            shared,
            name: Name::Unasked,
        })
    }

    /// Reads until the connection is closed or the collector stops.
    pub fn run(mut self, shutdown: &ShutdownSignal) {
        let Shared { routers, names, .. } = self.shared.clone();
        routers.publish(self.number, self.router.status());
        let reason = loop {
            if shutdown.is_triggered() {
                break "the collector is stopping".to_owned();
            }
            match self.turn(shutdown) {
                Ok(Next::Continue) => {}
                Ok(Next::Close(reason)) => break format!("the router closed it: {reason}"),
                Err(reason) => break reason,
            }
        };
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

    /// Reads available bytes and handles their messages. An error is the reason to close the connection.
    fn turn(&mut self, shutdown: &ShutdownSignal) -> Result<Next, String> {
        match self.name {
            // TCP buffers the messages that arrive in this time.
            Name::Awaited(_) => thread::sleep(SHUTDOWN_CHECK),
            _ if self.behind => {}
            _ => self.read()?,
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
        let asked = Instant::now();
        match self.socket.read(&mut self.buffer[self.filled..]) {
            Ok(0) => return Err("the router closed the connection".into()),
            Ok(count) => {
                self.filled += count;
                self.quiet = None;
            }
            // The time spent on earlier messages does not count as silence.
            Err(error) if is_timeout(&error) => {
                self.quiet.get_or_insert(asked);
            }
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
