//! Finds blocks by the hash of their contents: a table of lines, each a cache line.
//!
//! A line has twelve places, a byte of the hash for each, and the number of blocks that overflowed to the next
//! line. A search continues with the next line only if that number is not 0. So removing a block moves nothing
//! and leaves no marker.
//!
//! The lines lie in the memory of the shard's table, in parts, so that the parts of a smaller index can be
//! reused. Any thread may read them without a lock, to prefetch what a writer will need. The result is then
//! only a hint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::block_allocator::LINE;
use crate::memory::{Block, Memory};
use crate::net::Net;
use crate::table::Table;
use crate::zeroed::zeroed;

/// The blocks of one shard.
pub(super) struct HashIndex {
    lines: Arc<IndexLines>,
    len: usize,
}

/// The places of the lines.
pub(super) struct IndexLines {
    parts: Box<[AtomicU32]>,
    /// The number of parts in use.
    count: AtomicUsize,
}

/// The most parts of an index: for some 40 million blocks.
const MOST_PARTS: usize = 1 << 18;
/// The lines of a part: 1 KiB.
const LINES: usize = 16;
const WORDS: usize = LINES * LINE as usize;

/// A line contains first the bytes of the hashes, 0 for an empty place; then the overflow count; then the
/// blocks.
const PASSED: u32 = 3;
const BLOCKS: u32 = 4;
const PLACES: usize = 12;
/// The average number of blocks in a line at which the index grows.
const FULL: usize = 10;

impl IndexLines {
    fn new() -> Self {
        IndexLines {
            parts: zeroed(MOST_PARTS),
            count: AtomicUsize::new(0),
        }
    }

    /// Prefetches the line where the search for a hash begins, and returns it; 0 if the index is empty.
    #[inline(always)]
    pub fn ask(&self, memory: &Memory, hash: u64) -> u32 {
        let Some(home) = self.home(hash) else {
            return 0;
        };
        let line = self.line(home);
        memory.prefetch(line);
        line
    }

    /// Prefetches the blocks with a matching byte in the first line of a search, which [`Self::ask`] returned.
    #[inline(always)]
    pub fn ask_for_blocks(memory: &Memory, line: u32, hash: u64) {
        if line == 0 {
            return;
        }
        let line = memory.block(line);
        for place in with_tag(line, tag(hash)) {
            let block = line.word(BLOCKS + place);
            memory.prefetch(block);
            memory.prefetch(block + LINE);
        }
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire) * LINES
    }

    /// The number of the line where the search for a hash begins, if there are lines.
    fn home(&self, hash: u64) -> Option<usize> {
        let lines = self.count();
        let home = (u128::from(hash) * lines as u128) >> 64;
        (lines > 0).then_some(home as usize)
    }

    /// The start of a line.
    fn line(&self, number: usize) -> u32 {
        let part = &self.parts[number / LINES % MOST_PARTS];
        part.load(Ordering::Relaxed) + (number % LINES) as u32 * LINE
    }

    fn after(&self, number: usize) -> usize {
        match number + 1 {
            next if next == self.count() => 0,
            next => next,
        }
    }
}

impl HashIndex {
    pub fn new() -> Self {
        HashIndex {
            lines: Arc::new(IndexLines::new()),
            len: 0,
        }
    }

