//! Adds an entry to a node of 8 bits, or removes one, without unpacking the node.
//!
//! [`Runs`](super::runs::Runs) makes any change to any node, one run at a time. Here bits, lengths and answers
//! move in place. A change is left to [`Runs`](super::runs::Runs) if another entry then shows in no run, or
//! shows again.

use super::Key;
use super::runs::key_of;
use super::stride8::{BITMAP, CHILD, Head, LEN_AT, RANKS, SPECIAL, hidden, is_in_gap};
use crate::cpu::BitWork;
use crate::memory::Block;

/// The node in the layout of [`Stride8`](super::Stride8), without the entries that show in no run.
struct FlatNode<const RUNS: usize, const LENS: usize, const SPECIALS: usize> {
    /// A bit for each slot at which a run begins.
    starts: [u64; 4],
    /// Four bits a run: the length of the longest entry that covers it.
    lens: [u64; LENS],
    /// A bit for each run whose answer is no value.
    special: [u64; SPECIALS],
    answers: [u32; RUNS],
    runs: usize,
}

/// For most nodes: fits in a few cache lines of the stack.
type Small = FlatNode<30, 2, 1>;
type Large = FlatNode<256, 16, 4>;

/// The words of entries that show in no run. More are rare.
const HIDDEN: usize = 16;

/// See [`Node::edit`](super::Node::edit).
pub(super) struct Edit<'b, F> {
    pub block: Block<'b>,
    pub key: Key,
    pub value: Option<u32>,
    pub store: F,
}

impl<F: FnOnce(&[&[u32]]) -> u32> BitWork for Edit<'_, F> {
    type Output = Option<u32>;

    #[inline(always)]
    fn run(self) -> Option<u32> {
        let head = Head::of(self.block);
        // Removing an entry removes the gaps, too. So does adding an entry inside a gap.
        let takes_gaps =
            head.gaps() > 0 && (self.value.is_none() || is_in_gap(self.block, self.key));
        if (head.len() - head.hidden_at()) as usize > HIDDEN || takes_gaps {
            return None;
        }
        // A change adds up to two runs.
        match head.runs() {
            0..=28 => Small::read(self.block).edit(self),
            _ => Large::read(self.block).edit(self),
        }
    }
}

impl<const RUNS: usize, const LENS: usize, const SPECIALS: usize> FlatNode<RUNS, LENS, SPECIALS> {
    #[inline(always)]
    fn read(block: Block<'_>) -> Self {
        let head = Head::of(block);
        let mut flat = FlatNode {
            starts: [0; 4],
            lens: [0; LENS],
            special: [0; SPECIALS],
            answers: [0; RUNS],
            runs: head.runs() as usize,
        };
        block.read(head.answers_at(), &mut flat.answers[..flat.runs]);
        pairs(block, BITMAP, 8, &mut flat.starts);
        pairs(block, SPECIAL, head.specials(), &mut flat.special);
        let lens = head.hidden_at() - head.lens_at();
        pairs(block, head.lens_at(), lens, &mut flat.lens);
        flat
    }

    #[inline(always)]
    fn edit(mut self, edit: Edit<'_, impl FnOnce(&[&[u32]]) -> u32>) -> Option<u32> {
        match edit.value {
            Some(value) => self.insert(edit.key, value)?,
            None => self.remove(edit.block, edit.key)?,
        }
        let says_nothing = self.runs == 1 && self.is_special(0) && self.answers[0] == 0;
        match says_nothing && Head::of(edit.block).hidden() == 0 {
            true => Some(0),
            false => Some(self.write(edit.block, edit.store)),
        }
    }

    /// Adds an entry that does not exist yet.
    #[inline(always)]
    fn insert(&mut self, key: Key, value: u32) -> Option<()> {
        self.split(key.slot());
        self.split(key.end());
        let (mut shows, mut covered) = (false, 0);
        for run in self.within(key) {
            if self.len(run) >= key.len() {
                continue;
            }
            if !self.is_child(run) {
                shows = true;
                covered = self.len(run);
                self.set_special(run, false);
                self.answers[run] = value;
            }
            self.set_len(run, key.len());
        }
        let is_shown = covered == 0 || self.shown(key_of(key.slot(), covered)).is_some();
        (shows && is_shown).then_some(())
    }

