//! Where tables get their chunks of words: small tables from the allocator, larger ones from huge pages that tables share.
//!
//! A look-up in a large table misses the processor's address cache at each step unless the nodes lie on huge pages. Those are
//! of 2 MiB, more than a shard has, so the tables of one [`Supply`] take turns in them.
//!
//! Invariant of the `unsafe` here: a place in [`Chunks`] is null or points to a chunk of a region of the supply that the same [`Chunks`]
//! holds. A region is never taken out of its supply, moved or given back before the supply is dropped.
#![allow(
    unsafe_code,
    reason = "a chunk is a part of a region that others have parts of, and is reached without another step"
)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::memory::Words;
use crate::zeroed::{Zero, zeroed, zeroed_box};

/// Chunks of a region: 2 MiB.
const REGION: usize = 32;

/// The most chunks of a table: 1 GiB of nodes, about a hundred million prefixes.
const CHUNKS: usize = 1 << 14;

/// Gives out chunks.
pub(crate) struct Supply {
    /// Chunks that come one by one, before regions are worth it.
    single: usize,
    stock: Mutex<Stock>,
}

#[derive(Default)]
struct Stock {
    singles: Vec<Box<Words>>,
    /// Single chunks that are there or on their way.
    begun: usize,
    regions: Vec<Box<Region>>,
    /// Chunks of regions that are given out.
    given: usize,
}

/// As large as a huge page, and lying on one.
#[repr(C, align(0x20_0000))]
struct Region([Words; REGION]);

// SAFETY: they have no octets but those of their elements.
unsafe impl Zero for Region {}
// SAFETY: as above.
unsafe impl Zero for Words {}

/// The chunks of one table, by number.
pub(crate) struct Chunks {
    /// Of fixed length, so that an index needs no check; null where there is no chunk yet.
    places: Box<[AtomicPtr<Words>; CHUNKS]>,
    supply: Arc<Supply>,
}

impl Supply {
    /// A supply that gives regions out after `single` chunks.
    pub fn new(single: usize) -> Self {
        Supply {
            single,
            stock: Mutex::default(),
        }
    }

    /// A chunk that nobody else has. Nobody waits for another's memory to come from the system, which may take long: two at
    /// once get a region each, of which one keeps its parts for later.
    fn take(&self) -> NonNull<Words> {
        let mut stock = self.lock();
        if let Some(chunk) = stock.part() {
            return chunk;
        }
        if stock.begun < self.single {
            stock.begun += 1;
            drop(stock);
            let single = zeroed_box();
            let mut stock = self.lock();
            stock.singles.push(single);
            return chunk(stock.singles.last().map(AsRef::as_ref));
        }
        drop(stock);
        let region = zeroed_box();
        let mut stock = self.lock();
        stock.regions.push(region);
        let part = stock.part();
        part.unwrap_or_else(|| unreachable!("a region with a chunk left"))
    }

    fn lock(&self) -> MutexGuard<'_, Stock> {
        let stock = self.stock.lock();
        stock.unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Stock {
    /// A part of a region, where one is left.
    fn part(&mut self) -> Option<NonNull<Words>> {
        let region = self.regions.get(self.given / REGION)?;
        let part = &region.0[self.given % REGION];
        self.given += 1;
        Some(NonNull::from(part))
    }
}

fn chunk(chunk: Option<&Words>) -> NonNull<Words> {
    NonNull::from(chunk.unwrap_or_else(|| unreachable!("a region with a chunk left")))
}

impl Chunks {
    /// No chunks yet.
    pub fn new(supply: Arc<Supply>) -> Self {
        let places = zeroed(CHUNKS).try_into();
        Chunks {
            places: places.unwrap_or_else(|_| unreachable!("as many as asked for")),
            supply,
        }
    }

    /// Makes a chunk usable. Only the table's one writer does this.
    ///
    /// # Panics
    /// When the table would take more than 1 GiB.
    pub fn grow(&self, number: usize) {
        assert!(number < CHUNKS, "a table of more than 1 GiB");
        if self.get(number).is_none() {
            self.places[number].store(self.supply.take().as_ptr(), Ordering::Release);
        }
    }

    /// How many are usable.
    pub fn len(&self) -> usize {
        (0..CHUNKS).take_while(|at| self.get(*at).is_some()).count()
    }

    /// Octets of the places.
    pub fn own_size(&self) -> usize {
        self.places.len() * size_of::<AtomicPtr<Words>>()
    }

    /// A chunk, where it is usable.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&Words> {
        let place = self.places[number % CHUNKS].load(Ordering::Acquire);
        // SAFETY: it is null or points into a region of `self.supply`, which lives as long as `self`; the words are atomics,
        // which are only ever shared.
        unsafe { place.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_tables_share_regions_and_no_chunk() {
        let supply = Arc::new(Supply::new(3));
        let tables = [(); 2].map(|()| Chunks::new(Arc::clone(&supply)));
        for number in 0..7 {
            for (table, chunks) in tables.iter().enumerate() {
                chunks.grow(number);
                let chunk = chunks.get(number).expect("grown");
                assert_eq!(chunk.0[5].load(Ordering::Relaxed), 0);
                chunk.0[5].store((number * 2 + table) as u32 + 1, Ordering::Relaxed);
            }
        }
        drop(supply);
        for (table, chunks) in tables.iter().enumerate() {
            assert_eq!(chunks.len(), 7);
            assert!(chunks.get(7).is_none());
            for number in 0..7 {
                let word = chunks
                    .get(number)
                    .map(|chunk| chunk.0[5].load(Ordering::Relaxed));
                assert_eq!(word, Some((number * 2 + table) as u32 + 1));
            }
        }
    }
}
