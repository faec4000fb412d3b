//! Back-pressure: while most clients have a backlog, the threads read little from neighbors that send much. While
//! clients lag too far behind, they read nothing. They also read little from these while the table takes too much memory.

use std::time::Duration;

use crate::shared::Shared;
use crate::thread_peers::ThreadPeers;

/// The congestion of the table, as one thread sees it.
#[derive(Default)]
pub(crate) struct Congestion {
    congested: bool,
    /// Most clients have a backlog, or the table takes too much memory.
    behind: bool,
    /// The earliest time of the next check for lagging clients.
    next_check_ms: u64,
    /// The thread was late before: until then its clients may be behind without reading slowly.
    late_until_ms: u64,
}

/// The time between two checks for lagging clients, milliseconds.
const CHECK_MS: u64 = 20;
/// A thread is late if a turn took longer than this, or waited so long for a processor.
const LATE: Duration = Duration::from_millis(20);
/// The clients of a late thread have so long to catch up.
const AFTER_LATE_MS: u64 = 2_000;

impl Congestion {
    /// Notes how long a turn took, or began too late.
    pub(crate) fn note_delay(&mut self, delay: Duration, now_ms: u64) {
        if delay > LATE {
            self.late_until_ms = now_ms + AFTER_LATE_MS;
        }
    }

    /// Updates the state from the table. Returns whether this thread has checked its lagging clients. If so, it must
    /// write to all of them: clients that left the log discard it then. Other threads, which may sleep, must do the same.
    pub(crate) fn update(&mut self, shared: &Shared, peers: &mut ThreadPeers, now_ms: u64) -> bool {
        let rib = &shared.rib;
        let has_long_log = rib.has_long_log();
        self.congested = has_long_log && rib.congested();
        self.behind = rib.is_output_behind() || shared.memory_limits.is_exceeded();
        if !has_long_log || now_ms < self.next_check_ms {
            return false;
        }
        self.next_check_ms = now_ms + CHECK_MS;
        let is_late = now_ms < self.late_until_ms;
        let established = peers.iter_mut().filter_map(|p| p.established.as_mut());
        for stream in established.filter_map(|e| e.stream.as_mut()) {
            // A check of these would discard a slice. The turn has its share of them.
            if !stream.is_discarding() {
                stream.check_lag(rib, is_late, now_ms);
            }
        }
        true
    }

    /// Returns whether the threads read only from neighbors that send little.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Returns whether the threads read nothing.
    pub(crate) fn is_congested(&self) -> bool {
        self.congested
    }
}
