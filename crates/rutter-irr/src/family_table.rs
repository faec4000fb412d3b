//! The registered prefixes of one address family.

use std::fmt::Debug;

use rutter_lpm::{FrozenMap, Net, Place, prefetch};
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::IrrList;
use crate::entry::Entry;
use crate::irr_list::ListRow;
use crate::member_set::{SetInterner, SetPool};
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;

/// A prefix type of one family.
pub(crate) trait FamilyPrefix: Net + Into<Prefix> {
    /// Orders prefixes as [`Ord`] does, in one comparison where that is possible.
    type SortKey: Ord;
    /// The address in words of four bytes, the upper ones first: rows of such words need no padding.
    type Words: Copy + Ord + Debug;

    fn sort_key(self) -> Self::SortKey;
    fn words(self) -> Self::Words;
    fn from_words(words: Self::Words, len: u8) -> Self;
    /// The rows of this family in a list.
    fn rows(list: &IrrList) -> &[ListRow<Self>];
    /// The prefix, if it has this family.
    fn of(prefix: Prefix) -> Option<Self>;
}

impl FamilyPrefix for Ipv4Prefix {
    type SortKey = u64;
    type Words = u32;

    #[inline]
    fn sort_key(self) -> u64 {
        u64::from(self.bits()) << 8 | u64::from(self.len())
    }

    #[inline]
    fn words(self) -> u32 {
        self.bits()
    }

    #[inline]
    fn from_words(words: u32, len: u8) -> Self {
        Net::from_bits(words, len)
    }

    fn rows(list: &IrrList) -> &[ListRow<Self>] {
        list.ipv4()
    }

    #[inline]
    fn of(prefix: Prefix) -> Option<Self> {
        match prefix {
            Prefix::V4(prefix) => Some(prefix),
            Prefix::V6(_) => None,
        }
    }
}

impl FamilyPrefix for Ipv6Prefix {
    type SortKey = (u128, u8);
    type Words = [u32; 4];

    #[inline]
    fn sort_key(self) -> (u128, u8) {
        (self.bits(), self.len())
    }

    #[inline]
    fn words(self) -> [u32; 4] {
        let bits = self.bits();
        [96, 64, 32, 0].map(|shift| (bits >> shift) as u32)
    }

    #[inline]
    fn from_words(words: [u32; 4], len: u8) -> Self {
        let join = |bits: u128, word: u32| bits << 32 | u128::from(word);
        Net::from_bits(words.into_iter().fold(0, join), len)
    }

    fn rows(list: &IrrList) -> &[ListRow<Self>] {
        list.ipv6()
    }

    #[inline]
    fn of(prefix: Prefix) -> Option<Self> {
        match prefix {
            Prefix::V4(_) => None,
            Prefix::V6(prefix) => Some(prefix),
        }
    }
}

/// The entries that fit into a cache line.
const LINE_ENTRIES: usize = 64 / size_of::<Entry>();

/// Prefixes in order, with their entries.
#[derive(Debug)]
pub(crate) struct FamilyTable<N: FamilyPrefix> {
    /// The position of each prefix's first entry. The next prefix's is the end.
    prefixes: FrozenMap<N, u32>,
    entries: Vec<Entry>,
}

impl<N: FamilyPrefix> FamilyTable<N> {
    /// Builds the table. `None` if there are too many entries or sets.
    pub fn build(
        mut raw: Vec<RawEntry<N>>,
        origins: &OriginTable,
        sets: &mut SetInterner<'_>,
    ) -> Option<Self> {
        sort(&mut raw);
        raw.dedup();
        let mut table = TableRows::default();
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
            table.push(first.prefix, entry)?;
        }
        table.entries.shrink_to_fit();
        table.finish()
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
        covering.map(|(place, prefix)| (prefix, self.entries_at(place)))
    }

    /// Finds the longest registered prefix that covers `prefix`.
    #[inline]
    pub fn locate(&self, prefix: N) -> Place {
        self.prefixes.locate(prefix)
    }

    /// [`Self::locate`] for many prefixes side by side. Prefetches what a check of their routes reads.
    pub fn locate_all(&self, sets: &SetPool, prefixes: &[N], places: &mut [Place]) {
        self.prefixes.locate_all(prefixes, places);
        let starts = || places.iter().filter_map(|at| self.prefixes.value_at(*at));
        for start in starts() {
            let start = *start as usize;
            // Few prefixes have more entries than two cache lines hold.
            for at in [start, start + LINE_ENTRIES] {
                self.entries.get(at).into_iter().for_each(prefetch);
            }
        }
        for start in starts() {
            if let Some(first) = self.entries.get(*start as usize) {
                sets.prefetch(first.set());
            }
        }
    }

    /// The entries of the prefix at a place; none if there is no prefix.
    #[inline]
    pub fn entries_at(&self, place: Place) -> &[Entry] {
        &self.entries[self.prefixes.rows_at(place, self.entries.len())]
    }

    /// All prefixes with their entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (N, &[Entry])> {
        let places = self.prefixes.places();
        places.map(|(place, prefix)| (prefix, self.entries_at(place)))
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
        self.prefixes.memory() + self.entries.capacity() * size_of::<Entry>()
    }
}

/// The rows of a table that is being built, in order.
pub(crate) struct TableRows<N> {
    prefixes: Vec<(N, u32)>,
    entries: Vec<Entry>,
}

impl<N> Default for TableRows<N> {
    fn default() -> Self {
        TableRows {
            prefixes: Vec::new(),
            entries: Vec::new(),
        }
    }
}

impl<N: FamilyPrefix> TableRows<N> {
    /// Room for a table with about as many rows as another.
    pub fn like(table: &FamilyTable<N>, more: usize) -> Self {
        TableRows {
            prefixes: Vec::with_capacity(table.prefixes() + more),
            entries: Vec::with_capacity(table.entries() + more),
        }
    }

    /// Adds an entry. `None` if there are too many.
    #[inline]
    pub fn push(&mut self, prefix: N, entry: Entry) -> Option<()> {
        self.begin(prefix)?;
        self.entries.push(entry);
        Some(())
    }

    /// Adds entries of one prefix, which has none yet.
    #[inline]
    pub fn push_all(&mut self, prefix: N, entries: &[Entry]) -> Option<()> {
        self.begin(prefix)?;
        self.entries.extend_from_slice(entries);
        Some(())
    }

    #[inline]
    fn begin(&mut self, prefix: N) -> Option<()> {
        let last = self.prefixes.last();
        if last.is_none_or(|(last, _)| *last != prefix) {
            let start = u32::try_from(self.entries.len()).ok()?;
            self.prefixes.push((prefix, start));
        }
        Some(())
    }

    /// The table. `None` if there are too many prefixes.
    pub fn finish(self) -> Option<FamilyTable<N>> {
        let fits = self.prefixes.len() <= FrozenMap::<N, u32>::MAX_LEN;
        fits.then(|| FamilyTable {
            prefixes: FrozenMap::from_sorted(self.prefixes),
            entries: self.entries,
        })
    }
}

/// Sorts registrations. Comparing whole rows would mispredict branches: most rows differ in their prefix. The lists of
/// members are mostly in order, and a stable sort merges what is in order.
fn sort<N: FamilyPrefix>(raw: &mut [RawEntry<N>]) {
    raw.sort_by_key(|raw| raw.prefix.sort_key());
    let prefixes = raw.chunk_by_mut(|one, other| one.prefix == other.prefix);
    prefixes.for_each(<[_]>::sort_unstable);
}
