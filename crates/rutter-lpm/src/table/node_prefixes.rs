//! The prefixes in nodes: a node is rebuilt when one is added or removed, and replaces the old node.

use std::marker::PhantomData;

use crate::cpu::BitWork;
use crate::memory::Block;
use crate::net::{Bits, Net};
use crate::node::{Key, Node, Parts};
use crate::shared_table::{Location, key_of};

use super::Table;
use super::allocation::alloc_node;

impl<N: Net> Table<N> {
    /// Walks to the node of a prefix and records the path.
    pub(super) fn seek_node<S: Node>(&mut self, prefix: N) -> Location {
        crate::cpu::count(Seek::<N, S> {
            table: self,
            prefix,
            stride: PhantomData,
        })
    }

    #[inline(always)]
    fn walk_to_node<S: Node>(&mut self, prefix: N) -> Location {
        let path = &mut self.scratch.path;
        if !path.is_empty() {
            // Not written without need: another processor may have the line.
            path.clear();
        }
        let node = self.shared.child_of_root(prefix);
        let pass = |node, slot| path.push((node, slot));
        self.shared.location_by::<S>(prefix, node, pass)
    }

    pub(super) fn put_in_node<S: Node>(&mut self, prefix: N, location: Location, number: u32) {
        let last_depth = self.shared.home::<S>(prefix);
        let key = key_of::<N, S>(prefix, last_depth);
        if location.number.is_some() {
            let memory = &self.shared.memory;
            let block = memory.block(location.home);
            return S::each_value(block, key, |at| memory.set(location.home + at, number));
        }
        if let Some(new) = self.edit_node::<S>(location.home, key, Some(number)) {
            return self.relink::<S>(prefix.bits(), location.home, new, key.eighths(S::BITS));
        }
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        parts.clear();
        if location.home != 0 {
            S::take_apart(self.shared.memory.block(location.home), &mut parts);
        }
        parts.insert(key, number);
        let mut new = self.store_node::<S>(&parts);
        let mut at = last_depth;
        while at > location.depth {
            at -= S::BITS;
            parts.clear();
            parts.set_child((prefix.bits() << at).head(S::BITS), new);
            new = self.store_node::<S>(&parts);
        }
        *S::scratch(&mut self.scratch.parts) = parts;
        self.relink::<S>(prefix.bits(), location.home, new, ALL_EIGHTHS);
    }

    /// Removes an existing prefix and leaves a gap, if its node can have one more.
    pub(super) fn leave_gap_in_node<S: Node>(&mut self, prefix: N, location: Location) -> bool {
        let key = key_of::<N, S>(prefix, self.shared.home::<S>(prefix));
        let memory = &self.shared.memory;
        let head = S::gap(memory.block(location.home), key, location.at);
        if let Some(head) = head {
            memory.set(location.home, head);
            memory.set(location.home + location.at, 0);
        }
        head.is_some()
    }

    /// Puts a prefix into its gap.
    pub(super) fn fill_gap_in_node<S: Node>(&mut self, location: Location, number: u32) {
        let memory = &self.shared.memory;
        memory.set(location.home, S::filled(memory.block(location.home)));
        memory.set(location.home + location.at, number);
    }

    pub(super) fn pull_from_node<S: Node>(&mut self, prefix: N, location: Location) {
        let key = key_of::<N, S>(prefix, self.shared.home::<S>(prefix));
        if let Some(new) = self.edit_node::<S>(location.home, key, None) {
            return self.relink::<S>(prefix.bits(), location.home, new, key.eighths(S::BITS));
        }
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        S::take_apart(self.shared.memory.block(location.home), &mut parts);
        parts.remove(key);
        let new = self.store_node::<S>(&parts);
        *S::scratch(&mut self.scratch.parts) = parts;
        // The gaps of the node are removed, too, and they may be anywhere.
        self.relink::<S>(prefix.bits(), location.home, new, ALL_EIGHTHS);
    }

