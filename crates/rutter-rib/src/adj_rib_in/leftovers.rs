//! Work on the table that nobody waits for. It is noted here, and turns with time to spare do it in slices.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Work that is left: in a shard entries of a growing index that have not moved, or destinations without routes that no
/// client needs any more; and memory that takes long to free.
#[derive(Default)]
pub(crate) struct Leftovers {
    is_noted: AtomicBool,
    discarded: Mutex<Vec<Box<dyn Discarded>>>,
}

/// Memory that is freed in slices.
pub(crate) trait Discarded: Send {
    /// Frees some, about a tenth of a millisecond. Returns whether more is left.
    fn free_some(&mut self) -> bool;
}

impl Leftovers {
    /// A shard has some.
    pub fn note(&self) {
        self.is_noted.store(true, Ordering::Release);
    }

    /// Returns whether a shard has some; a load.
    pub fn is_noted(&self) -> bool {
        self.is_noted.load(Ordering::Relaxed)
    }

    /// Returns whether a shard has some. The caller does the work, and notes what is left.
    pub fn take(&self) -> bool {
        self.is_noted() && self.is_noted.swap(false, Ordering::Acquire)
    }

    /// Leaves memory to be freed in slices.
    pub fn discard(&self, memory: Box<dyn Discarded>) {
        self.discarded.lock().push(memory);
        self.note();
    }

    /// Frees a slice of the discarded memory. Returns whether more is left.
    pub fn free_some(&self) -> bool {
        let Some(mut memory) = self.discarded.lock().pop() else {
            return false;
        };
        // Others need not wait for the system's allocator.
        let is_left = memory.free_some();
        let mut discarded = self.discarded.lock();
        if is_left {
            discarded.push(memory);
        }
        !discarded.is_empty()
    }
}

/// The steps of a slice: to move an entry of an index, or to free a destination. Each is a cache miss or two.
pub(crate) const SLICE_STEPS: usize = 1_024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rutter_net::Ipv4Prefix;

    use super::*;
    use crate::PeerId;
    use crate::adj_rib_in::index_growth::STEP;
    use crate::adj_rib_in::shard::{Shard, Stored};
    use crate::advertise::test_support::plain_style;

    fn shard() -> (Shard, Arc<Leftovers>) {
        let leftovers = Arc::default();
        (Shard::new(0, 7, &Default::default(), &leftovers), leftovers)
    }

    fn prefix(number: u32) -> Ipv4Prefix {
        Ipv4Prefix::new(number << 8, 24).unwrap()
    }

    fn destinations(shard: &Shard) -> usize {
        Ipv4Prefix::table(shard).len()
    }

    #[test]
    fn destinations_that_were_kept_for_clients_are_freed_in_slices() {
        let (mut shard, leftovers) = shard();
        shard.begin_catch_up(PeerId(1), &plain_style());
        shard.begin_catch_up(PeerId(2), &plain_style());
        for number in 0..10_000 {
            shard.tombstone(prefix(number));
        }
        while shard.tidy(1_000) {}
        leftovers.take();
        shard.end_catch_up(PeerId(1));
        assert!(!leftovers.is_noted(), "another client needs them");
        shard.end_catch_up(PeerId(2));
        assert!(leftovers.take());
        assert_eq!(destinations(&shard), 10_000);
        for slice in 1..=10 {
            assert_eq!(shard.tidy(1_000), slice < 10);
            assert_eq!(destinations(&shard), 10_000 - slice * 1_000);
        }
        assert_eq!(
            Ipv4Prefix::table(&shard).size(),
            (0, 0),
            "all memory is freed"
        );
    }

    #[test]
    fn an_index_grows_on_in_slices_although_no_more_prefixes_come() {
        let (mut shard, leftovers) = shard();
        let mut held = 0;
        while held < 10_000 || !leftovers.is_noted() {
            leftovers.take();
            Ipv4Prefix::table_mut(&mut shard).find_or_insert(prefix(held));
            held += 1;
        }
        let index = |shard: &Shard| Ipv4Prefix::table(shard).size().1;
        let while_it_grows = index(&shard);
        let mut slices = 1;
        while shard.tidy(100) {
            slices += 1;
        }
        let moved = 1 + STEP;
        assert_eq!(slices, (held - moved).div_ceil(100));
        assert!(index(&shard) < while_it_grows, "the old index is freed");
        let table = Ipv4Prefix::table(&shard);
        assert!((0..held).all(|number| table.find(prefix(number)).is_some()));
    }
}
