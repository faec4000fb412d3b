//! Numbers of the table that need a walk over it, for the metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rutter_rib::PeerId;

use crate::Backend;

/// Counts the table for metrics, and keeps the numbers for half a minute: a scrape never walks more often. It reads a snapshot,
/// because a thread of low priority must hold no lock of the table for long.
#[derive(Default)]
pub struct TableCounts(Mutex<Option<(Instant, Arc<Counted>)>>);

/// The numbers of each neighbor.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The rejected routes of each neighbor, by the name of the first reason.
    pub(crate) rejected: BTreeMap<(PeerId, &'static str), u64>,
}

/// The numbers are so old at most, except while they are counted again.
const KEPT: Duration = Duration::from_secs(30);

impl TableCounts {
    /// Returns numbers that are not older than half a minute. One thread counts; others wait for it.
    pub(crate) fn get(&self, backend: &dyn Backend) -> Arc<Counted> {
        // A count that panicked has left the numbers before it.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, counted)) = &*kept
            && at.elapsed() < KEPT
        {
            return Arc::clone(counted);
        }
        let counted = Arc::new(count(backend));
        *kept = Some((Instant::now(), Arc::clone(&counted)));
        counted
    }
}

fn count(backend: &dyn Backend) -> Counted {
    let snapshot = backend.snapshot();
    let mut rejected = BTreeMap::new();
    for page in 0..snapshot.pages() {
        snapshot.visit_page(page, |_, _, route| {
            if let Some(reason) = route.reject {
                *rejected.entry((route.peer, reason.name())).or_default() += 1;
            }
        });
    }
    Counted { rejected }
}
