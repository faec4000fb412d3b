//! Nodes that are unlinked but may still be under a reader's eyes.

use std::collections::VecDeque;

use crate::epoch::Epochs;

/// Retired nodes, oldest first.
#[derive(Default)]
pub(crate) struct Limbo {
    /// By the epoch in which they were retired.
    closed: VecDeque<(u64, Vec<u32>)>,
    open: Vec<u32>,
    spare: Vec<Vec<u32>>,
    len: usize,
}

/// Nodes retired between two scans of the readers.
const BATCH: usize = 64;

impl Limbo {
    pub fn push(&mut self, index: u32) {
        self.open.push(index);
        self.len += 1;
    }

    /// Whether it is time for another scan.
    pub fn is_due(&self) -> bool {
        self.open.len() >= BATCH
    }

    /// How many nodes wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Ends the batch and raises the epoch.
    pub fn close(&mut self, epochs: &Epochs) {
        if !self.open.is_empty() {
            let next = self.spare.pop().unwrap_or_default();
            let batch = std::mem::replace(&mut self.open, next);
            self.closed.push_back((epochs.raise(), batch));
        }
    }

    /// Gives back what was retired before every reader's last rest.
    pub fn free_into(&mut self, epochs: &Epochs, mut free: impl FnMut(u32)) {
        let safe = epochs.safe();
        while let Some((epoch, _)) = self.closed.front() {
            if *epoch >= safe {
                return;
            }
            let Some((_, mut batch)) = self.closed.pop_front() else {
                return;
            };
            self.len -= batch.len();
            batch.drain(..).for_each(&mut free);
            self.spare.push(batch);
        }
    }
}
