//! Allocates the blocks of a table, and frees them when no reader uses them.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::block_allocator::BlockAllocator;
use crate::direct_ipv6::{RETIRED_TABLE, Tables};
use crate::memory::Memory;
use crate::net::Net;

use super::Table;

/// The longest nodes that are aligned to cache lines in a shard: longer ones lose little without.
const MOST_IN_LINES: u32 = 240;

impl<N: Net> Table<N> {
    /// Stores words beside the nodes; [`Self::retire`] frees them.
    pub(crate) fn store(&mut self, parts: &[&[u32]]) -> u32 {
        let index = self.alloc(parts.iter().map(|part| part.len() as u32).sum());
        self.shared.memory.write_parts(index, parts);
        index
    }

    /// [`Self::store`] for up to 256 words, aligned to a cache line.
    pub(crate) fn store_in_lines(&mut self, words: &[u32]) -> u32 {
        let memory = &self.shared.memory;
        let index = self.blocks.alloc_lines(words.len() as u32, memory);
        memory.write(index, words);
        index
    }

    /// Allocates a block for a node.
    pub(super) fn alloc_node(&mut self, len: u32) -> u32 {
        alloc_node(&mut self.blocks, &self.shared.memory, len, self.is_shard)
    }

    fn alloc(&mut self, len: u32) -> u32 {
        let memory = &self.shared.memory;
        self.blocks.alloc(len, memory)
    }

    /// Returns whether there is no reader; none can appear while the table is borrowed for an update.
    pub(super) fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.shared) == 1;
        if alone {
            // The loads of the last reader happened before it was dropped.
            fence(Ordering::Acquire);
        }
        alone
    }

    /// Frees a block when no reader can use it any more.
    pub(crate) fn retire(&mut self, index: u32) {
        if !self.is_alone() {
            return self.retired_nodes.push(index);
        }
        let (blocks, tables) = (&mut self.blocks, &mut self.tables);
        let memory = &self.shared.memory;
        let mut free = |index| release(blocks, tables, memory, index);
        free(index);
        // The blocks that the last reader used are freed after it.
        self.retired_nodes.free_all(free);
    }

    /// Frees retired blocks if there are enough.
    pub(crate) fn reclaim_if_due(&mut self) {
        if self.retired_nodes.is_due() {
            self.retired_nodes.close(&self.shared.epochs);
            // If the list of readers is locked, its holder may be preempted. The next attempt is soon enough.
            if let Some(safe) = self.shared.epochs.try_safe() {
                self.free_below(safe);
            }
        }
    }

    /// Frees all blocks that no reader can use any more. Updates do this automatically from time to time.
    pub fn reclaim(&mut self) {
        self.retired_nodes.close(&self.shared.epochs);
        self.free_below(self.shared.epochs.safe());
    }

    /// Frees the blocks retired before an epoch.
    fn free_below(&mut self, safe: u64) {
        let (blocks, tables) = (&mut self.blocks, &mut self.tables);
        let memory = &self.shared.memory;
        let free = |index| release(blocks, tables, memory, index);
        self.retired_nodes.free_into(safe, free);
    }
}

/// Allocates a block for a node, aligned to a cache line if requested.
pub(super) fn alloc_node(
    blocks: &mut BlockAllocator,
    memory: &Memory,
    len: u32,
    in_lines: bool,
) -> u32 {
    match in_lines && len <= MOST_IN_LINES {
        true => blocks.alloc_lines(len, memory),
        false => blocks.alloc(len, memory),
    }
}

/// Frees a node, or a table of [`Tables`].
fn release(blocks: &mut BlockAllocator, tables: &mut Tables, memory: &Memory, index: u32) {
    match index.checked_sub(RETIRED_TABLE) {
        Some(table) => tables.free(table),
        None => blocks.free(index, memory),
    }
}