    /// Removes an existing entry.
    #[inline(always)]
    fn remove(&mut self, block: Block<'_>, key: Key) -> Option<()> {
        self.shown(key)?;
        let (len, value) = self.outer(block, key)?;
        let within = self.within(key);
        for run in within.clone() {
            if self.len(run) != key.len() {
                continue;
            }
            if !self.is_child(run) {
                self.set_special(run, len == 0);
                self.answers[run] = value;
            }
            self.set_len(run, len);
        }
        // From the end, since joining runs moves the later ones.
        for run in (within.start..=within.end).rev() {
            self.join(run);
        }
        Some(())
    }

    /// Length and value of the longest entry around another, zeros if there is none; `None` if it does not
    /// show.
    #[inline(always)]
    fn outer(&self, block: Block<'_>, key: Key) -> Option<(u32, u32)> {
        let hides = Head::of(block).hidden() != 0;
        for len in (1..key.len()).rev() {
            if !self.has_len(len) && !hides {
                continue;
            }
            let outer = key_of(key.slot(), len);
            if let Some(run) = self.shown(outer) {
                return Some((len, self.answers[run]));
            }
            if hidden(block, Head::of(block), outer).is_some() {
                return None;
            }
        }
        Some((0, 0))
    }

    #[inline(always)]
    fn write(&self, block: Block<'_>, store: impl FnOnce(&[&[u32]]) -> u32) -> u32 {
        let old = Head::of(block);
        let head = Head::new(self.runs, old.hidden() as usize).with_gaps(old.gaps());
        let mut first = [0; SPECIAL as usize + 8];
        first[0] = head.0;
        let mut before = 0;
        for word in 0..8 {
            let starts = half(&self.starts, word);
            first[RANKS as usize + word / 4] |= before << (word % 4 * 8);
            first[BITMAP as usize + word] = starts;
            before += starts.count_ones();
        }
        for at in 0..head.specials() as usize {
            first[SPECIAL as usize + at] = half(&self.special, at);
        }
        let mut lens = [0; 32];
        for (at, pair) in self.lens.iter().enumerate() {
            lens[2 * at..][..2].copy_from_slice(&[*pair as u32, (*pair >> 32) as u32]);
        }
        let (mut hidden, words) = ([0; HIDDEN], (old.len() - old.hidden_at()) as usize);
        block.read(old.hidden_at(), &mut hidden[..words]);
        store(&[
            &first[..head.answers_at() as usize],
            &self.answers[..self.runs],
            &lens[..self.runs.div_ceil(8)],
            &hidden[..words],
        ])
    }

    /// The number of the run of a slot.
    #[inline(always)]
    fn run_of(&self, slot: u32) -> usize {
        let word = slot as usize / 64;
        let whole = self.starts[..word].iter().map(|word| word.count_ones());
        let last = self.starts[word] & (u64::MAX >> (63 - slot % 64));
        (whole.sum::<u32>() + last.count_ones()) as usize - 1
    }

