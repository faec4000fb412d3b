//! The connection of one router: bytes in, messages out.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_config::Bmp;
use rutter_wire::bmp::next_packet;

use super::router::{Next, Router};
use super::status::Routers;
use crate::clock::unix_us;
use crate::seldom::Seldom;
use crate::{Context, Stop};

/// A connection that is being read.
pub(super) struct Connection {
    number: u64,
    socket: TcpStream,
    router: Router,
    routers: Routers,
    buffer: Vec<u8>,
    filled: usize,
    published: Instant,
    begun: Instant,
    /// When octets came last.
    heard: Instant,
    silence: Duration,
    strangers: Strangers,
}

/// What is logged of connections that said nothing.
pub(super) type Strangers = Arc<Mutex<Seldom>>;

/// Longest message taken. An UPDATE has at most 65,535 octets; mirroring may hold several.
const LONGEST: usize = 1 << 20;
/// Octets asked of the socket at once.
const CHUNK: usize = 256 * 1024;
/// The thread looks this often whether it is to end.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often the router's figures are shown to others.
const PUBLISH: Duration = Duration::from_secs(1);

impl Connection {
    pub fn new(
        context: &Context,
        number: u64,
        socket: TcpStream,
        address: SocketAddr,
        settings: &Bmp,
        routers: Routers,
        strangers: Strangers,
    ) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let rib = Arc::clone(&context.rib);
        Ok(Connection {
            number,
            socket,
            router: Router::new(rib, address, settings.max_peers, unix_us()),
            routers,
            buffer: vec![0; CHUNK],
            filled: 0,
            published: Instant::now(),
            begun: Instant::now(),
            heard: Instant::now(),
            silence: Duration::from_secs(settings.silence_s),
            strangers,
        })
    }

    /// Reads until the connection or the collector ends.
    pub fn run(mut self, stop: &Stop) {
        self.routers.publish(self.number, self.router.status());
        let reason = loop {
            if stop.is_set() {
                break "the collector is stopping".to_owned();
            }
            match self.turn() {
                Ok(Next::Continue) => {}
                Ok(Next::Close(reason)) => break format!("the router says: {reason}"),
                Err(reason) => break reason,
            }
        };
        let router = self.router.name();
        if self.router.has_spoken() {
            tracing::info!(router, %reason, "BMP router disconnected");
        } else if let Some(left_out) = self.strangers.lock().may() {
            tracing::warn!(router, %reason, left_out, "a connection that was no BMP router's");
        }
        if !stop.is_set() {
            self.router.end(&format!("BMP: {reason}"), unix_us());
        }
        self.routers.remove(self.number);
    }

    /// Reads what has come and takes its messages. `Err`: why there will be no more.
    fn turn(&mut self) -> Result<Next, String> {
        if self.filled == self.buffer.len() {
            // A message longer than what was needed so far; its length has been looked at.
            let len = (self.buffer.len() * 2).min(LONGEST + CHUNK);
            self.buffer.resize(len, 0);
        }
        match self.socket.read(&mut self.buffer[self.filled..]) {
            Ok(0) => return Err("the router closed the connection".into()),
            Ok(count) => {
                self.filled += count;
                self.heard = Instant::now();
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error.to_string()),
        }
        let next = self.take_messages();
        self.router.commit();
        if matches!(next, Ok(Next::Continue)) {
            self.check_silence()?;
        }
        if self.published.elapsed() >= PUBLISH {
            self.published = Instant::now();
            self.routers.publish(self.number, self.router.status());
            self.router.tell_changes();
        }
        next
    }

    /// A router may be silent for days, but not before its first message, and not inside one.
    fn check_silence(&self) -> Result<(), String> {
        let (what, since) = match (self.router.has_spoken(), self.filled) {
            (true, 0) => return Ok(()),
            (true, _) => ("the rest of a message has not come", self.heard),
            (false, _) => ("it has not said a message", self.begun),
        };
        match since.elapsed() < self.silence {
            true => Ok(()),
            false => Err(format!("{what} for {} s", self.silence.as_secs())),
        }
    }

    fn take_messages(&mut self) -> Result<Next, String> {
        let now = unix_us();
        let mut at = 0;
        let mut next = Ok(Next::Continue);
        while matches!(next, Ok(Next::Continue)) {
            match next_packet(&self.buffer[at..self.filled], LONGEST) {
                Ok(Some(packet)) => {
                    at += packet.len;
                    match packet.decode() {
                        Ok(message) => next = Ok(self.router.handle(&message, now)),
                        Err(fault) => self.router.count_fault(fault),
                    }
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

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
