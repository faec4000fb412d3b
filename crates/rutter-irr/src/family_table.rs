//! The registered prefixes of one address family.

use rutter_lpm::{FrozenMap, Net, Place, prefetch};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::IrrMember;
use crate::entry::{Entry, IrrSourceId};
use crate::list_line::ListLines;
use crate::member_set::{SetInterner, SetPool};
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;

/// A prefix type of one family.
pub(crate) trait FamilyPrefix: Net + Into<Prefix> {
    /// Orders prefixes as [`Ord`] does, in one comparison where that is possible.
    type SortKey: Ord;

    fn sort_key(self) -> Self::SortKey;
}

impl FamilyPrefix for Ipv4Prefix {
    type SortKey = u64;

    #[inline]
    fn sort_key(self) -> u64 {
        u64::from(self.bits()) << 8 | u64::from(self.len())
    }
}

impl FamilyPrefix for Ipv6Prefix {
    type SortKey = (u128, u8);

    #[inline]
    fn sort_key(self) -> (u128, u8) {
        (self.bits(), self.len())
    }
}

/// Prefixes in order, with their entries.
#[derive(Debug)]
pub(crate) struct FamilyTable<N: FamilyPrefix> {
    /// The position of each prefix's first entry. The next prefix's is the end.
    prefixes: FrozenMap<N, u32>,
    entries: Vec<Entry>,
    /// For evidence.
    lines: ListLines,
}

impl<N: FamilyPrefix> FamilyTable<N> {
    /// Builds the table. `None` if there are too many entries or sets.
    pub fn build(
        mut raw: Vec<RawEntry<N>>,
        origins: &OriginTable,
        sets: &mut SetInterner,
    ) -> Option<Self> {
        sort(&mut raw);
        raw.dedup();
        let mut prefixes: Vec<(N, u32)> = Vec::new();
        let mut entries = Vec::new();
        let has_lines = raw.iter().any(|raw| raw.line > 0);
        let mut lines = ListLines::default();
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
                members.dedup();
                sets.intern(&members)?
            };
            let lengths = (first.min_len, first.max_len);
            let entry = Entry::new(first.kind, first.origin, lengths, set, first.source);
            if prefixes
                .last()
                .is_none_or(|(last, _)| *last != first.prefix)
            {
                prefixes.push((first.prefix, u32::try_from(entries.len()).ok()?));
            }
            entries.push(entry);
            if has_lines {
                lines.push(group);
            }
        }
        if prefixes.len() > FrozenMap::<N, u32>::MAX_LEN {
            return None;
        }
        entries.shrink_to_fit();
        Some(FamilyTable {
            prefixes: FrozenMap::from_sorted(prefixes),
            entries,
            lines: lines.finish(),
        })
    }

    /// The lines of an entry in a member's lists, for evidence. `entry` is one of this table's.
    pub fn lines_of(
        &self,
        entry: &Entry,
        member: IrrMember,
    ) -> impl Iterator<Item = (IrrSourceId, u32)> {
        let position = self.entries.element_offset(entry);
        let lines = position.map(|position| self.lines.of_entry(position, member));
        lines.into_iter().flatten()
    }

    /// The registered prefixes that cover `prefix`, itself included, with their entries, from the longest to the
    /// shortest.
    #[inline]
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (N, &[Entry])> {
        self.covering_from(self.locate(prefix))
    }

    /// As [`Self::covering`] for a prefix whose place is known.
    #[inline]
    pub fn covering_from(&self, place: Place) -> impl Iterator<Item = (N, &[Entry])> {
        let covering = self.prefixes.covering_from(place);
        covering.map(|(position, prefix)| (prefix, self.entries_at(position)))
    }

    /// Finds the longest registered prefix that covers `prefix`.
    #[inline]
    pub fn locate(&self, prefix: N) -> Place {
        self.prefixes.locate(prefix)
    }

    /// [`Self::locate`] for many prefixes side by side. Prefetches what a check of their routes reads.
    pub fn locate_all(&self, sets: &SetPool, prefixes: &[N], places: &mut [Place]) {
        self.prefixes.locate_all(prefixes, places);
        let starts = || places.iter().filter_map(|at| self.prefixes.values_at(*at));
        for (start, end) in starts() {
            let last = end
                .map_or(self.entries.len(), |end| *end as usize)
                .wrapping_sub(1);
            let (first, last) = (self.entries.get(*start as usize), self.entries.get(last));
            first.into_iter().chain(last).for_each(prefetch);
        }
        for (start, _) in starts() {
            let first = self.entries.get(*start as usize);
            first
                .into_iter()
                .for_each(|entry| sets.prefetch(entry.set()));
        }
    }

    /// The entries of the prefix at a place; none if no prefix covers the wanted one.
    #[inline]
    pub fn entries_of(&self, place: Place) -> &[Entry] {
        let Some((start, end)) = self.prefixes.values_at(place) else {
            return &[];
        };
        let end = end.map_or(self.entries.len(), |end| *end as usize);
        &self.entries[*start as usize..end]
    }

    /// The entries of the prefix at a position.
    #[inline]
    fn entries_at(&self, position: usize) -> &[Entry] {
        let start = |position| {
            self.prefixes
                .value_at(position)
                .map(|start| *start as usize)
        };
        let from = start(position).unwrap_or(self.entries.len());
        let to = start(position + 1).unwrap_or(self.entries.len());
        &self.entries[from..to]
    }

    /// All prefixes with their entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (N, &[Entry])> {
        let prefixes = self.prefixes.iter().enumerate();
        prefixes.map(|(position, (prefix, _))| (prefix, self.entries_at(position)))
    }

    /// The number of prefixes.
    pub fn prefixes(&self) -> usize {
        self.prefixes.len()
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of the table.
    pub fn memory(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<Entry>();
        self.prefixes.memory() + entries + self.lines.memory()
    }
}

/// Sorts registrations. Comparing whole rows would mispredict branches: most rows differ in their prefix. The lists of
/// members are mostly in order, and a stable sort merges what is in order.
fn sort<N: FamilyPrefix>(raw: &mut [RawEntry<N>]) {
    raw.sort_by_key(|raw| raw.prefix.sort_key());
    let prefixes = raw.chunk_by_mut(|one, other| one.prefix == other.prefix);
    prefixes.for_each(<[_]>::sort_unstable);
}
