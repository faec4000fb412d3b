//! Changes of TCP MD5 keys on established connections.
//!
//! Linux lets a socket change its key in every state, but it accepts segments with one key at a time. So Rutter finds out
//! which key the neighbor uses: it sends a KEEPALIVE with one key and waits for an ACK, which the kernel accepts only with
//! that key. Without an ACK it tries the other key. TCP sends the dropped segments again. When the
//! neighbor has sent an ACK with the new key, the old one is gone.
//!
//! The first try of the new key is long: a neighbor that does the same and waits with the old key finds it.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, BorrowedFd};

use rutter_config::Secret;
use rutter_wire::frame::KEEPALIVE;

use crate::session_driver::SessionDriver;
use crate::sockopt::{self, KeyScope};

/// The time that a neighbor has for the ACK of a KEEPALIVE, milliseconds.
const ACK_WITHIN_MS: u64 = 1_500;
/// The time between two KEEPALIVEs while the neighbor uses the old key, milliseconds.
const ASK_EVERY_MS: u64 = 3_000;
/// The time of the first try of the new key, milliseconds: a Rutter that waits with the old key asks and changes in it.
const FIRST_TRY_MS: u64 = ASK_EVERY_MS + ACK_WITHIN_MS + 1_500;
/// The kernel measures the time of the last ACK in steps of at most this size, milliseconds.
const CLOCK_STEP_MS: u64 = 20;

/// The changes of one thread, by neighbor.
#[derive(Default)]
pub(crate) struct KeyChanges {
    pending: BTreeMap<IpAddr, KeyChange>,
}

/// A change of the key of one connection.
#[derive(Debug)]
pub(crate) struct KeyChange {
    /// `None`: segments without a signature.
    old: Option<Secret>,
    new: Option<Secret>,
    uses_new: bool,
    /// The time of the last KEEPALIVE, or of the last change between the keys; `None` before the first.
    asked_ms: Option<u64>,
    /// The time that the neighbor has for an answer, milliseconds.
    patience_ms: u64,
    /// The neighbor has sent an ACK since then.
    is_answered: bool,
}

/// The next step of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Wait.
    Wait,
    /// Send a KEEPALIVE.
    Ask,
    /// Use this side's other key, then send a KEEPALIVE.
    Switch,
    /// The neighbor uses the new key.
    Done,
}

impl KeyChanges {
    /// Begins a change, or replaces the new key of a change that goes on.
    pub(crate) fn begin(&mut self, neighbor: IpAddr, (old, new): (Option<Secret>, Option<Secret>)) {
        let earlier = self.pending.remove(&neighbor);
        // While the first change is undecided, either of its keys may be the one in use.
        let old = match earlier {
            Some(earlier) if earlier.uses_new => earlier.new,
            Some(earlier) => earlier.old,
            None => old,
        };
        if old == new {
            return;
        }
        let change = KeyChange {
            old,
            new,
            uses_new: false,
            asked_ms: None,
            patience_ms: FIRST_TRY_MS,
            is_answered: false,
        };
        self.pending.insert(neighbor, change);
    }

    /// Ends the change of a neighbor whose connection is gone: the next one begins with the new key.
    pub(crate) fn forget(&mut self, neighbor: IpAddr) {
        self.pending.remove(&neighbor);
    }

    /// The neighbors whose keys change.
    pub(crate) fn neighbors(&self) -> Vec<IpAddr> {
        self.pending.keys().copied().collect()
    }

    /// The change of a neighbor.
    pub(crate) fn of(&mut self, neighbor: IpAddr) -> Option<&mut KeyChange> {
        self.pending.get_mut(&neighbor)
    }

    /// The time of the next step.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.pending.values().map(KeyChange::deadline_ms).min()
    }
}

impl KeyChange {
    fn deadline_ms(&self) -> u64 {
        let after_ms = match self.is_answered {
            true => ASK_EVERY_MS,
            false => self.patience_ms,
        };
        self.asked_ms.map_or(0, |asked_ms| asked_ms + after_ms)
    }

    /// Returns the next step. `last_ack_ms` is the time since the last segment that the kernel accepted.
    pub(crate) fn step(&mut self, now_ms: u64, last_ack_ms: u64) -> Step {
        if let (Some(asked_ms), false) = (self.asked_ms, self.is_answered) {
            let asked_before_ms = now_ms.saturating_sub(asked_ms);
            self.is_answered = last_ack_ms + CLOCK_STEP_MS < asked_before_ms;
        }
        if self.is_answered && self.uses_new {
            return Step::Done;
        }
        if now_ms < self.deadline_ms() {
            return Step::Wait;
        }
        let step = match self.is_answered {
            true => Step::Ask,
            false => Step::Switch,
        };
        if step == Step::Switch {
            self.uses_new = !self.uses_new;
            if !self.uses_new {
                self.patience_ms = ACK_WITHIN_MS;
            }
        }
        self.asked_ms = Some(now_ms);
        self.is_answered = false;
        step
    }

