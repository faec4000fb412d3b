//! An honest pair: one member announces a prefix again and again, the other notices when it receives each change.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::session::{Offer, Session};
use crate::speaker::message::{KEEPALIVE, kind, probe};
use crate::workload::Peer;

/// How long changes took from one member to the other, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delays {
    /// Changes that were announced.
    pub rounds: usize,
    /// The median.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The largest.
    pub max_ms: f64,
}

impl Delays {
    pub(super) fn of(mut delays: Vec<Duration>) -> Self {
        delays.sort_unstable();
        let at = |part: usize| {
            let index = (delays.len() * part / 100).min(delays.len().saturating_sub(1));
            delays
                .get(index)
                .map_or(0.0, |delay| delay.as_secs_f64() * 1e3)
        };
        Delays {
            rounds: delays.len(),
            p50_ms: at(50),
            p99_ms: at(99),
            max_ms: at(100),
        }
    }
}

/// Two honest members.
#[derive(Debug)]
pub(super) struct Pair {
    announcer: Member,
    listener: Member,
    measurement: Mutex<Measurement>,
}

/// One of them.
#[derive(Debug)]
struct Member {
    peer: Peer,
    session: Session,
    has_announced: AtomicBool,
    /// The daemon is about to end, so that an error is no loss.
    is_over: AtomicBool,
    error: Mutex<Option<String>>,
}

/// The changes of the current measurement, and the delays of the changes that arrived.
#[derive(Debug, Default)]
struct Measurement {
    is_running: bool,
    /// Changes that have not arrived, oldest first: the round and when it was announced.
    outstanding: std::collections::VecDeque<(u32, Instant)>,
    delays: Vec<Duration>,
}

impl Pair {
    /// Connects both members.
    pub(super) fn establish(
        target: SocketAddr,
        announcer: &Peer,
        listener: &Peer,
    ) -> io::Result<Pair> {
        Ok(Pair {
            announcer: Member::establish(target, announcer)?,
            listener: Member::establish(target, listener)?,
            measurement: Mutex::default(),
        })
    }

