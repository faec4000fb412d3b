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
}

/// Destinations in a word.
pub(crate) const A_WORD: u32 = 32;

/// The word of a destination and its lower bit there.
pub(crate) fn place(id: u32) -> (u32, u64) {
    (id / A_WORD, 1 << (id % A_WORD * 2))
}

impl Span {
    /// The destinations.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let (first, mask) = (self.word * A_WORD, self.mask);
        let is_in = move |at: &u32| mask >> (at * 2) & 1 != 0;
        (0..A_WORD).filter(is_in).map(move |at| first + at)
    }
}

/// Appends a destination, to the last span since `start` where they go together. What depends on the client stands alone.
pub(crate) fn push(spans: &mut Vec<Span>, start: usize, id: u32, right: Right) {
    let (word, mask) = place(id);
    let alone = matches!(right, Right::Ask(_));
    match spans[start..].last_mut() {
        Some(last) if last.word == word && last.right == right && !alone => last.mask |= mask,
        _ => spans.push(Span { word, right, mask }),
    }
}
