//! Progress of reading, for a progress bar.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that any thread may read while files are read. Clones share the same counters.
#[derive(Clone, Default, Debug)]
pub struct Progress(Arc<Counts>);

#[derive(Default, Debug)]
struct Counts {
    bytes: AtomicU64,
    records: AtomicU64,
    routes: AtomicU64,
}

impl Progress {
    /// Returns counters that are all 0.
    pub fn new() -> Self {
        Progress::default()
    }

    /// The bytes on disk whose records were returned.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The records read.
    pub fn records(&self) -> u64 {
        self.0.records.load(Ordering::Relaxed)
    }

    /// The routes announced or withdrawn.
    pub fn routes(&self) -> u64 {
        self.0.routes.load(Ordering::Relaxed)
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_record(&self) {
        self.0.records.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to the number of routes.
    pub fn add_routes(&self, routes: u64) {
        self.0.routes.fetch_add(routes, Ordering::Relaxed);
    }
}
