//! Destinations next to each other, as a mask over one word of what a client holds.

use crate::oracle::Right;

/// Destinations of one word, two bits each (the lower one is set here), about which a message says the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Thirty-two destinations make a word.
    pub(crate) word: u32,
    /// What the message says of them.
    pub(crate) right: Right,
    /// Which of the word's destinations.
    pub(crate) mask: u64,
    /// How many they are.
    pub(crate) count: u8,
}

/// Destinations in a word.
pub(crate) const PER_WORD: u32 = 32;

impl Span {
    /// A destination alone.
    pub(crate) fn one(id: u32, right: Right) -> Span {
        Span {
            word: id / PER_WORD,
            right,
            mask: 1 << (id % PER_WORD * 2),
            count: 1,
        }
    }

    /// How many of the destinations have their lower bit in a word. Mostly all or none: counting bits takes many instructions
    /// on the processors for which we are compiled.
    pub(crate) fn count_in(&self, bits: u64) -> u32 {
        match bits & self.mask {
            0 => 0,
            bits if bits == self.mask => u32::from(self.count),
            bits => bits.count_ones(),
        }
    }

    /// The destinations.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let (first, mask) = (self.word * PER_WORD, self.mask);
        let is_in = move |at: &u32| mask >> (at * 2) & 1 != 0;
        (0..PER_WORD).filter(is_in).map(move |at| first + at)
    }
}

/// Appends a destination, to the last span since `start` where they go together. What depends on the client stands alone.
pub(crate) fn push(spans: &mut Vec<Span>, start: usize, id: u32, right: Right) {
    let one = Span::one(id, right);
    let alone = matches!(right, Right::Ask(_));
    match spans[start..].last_mut() {
        Some(last) if last.word == one.word && last.right == right && !alone => {
            last.mask |= one.mask;
            last.count = last.mask.count_ones() as u8;
        }
        _ => spans.push(one),
    }
}
