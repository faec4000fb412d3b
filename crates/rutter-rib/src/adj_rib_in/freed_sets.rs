//! Counts the attribute sets that are freed, to know when a search for unused audiences is worth its cost.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::adj_rib_in::attr_set::AUDIENCE_UNKNOWN;
use crate::advertise::audiences::EVERYONE;

/// The sets with an audience other than everybody that were freed since the last search began.
pub(crate) struct FreedSets {
    bytes: AtomicUsize,
    /// The bytes from which on another search may be worth its cost.
    enough: AtomicUsize,
}

/// Below these bytes a search is not worth it. The audiences of the sets take some three times as much, at most.
const MIN_BYTES: usize = 64 * 1024;
/// A search looks at all sets. It is worth it for so many freed bytes for each of them.
const BYTES_PER_SET: usize = 4;

impl Default for FreedSets {
    fn default() -> Self {
        FreedSets {
            bytes: AtomicUsize::new(0),
            enough: AtomicUsize::new(MIN_BYTES),
        }
    }
}

impl FreedSets {
    /// A set with this audience is freed.
    pub fn count(&self, audience: u32, bytes: usize) {
        if audience != EVERYONE && audience != AUDIENCE_UNKNOWN {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Returns whether so many sets were freed that a search is worth its cost, and counts from 0 again if so. `sets` is the
    /// number of sets that are left. It usually costs two loads.
    pub fn take_enough(&self, sets: impl FnOnce() -> usize) -> bool {
        let freed = self.bytes.load(Ordering::Relaxed);
        if freed < self.enough.load(Ordering::Relaxed) {
            return false;
        }
        let needed = MIN_BYTES.max(BYTES_PER_SET * sets());
        if freed < needed {
            self.enough.store(needed, Ordering::Relaxed);
            return false;
        }
        self.bytes.store(0, Ordering::Relaxed);
        self.enough.store(MIN_BYTES, Ordering::Relaxed);
        true
    }
}
