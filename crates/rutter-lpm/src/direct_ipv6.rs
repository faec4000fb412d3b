//! The direct tables of [`Profile::Fastest`](crate::Profile::Fastest) for IPv6: a trie of arrays over the first
//! 48 bits. It repeats the contents of the nodes, with the answers of shorter prefixes copied down to its
//! leaves. So a look-up is four loads without a branch to mispredict.
//!
//! The strides are 16/16/8/8. The *top* has 2¹⁶ words. Below it are *pages* of 2¹⁶ words for each /16 in use.
//! Below them are *tables* of 256 words that correspond to the nodes at 32 and at 40 bits. Every word is an
//! answer, a note to search the nodes, or the place of the words below. The answer for an address depends on
//! one word that changes, so a look-up is exact at one instant. A reader that follows a place that is unlinked
//! then finds the previous state. Tables are reclaimed as nodes are.
//!
//! All of it lies in one array of 64 MiB, the size of the direct array for IPv4. The system provides only the
//! used memory: 45 MiB for a full table of 2025. Answers that do not fit are searched in the nodes.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::direct_ipv4::Answer;
use crate::memory::{Block, Memory};
use crate::net::{Bits, Net};
use crate::node::{Node, Stride8};

use crate::shared_table::SharedTable;
use crate::zeroed::zeroed;

/// All words: the top, then pages from the front and tables from the back. A word is 0 for no prefix, a value
/// plus one, [`ASK`], or [`BELOW`] with the place of the words below.
pub(crate) struct DirectIpv6(Box<[AtomicU32]>);

/// Search the nodes: longer prefixes exist, or the value is too large for a word.
const ASK: u32 = BELOW - 1;
/// Marks the place of the words below.
const BELOW: u32 = 1 << 31;
/// The depth of the last tables.
const LAST: u32 = 40;
const TOP: u32 = 1 << 16;
const PAGE: u32 = 1 << 16;
const TABLE: u32 = 256;
const WORDS: u32 = 1 << 24;
/// Added to the place of a table that waits among the retired nodes.
pub(crate) const RETIRED_TABLE: u32 = 1 << 31;

impl DirectIpv6 {
    pub fn new() -> Self {
        DirectIpv6(zeroed(WORDS as usize))
    }

    /// The answer for an address, by its first 64 bits.
    #[inline(always)]
    pub fn answer(&self, high: u64) -> Answer {
        let top = self.word((high >> 48) as u32);
        let word = self.below(top, (high >> 32) as u32 & (PAGE - 1));
        let word = self.below(word, (high >> 24) as u32 & (TABLE - 1));
        match self.below(word, (high >> 16) as u32 & (TABLE - 1)) {
            0 => Answer::None,
            ASK => Answer::Ask,
            word => Answer::Value(word - 1),
        }
    }

    /// The word below, or the same word if there is nothing below. Without a branch: the length at which a
    /// look-up ends is unpredictable, and a misprediction costs more than an unneeded load.
    #[inline(always)]
    fn below(&self, word: u32, slot: u32) -> u32 {
        let mask = (word as i32 >> 31) as u32;
        let next = self.word((word & !BELOW).wrapping_add(slot) & mask);
        next & mask | word & !mask
    }

    #[inline(always)]
    fn word(&self, place: u32) -> u32 {
        self.0[(place % WORDS) as usize].load(Ordering::Acquire)
    }

    fn set(&self, place: u32, word: u32) {
        self.0[place as usize].store(word, Ordering::Release);
    }
}

/// Updates the tables from the nodes.
pub(crate) struct Refresh<'t, N: Net> {
    pub shared: &'t SharedTable<N>,
    pub direct_ipv6: &'t DirectIpv6,
    pub tables: &'t mut Tables,
}

/// The words of a [`DirectIpv6`] that are in use.
pub(crate) struct Tables {
    /// The end of the pages.
    pages: u32,
    /// The start of the tables.
    tables: u32,
    free: Vec<u32>,
    /// The tables that the last refresh unlinked.
    pub retired: Vec<u32>,
}

/// The addresses of a prefix within one block of words: first and last, 64 bits of each.
#[derive(Clone, Copy)]
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    const ALL: Range = Range {
        first: 0,
        last: u64::MAX,
    };

    /// First and last slot of the 8 bits after `depth`.
    fn slots(self, depth: u32) -> (u32, u32) {
        let slot_of = |bits: u64| (bits >> (56 - depth)) as u32 & 0xff;
        (slot_of(self.first), slot_of(self.last))
    }

    /// The part inside the slot that begins at `start` and has `1 << shift` addresses.
    fn within(self, start: u64, shift: u32) -> Self {
        Range {
            first: self.first.max(start),
            last: self.last.min(start | ((1 << shift) - 1)),
        }
    }

    /// The block of 2⁶⁴⁻ᵈ addresses at `depth` that contains this range.
    fn block(self, depth: u32) -> u64 {
        self.first >> (64 - depth) << (64 - depth)
    }
}

