//! The bytes of attribute sets by the neighbor that they are charged to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::PeerId;

/// Counts bytes by neighbor. Every attribute set is charged to one neighbor: the one that announced it last. So the sum
/// of all counts is about the size of the store, and nobody is charged for what others alone announced.
pub(crate) struct Charges(Box<[OnceLock<Part>]>);

/// The counts of consecutive ids. They are allocated when the first of them is charged.
type Part = Box<[AtomicU64; PART]>;

const PART: usize = 256;

/// The owner of sets that no neighbor is charged for: those of removed neighbors that others still use.
pub(crate) const NOBODY: PeerId = PeerId(u16::MAX);

impl Default for Charges {
    fn default() -> Self {
        let parts = usize::from(u16::MAX) / PART + 1;
        Charges((0..parts).map(|_| OnceLock::new()).collect())
    }
}

impl Charges {
    /// Charges bytes of a set.
    pub fn add(&self, owner: PeerId, bytes: usize) {
        let new = || Box::new([const { AtomicU64::new(0) }; PART]);
        let part = self.0[owner.index() / PART].get_or_init(new);
        part[owner.index() % PART].fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Takes back bytes that were charged.
    pub fn subtract(&self, owner: PeerId, bytes: usize) {
        if let Some(part) = self.0[owner.index() / PART].get() {
            part[owner.index() % PART].fetch_sub(bytes as u64, Ordering::Relaxed);
        }
    }

    /// The bytes of the sets that a neighbor is charged for.
    pub fn of(&self, owner: PeerId) -> u64 {
        let part = self.0[owner.index() / PART].get();
        part.map_or(0, |part| part[owner.index() % PART].load(Ordering::Relaxed))
    }
}
