//! The words of all nodes: an arena of 32-bit indices that grows without moving, shared with readers.
//!
//! Words are atomics, so that no order of events is undefined behaviour. The guarantees for readers come from
//! the protocol in [`crate::epoch`]. A fault there could give a wrong answer but never an invalid read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::chunk_allocator::{ChunkAllocator, Chunks};

/// The words of a chunk: 64 KiB.
pub(crate) const CHUNK: usize = 1 << 14;

/// A chunk, aligned to a cache line.
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
    pub fn new(chunk_allocator: Arc<ChunkAllocator>) -> Self {
        Memory {
            chunks: Chunks::new(chunk_allocator),
        }
    }

    /// Makes chunk number `n` usable.
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

    /// Loads a word with acquire ordering, which shows the writer's earlier stores.
    #[inline(always)]
    pub fn word(&self, index: u32) -> u32 {
        self.block(index).first()
    }

    /// Prefetches the line of a word, which need not exist.
    #[inline(always)]
    pub fn prefetch(&self, index: u32) {
        let index = index as usize;
        if let Some(chunk) = self.chunks.get(index / CHUNK) {
            crate::cpu::prefetch(&chunk.0[index % CHUNK]);
        }
    }

    pub fn set(&self, index: u32, word: u32) {
        self.block(index).slot(0).store(word, Ordering::Release);
    }

    /// Writes words that no reader can reach yet.
    pub fn write(&self, index: u32, words: &[u32]) {
        let slots = self.block(index).slots(words.len());
        for (slot, word) in slots.iter().zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
    }

    /// Writes several parts one after the other, which no reader can reach yet.
    pub fn write_parts(&self, index: u32, parts: &[&[u32]]) {
        let mut at = index;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.write(at, part);
            at += part.len() as u32;
        }
    }

    /// Copies a node to a place that no reader can reach yet.
    pub fn copy(&self, from: u32, to: u32, len: u32) {
        let [from, to] = [from, to].map(|index| self.block(index).slots(len as usize));
        for (to, from) in to.iter().zip(from) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The bytes taken from the system.
    pub fn size(&self) -> usize {
        self.chunks.len() * CHUNK * 4 + self.chunks.own_size()
    }
}

impl<'a> Block<'a> {
    /// Word number `at`. A node never crosses its chunk.
    #[inline(always)]
    pub fn word(self, at: u32) -> u32 {
        self.slot(at).load(Ordering::Relaxed)
    }

    /// The first word, with acquire ordering.
    #[inline(always)]
    pub fn first(self) -> u32 {
        self.slot(0).load(Ordering::Acquire)
    }

    /// Word number `at`, with acquire ordering.
    #[inline(always)]
    pub fn number(self, at: u32) -> u32 {
        self.slot(at).load(Ordering::Acquire)
    }

    /// The first words, which must exist.
    #[inline(always)]
    pub fn header<const LEN: usize>(self) -> &'a [AtomicU32; LEN] {
        match self.chunk[self.start..].first_chunk() {
            Some(header) => header,
            None => absent(self.start),
        }
    }

    /// Returns whether the words from number `at` on equal these.
    #[inline(always)]
    pub fn has_words(self, at: u32, words: &[u32]) -> bool {
        let slots = &self.slots(at as usize + words.len())[at as usize..];
        let pairs = slots.iter().zip(words);
        let differ = |(slot, word): (&AtomicU32, &u32)| slot.load(Ordering::Relaxed) ^ word;
        pairs.map(differ).fold(0, |all, bits| all | bits) == 0
    }

    /// Copies words, from number `at` on.
    pub fn read(self, at: u32, words: &mut [u32]) {
        let slots = self.slots(at as usize + words.len());
        for (word, slot) in words.iter_mut().zip(&slots[at as usize..]) {
            *word = slot.load(Ordering::Relaxed);
        }
    }

    /// The first words.
    #[inline(always)]
    fn slots(self, len: usize) -> &'a [AtomicU32] {
        &self.chunk[self.start..][..len]
    }

    #[inline(always)]
    fn slot(self, at: u32) -> &'a AtomicU32 {
        &self.chunk[(self.start + at as usize) % CHUNK]
    }
}

#[cold]
#[inline(never)]
fn absent(index: usize) -> ! {
    unreachable!("node {index} lies outside the arena")
}
