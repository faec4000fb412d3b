//! Destinations of one word of a tracker, as a mask.

use crate::oracle::Right;

/// Destinations of one word, about which a message makes the same statement. Each has two bits; the mask has the lower
/// one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The index of the word, which covers 32 destinations.
    pub(crate) word: u32,
    /// The statement of the message.
    pub(crate) right: Right,
    /// The destinations in the word.
    pub(crate) mask: u64,
    /// How many they are.
    pub(crate) count: u8,
}

/// Destinations per word.
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

    /// How many of the destinations have their lower bit set in a word. It is mostly all or none, which is tested
    /// first: counting bits takes many instructions on the processors that we compile for.
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

/// Appends a destination. It joins the last span since `start` if word and statement are equal and the statement does
/// not depend on the client.
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
