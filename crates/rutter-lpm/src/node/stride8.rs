//! Nodes of 8 bits, run-compressed: consecutive slots with the same answer share one word.
//!
//! | words | contents |
//! | --- | --- |
//! | 1 | counts, see [`Head`] |
//! | 2 | for each of the 8 words of the bitmap, the number of runs that begin before it (a byte each) |
//! | 8 | a bit for each slot at which a run begins |
//! | | a bit for each run that is *special*: its answer is no value |
//! | | the answers of the runs: a value or, if special, a child ([`CHILD`]) or 0 for nothing |
//! | | for each run the length of the longest entry that covers it, eight a word |
//! | | the values of the entries that show in no run, then their keys, two a word |
//!
//! The place of a run and the length of its entry identify the entry, so most entries take a value and half a
//! byte. A slot with a child is a run of its own. A look-up touches two or three cache lines from the head to
//! the answer.
//!
//! An entry that has a run to itself may become a gap: its value is 0, and the rest stays. This is for tables
//! in which no value is 0.

use std::sync::atomic::Ordering;

use super::runs::{Run, Runs, key_of};
use super::{Contents, Key, Node, Parts, Scratch, Step, quick_edit};
use crate::memory::Block;

/// 8/**8/8/8**, 16/**8/8/…**
pub(crate) struct Stride8;

pub(super) const RANKS: u32 = 1;
pub(super) const BITMAP: u32 = 3;
pub(super) const SPECIAL: u32 = 11;

/// The part of a special answer that is the child's index. The bits above it are the length of the longest
/// entry that covers the slot, 0 for none.
pub(super) const CHILD: u32 = (1 << LEN_AT) - 1;
pub(super) const LEN_AT: u32 = 28;

/// Added to a length: marks a value that must still be searched, see [`Node::resolve`].
const LATER: u32 = 1 << 16;

/// The first word, unpacked: the number of runs less one (8 bits), of entries that show in no run (16), and of
/// gaps (8).
#[derive(Clone, Copy)]
pub(super) struct Head(pub u32);

const HIDDEN_AT: u32 = 8;
const GAPS_AT: u32 = 24;
/// The runs required for each gap in a node.
const RUNS_A_GAP: u32 = 6;

impl Head {
    pub fn new(runs: usize, hidden: usize) -> Self {
        Head((runs - 1) as u32 | (hidden as u32) << HIDDEN_AT)
    }

    pub fn with_gaps(self, gaps: u32) -> Self {
        Head(self.0 & !(u32::MAX << GAPS_AT) | gaps << GAPS_AT)
    }

    #[inline(always)]
    pub fn of(block: Block<'_>) -> Self {
        Head(block.word(0))
    }

    #[inline(always)]
    pub fn runs(self) -> u32 {
        (self.0 & 0xff) + 1
    }

    pub fn hidden(self) -> u32 {
        self.0 >> HIDDEN_AT & 0xffff
    }

    pub fn gaps(self) -> u32 {
        self.0 >> GAPS_AT
    }

    /// The number of words with the special bits.
    #[inline(always)]
    pub fn specials(self) -> u32 {
        1 + (self.0 >> 5 & 7)
    }

    /// The offset of the answers.
    #[inline(always)]
    pub fn answers_at(self) -> u32 {
        SPECIAL + self.specials()
    }

    #[inline(always)]
    pub fn lens_at(self) -> u32 {
        self.answers_at() + self.runs()
    }

    pub fn hidden_at(self) -> u32 {
        self.lens_at() + self.runs().div_ceil(8)
    }

    fn keys_at(self) -> u32 {
        self.hidden_at() + self.hidden()
    }

    pub fn len(self) -> u32 {
        self.keys_at() + self.hidden().div_ceil(2)
    }
}

impl Stride8 {
    /// The slot at which the run after that of `slot` begins, 256 after the last.
    pub fn next_run(block: Block<'_>, slot: u32) -> u32 {
        let mut word = slot / 32;
        // Two shifts, since a shift by 32 would do nothing.
        let mut starts = block.word(BITMAP + word) & (u32::MAX << (slot % 32) << 1);
        while starts == 0 {
            word += 1;
            if word == 8 {
                return 256;
            }
            starts = block.word(BITMAP + word);
        }
        word * 32 + starts.trailing_zeros()
    }
}

/// The run of a slot.
#[inline(always)]
fn run_of(block: Block<'_>, slot: u32) -> u32 {
    let word = slot / 32;
    let starts = block.word(BITMAP + word) & (u32::MAX >> (31 - slot % 32));
    let before = block.word(RANKS + word / 4) >> (word % 4 * 8) & 0xff;
    before + starts.count_ones() - 1
}

/// Returns whether a run begins at a slot.
#[inline(always)]
fn begins(block: Block<'_>, slot: u32) -> bool {
    block.word(BITMAP + slot / 32) >> (slot % 32) & 1 == 1
}

#[inline(always)]
fn is_special(block: Block<'_>, run: u32) -> bool {
    block.word(SPECIAL + run / 32) >> (run % 32) & 1 == 1
}

