//! Values that routes of a shard share: one block of words for all that are equal.
//!
//! A block has a word with how many words there are and how many routes use it (for the writer only), and the words.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::memory::Memory;
use crate::net::Net;
use crate::table::Table;

/// The most words of a value: a block of the arena has 1400.
pub(super) const LONGEST: usize = 1398;

/// The part of a slot that is the block's index, of an arena of 2²⁸ words.
const BLOCK: u32 = (1 << 28) - 1;

/// The part of a block's first word that is the number of words. The uses are above; a block whose uses are too many to
/// count stays for good.
const LEN: u32 = (1 << 11) - 1;
const ONE_USE: u32 = 1 << 11;
const ALL_USES: u32 = !LEN;
/// Where the words of a block begin.
pub(super) const HEAD: u32 = 1;

/// Finds blocks by what they say: open addressing with linear probing.
pub(super) struct Pool {
    /// The index of a block with bits of its hash above, so that few other values are looked at; 0 for none.
    slots: Vec<u32>,
    len: usize,
    seed: u64,
    words: Vec<u32>,
}

impl Pool {
    pub fn new() -> Self {
        Pool {
            slots: vec![0; 16],
            len: 0,
            // Values come from the network: nobody outside should know which of them collide.
            seed: RandomState::new().build_hasher().finish() | 1,
            words: Vec::new(),
        }
    }

    /// The block of a value, with one more use.
    pub fn take<N: Net>(&mut self, table: &mut Table<N>, value: &[u32]) -> u32 {
        let hash = self.hash(value.iter().copied());
        let mut at = self.home(hash);
        while self.slots[at] != 0 {
            let memory = &table.shared.memory;
            let block = self.slots[at] & BLOCK;
            if self.slots[at] == slot(block, hash) && is_equal(memory, block, value) {
                let head = memory.word(block);
                if head & ALL_USES != ALL_USES {
                    memory.set(block, head + ONE_USE);
                }
                return block;
            }
            at = self.after(at);
        }
        self.words.clear();
        self.words.push(value.len() as u32 | ONE_USE);
        self.words.extend(value);
        let block = table.store(&self.words);
        self.slots[at] = slot(block, hash);
        self.len += 1;
        if self.len * 4 > self.slots.len() * 3 {
            self.grow(&table.shared.memory);
        }
        block
    }

    /// One use less; the last one lets the block go.
    pub fn give_back<N: Net>(&mut self, table: &mut Table<N>, block: u32) {
        let memory = &table.shared.memory;
        let head = memory.word(block);
        if head & ALL_USES == ALL_USES {
            return;
        }
        memory.set(block, head - ONE_USE);
        if head & ALL_USES == ONE_USE {
            self.forget(&table.shared.memory, block);
            table.retire(block);
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Octets of the index.
    pub fn size(&self) -> usize {
        self.slots.capacity() * 4
    }

    /// Empties the slot of a block and moves those up that it kept from their places.
    fn forget(&mut self, memory: &Memory, block: u32) {
        let mut hole = self.home(self.hash_of(memory, block));
        while self.slots[hole] & BLOCK != block {
            hole = self.after(hole);
        }
        let mut at = self.after(hole);
        while self.slots[at] != 0 {
            let home = self.home(self.hash_of(memory, self.slots[at]));
            let mask = self.slots.len() - 1;
            // Its way from home leads over the hole.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.slots[hole] = 0;
        self.len -= 1;
    }

    fn grow(&mut self, memory: &Memory) {
        let slots = vec![0; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, slots) {
            if slot != 0 {
                let mut at = self.home(self.hash_of(memory, slot));
                while self.slots[at] != 0 {
                    at = self.after(at);
                }
                self.slots[at] = slot;
            }
        }
    }

    /// Where the search for a hash begins.
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    fn hash_of(&self, memory: &Memory, slot: u32) -> u64 {
        self.hash(words(memory, slot & BLOCK))
    }

    /// Multiplies and folds, word by word.
    fn hash(&self, words: impl Iterator<Item = u32>) -> u64 {
        words.fold(self.seed, |hash, word| {
            let wide = u128::from(hash ^ u64::from(word)) * 0x9e37_79b9_7f4a_7c15;
            (wide >> 64) as u64 ^ wide as u64
        })
    }
}

/// The words of the value in a block.
pub(super) fn words(memory: &Memory, block: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
    let words = memory.block(block);
    let len = words.word(0) & LEN;
    (HEAD..HEAD + len).map(move |at| words.word(at))
}

/// What a slot says of a block whose value has a hash. The bits are not those that choose the slot.
fn slot(block: u32, hash: u64) -> u32 {
    block | (hash as u32) << 28
}

fn is_equal(memory: &Memory, block: u32, value: &[u32]) -> bool {
    words(memory, block).eq(value.iter().copied())
}
