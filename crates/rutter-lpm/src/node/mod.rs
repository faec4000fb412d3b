//! The nodes below the root: blocks of words, read in place and rebuilt as a whole when their prefixes change.
//! Only the numbers of prefixes and, in some profiles, pointers to other nodes change in place.
//!
//! A node at depth `d` with a stride of `s` bits has the prefixes of lengths `d + 1` to `d + s` (its
//! *entries*). It has the children at depth `d + s`, by *slot*: the `s` bits after the first `d`.

mod quick_edit;
mod runs;
mod stride4;
mod stride8;

pub(crate) use stride4::Stride4;
pub(crate) use stride8::Stride8;

use crate::memory::Block;
use runs::Runs;

/// One step down: the contents of a node at a slot. Zero means nothing.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The index of the child.
    pub child: u32,
    /// The offset of the pointer to the child.
    pub at: u32,
    /// The offset of the value of the longest entry that covers the slot, for [`Node::resolve`].
    pub value: u32,
}

/// The memory layout of nodes of one stride.
pub(crate) trait Node {
    /// The address bits resolved.
    const BITS: u32;
    /// An unpacked node, for changes.
    type Parts: Parts;

    /// The buffers that updates reuse.
    fn scratch(scratch: &mut Scratch) -> &mut Self::Parts;

    /// The number of words that each query reads.
    const HEADER: u32;
    /// The offset of the word for a slot, as far as the header shows it, for a prefetch.
    fn place(block: Block<'_>, slot: u32) -> u32;
    /// The contents of the node at a slot.
    fn step(block: Block<'_>, slot: u32) -> Step;
    /// The offset of a value that a step found.
    fn resolve(block: Block<'_>, value: u32, slot: u32) -> u32;
    /// Unpacks the node.
    fn take_apart(block: Block<'_>, parts: &mut Self::Parts);
    /// Lists the contents.
    fn list(parts: &Self::Parts, contents: &mut Contents);
    /// Packs the node; `words` is empty before.
    fn write(parts: &Self::Parts, words: &mut Vec<u32>);
    /// Adds an entry that does not exist or, without a value, removes one that exists. Returns the index from
    /// `store` for the new words, or 0 for an empty node. Returns `None` if the node must be unpacked.
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
    /// The head of a node after an entry becomes a *gap*, with 0 in place of its value, which is at the offset
    /// `_at`. Gaps are not entries: unpacking a node removes them. Returns `None` if the entry must be removed
    /// instead.
    ///
    /// An entry with another entry or a child inside cannot become a gap, and a new entry inside a gap replaces
    /// it. So of nested prefixes only the innermost comes and goes without a new node.
    fn gap(_: Block<'_>, _: Key, _at: u32) -> Option<u32> {
        None
    }
    /// The head of a node after a gap is filled.
    fn filled(block: Block<'_>) -> u32 {
        block.word(0)
    }
    /// Visits the offsets of all copies of the value of an existing entry.
    fn each_value(block: Block<'_>, key: Key, visit: impl FnMut(u32));
    /// The offset of the pointer to a child.
    fn child(block: Block<'_>, slot: u32) -> Option<u32>;
    /// The target of a pointer.
    fn child_of(pointer: u32) -> u32;
    /// The new word of a pointer after the child moved.
    fn pointer(old: u32, child: u32) -> u32;
    /// The length, relative to the node, of the entry that a step found.
    fn entry_len(block: Block<'_>, value: u32) -> u8;
    /// A bit for each eighth of the slots in `among`: whether an entry or a child is in it.
    fn busy(block: Block<'_>, among: u8) -> u8;
    /// The number of words.
    fn len(block: Block<'_>) -> u32;

    /// The contents of a node, only for reading.
    fn read(block: Block<'_>) -> Contents {
        let (mut parts, mut contents) = (Self::Parts::default(), Contents::default());
        Self::take_apart(block, &mut parts);
        Self::list(&parts, &mut contents);
        contents
    }
}

/// The place of an entry: slot, then length relative to the node, so that keys sort as prefixes do.
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

    /// A bit for each eighth of a node's slots that the entry is in.
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

/// The changes to an unpacked node.
pub(crate) trait Parts: Default {
    fn clear(&mut self);
    fn is_empty(&self) -> bool;
    /// Adds an entry that does not exist yet.
    fn insert(&mut self, key: Key, value: u32);
    /// Removes an entry.
    fn remove(&mut self, key: Key);
    /// Sets, adds or (with 0) removes a child.
    fn set_child(&mut self, slot: u32, child: u32);
}

/// Unpacked nodes of either stride.
#[derive(Default)]
pub(crate) struct Scratch {
    contents: Contents,
    runs: Runs,
}

/// The contents of a node.
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
