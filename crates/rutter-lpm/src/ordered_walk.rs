//! Visits prefixes in order: by address, then from short to long.

use std::collections::btree_map;
use std::iter::Peekable;

use crate::net::{Bits, Net};
use crate::node::{Node, Stride4, Stride8};
use crate::profile::Stride;
use crate::table::Table;

/// An iterator over the prefixes of a table inside one prefix.
pub(crate) struct Walk<'t, N: Net> {
    table: &'t Table<N>,
    within: N,
    root_prefixes: Peekable<btree_map::Range<'t, N, u32>>,
    /// The root slots still to visit.
    slots: Option<(u32, u32)>,
    /// The next root slot with a child.
    next: Option<(u32, u32)>,
    nodes: Vec<Level<N>>,
}

/// A node whose items are being visited.
struct Level<N: Net> {
    depth: u32,
    items: std::vec::IntoIter<(N, Item)>,
}

enum Item {
    Entry(u32),
    Child(u32),
}

impl<'t, N: Net> Walk<'t, N> {
    pub fn new(table: &'t Table<N>, within: N) -> Self {
        let last = N::from_bits(within.last_bits(), N::MAX_LEN);
        let mut walk = Walk {
            table,
            within,
            root_prefixes: table.root_prefixes.range(within..=last).peekable(),
            slots: Some(table.root_range(within)),
            next: None,
            nodes: Vec::new(),
        };
        walk.next_slot();
        walk
    }

    fn next_slot(&mut self) {
        self.next = self
            .slots
            .and_then(|(from, last)| self.table.shared.root.next_child(from, last));
        let rest = self
            .next
            .zip(self.slots)
            .map(|((at, _), (_, last))| (at + 1, last));
        self.slots = rest.filter(|(from, last)| from <= last);
    }

    fn push(&mut self, start: N::Bits, depth: u32, node: u32) {
        let items = match self.table.shared.profile.stride() {
            Stride::Stride4 => self.items::<Stride4>(start, depth, node),
            Stride::Stride8 => self.items::<Stride8>(start, depth, node),
        };
        self.nodes.push(Level {
            depth,
            items: items.into_iter(),
        });
    }

    /// The entries of a node inside the prefix, and the children that may have such entries, in order.
    fn items<S: Node>(&self, start: N::Bits, depth: u32, node: u32) -> Vec<(N, Item)> {
        let contents = S::read(self.table.shared.memory.block(node));
        let place = |slot, len| N::from_bits(start.with(depth, S::BITS, slot), (depth + len) as u8);
        let entries = contents.entries.iter();
        let entries =
            entries.map(|(key, value)| (place(key.slot(), key.len()), Item::Entry(*value)));
        let children = contents.children.iter();
        let children =
            children.map(|(slot, child)| (place(u32::from(*slot), S::BITS), Item::Child(*child)));
        let mut items: Vec<_> = entries.chain(children).collect();
        // A stable sort: an entry of the full stride comes before the child at its slot.
        items.sort_by_key(|(prefix, _)| *prefix);
        items.retain(|(prefix, item)| match item {
            Item::Entry(_) => self.within.covers(*prefix),
            Item::Child(_) => self.within.covers(*prefix) || prefix.covers(self.within),
        });
        items
    }

    fn next_in_nodes(&mut self) -> Option<(N, u32)> {
        loop {
            let level = self.nodes.last_mut()?;
            match level.items.next() {
                None => drop(self.nodes.pop()),
                Some((prefix, Item::Entry(value))) => return Some((prefix, value)),
                Some((prefix, Item::Child(node))) => {
                    let depth = level.depth + self.table.shared.profile.stride().bits();
                    self.push(prefix.bits(), depth, node);
                }
            }
        }
    }
}

impl<N: Net> Iterator for Walk<'_, N> {
    type Item = (N, u32);

    fn next(&mut self) -> Option<(N, u32)> {
        let root_bits = self.table.shared.root.bits();
        loop {
            if let Some(found) = self.next_in_nodes() {
                return Some(found);
            }
            let start = self.next.map(|(slot, _)| N::ZERO.with(0, root_bits, slot));
            let is_before = |head: &N| start.is_none_or(|start| head.bits() <= start);
            if let Some((prefix, record)) =
                self.root_prefixes.next_if(|(prefix, _)| is_before(prefix))
            {
                return Some((*prefix, self.table.shared.memory.word(*record)));
            }
            let ((_, child), start) = self.next.zip(start)?;
            self.push(start, root_bits, child);
            self.next_slot();
        }
    }
}
