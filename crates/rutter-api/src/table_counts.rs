//! Numbers of the table that need a walk over it, for the metrics. They are counted in the background: a scrape is
//! given those of the last count.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rutter_net::Family;
use rutter_rib::{ExportCount, PeerId, PeerKind, PeerSummary};

use crate::Backend;

/// The numbers of the last count, and whether the next one is due.
#[derive(Debug, Default)]
pub struct TableCounts {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Arc<Counted>>,
    is_counting: bool,
}

/// The numbers of each neighbor.
#[derive(Debug)]
pub(crate) struct Counted {
    began: Instant,
    ended: Instant,
    /// The time at which the count began, in seconds of Unix time.
    pub(crate) unix_s: f64,
    /// The rejected routes of each neighbor, by the name of the first reason.
    pub(crate) rejected: BTreeMap<(PeerId, &'static str), u64>,
    /// The routes that each client is sent and not sent, for the families of its session.
    pub(crate) exported: BTreeMap<(PeerId, Family), ExportCount>,
}

/// The shortest and the longest pause between two counts. Between them, a count takes one part in [`PARTS`] of the time.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
const PARTS: u32 = 50;

impl TableCounts {
    /// Returns whether it is time to count. The caller then calls [`TableCounts::count`] on a thread that may wait; nobody
    /// else counts until then.
    pub fn begin(&self) -> bool {
        let mut state = self.state();
        let is_due = state.last.as_ref().is_none_or(|last| last.is_old());
        let begins = is_due && !state.is_counting;
        state.is_counting |= begins;
        begins
    }

    /// Counts after [`TableCounts::begin`], or at any time, and keeps the numbers. It takes a second for a million routes.
    pub fn count(&self, backend: &dyn Backend) {
        let _end = EndOfCount(self);
        let counted = Arc::new(count(backend));
        self.state().last = Some(counted);
    }

    /// The thread for a count that has begun could not be started.
    pub fn give_up(&self) {
        drop(EndOfCount(self));
    }

    /// Waits for the first count, if that is the one that runs. A small table is counted at once, so the first scrape has all
    /// numbers.
    pub fn wait_for_first(&self, longest: Duration) {
        let is_first = |state: &mut State| state.is_counting && state.last.is_none();
        drop(
            self.ended
                .wait_timeout_while(self.state(), longest, is_first),
        );
    }

    /// The numbers of the last count.
    pub(crate) fn last(&self) -> Option<Arc<Counted>> {
        self.state().last.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a count when it is dropped, also that of a thread that panics.
struct EndOfCount<'a>(&'a TableCounts);

impl Drop for EndOfCount<'_> {
    fn drop(&mut self) {
        self.0.state().is_counting = false;
        self.0.ended.notify_all();
    }
}

impl Counted {
    /// Returns whether it is time for the next count.
    fn is_old(&self) -> bool {
        let took = self.ended - self.began;
        self.ended.elapsed() >= (took * PARTS).clamp(PAUSE.0, PAUSE.1)
    }
}

fn count(backend: &dyn Backend) -> Counted {
    let began = Instant::now();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let rejected = rejected(backend);
    let peers = backend.peers();
    let of = |family| exported(backend, &peers, family);
    let exported = Family::ALL.into_iter().flat_map(of).collect();
    Counted {
        began,
        ended: Instant::now(),
        unix_s: since_1970.unwrap_or_default().as_secs_f64(),
        rejected,
        exported,
    }
}

fn rejected(backend: &dyn Backend) -> BTreeMap<(PeerId, &'static str), u64> {
    // A snapshot, because a thread of low priority must hold no lock of the table for long.
    let snapshot = backend.snapshot();
    let mut rejected = BTreeMap::new();
    for page in 0..snapshot.pages() {
        snapshot.visit_page(page, |_, _, route| {
            if let Some(reason) = route.reject {
                *rejected.entry((route.peer, reason.name())).or_default() += 1;
            }
        });
    }
    rejected
}

/// Counts for all clients whose session has a family, in one walk.
fn exported(
    backend: &dyn Backend,
    peers: &[PeerSummary],
    family: Family,
) -> Vec<((PeerId, Family), ExportCount)> {
    let has_family = |peer: &&PeerSummary| {
        let session = peer.session.as_ref();
        peer.neighbor.kind != PeerKind::Collector
            && session.is_some_and(|session| session.family(family).is_some())
    };
    let clients = peers.iter().filter(has_family).map(|peer| peer.id);
    let clients: Vec<PeerId> = clients.collect();
    let counts = backend.rib().export_counts(family, &clients);
    let of = |client: &PeerId| ((*client, family), counts.of(*client));
    clients.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(took: Duration, ago: Duration) -> Counted {
        let ended = Instant::now() - ago;
        Counted {
            began: ended - took,
            ended,
            unix_s: 0.0,
            rejected: BTreeMap::new(),
            exported: BTreeMap::new(),
        }
    }

    #[test]
    fn a_long_count_is_made_seldom() {
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        assert!(counted(ms(1), s(6)).is_old());
        assert!(!counted(ms(400), s(6)).is_old());
        assert!(counted(ms(400), s(21)).is_old());
        assert!(!counted(s(20), s(6)).is_old());
        assert!(counted(s(20), s(61)).is_old());
    }

    #[test]
    fn one_thread_counts_and_only_the_first_count_is_awaited() {
        let counts = TableCounts::default();
        // Nobody counts: there is nothing to wait for.
        counts.wait_for_first(Duration::from_secs(3_600));
        assert!(counts.begin() && !counts.begin());
        counts.give_up();
        assert!(counts.begin());
        counts.state().last = Some(Arc::new(counted(Duration::ZERO, Duration::ZERO)));
        counts.wait_for_first(Duration::from_secs(3_600));
        counts.give_up();
        assert!(!counts.begin());
    }
}