    /// Returns whether a run begins at a slot.
    #[inline(always)]
    fn begins(&self, slot: u32) -> bool {
        self.starts[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// The numbers of the runs that begin inside an entry.
    #[inline(always)]
    fn within(&self, key: Key) -> std::ops::Range<usize> {
        let first = self.run_of(key.slot()) + usize::from(!self.begins(key.slot()));
        first..self.run_of(key.end() - 1) + 1
    }

    /// The slot at which a run begins.
    #[inline(always)]
    fn slot(&self, run: usize) -> u32 {
        let mut left = run as u32;
        for (at, word) in (0..).zip(self.starts) {
            if left < word.count_ones() {
                let without = (0..left).fold(word, |word, _| word & (word - 1));
                return at * 64 + without.trailing_zeros();
            }
            left -= word.count_ones();
        }
        unreachable!("a run with this number exists")
    }

    #[inline(always)]
    fn len(&self, run: usize) -> u32 {
        (self.lens[run / 16] >> (run % 16 * 4)) as u32 & 15
    }

    /// Returns whether a run may have this length. Never `false` if there is one.
    #[inline(always)]
    fn has_len(&self, len: u32) -> bool {
        const ONES: u64 = 0x1111_1111_1111_1111;
        // Four bits become 0 if they are the length. The subtraction then borrows from higher bits, so the
        // lowest hit is exact.
        let is_in = |lens: &u64| {
            let other = lens ^ (ONES * u64::from(len));
            other.wrapping_sub(ONES) & !other & ONES << 3 != 0
        };
        self.lens.iter().any(is_in)
    }

    #[inline(always)]
    fn set_len(&mut self, run: usize, len: u32) {
        let lens = &mut self.lens[run / 16];
        *lens &= !(15 << (run % 16 * 4));
        *lens |= u64::from(len) << (run % 16 * 4);
        if self.is_child(run) {
            self.answers[run] = self.answers[run] & CHILD | len << LEN_AT;
        }
    }

    #[inline(always)]
    fn is_special(&self, run: usize) -> bool {
        self.special[run / 64] >> (run % 64) & 1 == 1
    }

    #[inline(always)]
    fn set_special(&mut self, run: usize, is_special: bool) {
        let special = &mut self.special[run / 64];
        *special &= !(1 << (run % 64));
        *special |= u64::from(is_special) << (run % 64);
    }

    #[inline(always)]
    fn is_child(&self, run: usize) -> bool {
        self.is_special(run) && self.answers[run] != 0
    }

    /// A run that shows an entry.
    #[inline(always)]
    fn shown(&self, key: Key) -> Option<usize> {
        let shows = |run: &usize| self.len(*run) == key.len() && !self.is_special(*run);
        self.within(key).find(shows)
    }

    /// Makes a run begin at a slot.
    #[inline(always)]
    fn split(&mut self, slot: u32) {
        if slot == 256 || self.begins(slot) {
            return;
        }
        let new = self.run_of(slot) + 1;
        self.starts[slot as usize / 64] |= 1 << (slot % 64);
        self.answers.copy_within(new - 1..self.runs, new);
        self.runs += 1;
        let (len, is_special) = (self.len(new - 1), self.is_special(new - 1));
        open(&mut self.lens, new * 4, 4, len.into());
        open(&mut self.special, new, 1, is_special.into());
    }

    /// Joins a run with the one before if both have the same answer.
    #[inline(always)]
    fn join(&mut self, run: usize) {
        if run == 0 || run >= self.runs || self.is_child(run) || self.is_child(run - 1) {
            return;
        }
        let (slot, len) = (self.slot(run), self.len(run));
        let is_same = self.len(run - 1) == len
            && (len == 0 || key_of(self.slot(run - 1), len) == key_of(slot, len));
        if is_same {
            self.starts[slot as usize / 64] &= !(1 << (slot % 64));
            self.answers.copy_within(run + 1..self.runs, run);
            self.runs -= 1;
            close(&mut self.lens, run * 4, 4);
            close(&mut self.special, run, 1);
        }
    }
}

/// Reads `count` words as pairs.
fn pairs(block: Block<'_>, from: u32, count: u32, pairs: &mut [u64]) {
    for at in 0..count {
        pairs[at as usize / 2] |= u64::from(block.word(from + at)) << (at % 2 * 32);
    }
}

fn half(pairs: &[u64], at: usize) -> u32 {
    (pairs[at / 2] >> (at % 2 * 32)) as u32
}

/// Shifts all bits from `bit` on by `width`, and sets the freed bits.
fn open(words: &mut [u64], bit: usize, width: usize, value: u64) {
    let first = bit / 64;
    for at in (first + 1..words.len()).rev() {
        words[at] = words[at] << width | words[at - 1] >> (64 - width);
    }
    let below = (1 << (bit % 64)) - 1;
    let word = words[first];
    words[first] = word & below | value << (bit % 64) | (word & !below) << width;
}

/// Removes `width` bits, and shifts the bits after them down.
fn close(words: &mut [u64], bit: usize, width: usize) {
    let first = bit / 64;
    let below = (1 << (bit % 64)) - 1;
    words[first] = words[first] & below | words[first] >> width & !below;
    for at in first + 1..words.len() {
        words[at - 1] |= words[at] << (64 - width);
        words[at] >>= width;
    }
}