    pub fn lines(&self) -> &Arc<IndexLines> {
        &self.lines
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes outside the memory of the table.
    pub fn size(&self) -> usize {
        self.lines.count() / LINES * 4
    }

    /// Finds the block with a hash for which `is_it` returns `true`.
    pub fn find(&self, memory: &Memory, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.lines.home(hash)?;
        loop {
            let line = memory.block(self.lines.line(at));
            let blocks = with_tag(line, tag(hash)).map(|place| line.word(BLOCKS + place));
            if let Some(block) = blocks.into_iter().find(|block| is_it(*block)) {
                return Some(block);
            }
            if line.word(PASSED) == 0 {
                return None;
            }
            at = self.lines.after(at);
        }
    }

    /// Adds a block that is not in the index; `hash_of` returns the hashes of other blocks.
    pub fn insert<N: Net>(
        &mut self,
        table: &mut Table<N>,
        hash: u64,
        block: u32,
        hash_of: impl Fn(&Memory, u32) -> u64,
    ) {
        if self.len >= self.lines.count() * FULL {
            self.grow(table, hash_of);
        }
        self.place(&table.shared.memory, hash, block);
        self.len += 1;
    }

    fn place(&self, memory: &Memory, hash: u64, block: u32) {
        let home = self.lines.home(hash);
        let mut at = home.unwrap_or_else(|| unreachable!("an index with lines"));
        loop {
            let start = self.lines.line(at);
            let line = memory.block(start);
            if let Some(place) = with_tag(line, 0).next() {
                set_tag(memory, start, place, tag(hash));
                return memory.set(start + BLOCKS + place, block);
            }
            memory.set(start + PASSED, line.word(PASSED) + 1);
            at = self.lines.after(at);
        }
    }

    /// Removes a block that is in the index.
    pub fn remove(&mut self, memory: &Memory, hash: u64, block: u32) {
        let home = self.lines.home(hash);
        let mut at = home.unwrap_or_else(|| unreachable!("an index with lines"));
        loop {
            let start = self.lines.line(at);
            let line = memory.block(start);
            let mut places = with_tag(line, tag(hash));
            if let Some(place) = places.find(|place| line.word(BLOCKS + place) == block) {
                set_tag(memory, start, place, 0);
                self.len -= 1;
                return;
            }
            memory.set(start + PASSED, line.word(PASSED) - 1);
            at = self.lines.after(at);
        }
    }

    /// Moves all blocks to an index of one and a half times as many parts.
    fn grow<N: Net>(&mut self, table: &mut Table<N>, hash_of: impl Fn(&Memory, u32) -> u64) {
        let count = self.lines.count() / LINES;
        let parts = &self.lines.parts[..count];
        let old: Vec<u32> = parts
            .iter()
            .map(|part| part.load(Ordering::Relaxed))
            .collect();
        let more = count * 3 / 2 + 1;
        assert!(more <= MOST_PARTS, "a shard of more than 40 million values");
        for part in &self.lines.parts[..more] {
            part.store(table.store_in_lines(&[0; WORDS]), Ordering::Relaxed);
        }
        self.lines.count.store(more, Ordering::Release);
        for start in &old {
            let memory = &table.shared.memory;
            for line in (0..LINES as u32).map(|line| memory.block(start + line * LINE)) {
                for place in (0..PLACES as u32).filter(|place| tag_of(line, *place) != 0) {
                    let block = line.word(BLOCKS + place);
                    self.place(memory, hash_of(memory, block), block);
                }
            }
        }
        old.into_iter().for_each(|part| table.retire(part));
    }
}

/// Bits of the hash that do not choose the line; never 0.
fn tag(hash: u64) -> u8 {
    hash as u8 | 1
}

fn tag_of(line: Block<'_>, place: u32) -> u8 {
    (line.word(place / 4) >> (place % 4 * 8)) as u8
}

fn set_tag(memory: &Memory, line: u32, place: u32, tag: u8) {
    let (word, at) = (line + place / 4, place % 4 * 8);
    let others = memory.word(word) & !(0xff << at);
    memory.set(word, others | u32::from(tag) << at);
}

/// The places of a line that have a tag.
#[inline(always)]
fn with_tag(line: Block<'_>, tag: u8) -> impl Iterator<Item = u32> {
    const LOW: u32 = 0x7f7f_7f7f;
    let mut places = 0;
    for word in 0..3 {
        let other = line.word(word) ^ (u32::from(tag) * 0x0101_0101);
        // Sets the lowest bit of each byte that is equal.
        let hits = !(((other & LOW) + LOW) | other | LOW) >> 7;
        // Gathers the lowest bits of four bytes.
        places |= (hits.wrapping_mul(0x1020_4080) >> 28) << (word * 4);
    }
    std::iter::from_fn(move || {
        let place = places.trailing_zeros();
        (places != 0).then(|| {
            places &= places - 1;
            place
        })
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::chunk_allocator::ChunkAllocator;
    use crate::epoch::Epochs;
    use crate::profile::Profile;
    use rutter_net::Ipv4Prefix;

    fn hash(block: u32) -> u64 {
        // Few values, so that lines overflow.
        u64::from(block % 97).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn exactly_the_blocks_in_the_index_are_found() {
        let epochs = crate::sync::Arc::new(Epochs::new());
        let chunk_allocator = ChunkAllocator::new(1).into();
        let mut table =
            Table::<Ipv4Prefix>::with_epochs(Profile::Fast, epochs, chunk_allocator, true);
        let shared = Arc::clone(&table.shared);
        let (mut index, memory) = (HashIndex::new(), &shared.memory);
        assert_eq!(index.find(memory, hash(1), |_| true), None);
        for block in 1..3_000 {
            index.insert(&mut table, hash(block), block, |_, block| hash(block));
            if block % 3 == 0 {
                index.remove(memory, hash(block / 3), block / 3);
            }
        }
        assert_eq!(index.len(), 2_000);
        for block in 1..4_000 {
            let found = index.find(memory, hash(block), |other| other == block);
            assert_eq!(found, (1_000..3_000).contains(&block).then_some(block));
        }
        (1_000..3_000).for_each(|block| index.remove(memory, hash(block), block));
        for line in (0..index.lines.count()).map(|at| memory.block(index.lines.line(at))) {
            assert!((0..=PASSED).all(|word| line.word(word) == 0));
        }
    }

    #[test]
    fn the_places_of_a_tag_are_those_that_have_it() {
        let chunk_allocator = std::sync::Arc::new(ChunkAllocator::new(1));
        let memory = Memory::new(chunk_allocator);
        memory.grow(0);
        let tags: Vec<u8> = (0..PLACES as u8)
            .map(|at| [1, 0, 128, 129, 255][at as usize * 7 % 5])
            .collect();
        for (place, tag) in (0..).zip(&tags) {
            set_tag(&memory, LINE, place, *tag);
        }
        for tag in 0..=255 {
            let found: Vec<u32> = with_tag(memory.block(LINE), tag).collect();
            let all = (0..).zip(&tags).filter(|(_, other)| **other == tag);
            assert_eq!(found, all.map(|(place, _)| place).collect::<Vec<u32>>());
        }
    }
}
