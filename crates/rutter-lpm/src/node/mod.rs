//! The nodes below the root: blocks of words, read in place, rebuilt as a whole when their prefixes change. Only numbers of prefixes
//! and, in some profiles, pointers to other nodes change in place.
//!
//! A node at depth `d` with a stride of `s` bits has the prefixes of lengths `d + 1` to `d + s` (its *entries*) and
//! the children at depth `d + s`, by *slot*: the `s` bits that follow the first `d`.

mod quick_edit;
mod runs;
mod stride4;
mod stride8;

pub(crate) use stride4::Stride4;
pub(crate) use stride8::Stride8;

use crate::memory::Block;
use runs::Runs;

/// One step down: what a node has_words of a slot. Zero means nothing.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The index of the child.
    pub child: u32,
    /// Where in the node the pointer to it is.
    pub at: u32,
    /// Where in the node the value of the longest entry is that covers the slot, for [`Node::resolve`].
    pub value: u32,
}

/// How nodes of one stride lie in memory.
pub(crate) trait Node {
    /// Address bits resolved.
    const BITS: u32;
    /// A node taken apart, to be changed.
    type Parts: Parts;

    /// The parts that updates use again and again.
    fn scratch(scratch: &mut Scratch) -> &mut Self::Parts;

    /// Words that are read of a node, whatever is asked of it.
    const HEADER: u32;
    /// Where it has_words something of a slot, as far as its header tells, so that it can be asked for early.
    fn place(block: Block<'_>, slot: u32) -> u32;
    /// What the node has_words of a slot.
    fn step(block: Block<'_>, slot: u32) -> Step;
    /// The offset of a value that a step found.
    fn resolve(block: Block<'_>, value: u32, slot: u32) -> u32;
    /// Takes it apart.
    fn take_apart(block: Block<'_>, parts: &mut Self::Parts);
    /// What is in it.
    fn list(parts: &Self::Parts, contents: &mut Contents);
    /// Lays it out; `words` comes empty.
    fn write(parts: &Self::Parts, words: &mut Vec<u32>);
    /// The node with an entry set (that was not there) or, without a value, taken out (that was): what `store` makes of its
    /// words, or 0 where nothing is left. `None` where it has to be taken apart.
    fn edit(
        _: Block<'_>,
        _: Key,
        _: Option<u32>,
        _store: impl FnOnce(&[&[u32]]) -> u32,
    ) -> Option<u32> {
        None
    }
    /// The offset of an entry's value.
    fn entry(block: Block<'_>, key: Key) -> Option<u32>;
    /// The head that a node has when an entry, whose value is at an offset, is left as a *gap*: with 0 in place of its value. Gaps are no entries: taking a node apart leaves them out. `None` where the entry has to be taken out.
    ///
    /// An entry with another or a child inside is none that may, and what comes inside a gap takes the gap's place: of prefixes that
    /// nest only the innermost comes and goes without a new node.
    fn gap(_: Block<'_>, _: Key, _at: u32) -> Option<u32> {
        None
    }
    /// The head of a node of which a gap is filled.
    fn filled(block: Block<'_>) -> u32 {
        block.word(0)
    }
    /// The offsets of all copies of the value of an entry that is there.
    fn each_value(block: Block<'_>, key: Key, visit: impl FnMut(u32));
    /// The offset of the pointer to a child.
    fn child(block: Block<'_>, slot: u32) -> Option<u32>;
    /// The child that a pointer leads to.
    fn child_of(pointer: u32) -> u32;
    /// The word that takes the place of a pointer when the child moves.
    fn pointer(old: u32, child: u32) -> u32;
    /// The length, relative to the node, of the entry that a step found.
    fn entry_len(block: Block<'_>, value: u32) -> u8;
    /// A bit for each eighth of the slots, of those `among` which it is asked: whether an entry or a child is in it.
    fn busy(block: Block<'_>, among: u8) -> u8;
    /// Words in all.
    fn len(block: Block<'_>) -> u32;

    /// What is in a node that is not to be changed.
    fn read(block: Block<'_>) -> Contents {
        let (mut parts, mut contents) = (Self::Parts::default(), Contents::default());
        Self::take_apart(block, &mut parts);
        Self::list(&parts, &mut contents);
        contents
    }
}

/// An entry's place: slot, then length relative to the node, so that keys sort as prefixes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u16);

impl Key {
    pub fn new(slot: u32, len: u32) -> Self {
        debug_assert!(slot < 256 && len <= 8);
        Key((slot << 4 | len) as u16)
    }

    pub fn slot(self) -> u32 {
        u32::from(self.0 >> 4)
    }

    pub fn len(self) -> u32 {
        u32::from(self.0 & 15)
    }

    /// A bit for each eighth of the slots of a node that the entry is in.
    pub fn eighths(self, bits: u32) -> u8 {
        let first = self.slot() >> (bits - 3);
        match self.len() {
            len @ ..3 => (!(0xff << (8 >> len)) << first) as u8,
            _ => 1 << first,
        }
    }

    /// The slot after the last of the entry, in nodes of 8 bits.
    pub fn end(self) -> u32 {
        self.slot() + (256 >> self.len())
    }
}

/// What updates do to a node that was taken apart.
pub(crate) trait Parts: Default {
    fn clear(&mut self);
    fn is_empty(&self) -> bool;
    /// Adds an entry that is not there.
    fn insert(&mut self, key: Key, value: u32);
    /// Takes an entry out.
    fn remove(&mut self, key: Key);
    /// Sets, adds or (with 0) removes a child.
    fn set_child(&mut self, slot: u32, child: u32);
}

/// Parts of either stride.
#[derive(Default)]
pub(crate) struct Scratch {
    contents: Contents,
    runs: Runs,
}

/// What is in a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// Sorted by key.
    pub entries: Vec<(Key, u32)>,
    /// Slot and index, sorted by slot.
    pub children: Vec<(u8, u32)>,
}

impl Parts for Contents {
    fn clear(&mut self) {
        self.entries.clear();
        self.children.clear();
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.children.is_empty()
    }

    fn insert(&mut self, key: Key, value: u32) {
        let at = self.entries.partition_point(|(other, _)| *other < key);
        self.entries.insert(at, (key, value));
    }

    fn remove(&mut self, key: Key) {
        self.entries.retain(|(other, _)| *other != key);
    }

    fn set_child(&mut self, slot: u32, child: u32) {
        let slot = slot as u8;
        let found = self.children.binary_search_by_key(&slot, |(slot, _)| *slot);
        match found {
            Ok(at) if child == 0 => drop(self.children.remove(at)),
            Ok(at) => self.children[at].1 = child,
            Err(_) if child == 0 => {}
            Err(at) => self.children.insert(at, (slot, child)),
        }
    }
}

#[cfg(test)]
mod tests;
