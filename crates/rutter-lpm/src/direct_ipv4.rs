//! The direct array of [`Profile::Fastest`](crate::Profile::Fastest) for IPv4. It has one word for each of the
//! 2²⁴ /24s: the answer, or a note to search the nodes.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::net::Net;
use crate::node::{Node, Stride8};
use crate::shared_table::SharedTable;
use crate::zeroed::zeroed;

/// Answers by the first 24 bits: 0 for no prefix, a value plus one, or [`ASK`].
pub(crate) struct DirectIpv4(Box<[AtomicU32]>);

/// Search the nodes: longer prefixes exist, or the value is too large for a word.
const ASK: u32 = 1 << 31;
const BITS: u32 = 24;

/// The answer of the array.
pub(crate) enum Answer {
    None,
    Value(u32),
    Ask,
}

impl DirectIpv4 {
    pub fn new() -> Self {
        DirectIpv4(zeroed(1 << BITS))
    }

    /// The answer for an address, by its first 24 bits.
    #[inline(always)]
    pub fn answer(&self, head: u32) -> Answer {
        match self.0[head as usize].load(Ordering::Acquire) {
            0 => Answer::None,
            word if word & ASK != 0 => Answer::Ask,
            word => Answer::Value(word - 1),
        }
    }

    /// Writer: updates the answers of the /24s `first..=last` from the nodes.
    pub fn refresh<N: Net>(&self, shared: &SharedTable<N>, first: u32, last: u32) {
        let mut at = first;
        loop {
            // One slot of the 16-bit root at a time.
            let end = last.min(at | 0xff);
            self.refresh_slot(shared, at, end);
            if end == last {
                return;
            }
            at = end + 1;
        }
    }

    fn refresh_slot<N: Net>(&self, shared: &SharedTable<N>, first: u32, last: u32) {
        let slot = shared.root.slot(first >> 8);
        let outer = word(shared.value(slot.best));
        for at in first..=last {
            let mut answer = outer;
            if slot.child != 0 {
                let block = shared.memory.block(slot.child);
                let step = Stride8::step(block, at & 0xff);
                if step.child != 0 {
                    answer = ASK;
                } else if step.value != 0 {
                    answer = word(Some(block.word(step.value)));
                }
            }
            let word = &self.0[at as usize];
            if word.load(Ordering::Relaxed) != answer {
                word.store(answer, Ordering::Release);
            }
        }
    }

    /// The bytes taken from the system.
    pub fn size(&self) -> usize {
        self.0.len() * 4
    }
}

fn word(value: Option<u32>) -> u32 {
    match value {
        None => 0,
        Some(value) if value < ASK - 1 => value + 1,
        Some(_) => ASK,
    }
}