impl<N: Net> Refresh<'_, N> {
    /// Updates all words of a prefix from the nodes.
    pub fn prefix(&mut self, prefix: N) {
        let range = Range {
            first: prefix.bits().high(),
            last: prefix.last_bits().high(),
        };
        let is_longer = prefix.prefix_len() > 16;
        for top in range.first >> 48..=range.last >> 48 {
            self.top(top, range.within(top << 48, 48), is_longer);
        }
    }

    fn top(&mut self, top: u64, range: Range, is_longer: bool) {
        let place = top as u32;
        match self.direct_ipv6.word(place) {
            now if now & BELOW != 0 => self.page(now & !BELOW, range),
            ASK => {}
            _ if !is_longer => {
                let slot = self.shared.root.slot(place << 8);
                self.direct_ipv6
                    .set(place, answer(self.shared.value(slot.best)));
            }
            _ => {
                let page = self.tables.new_page();
                if let Some(page) = page {
                    self.page(page, Range::ALL.within(top << 48, 48));
                }
                self.direct_ipv6
                    .set(place, page.map_or(ASK, |page| BELOW | page));
            }
        }
    }

    /// Updates the words of a page from the root and the nodes at 24 bits.
    fn page(&mut self, page: u32, range: Range) {
        for at in range.first >> 40..=range.last >> 40 {
            let slot = self.shared.root.slot(at as u32);
            let node = Step {
                answer: answer(self.shared.value(slot.best)),
                child: slot.child,
                ..Step::default()
            };
            let words = page + (at as u32 & 0xff) * TABLE;
            self.spread(words, node, 24, range.within(at << 40, 40));
        }
    }

    /// Updates 256 words from the node at `depth`.
    fn spread(&mut self, words: u32, node: Step, depth: u32, range: Range) {
        for step in Steps::new(&self.shared.memory, node, range.slots(depth)) {
            if step.child == 0 || depth == LAST {
                let answer = if step.child == 0 { step.answer } else { ASK };
                (step.first..=step.last).for_each(|slot| self.leaf(words + slot, answer, depth));
            } else {
                let start = range.block(depth) | u64::from(step.first) << (56 - depth);
                let range = range.within(start, 56 - depth);
                self.table(words + step.first, step, depth + 8, range);
            }
        }
    }

    /// Makes a word of a table at `depth` an answer.
    fn leaf(&mut self, place: u32, answer: u32, depth: u32) {
        let now = self.direct_ipv6.word(place);
        if now != answer {
            self.direct_ipv6.set(place, answer);
            self.retire(now, depth + 8);
        }
    }

    /// Makes a word refer to a table for the node at `depth`.
    fn table(&mut self, place: u32, node: Step, depth: u32, range: Range) {
        let now = self.direct_ipv6.word(place);
        if now & BELOW != 0 {
            return self.spread(now & !BELOW, node, depth, range);
        }
        let Some(table) = self.tables.new_table() else {
            return self.direct_ipv6.set(place, ASK);
        };
        (table..table + TABLE).for_each(|at| self.direct_ipv6.set(at, 0));
        let all = Range::ALL.within(range.block(depth), 64 - depth);
        self.spread(table, node, depth, all);
        self.direct_ipv6.set(place, BELOW | table);
    }

    /// Notes that the target of a word, at `depth`, is unlinked.
    fn retire(&mut self, word: u32, depth: u32) {
        if word & BELOW == 0 {
            return;
        }
        let table = word & !BELOW;
        if depth < LAST {
            for at in table..table + TABLE {
                self.retire(self.direct_ipv6.word(at), depth + 8);
            }
        }
        self.tables.retired.push(RETIRED_TABLE + table);
    }
}

impl Tables {
    pub fn new() -> Self {
        Tables {
            pages: TOP,
            tables: WORDS,
            free: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Frees a table that no reader uses.
    pub fn free(&mut self, table: u32) {
        self.free.push(table);
    }

    /// The place of 2¹⁶ zeros, while half of the array remains for tables.
    fn new_page(&mut self) -> Option<u32> {
        let page = self.pages;
        if page + PAGE > self.tables.min(WORDS / 2) {
            return None;
        }
        self.pages += PAGE;
        Some(page)
    }

    fn new_table(&mut self) -> Option<u32> {
        let table = self.free.pop();
        table.or_else(|| {
            let table = self.tables - TABLE;
            (table >= self.pages).then(|| {
                self.tables = table;
                table
            })
        })
    }

    /// The bytes in use.
    pub fn size(&self) -> usize {
        (self.pages + (WORDS - self.tables)) as usize * 4 + self.free.capacity() * 4
    }
}

/// Consecutive slots with the same answer in a node.
#[derive(Clone, Copy, Default)]
struct Step {
    first: u32,
    last: u32,
    answer: u32,
    child: u32,
}

/// An iterator over the answers of a node, or of a missing node, in the order of its slots.
struct Steps<'t> {
    node: Option<Block<'t>>,
    outer: u32,
    slot: u32,
    last: u32,
}

impl<'t> Steps<'t> {
    fn new(memory: &'t Memory, node: Step, slots: (u32, u32)) -> Self {
        Steps {
            node: (node.child != 0).then(|| memory.block(node.child)),
            outer: node.answer,
            slot: slots.0,
            last: slots.1,
        }
    }
}

impl Iterator for Steps<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (first, last) = (self.slot, self.last);
        if first > last {
            return None;
        }
        let mut step = Step {
            first,
            last,
            answer: self.outer,
            child: 0,
        };
        if let Some(block) = self.node {
            let found = Stride8::step(block, first);
            step.last = last.min(Stride8::next_run(block, first) - 1);
            step.child = found.child;
            if found.value != 0 {
                let at = Stride8::resolve(block, found.value, first);
                step.answer = answer(Some(block.word(at)));
            }
        }
        self.slot = step.last + 1;
        Some(step)
    }
}

fn answer(value: Option<u32>) -> u32 {
    match value {
        None => 0,
        Some(value) if value < ASK - 1 => value + 1,
        Some(_) => ASK,
    }
}
