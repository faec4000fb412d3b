//! The words of all nodes: an arena of 32-bit indices that grows without moving, shared with readers.
//!
//! Words are atomics, so that no order of events is undefined behaviour: what readers may *rely* on is the
//! protocol in [`crate::epoch`], and a fault there could give a wrong answer but never a wild read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::supply::{Chunks, Supply};

/// Words of a chunk: 64 KiB.
pub(crate) const CHUNK: usize = 1 << 14;

/// A chunk, at the beginning of a line of the processor's cache.
#[repr(C, align(64))]
pub(crate) struct Words(pub [AtomicU32; CHUNK]);

/// A growing array of words.
pub(crate) struct Memory {
    chunks: Chunks,
}

/// The words from an index on, within its chunk.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    chunk: &'a [AtomicU32; CHUNK],
    start: usize,
}

impl Memory {
    pub fn new(supply: Arc<Supply>) -> Self {
        Memory {
            chunks: Chunks::new(supply),
        }
    }

    /// Makes the chunk number `n` usable.
    pub fn grow(&self, n: usize) {
        self.chunks.grow(n);
    }

    #[inline(always)]
    pub fn block(&self, index: u32) -> Block<'_> {
        let index = index as usize;
        let Some(chunk) = self.chunks.get(index / CHUNK) else {
            absent(index);
        };
        Block {
            chunk: &chunk.0,
            start: index % CHUNK,
        }
    }

    /// One word, with what its writer did before.
    #[inline(always)]
    pub fn word(&self, index: u32) -> u32 {
        self.block(index).first()
    }

    pub fn set(&self, index: u32, word: u32) {
        self.block(index).slot(0).store(word, Ordering::Release);
    }

    /// Writes words that no reader can reach yet.
    pub fn write(&self, index: u32, words: &[u32]) {
        let block = self.block(index);
        for (at, word) in words.iter().enumerate() {
            block.slot(at as u32).store(*word, Ordering::Relaxed);
        }
    }

    /// Copies a node to a place that no reader can reach yet.
    pub fn copy(&self, from: u32, to: u32, len: u32) {
        let (from, to) = (self.block(from), self.block(to));
        for at in 0..len {
            to.slot(at).store(from.word(at), Ordering::Relaxed);
        }
    }

    /// Octets taken from the system.
    pub fn size(&self) -> usize {
        self.chunks.len() * CHUNK * 4 + self.chunks.own_size()
    }
}

impl Block<'_> {
    /// Word number `at`; a node never crosses its chunk.
    #[inline(always)]
    pub fn word(self, at: u32) -> u32 {
        self.slot(at).load(Ordering::Relaxed)
    }

    /// The first word, with what its writer did before.
    #[inline(always)]
    pub fn first(self) -> u32 {
        self.slot(0).load(Ordering::Acquire)
    }

    #[inline(always)]
    fn slot(&self, at: u32) -> &AtomicU32 {
        &self.chunk[(self.start + at as usize) % CHUNK]
    }
}

#[cold]
#[inline(never)]
fn absent(index: usize) -> ! {
    unreachable!("node {index} lies outside the arena")
}
