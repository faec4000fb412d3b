//! Nodes of 8 bits, run-compressed: slots in a row with the same answer share one word.
//!
//! | words | what |
//! | --- | --- |
//! | 1 | counts, see [`Head`] |
//! | 2 | for each of the 8 words of the bitmap, how many runs begin before it (an octet each) |
//! | 8 | a bit for each slot at which a run begins |
//! | | a bit for each run that is *special*: its answer is no value |
//! | | the answers of the runs: a value; or, special, a child ([`CHILD`]) or 0 for nothing |
//! | | for each run the length of the entry whose value it is, eight a word |
//! | | the values of entries that longer ones hide everywhere |
//! | | the keys of the entries, two a word |
//! | | for each entry an octet that says where its value is: the first of its runs, or which hidden one |
//!
//! A slot with a child is a run of its own. From the head to the answer a look-up touches two or three lines.

use super::{Contents, Key, Node, Step};
use crate::memory::Block;

/// 8/**8/8/8**, 16/**8/8/…**
pub(crate) struct Eight;

const RANKS: u32 = 1;
const BITMAP: u32 = 3;
const SPECIAL: u32 = 11;

/// The part of a special answer that is the child's index. Above it is the length of the longest entry that covers the
/// slot, 0 for none.
const CHILD: u32 = (1 << LEN_AT) - 1;
const LEN_AT: u32 = 28;

/// Added to a length: a value that is still to be looked for, see [`Node::resolve`].
const LATER: u32 = 1 << 16;

/// Marks the key of an entry that no run shows.
const HIDDEN: u32 = 1 << 15;
/// Marks, with [`HIDDEN`], an entry whose place is 256 higher than its octet says.
const HIGH: u32 = 1 << 14;

/// The first word, unpacked.
#[derive(Clone, Copy)]
struct Head(u32);

impl Head {
    fn new(runs: usize, entries: usize, hidden: usize) -> Self {
        Head((runs - 1) as u32 | (entries as u32) << 8 | (hidden as u32) << 17)
    }

    #[inline(always)]
    fn of(block: Block<'_>) -> Self {
        Head(block.word(0))
    }

    fn runs(self) -> u32 {
        (self.0 & 0xff) + 1
    }

    fn entries(self) -> u32 {
        self.0 >> 8 & 0x1ff
    }

    /// The offset of the answers.
    #[inline(always)]
    fn answers_at(self) -> u32 {
        SPECIAL + 1 + (self.0 >> 5 & 7)
    }

    fn lens_at(self) -> u32 {
        self.answers_at() + self.runs()
    }

    fn hidden_at(self) -> u32 {
        self.lens_at() + self.runs().div_ceil(8)
    }

    fn keys_at(self) -> u32 {
        self.hidden_at() + (self.0 >> 17)
    }

    fn places_at(self) -> u32 {
        self.keys_at() + self.entries().div_ceil(2)
    }

    fn len(self) -> u32 {
        self.places_at() + self.entries().div_ceil(4)
    }
}

