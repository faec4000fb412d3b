//! Values that routes of a shard share: one block of words for all routes of a source that are equal.
//!
//! A block has a word with how many words there are and how many routes use it (for the writer only), the source, and the
//! words.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::memory::{Block, Memory};
use crate::net::Net;
use crate::table::Table;

use super::index::Index;

/// The most words of a value: a block of the arena has 1400.
pub(super) const LONGEST: usize = 1398;

/// The part of a block's first word that is the number of words. The uses are above; a block whose uses are too many to
/// count stays for good.
const LEN: u32 = (1 << 11) - 1;
const ONE_USE: u32 = 1 << 11;
const ALL_USES: u32 = !LEN;
const SOURCE: u32 = 1;
/// Where the words of a block begin.
pub(super) const HEAD: u32 = 2;

/// Finds blocks by what they say.
pub(super) struct Pool {
    index: Index,
    seed: u64,
}

impl Pool {
    pub fn new() -> Self {
        Pool {
            index: Index::new(),
            // Values come from the network: nobody outside should know which of them collide.
            seed: RandomState::new().build_hasher().finish() | 1,
        }
    }

    /// The hash of a source's value, of which [`Self::take`] will be asked soon.
    pub fn hash(&self, source: u32, value: &[u32]) -> u64 {
        let hash = hash(self.seed, source, value.iter().copied());
        self.index.prefetch(hash);
        hash
    }

    /// The block of a source's value, with one more use; `hash` is of [`Self::hash`].
    pub fn take<N: Net>(
        &mut self,
        table: &mut Table<N>,
        source: u32,
        value: &[u32],
        hash: u64,
    ) -> u32 {
        let memory = &table.shared.memory;
        let known = self
            .index
            .find(hash, |block| is(memory, block, source, value));
        if let Some(block) = known {
            let head = memory.word(block);
            if head & ALL_USES != ALL_USES {
                memory.set(block, head + ONE_USE);
            }
            return block;
        }
        let head = [value.len() as u32 | ONE_USE, source];
        let block = table.store(&[&head, value]);
        let (seed, memory) = (self.seed, &table.shared.memory);
        let hash_of = |block| hash_of(seed, memory, block);
        self.index.insert(hash, block, hash_of);
        block
    }

    /// Asks for what [`Self::give_back`] will look at.
    pub fn prefetch(&self, memory: &Memory, block: u32) {
        if memory.word(block) & ALL_USES == ONE_USE {
            self.index.prefetch(hash_of(self.seed, memory, block));
        }
    }

    /// One use less; the last one lets the block go.
    pub fn give_back<N: Net>(&mut self, table: &mut Table<N>, block: u32) {
        let memory = &table.shared.memory;
        let head = memory.word(block);
        if head & ALL_USES == ALL_USES {
            return;
        }
        if head & ALL_USES == ONE_USE {
            self.index.remove(hash_of(self.seed, memory, block), block);
            table.retire(block);
        } else {
            memory.set(block, head - ONE_USE);
        }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Octets of the index.
    pub fn size(&self) -> usize {
        self.index.size()
    }
}

/// Multiplies and folds, two words at a time.
fn hash(seed: u64, source: u32, mut words: impl ExactSizeIterator<Item = u32>) -> u64 {
    let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let fold = |hash: u64, words: u64| {
        let wide = u128::from(hash ^ words) * 0x9e37_79b9_7f4a_7c15;
        (wide >> 64) as u64 ^ wide as u64
    };
    let mut hash = fold(seed, two(source, words.len() as u32));
    while let Some(word) = words.next() {
        hash = fold(hash, two(word, words.next().unwrap_or(0)));
    }
    hash
}

fn hash_of(seed: u64, memory: &Memory, block: u32) -> u64 {
    let block = memory.block(block);
    hash(seed, source(block), words(block))
}

/// The source of the routes that a block is for.
#[inline(always)]
pub(super) fn source(block: Block<'_>) -> u32 {
    block.word(SOURCE)
}

/// How many words the value in a block has.
#[inline(always)]
pub(super) fn len(block: Block<'_>) -> u32 {
    block.word(0) & LEN
}

/// The words of the value in a block.
#[inline(always)]
pub(super) fn words(block: Block<'_>) -> impl ExactSizeIterator<Item = u32> + '_ {
    (HEAD..HEAD + len(block)).map(move |at| block.word(at))
}

/// Whether a block is of a source and says this.
pub(super) fn is(memory: &Memory, block: u32, of: u32, value: &[u32]) -> bool {
    let block = memory.block(block);
    source(block) == of && words(block).eq(value.iter().copied())
}
