//! Provides tables with chunks of words: small tables from the allocator, larger ones from huge pages that
//! tables share.
//!
//! A look-up in a large table misses the processor's TLB at each step unless the nodes lie on huge pages. A
//! huge page has 2 MiB, more than a shard needs, so the tables of one [`ChunkAllocator`] share them. A region
//! consists of small pages while its chunks are handed out, and becomes a huge page with the last chunk. So no
//! unused memory is taken.
//!
//! Invariant of the `unsafe` here: a place in [`Chunks`] is null or points to a chunk, completely written, of a
//! region of the allocator that the same [`Chunks`] holds. Each chunk is handed out once. A region is never
//! removed or freed before its allocator is dropped.
#![allow(
    unsafe_code,
    reason = "a chunk is a part of a region that others have parts of, and is reached without another step"
)]

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::memory::Words;
use crate::zeroed::{Zero, make_huge, zeroed, zeroed_box};

/// The chunks of a region: 2 MiB.
const REGION: usize = 32;

/// The most chunks of a table: 1 GiB of nodes, about a hundred million prefixes.
const CHUNKS: usize = 1 << 14;

/// Hands out chunks.
pub(crate) struct ChunkAllocator {
    /// The number of single chunks before regions are used.
    single: usize,
    stock: Mutex<ChunkPool>,
}

#[derive(Default)]
struct ChunkPool {
    singles: Vec<Box<Words>>,
    /// The number of single chunks that exist or are being allocated.
    begun: usize,
    regions: Vec<Region>,
    /// The number of chunks of regions that are handed out.
    given: usize,
}

/// Has the size and the alignment of a huge page.
#[repr(C, align(0x20_0000))]
struct HugePage([Words; REGION]);

/// A future huge page. Its words are written when they are handed out.
struct Region(NonNull<HugePage>);

// SAFETY: it is memory of its own, of which others have parts only as shared atomics.
unsafe impl Send for Region {}
// SAFETY: they have no bytes but those of their elements.
unsafe impl Zero for Words {}

/// A chunk of a region that one caller owns, not written yet.
struct Part {
    start: NonNull<Words>,
    /// The region, if this is its last chunk.
    full: Option<NonNull<HugePage>>,
}

/// The chunks of one table, by number.
pub(crate) struct Chunks {
    /// Of fixed length, so that an index needs no check; null for a missing chunk.
    places: Box<[AtomicPtr<Words>; CHUNKS]>,
    chunk_allocator: Arc<ChunkAllocator>,
}

impl ChunkAllocator {
    /// An allocator that uses regions after `single` chunks.
    pub fn new(single: usize) -> Self {
        ChunkAllocator {
            single,
            stock: Mutex::default(),
        }
    }

    /// Returns a chunk of its own for the caller. No thread waits while another gets memory from the system,
    /// which may take long.
    fn take(&self) -> NonNull<Words> {
        let mut stock = self.lock();
        if let Some(part) = stock.part() {
            drop(stock);
            return part.write();
        }
        if stock.begun < self.single {
            stock.begun += 1;
            drop(stock);
            let single = zeroed_box();
            let mut stock = self.lock();
            stock.singles.push(single);
            return chunk(stock.singles.last().map(AsRef::as_ref));
        }
        stock.regions.push(Region::new());
        let part = stock.part();
        drop(stock);
        let part = part.unwrap_or_else(|| unreachable!("a region with a chunk left"));
        part.write()
    }

    fn lock(&self) -> MutexGuard<'_, ChunkPool> {
        let stock = self.stock.lock();
        stock.unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ChunkPool {
    /// A part of a region, if one is left.
    fn part(&mut self) -> Option<Part> {
        let page = self.regions.get(self.given / REGION)?.0;
        let number = self.given % REGION;
        self.given += 1;
        // SAFETY: the region has so many chunks.
        let start = unsafe { page.cast::<Words>().add(number) };
        Some(Part {
            start,
            full: (number == REGION - 1).then_some(page),
        })
    }
}

impl Part {
    /// Writes zeros, which makes the system provide the memory. Only the caller waits for that.
    fn write(self) -> NonNull<Words> {
        // SAFETY: nobody else has this chunk yet, and zeros are a value of it.
        unsafe { self.start.write_bytes(0, 1) };
        if let Some(page) = self.full {
            make_huge(page.as_ptr().cast(), size_of::<HugePage>());
        }
        self.start
    }
}

impl Region {
    const LAYOUT: Layout = Layout::new::<HugePage>();

    fn new() -> Self {
        // SAFETY: the layout has a size.
        let start = unsafe { std::alloc::alloc(Self::LAYOUT) };
        let Some(start) = NonNull::new(start) else {
            std::alloc::handle_alloc_error(Self::LAYOUT);
        };
        Region(start.cast())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and the allocator is dropped, so nobody has a part of it.
        unsafe { std::alloc::dealloc(self.0.as_ptr().cast(), Self::LAYOUT) };
    }
}

fn chunk(chunk: Option<&Words>) -> NonNull<Words> {
    NonNull::from(chunk.unwrap_or_else(|| unreachable!("a region with a chunk left")))
}

impl Chunks {
    /// No chunks yet.
    pub fn new(chunk_allocator: Arc<ChunkAllocator>) -> Self {
        let places = zeroed(CHUNKS).try_into();
        Chunks {
            places: places.unwrap_or_else(|_| unreachable!("as many as asked for")),
            chunk_allocator,
        }
    }

    /// Makes a chunk usable. Only the table's one writer does this.
    ///
    /// # Panics
    /// If the table would take more than 1 GiB.
    pub fn grow(&self, number: usize) {
        assert!(number < CHUNKS, "a table of more than 1 GiB");
        if self.get(number).is_none() {
            self.places[number].store(self.chunk_allocator.take().as_ptr(), Ordering::Release);
        }
    }

    /// The number of usable chunks.
    pub fn len(&self) -> usize {
        (0..CHUNKS).take_while(|at| self.get(*at).is_some()).count()
    }

    /// The bytes of the places.
    pub fn own_size(&self) -> usize {
        self.places.len() * size_of::<AtomicPtr<Words>>()
    }

    /// A chunk, if it is usable.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&Words> {
        let place = self.places[number % CHUNKS].load(Ordering::Acquire);
        // SAFETY: it is null or points into a region of `self.chunk_allocator`, which lives as long as `self`.
        // The words are atomics, which are only ever shared.
        unsafe { place.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_tables_share_regions_and_no_chunk() {
        let chunk_allocator = Arc::new(ChunkAllocator::new(3));
        let tables = [(); 2].map(|()| Chunks::new(Arc::clone(&chunk_allocator)));
        for number in 0..7 {
            for (table, chunks) in tables.iter().enumerate() {
                chunks.grow(number);
                let chunk = chunks.get(number).expect("grown");
                assert_eq!(chunk.0[5].load(Ordering::Relaxed), 0);
                chunk.0[5].store((number * 2 + table) as u32 + 1, Ordering::Relaxed);
            }
        }
        drop(chunk_allocator);
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
