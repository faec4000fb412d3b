//! Limits on the memory for routes: that of one neighbor (`max-memory`), and that of the table (`daemon.max-memory`).
//!
//! The routes of a message can take some 16 times its bytes. A thread therefore looks after every [`CHECK_AFTER`] bytes
//! that it receives, so the limits are exceeded by some megabytes at most.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rutter_net::Asn;
use rutter_rib::{PeerId, PeerMemory, RoutesState};

use crate::mailbox::Command;
use crate::shared::Shared;

/// The received bytes after which the memory of a neighbor and of the table is compared with the limits.
pub(crate) const CHECK_AFTER: usize = 64 * 1024;
/// The time between two looks while the table is above its limit, milliseconds.
const CHECK_MS: u64 = 50;
/// A member whose routes take less in all its sessions keeps them: to remove them would not help.
const SMALL: u64 = 1 << 20;
/// The time that the routes of a neighbor need to leave the table, at most, milliseconds. If they have not left by then, it
/// is chosen again.
const LEAVES_WITHIN_MS: u64 = 30_000;
/// The limit where the memory of the machine is unknown.
const UNKNOWN_MACHINE: u64 = 4 << 30;

/// The limit on the memory of the table, and the neighbors whose routes leave because of it.
pub(crate) struct MemoryLimits {
    /// The limit unless one is configured.
    default_limit: u64,
    /// The table takes more than its limit.
    is_exceeded: AtomicBool,
    next_check_ms: AtomicU64,
    /// The number of sessions that were ended so far, and of neighbors whose stale routes were removed.
    removed: AtomicU64,
    removals: Mutex<Vec<Removal>>,
}

/// A neighbor whose routes must leave the table.
struct Removal {
    peer: PeerId,
    /// The state of its routes when it was chosen. In another state, the request was in vain or is carried out.
    chosen_as: RoutesState,
    /// The time until which its bytes count as leaving.
    until_ms: u64,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits {
            default_limit: machine_memory().unwrap_or(UNKNOWN_MACHINE) / 2,
            is_exceeded: AtomicBool::new(false),
            next_check_ms: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            removals: Mutex::default(),
        }
    }
}

impl MemoryLimits {
    /// The most bytes for the table.
    pub(crate) fn limit(&self, shared: &Shared) -> u64 {
        let configured = shared.config.read().daemon.max_memory;
        configured.unwrap_or(self.default_limit)
    }

    /// The number of sessions that were ended so far, and of neighbors whose stale routes were removed.
    pub(crate) fn removed(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    /// Returns whether the table takes more than its limit: then neighbors that send much wait.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Ordering::Relaxed)
    }

    /// Returns whether the table is above its limit and was not compared with it for a while.
    pub(crate) fn is_check_due(&self, now_ms: u64) -> bool {
        self.is_exceeded() && self.next_check_ms.load(Ordering::Relaxed) <= now_ms
    }

    /// Compares the table with its limit. Above it, removes the stale routes and ends the sessions that take the most.
    pub(crate) fn check(&self, shared: &Shared, now_ms: u64) {
        let limit = self.limit(shared);
        let in_use = shared.rib.memory_in_use();
        let is_exceeded = in_use > limit;
        self.is_exceeded.store(is_exceeded, Ordering::Relaxed);
        let next_ms = now_ms + CHECK_MS;
        self.next_check_ms.store(next_ms, Ordering::Relaxed);
        // Another thread may be at it.
        if is_exceeded && let Some(mut removals) = self.removals.try_lock() {
            self.remove_largest(shared, &mut removals, in_use - limit, now_ms);
        }
    }

