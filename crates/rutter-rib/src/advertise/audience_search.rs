//! The search for audiences that no attribute set uses, in steps. A peer may ask for another audience with every route.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::PeerId;
use crate::adj_rib_in::attr_set::{AttrSet, AttrStore};
use crate::adj_rib_in::charges::NOBODY;
use crate::peer_set::PeerSet;

/// A search.
pub(super) struct Search {
    /// By number of the audience: the neighbor that is charged for a set that uses it, or [`UNUSED`].
    users: Box<[AtomicU32]>,
    scan: Mutex<Scan>,
    /// After all parts: the next audience to free if it is unused.
    freed_to: usize,
}

const UNUSED: u32 = u32::MAX;

/// The part of the attribute store that was seen.
#[derive(Default)]
struct Scan {
    /// The next part of the attribute store.
    next: usize,
    /// The attribute sets seen so far.
    sets: usize,
    /// The attribute sets that the calls since the last part may look at.
    allowance: usize,
    is_complete: bool,
}

impl Search {
    /// A search among the audiences whose numbers are below `end`.
    pub fn new(end: usize) -> Self {
        Search {
            users: (0..end).map(|_| AtomicU32::new(UNUSED)).collect(),
            scan: Mutex::default(),
            // The first is that of everybody.
            freed_to: 1,
        }
    }

    /// An attribute set uses an audience.
    pub fn mark(&self, set: &AttrSet) {
        if let Some(user) = self.users.get(set.audience() as usize) {
            user.store(u32::from(set.owner().0), Ordering::Relaxed);
        }
    }

    /// Some neighbors leave: nobody is charged for the audiences with these numbers instead.
    pub fn disown(&self, numbers: Range<usize>, owners: &PeerSet) {
        let end = numbers.end.min(self.users.len());
        for user in self.users.get(numbers.start..end).unwrap_or_default() {
            let number = user.load(Ordering::Relaxed);
            if number != UNUSED && owners.contains(PeerId(number as u16)) {
                user.store(u32::from(NOBODY.0), Ordering::Relaxed);
            }
        }
    }

    /// The attribute sets seen so far.
    pub fn sets(&self) -> usize {
        self.scan.lock().sets
    }

    /// Looks at one part of the attribute store, or at nothing where it has more sets than the calls since the last part may
    /// look at: `allowance` each. Returns whether it has seen all parts.
    pub fn scan_some(&self, store: &AttrStore, allowance: usize) -> bool {
        // Another thread may be at it.
        let Some(mut scan) = self.scan.try_lock() else {
            return false;
        };
        scan.allowance += allowance;
        if scan.is_complete || store.sets_of_stripe(scan.next) > scan.allowance {
            return scan.is_complete;
        }
        scan.allowance = 0;
        let mut sets = 0;
        let has_part = store.visit_stripe(scan.next, |set| {
            sets += 1;
            self.mark(set);
        });
        scan.sets += sets;
        scan.next += 1;
        scan.is_complete = !has_part;
        scan.is_complete
    }

    /// The next audiences, `most` at most, each with the neighbor that is charged for one of the sets that use it. `None` after
    /// the last of all.
    pub fn next_users(&mut self, most: usize) -> Option<Vec<(u32, Option<PeerId>)>> {
        let from = self.freed_to;
        if from >= self.users.len() {
            return None;
        }
        self.freed_to = self.users.len().min(from + most);
        let user = |number: usize| {
            let user = self.users[number].load(Ordering::Relaxed);
            (user != UNUSED).then_some(PeerId(user as u16))
        };
        let audiences = from..self.freed_to;
        Some(audiences.map(|n| (n as u32, user(n))).collect())
    }
}
