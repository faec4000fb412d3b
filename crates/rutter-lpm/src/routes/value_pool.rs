//! Shares the values of a shard's routes: one block of words for all equal routes of a source.
//!
//! A block contains a word with the number of words and of routes that use it (only for the writer), the
//! source, and the words.
//!
//! Many a removed route comes back soon with the same value. So an unused value stays for a while, until unused
//! values are some 3 % of all.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use crate::block_allocator::LINE;
use crate::memory::{Block, Memory};
use crate::net::Net;
use crate::table::Table;

use super::hash_index::{HashIndex, IndexLines};

/// The most words of a value: a block of the arena has 1400.
pub(super) const LONGEST: usize = 1398;

/// The part of a block's first word that is the number of words. The use count is above. A block whose count
/// overflows is never freed.
const LEN: u32 = (1 << 11) - 1;
/// Set while a block is in [`ValuePool::idle`].
const IS_IDLE: u32 = 1 << 11;
const ONE_USE: u32 = 1 << 12;
const ALL_USES: u32 = !(ONE_USE - 1);
const SOURCE: u32 = 1;
/// The offset of the words of a block.
pub(super) const HEAD: u32 = 2;

/// The secret key of the hash. Values come from the network, so nobody outside may know which of them collide.
#[derive(Clone, Copy)]
pub(super) struct Seed {
    start: u64,
    /// With a public factor, some changes of a value would leave the hash the same for many a start.
    factor: u64,
}

impl Seed {
    pub fn new() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Seed {
            start: random(),
            factor: random() | 1,
        }
    }

    /// The hash of a source's value.
    #[inline(always)]
    pub fn hash(self, source: u32, value: &[u32]) -> u64 {
        hash(self, source, value.len(), |at| value[at])
    }

    fn hash_of(self, memory: &Memory, block: u32) -> u64 {
        let block = memory.block(block);
        let word = |at| block.word(HEAD + at as u32);
        hash(self, source(block), len(block) as usize, word)
    }
}

/// Finds blocks by their contents.
pub(super) struct ValuePool {
    index: HashIndex,
    seed: Seed,
    /// Blocks that became unused, the oldest first. Some are in use again.
    idle: VecDeque<u32>,
    /// The number of unused blocks.
    unused: usize,
}

/// The number of blocks that may be idle, plus one for so many blocks in all.
const IDLE: usize = 64;
const OF_ALL: usize = 32;
/// The distance at which idle blocks are prefetched before they are checked.
const AHEAD: usize = 4;

impl ValuePool {
    pub fn new(seed: Seed) -> Self {
        ValuePool {
            index: HashIndex::new(),
            seed,
            idle: VecDeque::new(),
            unused: 0,
        }
    }

    /// The index lines, for threads without the lock.
    pub fn lines(&self) -> Arc<IndexLines> {
        Arc::clone(self.index.lines())
    }

    /// Prefetches what [`Self::take`] reads first.
    pub fn ask(&self, memory: &Memory, hash: u64) {
        self.index.lines().ask(memory, hash);
    }

    /// Returns the block of a source's value, with one more use; `hash` comes from [`Seed::hash`].
    pub fn take<N: Net>(
        &mut self,
        table: &mut Table<N>,
        source: u32,
        value: &[u32],
        hash: u64,
    ) -> u32 {
        let memory = &table.shared.memory;
        let is_it = |block| is(memory, block, source, value);
        if let Some(block) = self.index.find(memory, hash, is_it) {
            let head = memory.word(block);
            if head & ALL_USES != ALL_USES {
                self.unused -= usize::from(head & ALL_USES == 0);
                memory.set(block, head + ONE_USE);
            }
            return block;
        }
        let head = [value.len() as u32 | ONE_USE, source];
        let block = table.store(&[&head, value]);
        let seed = self.seed;
        let hash_of = |memory: &Memory, block| seed.hash_of(memory, block);
        self.index.insert(table, hash, block, hash_of);
        block
    }

    /// Removes one use. An unused block is freed some time later.
    pub fn give_back<N: Net>(&mut self, table: &mut Table<N>, block: u32) {
        let memory = &table.shared.memory;
        let head = memory.word(block);
        if head & ALL_USES == ALL_USES {
            return;
        }
        let head = head - ONE_USE;
        if head & ALL_USES != 0 {
            return memory.set(block, head);
        }
        self.unused += 1;
        memory.set(block, head | IS_IDLE);
        if head & IS_IDLE == 0 {
            self.idle.push_back(block);
            self.free_idle(table, IDLE + self.index.len() / OF_ALL);
        }
    }

    /// Frees unused blocks until no more than `most` idle blocks are left.
    pub fn free_idle<N: Net>(&mut self, table: &mut Table<N>, most: usize) {
        while self.idle.len() > most {
            let memory = &table.shared.memory;
            self.prefetch_idle(memory);
            let Some(block) = self.idle.pop_front() else {
                return;
            };
            let head = memory.word(block) & !IS_IDLE;
            memory.set(block, head);
            if head & ALL_USES == 0 {
                self.unused -= 1;
                let hash = self.seed.hash_of(memory, block);
                self.index.remove(memory, hash, block);
                table.retire(block);
            }
        }
    }

    /// Prefetches the next idle blocks.
    fn prefetch_idle(&self, memory: &Memory) {
        if let Some(block) = self.idle.get(AHEAD) {
            memory.prefetch(*block);
            memory.prefetch(*block + LINE);
        }
        let soon = self.idle.get(AHEAD / 2);
        if let Some(block) = soon.filter(|block| memory.word(**block) & ALL_USES == 0) {
            let hash = self.seed.hash_of(memory, *block);
            self.index.lines().ask(memory, hash);
        }
    }

    /// The number of blocks in use.
    pub fn len(&self) -> usize {
        self.index.len() - self.unused
    }

    /// The bytes of the index and the list of idle blocks.
    pub fn size(&self) -> usize {
        self.index.size() + self.idle.capacity() * 4
    }
}

/// Multiplies and folds, two words at a time.
#[inline(always)]
fn hash(seed: Seed, source: u32, len: usize, word: impl Fn(usize) -> u32) -> u64 {
    let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let fold = |hash: u64, words: u64| {
        let wide = u128::from(hash ^ words) * u128::from(seed.factor);
        (wide >> 64) as u64 ^ wide as u64
    };
    let mut hash = fold(seed.start, two(source, len as u32));
    for pair in 0..len / 2 {
        hash = fold(hash, two(word(2 * pair), word(2 * pair + 1)));
    }
    match len % 2 {
        0 => hash,
        _ => fold(hash, two(word(len - 1), 0)),
    }
}

/// The source of the routes of a block.
#[inline(always)]
pub(super) fn source(block: Block<'_>) -> u32 {
    block.word(SOURCE)
}

/// The number of words of the value in a block.
#[inline(always)]
pub(super) fn len(block: Block<'_>) -> u32 {
    block.word(0) & LEN
}

/// The words of the value in a block.
#[inline(always)]
pub(super) fn words(block: Block<'_>) -> impl ExactSizeIterator<Item = u32> + '_ {
    (HEAD..HEAD + len(block)).map(move |at| block.word(at))
}

/// Returns whether a block has this source and value.
#[inline(always)]
pub(super) fn is(memory: &Memory, block: u32, of: u32, value: &[u32]) -> bool {
    let block = memory.block(block);
    source(block) == of && len(block) as usize == value.len() && block.has_words(HEAD, value)
}
