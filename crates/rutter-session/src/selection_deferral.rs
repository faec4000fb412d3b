//! Selection deferral: what a restarted speaker waits for before it advertises routes (RFC 4724 §4.1).

use std::collections::BTreeMap;

use rutter_net::{Family, PerFamily};

use crate::Negotiated;

/// The End-of-RIB markers that a restarted speaker waits for. Until all have arrived, or the time is over, it
/// advertises nothing: neighbors keep the routes that they had from it.
///
/// The caller passes what happens to its sessions, and asks [`SelectionDeferral::end`] afterwards and at
/// [`SelectionDeferral::next_deadline`].
#[derive(Clone, Debug)]
pub struct SelectionDeferral<N> {
    /// The families without End-of-RIB of each neighbor that is expected back. No entry is without a family.
    awaited: BTreeMap<N, PerFamily<bool>>,
    /// The routes of the last neighbor have arrived by then.
    settled_at_ms: u64,
    ends_at_ms: u64,
}

/// The time from the last End-of-RIB to the end. FRR sends End-of-RIB a second or more before its routes, while it
/// still gathers its first UPDATEs.
pub const SETTLE_MS: u64 = 3_000;

/// The reason why a selection deferral is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeferralEnd {
    /// All neighbors that were expected have sent End-of-RIB, or need not be waited for.
    Complete,
    /// The Selection Deferral Timer expired.
    TimeOver,
}

impl<N: Ord + Copy> SelectionDeferral<N> {
    /// Waits for the families of these neighbors, until `ends_at_ms`.
    pub fn new(expected: impl IntoIterator<Item = (N, PerFamily<bool>)>, ends_at_ms: u64) -> Self {
        let has_family = |(_, families): &(N, PerFamily<bool>)| *families != PerFamily::both(false);
        SelectionDeferral {
            awaited: expected.into_iter().filter(has_family).collect(),
            settled_at_ms: 0,
            ends_at_ms,
        }
    }

    /// A session is established. A neighbor that restarted itself, or that sends no End-of-RIB, is not waited for.
    pub fn established(&mut self, neighbor: N, negotiated: &Negotiated) {
        let restarts = negotiated.graceful_restart.as_ref();
        let sends = match restarts.is_some_and(|restart| restart.restart_state) {
            true => PerFamily::both(false),
            false => negotiated.end_of_rib_families(),
        };
        for family in Family::ALL {
            if !sends[family] {
                self.release(neighbor, family);
            }
        }
    }

    /// The neighbor sent End-of-RIB, and all its routes before it are in the table.
    pub fn end_of_rib(&mut self, neighbor: N, family: Family, now_ms: u64) {
        if self.release(neighbor, family) {
            self.settled_at_ms = now_ms + SETTLE_MS;
        }
    }

    /// Stops waiting for a family. Returns whether it was waited for.
    fn release(&mut self, neighbor: N, family: Family) -> bool {
        let Some(families) = self.awaited.get_mut(&neighbor) else {
            return false;
        };
        let was_awaited = std::mem::replace(&mut families[family], false);
        if *families == PerFamily::both(false) {
            self.awaited.remove(&neighbor);
        }
        was_awaited
    }

    /// The neighbor will not come back: it was removed from the configuration, or its session was stopped.
    pub fn removed(&mut self, neighbor: N) {
        self.awaited.remove(&neighbor);
    }

    /// Returns whether the deferral is over, and why.
    pub fn end(&self, now_ms: u64) -> Option<DeferralEnd> {
        match (self.awaited.is_empty(), now_ms >= self.next_deadline()) {
            (true, true) => Some(DeferralEnd::Complete),
            (false, true) => Some(DeferralEnd::TimeOver),
            (_, false) => None,
        }
    }

    /// The time at which the deferral ends unless something happens before, milliseconds.
    pub fn next_deadline(&self) -> u64 {
        match self.awaited.is_empty() {
            true => self.settled_at_ms.min(self.ends_at_ms),
            false => self.ends_at_ms,
        }
    }

    /// The neighbors that are waited for, with the families whose End-of-RIB is missing.
    pub fn awaited(&self) -> impl Iterator<Item = (N, PerFamily<bool>)> + '_ {
        self.awaited
            .iter()
            .map(|(neighbor, families)| (*neighbor, *families))
    }
}
