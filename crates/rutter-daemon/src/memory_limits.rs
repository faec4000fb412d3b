//! Limits on the memory for routes: that of one neighbor (`max-memory`), and that of the table (`daemon.max-memory`).
//!
//! The routes of a message can take some 16 times its bytes. A thread therefore looks after every [`CHECK_AFTER`] bytes
//! that it receives, so the limits are exceeded by some megabytes at most.

use std::cmp::Reverse;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rutter_rib::PeerId;

use crate::mailbox::Command;
use crate::shared::Shared;

/// The received bytes after which the memory of a neighbor and of the table is compared with the limits.
pub(crate) const CHECK_AFTER: usize = 64 * 1024;
/// The time between two looks while the table is above its limit, milliseconds.
const CHECK_MS: u64 = 50;
/// Sessions whose routes take less stay: to end them would not help.
const SMALL: u64 = 1 << 20;
/// The time that the routes of a session need to leave the table, at most, milliseconds. If they have not left by then, it
/// is chosen again.
const LEAVES_WITHIN_MS: u64 = 30_000;
/// The limit where the memory of the machine is unknown.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// The limit on the memory of the table, and the sessions that end because of it.
pub(crate) struct MemoryLimits {
    /// The limit unless one is configured.
    default_limit: u64,
    /// The table takes more than its limit.
    is_exceeded: AtomicBool,
    next_check_ms: AtomicU64,
    /// The number of sessions that were ended so far.
    ended: AtomicU64,
    ending: Mutex<Vec<Ending>>,
}

/// A session that ends, and whose routes leave the table.
struct Ending {
    peer: PeerId,
    /// The time until which its bytes count as leaving.
    until_ms: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits {
            default_limit: machine_memory().unwrap_or(UNKNOWN_MACHINE) / 2,
            is_exceeded: AtomicBool::new(false),
            next_check_ms: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            ending: Mutex::default(),
        }
    }
}

impl MemoryLimits {
    /// The most bytes for the table.
    pub(crate) fn limit(&self, shared: &Shared) -> u64 {
        let configured = shared.config.read().daemon.max_memory;
        configured.unwrap_or(self.default_limit)
    }

    /// The number of sessions that were ended so far.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns whether the table takes more than its limit: then neighbors that send much wait.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }

    /// Returns whether the table is above its limit and was not compared with it for a while.
    pub(crate) fn is_check_due(&self, now_ms: u64) -> bool {
        self.is_exceeded() && self.next_check_ms.load(Ordering::Relaxed) <= now_ms
    }

    /// Compares the table with its limit. Above it, ends the sessions whose routes take the most.
    pub(crate) fn check(&self, shared: &Shared, now_ms: u64) {
        let limit = self.limit(shared);
        let in_use = shared.rib.memory_in_use();
        let is_exceeded = in_use > limit;
        self.is_exceeded.store(is_exceeded, Ordering::Relaxed);
        let next_ms = now_ms + CHECK_MS;
        self.next_check_ms.store(next_ms, Ordering::Relaxed);
        // Another thread may be at it.
        if is_exceeded && let Some(mut ending) = self.ending.try_lock() {
            self.end_largest(shared, &mut ending, in_use - limit, now_ms);
        }
    }

    /// Ends sessions until the bytes of those that end are at least `excess`.
    fn end_largest(&self, shared: &Shared, ending: &mut Vec<Ending>, excess: u64, now_ms: u64) {
        let rib = &shared.rib;
        ending.retain(|one| now_ms < one.until_ms && rib.peer_memory(one.peer) >= SMALL);
        let leaving: u64 = ending.iter().map(|one| rib.peer_memory(one.peer)).sum();
        let Some(mut missing) = excess.checked_sub(leaving).filter(|missing| *missing > 0) else {
            return;
        };
        let mut by_peer = rib.memory_by_peer();
        by_peer.retain(|(peer, _)| ending.iter().all(|one| one.peer != *peer));
        by_peer.sort_unstable_by_key(|(_, bytes)| Reverse(*bytes));
        for (peer, bytes) in by_peer {
            if missing == 0 || bytes < SMALL {
                return;
            }
            if self.end_session(shared, peer) {
                let until_ms = now_ms + LEAVES_WITHIN_MS;
                ending.push(Ending { peer, until_ms });
                missing = missing.saturating_sub(bytes);
            }
        }
    }

    /// Asks the thread of a session to end it. Returns whether it will.
    fn end_session(&self, shared: &Shared, peer: PeerId) -> bool {
        let Some(neighbor) = shared.rib.neighbor(peer).map(|held| held.address) else {
            return false;
        };
        let command = Command::OutOfMemory { neighbor };
        match shared.post_to_peer(neighbor, command) {
            Ok(()) => {
                self.ended.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                tracing::error!(peer = %neighbor, %error, "the session was not ended");
                false
            }
        }
    }
}

/// The memory of this machine or, if that is less, of the control group that the process is in; bytes.
fn machine_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1_024)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| line.strip_prefix("0::"));
    let limits = limits.filter_map(|group| {
        let path = format!("/sys/fs/cgroup{}/memory.max", group.trim_end_matches('/'));
        fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    machine.into_iter().chain(limits).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_half_of_the_memory() {
        let memory = machine_memory().expect("/proc/meminfo");
        assert!(memory > 64 << 20, "{memory}");
        assert_eq!(MemoryLimits::default().default_limit, memory / 2);
    }
}
