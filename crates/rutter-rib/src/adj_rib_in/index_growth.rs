//! The growth of an index in slices: entries move from the old index to one of twice the size while both are searched.

use hashbrown::HashTable;

use crate::adj_rib_in::table::Id;

/// An index that is moved to a larger one.
///
/// Invariant: an id that is in use is in the old index or in the new one. An id below `next` that was in use when the
/// growth began is in both. A free id is in neither.
pub(crate) struct Growth {
    old: HashTable<Id>,
    /// The ids from here to `end` have not moved.
    next: Id,
    end: Id,
    /// A bit for each id that stays out: it was free when the growth began, or became free before it was moved. If it was
    /// used again, the new index has it.
    left_out: Vec<u64>,
}

/// An index with fewer entries grows at once, in less than a millisecond.
pub(crate) const GROWS_AT_ONCE: usize = if cfg!(test) { 16 } else { 32 * 1024 };
/// The entries that move with each prefix that is inserted or found; others move in turns with time to spare. The new index has room for as many new entries as
/// the old one has, which has no more free ids than entries: so the growth is over long before the next one.
pub(crate) const STEP: Id = 16;

impl Growth {
    /// Begins to move `old`, with ids up to `end` of which those of `free` are not in use.
    pub fn begin(old: HashTable<Id>, end: Id, free: &[Id]) -> Self {
        let mut growth = Growth {
            old,
            next: 0,
            end,
            left_out: vec![0; (end as usize).div_ceil(64)],
        };
        free.iter().for_each(|id| growth.leave_out(*id));
        growth
    }

    /// Looks an id up that may not have moved.
    pub fn find(&self, hash: u64, is_wanted: impl FnMut(&Id) -> bool) -> Option<Id> {
        self.old.find(hash, is_wanted).copied()
    }

    /// Moves the rest.
    pub fn finish(mut self, new: &mut HashTable<Id>, hash: impl Fn(&Id) -> u64) {
        self.advance(Id::MAX, new, hash);
    }

    /// Moves the entries of the next ids, in the order of ids: their destinations are read in that order too. Returns
    /// whether all have moved.
    pub fn advance(&mut self, ids: Id, new: &mut HashTable<Id>, hash: impl Fn(&Id) -> u64) -> bool {
        let until = self.next.saturating_add(ids).min(self.end);
        for id in self.next..until {
            if self.left_out[id as usize / 64] >> (id % 64) & 1 == 0 {
                new.insert_unique(hash(&id), id, &hash);
            }
        }
        self.next = until;
        self.next == self.end
    }

    /// The id with this hash is free from now on. The new index is the caller's. Returns whether the old one had it.
    pub fn remove(&mut self, hash: u64, id: Id) -> bool {
        let Ok(entry) = self.old.find_entry(hash, |held| *held == id) else {
            return false;
        };
        entry.remove();
        self.leave_out(id);
        true
    }

    fn leave_out(&mut self, id: Id) {
        self.left_out[id as usize / 64] |= 1 << (id % 64);
    }

    /// The allocations: the old index, and the ids that stay out.
    pub fn sizes(&self) -> [usize; 2] {
        [
            self.old.allocation_size(),
            self.left_out.capacity() * size_of::<u64>(),
        ]
    }
}
