//! How far reading is, for those who wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that any thread may look at while files are read. Clones are the same counters.
#[derive(Clone, Default, Debug)]
pub struct Progress(Arc<Counts>);

#[derive(Default, Debug)]
struct Counts {
    octets: AtomicU64,
    records: AtomicU64,
    routes: AtomicU64,
}

impl Progress {
    /// Nothing read yet.
    pub fn new() -> Self {
        Progress::default()
    }

    /// Octets of files, as they lie on disk, whose records were taken.
    pub fn octets(&self) -> u64 {
        self.0.octets.load(Ordering::Relaxed)
    }

    /// Records read.
    pub fn records(&self) -> u64 {
        self.0.records.load(Ordering::Relaxed)
    }

    /// Routes announced or withdrawn.
    pub fn routes(&self) -> u64 {
        self.0.routes.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self, octets: u64) {
        self.0.octets.fetch_add(octets, Ordering::Relaxed);
    }

    pub(crate) fn took_record(&self) {
        self.0.records.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts routes.
    pub fn add_routes(&self, routes: u64) {
        self.0.routes.fetch_add(routes, Ordering::Relaxed);
    }
}