impl Eight {
    /// The slot at which the run after that of `slot` begins, 256 after the last.
    pub fn next_run(block: Block<'_>, slot: u32) -> u32 {
        let mut word = slot / 32;
        // Twice, as a shift by 32 is none.
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

/// The run that a slot is in.
#[inline(always)]
fn run_of(block: Block<'_>, slot: u32) -> u32 {
    let word = slot / 32;
    let starts = block.word(BITMAP + word) & (u32::MAX >> (31 - slot % 32));
    let before = block.word(RANKS + word / 4) >> (word % 4 * 8) & 0xff;
    before + starts.count_ones() - 1
}

#[inline(always)]
fn is_special(block: Block<'_>, run: u32) -> bool {
    block.word(SPECIAL + run / 32) >> (run % 32) & 1 == 1
}

impl Node for Eight {
    const BITS: u32 = 8;

    #[inline(always)]
    fn step(block: Block<'_>, slot: u32) -> Step {
        let run = run_of(block, slot);
        let answer = Head::of(block).answers_at() + run;
        if !is_special(block, run) {
            return Step {
                child: 0,
                value: answer,
            };
        }
        let answer = block.word(answer);
        let len = answer >> LEN_AT;
        Step {
            child: answer & CHILD,
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

    fn read(block: Block<'_>, contents: &mut Contents) {
        contents.clear();
        let head = Head::of(block);
        for at in 0..head.entries() {
            let value = block.word(value_of(block, head, at));
            contents.entries.push((key_at(block, head, at), value));
        }
        let mut run = 0;
        for word in 0..8 {
            let mut starts = block.word(BITMAP + word);
            while starts != 0 {
                let child = block.word(head.answers_at() + run) & CHILD;
                if is_special(block, run) && child != 0 {
                    let slot = word * 32 + starts.trailing_zeros();
                    contents.children.push((slot as u8, child));
                }
                starts &= starts - 1;
                run += 1;
            }
        }
    }

    fn write(contents: &Contents, words: &mut Vec<u32>) {
        let runs = Runs::of(contents);
        let entries = &contents.entries;
        let mut places = [UNSEEN; 512];
        let mut special = [0; 8];
        let mut answers = [0; 256];
        let mut lens = [0; 32];
        for (run, element) in runs.elements[..runs.count].iter().enumerate() {
            let at = *element as usize;
            if (1..=entries.len()).contains(&at) {
                answers[run] = entries[at - 1].1;
                lens[run / 8] |= entries[at - 1].0.len() << (run % 8 * 4);
                places[at - 1] = places[at - 1].min(run as u16);
                continue;
            }
            special[run / 32] |= 1 << (run % 32);
            if at > 0 {
                let number = at - entries.len() - 1;
                let len = runs.bests[number]
                    .checked_sub(1)
                    .map_or(0, |best| entries[best as usize].0.len());
                answers[run] = contents.children[number].1 | len << LEN_AT;
            }
        }
        let hidden = || {
            entries
                .iter()
                .zip(&places)
                .filter(|(_, place)| **place == UNSEEN)
        };
        words.push(Head::new(runs.count, entries.len(), hidden().count()).0);
        words.extend(runs.ranks());
        words.extend(runs.starts);
        words.extend(&special[..runs.count.div_ceil(32)]);
        words.extend(&answers[..runs.count]);
        words.extend(&lens[..runs.count.div_ceil(8)]);
        words.extend(hidden().map(|((_, value), _)| *value));
        write_keys(entries, &mut places, words);
    }

    fn entry(block: Block<'_>, key: Key) -> Option<u32> {
        let head = Head::of(block);
        let at = entries_up_to(block, head, key).checked_sub(1)?;
        (key_at(block, head, at) == key).then(|| value_of(block, head, at))
    }

    fn each_value(block: Block<'_>, key: Key, mut visit: impl FnMut(u32)) {
        let head = Head::of(block);
        let after = entries_up_to(block, head, key);
        let Some(at) = after.checked_sub(1) else {
            return;
        };
        if raw_key_at(block, head, at) & HIDDEN != 0 {
            return visit(value_of(block, head, at));
        }
        // Between the longest of the shorter ranges inside, the entry shows.
        let (mut slot, end) = (key.slot(), key.end());
        for inner in (after..head.entries()).map(|at| key_at(block, head, at)) {
            if inner.slot() >= end {
                break;
            }
            each_answer(block, head, slot, inner.slot(), &mut visit);
            slot = slot.max(inner.end());
        }
        each_answer(block, head, slot, end, &mut visit);
    }

    fn child(block: Block<'_>, slot: u32) -> Option<u32> {
        let run = run_of(block, slot);
        let at = Head::of(block).answers_at() + run;
        (is_special(block, run) && block.word(at) != 0).then_some(at)
    }

    fn pointer(old: u32, child: u32) -> u32 {
        old & !CHILD | child
    }

    fn entry_len(block: Block<'_>, value: u32) -> u8 {
        let head = Head::of(block);
        let len = match value.checked_sub(LATER) {
            Some(len) => len,
            None => {
                let run = value - head.answers_at();
                block.word(head.lens_at() + run / 8) >> (run % 8 * 4) & 15
            }
        };
        len as u8
    }

    fn len(block: Block<'_>) -> u32 {
        Head::of(block).len()
    }
}

/// No run shows this entry.
const UNSEEN: u16 = u16::MAX;

/// Keys and places of the entries.
fn write_keys(entries: &[(Key, u32)], places: &mut [u16; 512], words: &mut Vec<u32>) {
    let mut hidden = 0;
    let mut mark = |at: usize| {
        let (key, place) = match (entries.get(at), &mut places[at.min(511)]) {
            (Some((key, _)), place) => (u32::from(key.0), place),
            (None, _) => return 0,
        };
        if *place != UNSEEN {
            return key;
        }
        *place = hidden;
        hidden += 1;
        key | HIDDEN | if *place > 0xff { HIGH } else { 0 }
    };
    for at in (0..entries.len()).step_by(2) {
        words.push(mark(at) | mark(at + 1) << 16);
    }
    for four in places[..entries.len()].chunks(4) {
        let octets = four
            .iter()
            .map(|place| u32::from(*place & 0xff))
            .enumerate();
        words.push(octets.fold(0, |word, (at, place)| word | place << (at * 8)));
    }
}

/// The offset of the value of an entry by its number.
fn value_of(block: Block<'_>, head: Head, at: u32) -> u32 {
    let place = block.word(head.places_at() + at / 4) >> (at % 4 * 8) & 0xff;
    match raw_key_at(block, head, at) & (HIDDEN | HIGH) {
        0 => head.answers_at() + place,
        HIDDEN => head.hidden_at() + place,
        _ => head.hidden_at() + place + 256,
    }
}

/// The offsets of the values in a stretch of slots where no longer entry is.
fn each_answer(block: Block<'_>, head: Head, from: u32, to: u32, visit: &mut impl FnMut(u32)) {
    if from >= to {
        return;
    }
    for run in run_of(block, from)..=run_of(block, to - 1) {
        if !is_special(block, run) {
            visit(head.answers_at() + run);
        }
    }
}

/// The offset of the value of the entry of a length that covers a slot.
#[inline(never)]
fn covering(block: Block<'_>, slot: u32, len: u32) -> u32 {
    let key = Key::new(slot >> (8 - len) << (8 - len), len);
    Eight::entry(block, key).unwrap_or_else(|| unreachable!("an entry that a child's slot names"))
}

/// How many entries have keys up to `key`.
fn entries_up_to(block: Block<'_>, head: Head, key: Key) -> u32 {
    let (mut low, mut high) = (0, head.entries());
    while low < high {
        let middle = (low + high) / 2;
        if key_at(block, head, middle) <= key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn key_at(block: Block<'_>, head: Head, at: u32) -> Key {
    Key((raw_key_at(block, head, at) & (HIGH - 1)) as u16)
}

fn raw_key_at(block: Block<'_>, head: Head, at: u32) -> u32 {
    block.word(head.keys_at() + at / 2) >> (at % 2 * 16) & 0xffff
}

/// The runs of a node, found in one sweep over entries and children in order.
struct Runs {
    starts: [u32; 8],
    elements: [u16; 256],
    count: usize,
    /// The slot at which the last run begins.
    last: u32,
    bests: [u16; 256],
    /// What covers the sweep's position, innermost last: the slot after its end, and its element.
    open: [(u32, u16); 10],
    depth: usize,
}

impl Runs {
    fn of(contents: &Contents) -> Self {
        let mut runs = Runs {
            starts: [1, 0, 0, 0, 0, 0, 0, 0],
            elements: [0; 256],
            count: 1,
            last: 0,
            bests: [0; 256],
            open: [(u32::MAX, 0); 10],
            depth: 0,
        };
        let mut children = contents.children.iter().enumerate().peekable();
        let first_child = contents.entries.len() as u16 + 1;
        for (at, (key, _)) in contents.entries.iter().enumerate() {
            while let Some((child, (slot, _))) =
                children.next_if(|(_, (s, _))| u32::from(*s) < key.slot())
            {
                runs.child(child, u32::from(*slot), first_child);
            }
            runs.begin(key.slot(), 256 >> key.len(), at as u16 + 1);
        }
        for (child, (slot, _)) in children {
            runs.child(child, u32::from(*slot), first_child);
        }
        runs.end_until(256);
        runs
    }

    fn child(&mut self, child: usize, slot: u32, first_child: u16) {
        self.end_until(slot);
        self.bests[child] = self.open[self.depth].1;
        self.begin(slot, 1, first_child + child as u16);
    }

    fn begin(&mut self, slot: u32, slots: u32, element: u16) {
        self.end_until(slot);
        self.depth += 1;
        self.open[self.depth] = (slot + slots, element);
        self.run(slot, element);
    }

    /// What ends at or before a slot gives way to what is around it.
    fn end_until(&mut self, slot: u32) {
        while self.open[self.depth].0 <= slot {
            let end = self.open[self.depth].0;
            self.depth -= 1;
            if end < 256 {
                self.run(end, self.open[self.depth].1);
            }
        }
    }

    /// From `slot` on the answer is `element`.
    fn run(&mut self, slot: u32, element: u16) {
        if slot != self.last {
            self.starts[slot as usize / 32] |= 1 << (slot % 32);
            self.count += 1;
            self.last = slot;
        }
        self.elements[self.count - 1] = element;
    }

    fn ranks(&self) -> [u32; 2] {
        let (mut ranks, mut before) = ([0; 2], 0);
        for (word, starts) in self.starts.iter().enumerate() {
            ranks[word / 4] |= before << (word % 4 * 8);
            before += starts.count_ones();
        }
        ranks
    }
}
