//! Replays records to sessions at a given speed.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use rutter_net::{Asn, Prefix};
use rutter_wire::frame::MAX_LEN;
use rutter_wire::mrt::Record;

use super::converter::{Converter, UpdateContent};
use super::speaker::Speaker;
use rutter_mrt::{FilePeer, RecordOutcome};

/// The speed of a replay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Speed {
    /// As fast as the receiver accepts the records.
    Full,
    /// A multiple of the recorded speed.
    Times(f64),
}

/// The target of a replay, and its options.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// The BGP daemon.
    pub to: SocketAddr,
    /// The local AS of the sessions; `None`: the AS of the peer in the file.
    pub asn: Option<Asn>,
    /// Replay only the routes of this peer.
    pub peer: Option<IpAddr>,
    /// Opens a session for each peer of the files, from consecutive addresses of this prefix. `None`: one session for
    /// all.
    pub each_from: Option<Prefix>,
    /// The local address of a single session.
    pub from: Option<IpAddr>,
    /// The pace of the records.
    pub speed: Speed,
}

/// The numbers of replayed items.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ReplayCounts {
    /// Sessions.
    pub sessions: usize,
    /// Routes announced and withdrawn.
    pub routes: u64,
    /// The UPDATEs that were left out because they are too long for the receiver.
    pub too_long: u64,
}

/// The error at which a replay ends.
#[derive(Debug)]
pub struct ReplayError {
    to: SocketAddr,
    why: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.to, self.why)
    }
}

impl std::error::Error for ReplayError {}

/// Replays records. Dropping it closes its sessions.
pub struct Player<'a> {
    settings: ReplaySettings,
    converter: Converter,
    sessions: HashMap<Option<FilePeer>, Speaker>,
    begun: Option<(u64, Instant)>,
    played: ReplayCounts,
    to_end: &'a dyn Fn() -> bool,
}

/// The longest sleep between checks of the sessions and of `to_end`.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// The number of unsent bytes that causes a write.
const FLUSH_AT: usize = 64 * 1024;

impl<'a> Player<'a> {
    /// Creates a player. A session is opened with its first route. As soon as `to_end` returns `true`, the replay
    /// stops.
    pub fn new(settings: ReplaySettings, to_end: &'a dyn Fn() -> bool) -> Self {
        Player {
            settings,
            converter: Converter::default(),
            sessions: HashMap::new(),
            begun: None,
            played: ReplayCounts::default(),
            to_end,
        }
    }

    /// Replays a record when it is due.
    pub fn play(&mut self, record: &Record<'_>) -> Result<RecordOutcome, ReplayError> {
        self.wait_for(record.unix_us)?;
        if (self.to_end)() {
            return Ok(RecordOutcome::READ);
        }
        let mut converter = std::mem::take(&mut self.converter);
        let mut result = Ok(());
        let outcome = converter.convert(record, &mut |update| {
            if result.is_ok()
                && self
                    .settings
                    .peer
                    .is_none_or(|peer| update.peer.address == peer)
            {
                result = self.send_update(update);
            }
        });
        self.converter = converter;
        match result {
            Ok(()) => Ok(outcome),
            Err(why) => Err(self.error(why)),
        }
    }

    /// The numbers so far.
    pub fn played(&self) -> ReplayCounts {
        self.played
    }

    /// Writes all unsent bytes and returns the numbers.
    pub fn finish(&mut self) -> Result<ReplayCounts, ReplayError> {
        self.flush()?;
        Ok(self.played)
    }

    /// The reason why a session ended, if one did.
    pub fn ended(&self) -> Option<String> {
        self.sessions.values().find_map(Speaker::ended)
    }

    fn wait_for(&mut self, unix_us: u64) -> Result<(), ReplayError> {
        let Speed::Times(times) = self.settings.speed else {
            return Ok(());
        };
        let (first, begun) = *self.begun.get_or_insert_with(|| (unix_us, Instant::now()));
        let since = unix_us.saturating_sub(first) as f64 / 1e6 / times;
        let due = Duration::try_from_secs_f64(since).unwrap_or(Duration::MAX);
        if due > begun.elapsed() {
            self.flush()?;
        }
        // Sleeps in steps, to notice a session that ends.
        while due > begun.elapsed() {
            if let Some(why) = self.ended() {
                return Err(self.error(why));
            }
            if (self.to_end)() {
                break;
            }
            thread::sleep(MAX_SLEEP.min(due.saturating_sub(begun.elapsed())));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReplayError> {
        let to_end = self.to_end;
        let mut sessions = self.sessions.values_mut();
        let flushed = sessions.try_for_each(|session| session.flush_until(to_end));
        flushed.map_err(|why| self.error(why))
    }

    fn error(&self, why: String) -> ReplayError {
        let to = self.settings.to;
        ReplayError { to, why }
    }

    fn send_update(&mut self, update: &UpdateContent<'_>) -> Result<(), String> {
        let key = self.settings.each_from.map(|_| update.peer);
        if !self.sessions.contains_key(&key) {
            let session = self.open(update.peer.asn)?;
            self.sessions.insert(key, session);
            self.played.sessions += 1;
        }
        let Some(session) = self.sessions.get_mut(&key) else {
            return Ok(());
        };
        let before = session.out.len();
        update.write(&mut session.out, session.add_path);
        if session.out.len() - before > MAX_LEN && !remove_too_long(&mut session.out, before) {
            self.played.too_long += 1;
        } else {
            self.played.routes += update.routes() as u64;
        }
        if session.out.len() >= FLUSH_AT {
            session.flush_until(self.to_end)?;
        }
        Ok(())
    }

    fn open(&self, asn: Asn) -> Result<Speaker, String> {
        let number = self.sessions.len() as u32;
        let from = match self.settings.each_from {
            Some(prefix) => Some(address_of(prefix, number)?),
            None => self.settings.from,
        };
        let bgp_id = match from {
            Some(IpAddr::V4(address)) => address.to_bits(),
            _ => FIRST_ID + number,
        };
        let asn = self.settings.asn.unwrap_or(asn);
        Speaker::connect_with_retries(self.settings.to, from, asn, bgp_id, self.to_end)
    }
}

/// The BGP Identifiers of sessions without an IPv4 address: from 198.18.0.0/15, the range for benchmarks.
const FIRST_ID: u32 = 0xc612_0001;

/// The local address of a session. The first one follows the network's own address.
fn address_of(prefix: Prefix, number: u32) -> Result<IpAddr, String> {
    let address: IpAddr = match prefix.addr() {
        IpAddr::V4(first) => {
            std::net::Ipv4Addr::from_bits(first.to_bits().wrapping_add(number + 1)).into()
        }
        IpAddr::V6(first) => {
            std::net::Ipv6Addr::from_bits(first.to_bits().wrapping_add(u128::from(number) + 1))
                .into()
        }
    };
    match prefix.contains(address) {
        true => Ok(address),
        false => Err(format!(
            "the files have more peers than {prefix} has addresses"
        )),
    }
}

/// Removes messages after `start` that are too long for the receiver. Returns `false` if there was one.
fn remove_too_long(out: &mut Vec<u8>, start: usize) -> bool {
    let written = out.split_off(start);
    let (mut rest, mut all) = (&written[..], true);
    while rest.len() >= 19 {
        let len = usize::from(u16::from_be_bytes([rest[16], rest[17]]));
        let Some((message, after)) = rest.split_at_checked(len.max(19)) else {
            break;
        };
        match len <= MAX_LEN {
            true => out.extend_from_slice(message),
            false => all = false,
        }
        rest = after;
    }
    all
}