    /// Sets the key of the socket that the change uses at present.
    pub(crate) fn apply(&self, socket: BorrowedFd<'_>, neighbor: IpAddr) -> io::Result<()> {
        let key = match self.uses_new {
            true => &self.new,
            false => &self.old,
        };
        let scope = KeyScope {
            address: neighbor,
            prefix_len: None,
        };
        let key = key.as_ref().map_or(&[][..], Secret::reveal);
        match sockopt::set_md5_key(socket, scope, key) {
            // There was no key to remove.
            Err(e) if key.is_empty() && sockopt::is_absent(&e) => Ok(()),
            result => result,
        }
    }
}

impl SessionDriver {
    /// Returns whether some neighbor has yet to use its new key.
    pub(crate) fn changes_keys(&self) -> bool {
        !self.key_changes.neighbors().is_empty() || self.ao_changes.next_deadline().is_some()
    }

    /// Finds out which neighbors use their new TCP MD5 keys.
    pub(crate) fn change_keys(&mut self) {
        let deadline = self.key_changes.next_deadline();
        if deadline.is_some_and(|at| at <= self.now_ms) {
            for neighbor in self.key_changes.neighbors() {
                self.change_key(neighbor);
            }
        }
    }

    fn change_key(&mut self, neighbor: IpAddr) {
        let slot = self.peers.find(neighbor);
        let peer = slot.and_then(|slot| self.peers.get_mut(slot));
        let (Some(slot), Some(peer)) = (slot, peer) else {
            return self.key_changes.forget(neighbor);
        };
        let id = peer.established.as_ref().map(|e| e.connection);
        let connection = id.and_then(|id| peer.connections[id.index()].as_mut());
        let (Some(connection), Some(change)) = (connection, self.key_changes.of(neighbor)) else {
            // The next connection begins with the new key.
            return self.key_changes.forget(neighbor);
        };
        let socket = connection.socket.as_fd();
        let last_ack_ms = sockopt::last_ack_ms(socket).unwrap_or(u64::MAX / 2);
        match change.step(self.now_ms, last_ack_ms) {
            Step::Wait => return,
            Step::Done => {
                let name = &peer.settings.config.name;
                tracing::info!(peer = name, "the neighbor uses the new TCP MD5 key");
                return self.key_changes.forget(neighbor);
            }
            Step::Ask => {}
            Step::Switch => {
                if let Err(error) = change.apply(socket, neighbor) {
                    let name = &peer.settings.config.name;
                    tracing::error!(peer = name, %error, "cannot change the TCP MD5 key");
                }
            }
        }
        connection.push_control(&KEEPALIVE);
        self.write_queue.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEIGHBOR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn key(text: &str) -> Option<Secret> {
        Some(Secret::new(text.as_bytes()))
    }

    fn changes() -> KeyChanges {
        let mut changes = KeyChanges::default();
        changes.begin(NEIGHBOR, (key("old"), key("new")));
        changes
    }

    /// The steps with a neighbor that uses the new key from `changes_at_ms` on, each with its time.
    fn steps(changes_at_ms: u64) -> Vec<(u64, Step)> {
        let mut all = changes();
        let change = all.of(NEIGHBOR).expect("a change");
        let (mut found, mut last_ack_ms) = (Vec::new(), 0);
        let mut now_ms = 20_000;
        while now_ms < 200_000 {
            let step = change.step(now_ms, now_ms - last_ack_ms);
            if step != Step::Wait {
                found.push((now_ms, step));
            }
            if step == Step::Done {
                break;
            }
            if change.uses_new == (now_ms >= changes_at_ms) && step != Step::Wait {
                last_ack_ms = now_ms + 100;
            }
            now_ms += 500;
        }
        found
    }

    #[test]
    fn the_old_key_stays_until_the_neighbor_changes() {
        let times = steps(45_000);
        let switches = times.iter().filter(|(_, step)| *step == Step::Switch);
        let switches: Vec<u64> = switches.map(|(at, _)| *at).collect();
        assert_eq!(switches.len(), 3, "{times:?}");
        assert_eq!(switches[..2], [20_000, 20_000 + FIRST_TRY_MS]);
        assert!((45_000..51_000).contains(&switches[2]), "{times:?}");
        assert_eq!(times.last().map(|(_, step)| *step), Some(Step::Done));
    }

    #[test]
    fn a_neighbor_that_changed_first_is_found_at_once() {
        assert_eq!(steps(0), [(20_000, Step::Switch), (20_500, Step::Done)]);
    }

    #[test]
    fn a_key_that_is_set_back_ends_the_change() {
        let mut changes = changes();
        changes.begin(NEIGHBOR, (key("new"), key("old")));
        assert_eq!(changes.next_deadline(), None);
    }
}