    /// Replaces `old` by `new` at the end of the path; 0 is no node. They differ in the eighths of slots in
    /// `among`. One store publishes all of it. It goes to the pointer of the parent if those change in place,
    /// else to the root's slot. In that case the nodes on the path are copied if there are readers.
    fn relink<S: Node>(&mut self, bits: N::Bits, mut old: u32, mut new: u32, among: u8) {
        let in_place = self.shared.is_in_place || self.is_alone();
        let is_child_of_root = self.scratch.path.is_empty();
        let mut is_like_before = false;
        while let Some((parent, slot)) = self.scratch.path.pop() {
            is_like_before = old != 0 && new != 0;
            let next = if !is_like_before {
                self.with_child::<S>(parent, slot, new)
            } else if in_place {
                let block = self.shared.memory.block(parent);
                let at =
                    S::child(block, slot).unwrap_or_else(|| unreachable!("a child to replace"));
                self.shared
                    .memory
                    .set(parent + at, S::pointer(block.word(at), new));
                self.retire(old);
                return;
            } else {
                self.copy_with_child::<S>(parent, slot, new)
            };
            if old != 0 {
                self.retire(old);
            }
            (old, new) = (parent, next);
        }
        let slot = bits.head(self.shared.root.bits());
        if is_like_before {
            // The same slots are busy.
            let busy = self.shared.root.slot(slot).busy;
            self.shared.root.set_child(slot, new, busy);
        } else if is_child_of_root && old != 0 && new != 0 {
            let others = self.shared.root.slot(slot).busy & !among;
            let busy = self.busy::<S>(new, among);
            self.shared.root.set_child(slot, new, others | busy);
        } else {
            self.publish::<S>(slot, new);
        }
        if old != 0 {
            self.retire(old);
        }
    }

    /// Makes a root slot refer to a node, or to nothing.
    pub(crate) fn publish<S: Node>(&self, slot: u32, node: u32) {
        let busy = match node {
            0 => 0,
            node => self.busy::<S>(node, 0xff),
        };
        self.shared.root.set_child(slot, node, busy);
    }

    fn busy<S: Node>(&self, node: u32, among: u8) -> u8 {
        crate::cpu::count(Busy::<S> {
            block: self.shared.memory.block(node),
            among,
            stride: PhantomData,
        })
    }

    fn with_child<S: Node>(&mut self, parent: u32, slot: u32, child: u32) -> u32 {
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        S::take_apart(self.shared.memory.block(parent), &mut parts);
        parts.set_child(slot, child);
        let new = self.store_node::<S>(&parts);
        *S::scratch(&mut self.scratch.parts) = parts;
        new
    }

    fn copy_with_child<S: Node>(&mut self, parent: u32, slot: u32, child: u32) -> u32 {
        let len = S::len(self.shared.memory.block(parent));
        let new = self.alloc_node(len);
        self.shared.memory.copy(parent, new, len);
        let block = self.shared.memory.block(new);
        let at = S::child(block, slot).unwrap_or_else(|| unreachable!("a child to replace"));
        self.shared
            .memory
            .set(new + at, S::pointer(block.word(at), child));
        new
    }

    /// Makes a copy of a node with one entry added or removed, if that is simple. Returns 0 for an empty node.
    fn edit_node<S: Node>(&mut self, node: u32, key: Key, value: Option<u32>) -> Option<u32> {
        if node == 0 {
            return None;
        }
        let (memory, in_lines) = (&self.shared.memory, self.is_shard);
        S::edit(memory.block(node), key, value, |parts| {
            let len = parts.iter().map(|part| part.len() as u32).sum();
            let index = alloc_node(&mut self.blocks, memory, len, in_lines);
            memory.write_parts(index, parts);
            index
        })
    }

    /// Stores a node; returns 0 for an empty one.
    pub(crate) fn store_node<S: Node>(&mut self, parts: &S::Parts) -> u32 {
        if parts.is_empty() {
            return 0;
        }
        let mut words = std::mem::take(&mut self.scratch.words);
        words.clear();
        S::write(parts, &mut words);
        let index = self.alloc_node(words.len() as u32);
        self.shared.memory.write(index, &words);
        self.scratch.words = words;
        index
    }
}

/// [`Table::seek_node`].
struct Seek<'t, N: Net, S> {
    table: &'t mut Table<N>,
    prefix: N,
    stride: PhantomData<S>,
}

impl<N: Net, S: Node> BitWork for Seek<'_, N, S> {
    type Output = Location;

    #[inline(always)]
    fn run(self) -> Location {
        self.table.walk_to_node::<S>(self.prefix)
    }
}

/// [`Node::busy`].
struct Busy<'b, S> {
    block: Block<'b>,
    among: u8,
    stride: PhantomData<S>,
}

impl<S: Node> BitWork for Busy<'_, S> {
    type Output = u8;

    #[inline(always)]
    fn run(self) -> u8 {
        S::busy(self.block, self.among)
    }
}

const ALL_EIGHTHS: u8 = 0xff;