    /// Makes routes leave until their bytes are at least `excess`.
    fn remove_largest(
        &self,
        shared: &Shared,
        removals: &mut Vec<Removal>,
        excess: u64,
        now_ms: u64,
    ) {
        let peers = shared.rib.memory_by_peer();
        let states: HashMap<_, _> = peers.iter().map(|of| (of.peer, of.routes)).collect();
        let is_due = |one: &Removal| states.get(&one.peer) == Some(&one.chosen_as);
        removals.retain(|one| now_ms < one.until_ms && is_due(one));
        let chosen: HashSet<PeerId> = removals.iter().map(|one| one.peer).collect();
        let is_leaving =
            |of: &PeerMemory| of.routes == RoutesState::Leaving || chosen.contains(&of.peer);
        let (leaving, staying): (Vec<_>, Vec<_>) = peers.into_iter().partition(is_leaving);
        let leaving: u64 = leaving.iter().map(|of| of.bytes).sum();
        let mut missing = excess.saturating_sub(leaving);
        for of in in_order(staying) {
            if missing == 0 {
                return;
            }
            if self.remove(shared, &of) {
                removals.push(Removal {
                    peer: of.peer,
                    chosen_as: of.routes,
                    until_ms: now_ms + LEAVES_WITHIN_MS,
                });
                missing = missing.saturating_sub(of.bytes);
            }
        }
    }

    /// Asks the thread of a neighbor to end its session or to remove its stale routes. Returns whether it will.
    fn remove(&self, shared: &Shared, of: &PeerMemory) -> bool {
        let Some(neighbor) = shared.rib.neighbor(of.peer).map(|held| held.address) else {
            return false;
        };
        let command = match of.routes {
            RoutesState::Stale => Command::RemoveStale { neighbor },
            _ => Command::OutOfMemory { neighbor },
        };
        match shared.post_to_peer(neighbor, command) {
            Ok(()) => {
                self.removed.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                tracing::error!(peer = %neighbor, %error, "the routes were not removed");
                false
            }
        }
    }
}

/// The neighbors whose routes may leave, in the order in which they do. Stale routes are the first: no session needs them.
/// All sessions of a member count together, so that many small ones do not spare it. Among these the largest is the first.
fn in_order(peers: impl IntoIterator<Item = PeerMemory>) -> Vec<PeerMemory> {
    /// An AS, or a neighbor inside our AS.
    type Member = (Option<Asn>, Option<PeerId>);
    let member = |of: &PeerMemory| -> Member {
        let alone = of.member.is_none().then_some(of.peer);
        (of.member, alone)
    };
    let mut peers: Vec<PeerMemory> = peers.into_iter().collect();
    let mut sums: HashMap<Member, u64> = HashMap::new();
    for of in &peers {
        *sums.entry(member(of)).or_default() += of.bytes;
    }
    peers.retain(|of| sums[&member(of)] >= SMALL);
    peers.sort_unstable_by_key(|of| {
        let member = member(of);
        let has_session = of.routes == RoutesState::Established;
        let largest = (Reverse(sums[&member]), member, Reverse(of.bytes));
        (has_session, largest)
    });
    peers
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

    fn of(peer: u16, asn: u32, kib: u64, routes: RoutesState) -> PeerMemory {
        PeerMemory {
            peer: PeerId(peer),
            member: (asn != 0).then_some(Asn(asn)),
            bytes: kib << 10,
            routes,
        }
    }

    fn order(peers: &[PeerMemory]) -> Vec<u16> {
        let order = in_order(peers.iter().copied());
        order.iter().map(|of| of.peer.0).collect()
    }

    /// A member keeps much as stale routes, another one has many small sessions. The honest ones are larger than these.
    #[test]
    fn stale_routes_leave_first_and_then_the_sessions_of_the_largest_member() {
        use RoutesState::{Established, Stale};
        let mut peers = vec![
            of(0, 64_501, 1_100, Established),
            of(1, 64_502, 1_200, Established),
            of(2, 64_503, 82_000, Stale),
            of(3, 64_504, 900, Stale),
        ];
        peers.extend((10..16).map(|peer| of(peer, 64_510, 900 + u64::from(peer), Established)));
        assert_eq!(order(&peers), [2, 15, 14, 13, 12, 11, 10, 1, 0]);
    }

    #[test]
    fn neighbors_inside_our_as_are_no_member() {
        let inside = |peer, kib| of(peer, 0, kib, RoutesState::Established);
        let peers = [
            inside(1, 900),
            inside(2, 900),
            inside(3, 2_000),
            of(4, 64_501, 1_500, RoutesState::Established),
        ];
        assert_eq!(order(&peers), [3, 4]);
    }

    #[test]
    fn the_default_is_half_of_the_memory() {
        let memory = machine_memory().expect("/proc/meminfo");
        assert!(memory > 64 << 20, "{memory}");
        assert_eq!(MemoryLimits::default().default_limit, memory / 2);
    }
}
