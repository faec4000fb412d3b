//! Many changes in one walk: each node is rebuilt once, however many of its prefixes are removed.

use crate::net::{Bits, Net};
use crate::node::{Contents, Node, Parts, Stride4, Stride8};
use crate::profile::Stride;
use crate::table::Table;

/// Decides about a prefix: returns its new number, or `None` to remove it.
pub(crate) trait UpdateRule<N: Net>: FnMut(&mut Table<N>, N, u32) -> Option<u32> {}

impl<N: Net, F: FnMut(&mut Table<N>, N, u32) -> Option<u32>> UpdateRule<N> for F {}

/// An unpacked node. The buffers are reused, one for each node on the path.
struct Level<S: Node> {
    parts: S::Parts,
    contents: Contents,
}

/// The position of a node.
#[derive(Clone, Copy)]
struct Place<N: Net> {
    start: N::Bits,
    depth: u32,
}

impl<N: Net> Table<N> {
    /// Keeps the prefixes for which `keep` returns `true`, given prefix and number, and removes all others.
    ///
    /// This is one walk over the table, much faster than removing prefixes one by one. The prefixes of a root
    /// slot disappear for readers at once, and the slots one after another.
    ///
    /// ```
    /// # use rutter_lpm::{Profile, Table};
    /// # let mut table = Table::<rutter_net::Ipv4Prefix>::new(Profile::Fast);
    /// for (prefix, n) in [("10.2.3.0/24", 24), ("10.0.0.0/8", 8), ("10.2.0.0/16", 16)] {
    ///     table.insert(prefix.parse()?, n);
    /// }
    /// table.retain(|_, n| n != 16);
    /// assert_eq!(table.len(), 2);
    /// # Ok::<(), rutter_net::ParsePrefixError>(())
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(N, u32) -> bool) {
        self.update_all(|_: &mut Self, prefix, number| keep(prefix, number).then_some(number));
    }

    /// Decides about each prefix, in one walk.
    pub(crate) fn update_all(&mut self, mut decide: impl UpdateRule<N>) {
        if self.shared.direct.is_some() || self.shared.direct_ipv6.is_some() {
            let all: Vec<_> = self.iter().collect();
            all.into_iter()
                .for_each(|(prefix, number)| self.update_one(prefix, number, &mut decide));
            return;
        }
        let root_prefixes: Vec<_> = self
            .root_prefixes
            .iter()
            .map(|(prefix, at)| (*prefix, *at))
            .collect();
        for (prefix, at) in root_prefixes {
            let number = self.shared.memory.word(at);
            self.update_one(prefix, number, &mut decide);
        }
        match self.shared.profile.stride() {
            Stride::Stride4 => self.update_nodes::<Stride4>(&mut decide),
            Stride::Stride8 => self.update_nodes::<Stride8>(&mut decide),
        }
    }

    fn update_nodes<S: Node>(&mut self, decide: &mut impl UpdateRule<N>) {
        let bits = self.shared.root.bits();
        let last = N::from_bits(N::ZERO, 0).last_bits().head(bits);
        let (mut next, mut spare) = (Some(0), Vec::new());
        while let Some((slot, child)) = next.and_then(|at| self.shared.root.next_child(at, last)) {
            let start = N::ZERO.with(0, bits, slot);
            let place = Place { start, depth: bits };
            let new = self.update_node::<S>(child, place, decide, &mut spare);
            if new != child {
                self.publish::<S>(slot, new);
            }
            self.reclaim_if_due();
            next = (slot < last).then_some(slot + 1);
        }
    }

    fn update_one(&mut self, prefix: N, number: u32, decide: &mut impl UpdateRule<N>) {
        match decide(self, prefix, number) {
            None => drop(self.remove(prefix)),
            Some(new) if new != number => drop(self.insert(prefix, new)),
            Some(_) => {}
        }
    }

    /// Returns the replacement of a node: itself if only numbers changed, 0 if it is empty.
    fn update_node<S: Node>(
        &mut self,
        node: u32,
        at: Place<N>,
        decide: &mut impl UpdateRule<N>,
        spare: &mut Vec<Level<S>>,
    ) -> u32 {
        let mut level = spare.pop().unwrap_or_default();
        let Level { parts, contents } = &mut level;
        S::take_apart(self.shared.memory.block(node), parts);
        S::list(parts, contents);
        let mut renumbered = false;
        contents.entries.retain(|(key, number)| {
            let len = (at.depth + key.len()) as u8;
            let prefix = N::from_bits(at.start.with(at.depth, S::BITS, key.slot()), len);
            let new = decide(self, prefix, *number);
            if let Some(new) = new.filter(|new| new != number) {
                renumbered = true;
                let memory = &self.shared.memory;
                S::each_value(memory.block(node), *key, |at| memory.set(node + at, new));
            }
            // The list keeps the entries that are removed from the node.
            new.is_none()
        });
        self.count_out(contents.entries.len());
        let depth = at.depth + S::BITS;
        contents.children.retain_mut(|(slot, child)| {
            let start = at.start.with(at.depth, S::BITS, u32::from(*slot));
            let new = self.update_node::<S>(*child, Place { start, depth }, decide, spare);
            std::mem::replace(child, new) != new
        });
        let mut new = node;
        if !contents.entries.is_empty() || !contents.children.is_empty() {
            if renumbered {
                S::take_apart(self.shared.memory.block(node), parts);
            }
            for (slot, child) in &contents.children {
                parts.set_child(u32::from(*slot), *child);
            }
            let gone = contents.entries.iter();
            gone.for_each(|(key, _)| parts.remove(*key));
            new = self.store_node::<S>(parts);
            self.retire(node);
        }
        spare.push(level);
        new
    }
}

impl<S: Node> Default for Level<S> {
    fn default() -> Self {
        Level {
            parts: S::Parts::default(),
            contents: Contents::default(),
        }
    }
}