/// The length of the longest entry that covers a run.
#[inline(always)]
fn len_of(block: Block<'_>, head: Head, run: u32) -> u32 {
    block.word(head.lens_at() + run / 8) >> (run % 8 * 4) & 15
}

/// The runs that show an entry, by number. A run that begins before the entry shows a shorter one.
#[inline(always)]
fn showing(block: Block<'_>, head: Head, key: Key) -> impl Iterator<Item = u32> + '_ {
    let runs = run_of(block, key.slot())..=run_of(block, key.end() - 1);
    runs.filter(move |run| len_of(block, head, *run) == key.len() && !is_special(block, *run))
}

/// Returns whether a new entry would be inside a gap.
#[inline(always)]
pub(super) fn is_in_gap(block: Block<'_>, key: Key) -> bool {
    let (head, run) = (Head::of(block), run_of(block, key.slot()));
    !is_special(block, run)
        && len_of(block, head, run) < key.len()
        && block.word(head.answers_at() + run) == 0
}

/// The offset of the value of an entry that shows in no run.
#[inline(never)]
pub(super) fn hidden(block: Block<'_>, head: Head, key: Key) -> Option<u32> {
    let found = (0..head.hidden()).find(|at| hidden_key(block, head, *at) == key);
    found.map(|at| head.hidden_at() + at)
}

fn hidden_key(block: Block<'_>, head: Head, at: u32) -> Key {
    Key((block.word(head.keys_at() + at / 2) >> (at % 2 * 16)) as u16)
}

/// The offset of the value of the entry of a length that covers a slot.
#[inline(never)]
fn covering(block: Block<'_>, slot: u32, len: u32) -> u32 {
    let entry = Stride8::entry(block, key_of(slot, len));
    entry.unwrap_or_else(|| unreachable!("an entry that a child's slot names"))
}

impl Node for Stride8 {
    const BITS: u32 = 8;
    type Parts = Runs;

    fn scratch(scratch: &mut Scratch) -> &mut Runs {
        &mut scratch.runs
    }

    const HEADER: u32 = SPECIAL + 1;

    #[inline(always)]
    fn place(block: Block<'_>, slot: u32) -> u32 {
        Head::of(block).answers_at() + run_of(block, slot)
    }

    #[inline(always)]
    fn step(block: Block<'_>, slot: u32) -> Step {
        let header = block.header::<{ SPECIAL as usize + 1 }>();
        let word = |at: u32| header[at as usize % header.len()].load(Ordering::Relaxed);
        let starts = word(BITMAP + slot / 32 % 8) << (31 - slot % 32);
        let before = word(RANKS + slot / 128 % 2) >> (slot / 32 % 4 * 8) & 0xff;
        let run = before + starts.count_ones() - 1;
        let at = Head(word(0)).answers_at() + run;
        if !is_special(block, run) {
            return Step {
                child: 0,
                at: 0,
                value: at,
            };
        }
        let answer = block.number(at);
        let len = answer >> LEN_AT;
        Step {
            child: answer & CHILD,
            at,
            value: if len == 0 { 0 } else { LATER + len },
        }
    }

    #[inline(always)]
    fn resolve(block: Block<'_>, value: u32, slot: u32) -> u32 {
        match value.checked_sub(LATER) {
            None => value,
            Some(len) => covering(block, slot, len),
        }
    }

    fn take_apart(block: Block<'_>, parts: &mut Runs) {
        let head = Head::of(block);
        parts.runs.clear();
        let (mut lens, mut special) = (0, 0);
        let mut number = 0;
        for word in 0..8 {
            let mut starts = block.word(BITMAP + word);
            while starts != 0 {
                if number % 8 == 0 {
                    lens = block.word(head.lens_at() + number / 8);
                }
                if number % 32 == 0 {
                    special = block.word(SPECIAL + number / 32);
                }
                let answer = block.word(head.answers_at() + number);
                let is_special = special >> (number % 32) & 1 == 1;
                parts.runs.push(Run {
                    slot: (word * 32 + starts.trailing_zeros()) as u8,
                    len: (lens >> (number % 8 * 4)) as u8 & 15,
                    child: if is_special { answer & CHILD } else { 0 },
                    value: if is_special { 0 } else { answer },
                });
                starts &= starts - 1;
                number += 1;
            }
        }
        parts.hidden.clear();
        let hidden = (0..head.hidden()).map(|at| {
            let value = block.word(head.hidden_at() + at);
            (hidden_key(block, head, at), value)
        });
        parts.hidden.extend(hidden);
        if head.gaps() > 0 {
            let is_gap = |run: &&Run| run.len > 0 && run.child == 0 && run.value == 0;
            let gaps: Vec<_> = parts.runs.iter().filter(is_gap).copied().collect();
            gaps.iter()
                .filter_map(|run| run.key())
                .for_each(|key| parts.remove(key));
        }
    }

    fn list(parts: &Runs, contents: &mut Contents) {
        contents.entries.clear();
        contents.children.clear();
        for run in &parts.runs {
            match run.key() {
                _ if run.child != 0 => contents.children.push((run.slot, run.child)),
                Some(key) => contents.entries.push((key, run.value)),
                None => {}
            }
        }
        contents.entries.extend(&parts.hidden);
        contents.entries.sort_unstable();
        contents.entries.dedup();
    }

    fn write(parts: &Runs, words: &mut Vec<u32>) {
        let (runs, hidden) = (&parts.runs, &parts.hidden);
        let head = Head::new(runs.len(), hidden.len());
        words.resize(head.hidden_at() as usize, 0);
        words[0] = head.0;
        let (answers_at, lens_at) = (head.answers_at() as usize, head.lens_at() as usize);
        for (number, run) in runs.iter().enumerate() {
            words[(BITMAP + u32::from(run.slot) / 32) as usize] |= 1 << (run.slot % 32);
            words[lens_at + number / 8] |= u32::from(run.len) << (number % 8 * 4);
            let is_special = run.child != 0 || run.len == 0;
            words[SPECIAL as usize + number / 32] |= u32::from(is_special) << (number % 32);
            words[answers_at + number] = match run.child {
                0 => run.value,
                child => child | u32::from(run.len) << LEN_AT,
            };
        }
        let mut before = 0;
        for word in 0..8 {
            words[(RANKS + word / 4) as usize] |= before << (word % 4 * 8);
            before += words[(BITMAP + word) as usize].count_ones();
        }
        words.extend(hidden.iter().map(|(_, value)| *value));
        let key = |at: usize| hidden.get(at).map_or(0, |(key, _)| u32::from(key.0));
        words.extend(
            (0..hidden.len())
                .step_by(2)
                .map(|at| key(at) | key(at + 1) << 16),
        );
    }

    fn edit(
        block: Block<'_>,
        key: Key,
        value: Option<u32>,
        store: impl FnOnce(&[&[u32]]) -> u32,
    ) -> Option<u32> {
        let edit = quick_edit::Edit {
            block,
            key,
            value,
            store,
        };
        crate::cpu::count(edit)
    }

    #[inline(always)]
    fn entry(block: Block<'_>, key: Key) -> Option<u32> {
        let head = Head::of(block);
        let shows = |run: &u32| len_of(block, head, *run) == key.len() && !is_special(block, *run);
        // Most entries show in the run where they begin. That run may begin earlier, and then shows a shorter
        // entry.
        let first = run_of(block, key.slot());
        let run = if shows(&first) {
            Some(first)
        } else if key.len() < 8 {
            (first + 1..=run_of(block, key.end() - 1)).find(shows)
        } else {
            None
        };
        match run {
            Some(run) => Some(head.answers_at() + run),
            None if head.hidden() == 0 => None,
            None => hidden(block, head, key),
        }
    }

    #[inline(always)]
    fn gap(block: Block<'_>, key: Key, at: u32) -> Option<u32> {
        let head = Head::of(block);
        let gaps = head.gaps() + 1;
        let run = at - head.answers_at();
        if head.runs() < gaps * RUNS_A_GAP || run >= head.runs() {
            return None;
        }
        // An entry inside it would have a run of its own.
        let ends = [key.slot(), key.end() - 1];
        let is_alone = key.len() == 8
            || begins(block, key.slot()) && ends.map(|slot| run_of(block, slot)) == [run; 2];
        is_alone.then_some(head.with_gaps(gaps).0)
    }

    fn filled(block: Block<'_>) -> u32 {
        let head = Head::of(block);
        head.with_gaps(head.gaps() - 1).0
    }

    fn each_value(block: Block<'_>, key: Key, mut visit: impl FnMut(u32)) {
        let head = Head::of(block);
        match hidden(block, head, key) {
            Some(at) => visit(at),
            None => showing(block, head, key).for_each(|run| visit(head.answers_at() + run)),
        }
    }

    fn child(block: Block<'_>, slot: u32) -> Option<u32> {
        let run = run_of(block, slot);
        let at = Head::of(block).answers_at() + run;
        (is_special(block, run) && block.word(at) != 0).then_some(at)
    }

    fn child_of(pointer: u32) -> u32 {
        pointer & CHILD
    }

    fn pointer(old: u32, child: u32) -> u32 {
        old & !CHILD | child
    }

    fn entry_len(block: Block<'_>, value: u32) -> u8 {
        let head = Head::of(block);
        let len = match value.checked_sub(LATER) {
            Some(len) => len,
            None => len_of(block, head, value - head.answers_at()),
        };
        len as u8
    }

    #[inline(always)]
    fn busy(block: Block<'_>, among: u8) -> u8 {
        let answers_at = Head::of(block).answers_at();
        let is_busy = |word: &u32| {
            let run = run_of(block, word * 32);
            // If another run begins within the word, an entry or a child is before it or in it.
            let is_one_run = block.word(BITMAP + word) >> 1 == 0;
            !(is_one_run && is_special(block, run) && block.word(answers_at + run) == 0)
        };
        (0..8)
            .filter(|word| among >> word & 1 == 1)
            .filter(is_busy)
            .fold(0, |busy, word| busy | 1 << word)
    }

    fn len(block: Block<'_>) -> u32 {
        Head::of(block).len()
    }
}
