//! Nodes that are unlinked but that a reader may still use.

use std::collections::VecDeque;

use crate::epoch::Epochs;

/// Retired nodes.
#[derive(Default)]
pub(crate) struct RetiredNodes {
    /// The oldest first.
    nodes: VecDeque<u32>,
    /// The number of nodes retired in each epoch, the oldest first.
    closed: VecDeque<(u64, usize)>,
    /// The number of nodes retired since.
    open: usize,
}

/// The number of nodes retired between two scans of the readers.
const BATCH: usize = 64;

impl RetiredNodes {
    pub fn push(&mut self, index: u32) {
        self.nodes.push_back(index);
        self.open += 1;
    }

    /// Returns whether another scan is due.
    pub fn is_due(&self) -> bool {
        self.open >= BATCH
    }

    /// The number of retired nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Ends the batch and raises the epoch.
    pub fn close(&mut self, epochs: &Epochs) {
        if self.open > 0 {
            let batch = std::mem::take(&mut self.open);
            self.closed.push_back((epochs.raise(), batch));
        }
    }

    /// Frees all nodes: there are no readers.
    pub fn free_all(&mut self, free: impl FnMut(u32)) {
        if self.nodes.is_empty() {
            return;
        }
        self.closed.clear();
        self.open = 0;
        self.nodes.drain(..).for_each(free);
    }

    /// Frees the nodes that were retired before an epoch that every reader has announced.
    pub fn free_into(&mut self, safe: u64, free: impl FnMut(u32)) {
        let mut count = 0;
        while let Some((_, batch)) = self.closed.front().filter(|(epoch, _)| *epoch < safe) {
            count += batch;
            self.closed.pop_front();
        }
        self.nodes.drain(..count).for_each(free);
    }
}