    /// Starts the threads of both members. They end when `stop` is set and the sockets are closed.
    pub(super) fn run<'scope>(
        &'scope self,
        threads: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
    ) {
        threads.spawn(|| {
            self.announcer
                .guard(stop, |member| self.announce(member, stop))
        });
        threads.spawn(|| self.listener.guard(stop, |member| member.keep_alive(stop)));
        threads.spawn(|| self.announcer.guard(stop, |member| member.read(|_| {})));
        threads.spawn(|| {
            self.listener
                .guard(stop, |member| member.read(|body| self.receive(body)))
        });
    }

    /// Both members have sent their routes.
    pub(super) fn has_announced(&self) -> bool {
        [&self.announcer, &self.listener]
            .iter()
            .all(|member| member.has_announced.load(Ordering::Acquire))
    }

    /// Begins a measurement.
    pub(super) fn begin(&self) {
        *self.measurement() = Measurement {
            is_running: true,
            ..Measurement::default()
        };
    }

    /// Ends the measurement. A change that has not arrived counts with the time that it has been waiting.
    pub(super) fn end(&self) -> Vec<Duration> {
        let mut measurement = std::mem::take(&mut *self.measurement());
        let waiting = measurement
            .outstanding
            .iter()
            .map(|(_, announced)| announced.elapsed());
        measurement.delays.extend(waiting);
        measurement.delays
    }

    /// From here on, errors are not counted: the daemon will be stopped.
    pub(super) fn expect_the_end(&self) {
        for member in [&self.announcer, &self.listener] {
            member.is_over.store(true, Ordering::Release);
        }
    }

    /// The sessions that were lost, with the error.
    pub(super) fn lost(&self) -> Vec<String> {
        [&self.announcer, &self.listener]
            .iter()
            .filter_map(|member| member.lost())
            .collect()
    }

    /// Closes both sessions.
    pub(super) fn close(&self) {
        self.announcer.session.close();
        self.listener.session.close();
    }

    /// Sends the member's routes, then the pair's prefix with another MED each time.
    fn announce(&self, member: &Member, stop: &AtomicBool) -> io::Result<()> {
        let mut session = member.session.try_clone()?;
        session.send(&member.peer.stream)?;
        member.has_announced.store(true, Ordering::Release);
        let mut next = Instant::now();
        let mut round = 0;
        while !stop.load(Ordering::Acquire) {
            round += 1;
            let message = probe(
                member.peer.asn,
                &member.peer.next_hops,
                member.probe_prefix(),
                round,
            );
            {
                let mut measurement = self.measurement();
                if measurement.is_running {
                    measurement.outstanding.push_back((round, Instant::now()));
                }
            }
            session.send(&message)?;
            next = (next + INTERVAL).max(Instant::now());
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Notes the delay of each change up to the one in this UPDATE: a later change supersedes those before it.
    fn receive(&self, body: &[u8]) {
        let now = Instant::now();
        let Some(round) = self.announcer.round_in(body) else {
            return;
        };
        let mut measurement = self.measurement();
        while let Some(&(first, announced)) = measurement.outstanding.front()
            && first <= round
        {
            measurement.outstanding.pop_front();
            measurement
                .delays
                .push(now.saturating_duration_since(announced));
        }
    }

    fn measurement(&self) -> MutexGuard<'_, Measurement> {
        self.measurement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    fn establish(target: SocketAddr, peer: &Peer) -> io::Result<Member> {
        Ok(Member {
            peer: peer.clone(),
            session: Session::establish(target, peer, &Offer::default())?,
            has_announced: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            error: Mutex::new(None),
        })
    }

    /// Runs one of the member's threads; its error is the loss of the session.
    fn guard(&self, stop: &AtomicBool, run: impl FnOnce(&Member) -> io::Result<()>) {
        let result = run(self);
        self.session.close();
        let is_expected = stop.load(Ordering::Acquire) || self.is_over.load(Ordering::Acquire);
        if let Err(error) = result
            && !is_expected
        {
            let mut stored = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            stored.get_or_insert_with(|| error.to_string());
        }
    }

    /// Sends the member's routes, then a KEEPALIVE now and then.
    fn keep_alive(&self, stop: &AtomicBool) -> io::Result<()> {
        let mut session = self.session.try_clone()?;
        session.send(&self.peer.stream)?;
        self.has_announced.store(true, Ordering::Release);
        let mut last = Instant::now();
        while !stop.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(50));
            if last.elapsed() > KEEPALIVE_INTERVAL {
                session.send(&KEEPALIVE)?;
                last = Instant::now();
            }
        }
        Ok(())
    }

    fn read(&self, mut received: impl FnMut(&[u8])) -> io::Result<()> {
        let mut listener = self.session.listen()?;
        let mut body = Vec::new();
        loop {
            if listener.receive(&mut body)? == kind::UPDATE {
                received(&body);
            }
        }
    }

    fn lost(&self) -> Option<String> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error
            .as_ref()
            .map(|error| format!("{}: {error}", self.peer.address))
    }

    /// The prefix that the announcer changes: one for each member, outside of the workload's.
    fn probe_prefix(&self) -> rutter_net::Prefix {
        let [.., high, low] = self.peer.address.octets();
        let bits = u32::from_be_bytes([11, high, low, 0]);
        rutter_net::Prefix::V4(
            rutter_net::Ipv4Prefix::new(bits, 24).unwrap_or(rutter_net::Ipv4Prefix::DEFAULT),
        )
    }

    /// The MED of an UPDATE that announces the member's prefix, which is the round.
    fn round_in(&self, body: &[u8]) -> Option<u32> {
        let [.., high, low] = self.peer.address.octets();
        let withdrawn = usize::from(u16::from_be_bytes(body.get(..2)?.try_into().ok()?));
        let rest = body.get(2 + withdrawn..)?;
        let length = usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
        let (mut attributes, nlri) = rest.get(2..)?.split_at_checked(length)?;
        if !nlri.windows(4).any(|prefix| prefix == [24, 11, high, low]) {
            return None;
        }
        while let [flags, code, ..] = *attributes {
            let (length, value) = match flags & 0x10 {
                0 => (usize::from(*attributes.get(2)?), 3),
                _ => (
                    usize::from(u16::from_be_bytes(attributes.get(2..4)?.try_into().ok()?)),
                    4,
                ),
            };
            let value_bytes = attributes.get(value..value + length)?;
            if code == MED {
                return Some(u32::from_be_bytes(value_bytes.try_into().ok()?));
            }
            attributes = attributes.get(value + length..)?;
        }
        None
    }
}

const MED: u8 = 4;
/// Between two changes.
const INTERVAL: Duration = Duration::from_millis(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_a_hundred_changes() {
        let delays = Delays::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(
            (delays.rounds, delays.p50_ms, delays.p99_ms, delays.max_ms),
            (100, 51.0, 100.0, 100.0)
        );
        assert_eq!(Delays::of(Vec::new()).max_ms, 0.0);
    }
}
