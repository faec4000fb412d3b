//! Tells whether a client still reads an answer that is made while it is sent.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the parts that a connection had room for.
#[derive(Default)]
pub(crate) struct ConnectionProgress(AtomicU64);

impl ConnectionProgress {
    /// Counts a part.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of parts so far.
    pub(crate) fn parts(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
