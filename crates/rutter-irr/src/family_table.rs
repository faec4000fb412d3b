//! The registered prefixes of one address family.

use rutter_lpm::Net;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::directory::Directory;
use crate::entry::Entry;
use crate::member_set::SetInterner;
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;

/// A prefix type of one family, with the first 32 bits of its address.
pub(crate) trait FamilyPrefix: Net + Into<Prefix> {
    fn head(self) -> u32;
}

impl FamilyPrefix for Ipv4Prefix {
    #[inline]
    fn head(self) -> u32 {
        self.bits()
    }
}

impl FamilyPrefix for Ipv6Prefix {
    #[inline]
    fn head(self) -> u32 {
        (self.bits() >> 96) as u32
    }
}

/// Prefixes in order, with their entries.
///
/// A search finds the last prefix that is not behind the wanted one. That prefix or its parents (the next shorter prefix
/// around each) are all prefixes that cover the wanted one. For a covering prefix is before the found one, and a prefix
/// between the two in order is inside it.
#[derive(Debug)]
pub(crate) struct FamilyTable<N: FamilyPrefix> {
    /// In order of address and length.
    nodes: Vec<Node<N>>,
    entries: Vec<Entry>,
    directory: Directory,
}

/// A registered prefix.
#[derive(Clone, Copy, Debug)]
struct Node<N> {
    prefix: N,
    /// The next shorter prefix around this one, or [`NO_PARENT`].
    parent: u32,
    /// The first of its entries. The next node's is the end.
    entries: u32,
}

const NO_PARENT: u32 = u32::MAX;

impl<N: FamilyPrefix> FamilyTable<N> {
    /// Builds the table. `None` if there are too many entries or sets.
    pub fn build(
        mut raw: Vec<RawEntry<N>>,
        origins: &OriginTable,
        sets: &mut SetInterner,
    ) -> Option<Self> {
        raw.sort_unstable();
        raw.dedup();
        let mut table = FamilyTable {
            nodes: Vec::new(),
            entries: Vec::new(),
            directory: Directory::new(0, |_| 0),
        };
        let mut members = Vec::new();
        for group in raw.chunk_by(RawEntry::joins) {
            let first = &group[0];
            let set = if first.kind.is_by_origin() {
                match origins.members(first.origin) {
                    Some(set) => set,
                    None => continue,
                }
            } else {
                members.clear();
                members.extend(group.iter().map(|raw| raw.member));
                sets.intern(&members)?
            };
            let lengths = (first.min_len, first.max_len);
            let entry = Entry::new(first.kind, first.origin, lengths, set, first.source);
            table.push(first.prefix, entry)?;
        }
        table.finish();
        Some(table)
    }

    /// Appends an entry; its prefix is not before the last one.
    fn push(&mut self, prefix: N, entry: Entry) -> Option<()> {
        let is_new = self.nodes.last().is_none_or(|last| last.prefix != prefix);
        if is_new {
            let parent = self.parent_of_next(prefix);
            let entries = u32::try_from(self.entries.len()).ok()?;
            self.nodes.push(Node {
                prefix,
                parent,
                entries,
            });
        }
        self.entries.push(entry);
        Some(())
    }

    /// The parent of a prefix that comes behind all others.
    fn parent_of_next(&self, prefix: N) -> u32 {
        let mut at = self
            .nodes
            .len()
            .checked_sub(1)
            .map_or(NO_PARENT, |at| at as u32);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.prefix.covers(prefix) {
                return at;
            }
            at = node.parent;
        }
        NO_PARENT
    }

    fn finish(&mut self) {
        self.nodes.shrink_to_fit();
        self.entries.shrink_to_fit();
        let nodes = &self.nodes;
        self.directory = Directory::new(nodes.len(), |at| nodes[at].prefix.head());
    }

    /// The registered prefixes that cover `prefix`, itself included, with their entries, from the longest to the
    /// shortest.
    #[inline]
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (N, &[Entry])> {
        let (from, to) = self.directory.bucket(prefix.head());
        let behind = from + self.nodes[from..to].partition_point(|node| node.prefix <= prefix);
        let mut at = behind.wrapping_sub(1) as u32;
        std::iter::from_fn(move || {
            loop {
                let index = at as usize;
                let node = self.nodes.get(index)?;
                at = node.parent;
                if node.prefix.covers(prefix) {
                    return Some((node.prefix, self.entries_of(index)));
                }
            }
        })
    }

    #[inline]
    fn entries_of(&self, index: usize) -> &[Entry] {
        let from = self.nodes[index].entries as usize;
        let next = self.nodes.get(index + 1);
        let to = next.map_or(self.entries.len(), |next| next.entries as usize);
        &self.entries[from..to]
    }

    /// All prefixes with their entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (N, &[Entry])> {
        let indexes = 0..self.nodes.len();
        indexes.map(|index| (self.nodes[index].prefix, self.entries_of(index)))
    }

    /// The number of prefixes.
    pub fn prefixes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of the table.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<N>>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.directory.memory()
    }
}
