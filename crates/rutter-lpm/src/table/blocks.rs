//! The blocks of a table: where they come from, and when they may be used again.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::net::Net;
use crate::pages::Pages;
use crate::wide::{RETIRED_TABLE, Tables};

use super::Table;

/// The longest nodes that begin at a line of the cache where a table wants it so: longer ones lose little without.
const MOST_IN_LINES: u32 = 240;

impl<N: Net> Table<N> {
    /// Keeps words beside the nodes; [`Self::retire`] lets them go.
    pub(crate) fn store(&mut self, words: &[u32]) -> u32 {
        let index = self.alloc(words.len() as u32);
        self.shared.memory.write(index, words);
        index
    }

    /// A block for a node.
    pub(super) fn alloc_node(&mut self, len: u32) -> u32 {
        if !self.in_lines || len > MOST_IN_LINES {
            return self.alloc(len);
        }
        let memory = &self.shared.memory;
        self.pages.alloc_lines(len, |chunk| memory.grow(chunk))
    }

    fn alloc(&mut self, len: u32) -> u32 {
        let memory = &self.shared.memory;
        self.pages.alloc(len, |chunk| memory.grow(chunk))
    }

    /// Whether there is no reader; none can appear while the table is borrowed for an update.
    pub(super) fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.shared) == 1;
        if alone {
            // What the last reader loaded was loaded before it went.
            fence(Ordering::Acquire);
        }
        alone
    }

    /// Frees a block when no reader can hold it any more.
    pub(crate) fn retire(&mut self, index: u32) {
        if self.is_alone() {
            release(&mut self.pages, &mut self.tables, index);
        } else {
            self.limbo.push(index);
        }
    }

    /// Reclaims when it is worth it.
    pub(crate) fn tidy(&mut self) {
        if self.limbo.is_due() {
            self.reclaim();
        }
    }

    /// Frees what no reader can still hold; updates do so by themselves now and then.
    pub fn reclaim(&mut self) {
        self.limbo.close(&self.shared.epochs);
        let (pages, tables) = (&mut self.pages, &mut self.tables);
        let free = |index| release(pages, tables, index);
        self.limbo.free_into(&self.shared.epochs, free);
    }
}

/// Frees a node, or a table of [`Tables`].
fn release(pages: &mut Pages, tables: &mut Tables, index: u32) {
    match index.checked_sub(RETIRED_TABLE) {
        Some(table) => tables.free(table),
        None => pages.free(index),
    }
}
