//! An immutable map from prefixes to values.

use std::ops::Range;

use crate::cpu::prefetch;
use crate::net::Bits;
use crate::{Directory, Net};

/// An immutable map from the prefixes of one family to values, in order of address and length.
///
/// It takes the least memory of all tables here: a prefix, four bytes, a value, and about half a byte for the
/// index. It has its own type because data from outside, such as VRPs, are replaced as a whole and never edited.
///
/// A search finds the last prefix whose address is not behind that of the wanted one. The found prefix or its parents (the
/// next shorter prefix around each) are all prefixes that cover the wanted one. For a covering prefix is before the
/// found one, whose address is inside it; so the found one is inside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrozenMap<N: Net, V> {
    /// In order of address and length.
    nodes: Vec<Node<N, V>>,
    directory: Directory,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node<N, V> {
    prefix: N,
    /// The next shorter prefix around this one, or [`NO_PARENT`].
    parent: u32,
    value: V,
}

const NO_PARENT: u32 = u32::MAX;

/// The place of a prefix in a [`FrozenMap`]. The default is that of none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Default for Place {
    fn default() -> Self {
        Place(NO_PARENT)
    }
}

/// The number of look-ups that advance together in [`FrozenMap::locate_all`].
const LANES: usize = 32;

impl<N: Net, V> FrozenMap<N, V> {
    /// The largest number of prefixes.
    pub const MAX_LEN: usize = Directory::MAX_LEN;

    /// Builds a map from distinct prefixes in ascending order.
    ///
    /// # Panics
    ///
    /// If a prefix is not behind the one before it, or if there are more than [`Self::MAX_LEN`].
    pub fn from_sorted(entries: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut nodes: Vec<Node<N, V>> = Vec::new();
        for (prefix, value) in entries {
            let last = nodes.last();
            let is_behind = last.is_none_or(|last| last.prefix < prefix);
            assert!(is_behind, "{prefix:?} is not in ascending order");
            let parent = parent_of_next(&nodes, prefix);
            nodes.push(Node {
                prefix,
                parent,
                value,
            });
        }
        nodes.shrink_to_fit();
        let directory = Directory::new(nodes.len(), |at| head(nodes[at].prefix));
        FrozenMap { nodes, directory }
    }

    /// The number of prefixes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the map has no prefix.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The place of exactly this prefix.
    #[inline]
    pub fn find(&self, prefix: N) -> Option<Place> {
        let mut at = self.last_not_behind(prefix);
        // The prefixes with the same address are parents of each other.
        while let Some(node) = self.nodes.get(at as usize)
            && node.prefix > prefix
        {
            at = node.parent;
        }
        let node = self.nodes.get(at as usize)?;
        (node.prefix == prefix).then_some(Place(at))
    }

    /// The value of the prefix at a place.
    #[inline]
    pub fn value_at(&self, place: Place) -> Option<&V> {
        self.nodes.get(place.0 as usize).map(|node| &node.value)
    }

    /// The value of a prefix.
    pub fn get(&self, prefix: N) -> Option<&V> {
        self.value_at(self.find(prefix)?)
    }

    /// The prefixes that cover `prefix`, itself included, with their places, from the longest to the shortest.
    #[inline]
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (Place, N)> {
        self.covering_from(self.locate(prefix))
    }

    /// As [`Self::covering`] for a prefix whose place [`Self::locate`] found.
    #[inline]
    pub fn covering_from(&self, place: Place) -> impl Iterator<Item = (Place, N)> {
        // A parent covers its children, and so all prefixes inside them.
        let mut next = place;
        std::iter::from_fn(move || {
            let at = next;
            let node = self.nodes.get(at.0 as usize)?;
            next = Place(node.parent);
            Some((at, node.prefix))
        })
    }

    /// Finds the longest prefix that covers `prefix`, itself included.
    #[inline]
    pub fn locate(&self, prefix: N) -> Place {
        let mut at = self.last_not_behind(prefix);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.prefix.covers(prefix) {
                return Place(at);
            }
            at = node.parent;
        }
        Place::default()
    }

    /// [`Self::locate`] for many prefixes. They advance side by side, so that their cache misses overlap.
    ///
    /// # Panics
    ///
    /// If there are fewer places than prefixes.
    pub fn locate_all(&self, prefixes: &[N], places: &mut [Place]) {
        assert!(prefixes.len() <= places.len(), "a place for each prefix");
        for (prefixes, places) in prefixes.chunks(LANES).zip(places.chunks_mut(LANES)) {
            let mut ranges = [(0, 0); LANES];
            self.find_buckets(prefixes, &mut ranges);
            self.ascend(prefixes, places, &ranges);
        }
    }

    /// Sets each range to the positions of the prefix's bucket, or to the part of a long one in which the prefix would be.
    /// Prefetches them. The slots of the directory are few, and usually in a cache.
    #[inline]
    fn find_buckets(&self, prefixes: &[N], ranges: &mut [(u32, u32); LANES]) {
        for ((bucket, _), prefix) in ranges.iter_mut().zip(prefixes) {
            *bucket = self.directory.bucket_number(head(*prefix));
            self.directory.prefetch_range(*bucket);
        }
        let mut is_long = false;
        for range in ranges.iter_mut().take(prefixes.len()) {
            *range = self.directory.range(range.0);
            let (from, to) = *range;
            is_long |= to - from > Self::SHORT;
            for at in [from, to] {
                self.prefetch_node(at);
            }
        }
        if is_long {
            self.narrow(prefixes, ranges);
        }
    }

    /// Halves long ranges side by side: many IPv6 prefixes have the same first 32 bits, and so one bucket. Otherwise each
    /// step of a bisection would wait for memory.
    #[inline(never)]
    fn narrow(&self, prefixes: &[N], ranges: &mut [(u32, u32); LANES]) {
        let mut is_long = true;
        while std::mem::take(&mut is_long) {
            for ((from, to), prefix) in ranges.iter_mut().zip(prefixes) {
                if *to - *from <= Self::SHORT {
                    continue;
                }
                let middle = u32::midpoint(*from, *to);
                let is_behind = self.nodes[middle as usize].prefix.bits() > prefix.bits();
                *from = if is_behind { *from } else { middle + 1 };
                *to = if is_behind { middle } else { *to };
                is_long = true;
                self.prefetch_node(u32::midpoint(*from, *to));
            }
        }
    }

    /// The length of a range that two cache lines or so hold.
    const SHORT: u32 = 192 / size_of::<Node<N, V>>() as u32;

    /// Sets each place to the longest prefix that covers the wanted one: the last in its range that is not behind, or one of
    /// its parents.
    #[inline]
    fn ascend(&self, prefixes: &[N], places: &mut [Place], ranges: &[(u32, u32); LANES]) {
        let mut going = [0_u8; LANES];
        let mut count = 0;
        for (lane, (prefix, place)) in prefixes.iter().zip(&mut *places).enumerate() {
            *place = Place(self.last_not_behind_in(ranges[lane % LANES], *prefix));
            if self.moves_up(place, *prefix) {
                going[count % LANES] = lane as u8;
                count += 1;
            }
        }
        while count > 0 {
            let before = std::mem::take(&mut count);
            for index in 0..before {
                let lane = usize::from(going[index % LANES]);
                if self.moves_up(&mut places[lane], prefixes[lane]) {
                    going[count % LANES] = lane as u8;
                    count += 1;
                }
            }
        }
    }

    /// Moves a place to the parent of its prefix, unless the prefix covers the wanted one. Returns whether it did.
    #[inline]
    fn moves_up(&self, place: &mut Place, prefix: N) -> bool {
        let Some(node) = self.nodes.get(place.0 as usize) else {
            *place = Place::default();
            return false;
        };
        if node.prefix.covers(prefix) {
            return false;
        }
        *place = Place(node.parent);
        self.prefetch_node(node.parent);
        true
    }

    /// Prefetches the prefix at a position, if there is one.
    #[inline]
    fn prefetch_node(&self, at: u32) {
        if let Some(node) = self.nodes.get(at as usize) {
            prefetch(node);
        }
    }

    /// All prefixes with their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (N, &V)> {
        self.nodes.iter().map(|node| (node.prefix, &node.value))
    }

    /// All prefixes with their places, in order.
    pub fn places(&self) -> impl ExactSizeIterator<Item = (Place, N)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.map(|(at, node)| (Place(at as u32), node.prefix))
    }

    /// The bytes of the map, without memory that values own.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<N, V>>() + self.directory.memory()
    }

    /// The position of the last prefix whose address is not behind that of `prefix`; beyond the end if there is none.
    #[inline]
    fn last_not_behind(&self, prefix: N) -> u32 {
        let bucket = self.directory.bucket_number(head(prefix));
        let (mut from, mut to) = self.directory.range(bucket);
        while to - from > Self::SHORT {
            let middle = u32::midpoint(from, to);
            match self.nodes[middle as usize].prefix.bits() > prefix.bits() {
                true => to = middle,
                false => from = middle + 1,
            }
        }
        self.last_not_behind_in((from, to), prefix)
    }

    /// The same in a short range of positions: a loop whose steps do not wait for each other beats a bisection.
    #[inline]
    fn last_not_behind_in(&self, (from, to): (u32, u32), prefix: N) -> u32 {
        let nodes = &self.nodes[from as usize..to as usize];
        let not_behind = nodes
            .iter()
            .map(|node| u32::from(node.prefix.bits() <= prefix.bits()));
        (from + not_behind.sum::<u32>()).wrapping_sub(1)
    }
}

/// A map whose values are the positions of each prefix's first row, in an array with the rows of all prefixes in order.
impl<N: Net> FrozenMap<N, u32> {
    /// The rows of the prefix at a place, in an array of `count` rows. They end where those of the next prefix begin. An empty
    /// range if there is no prefix.
    #[inline]
    pub fn rows_at(&self, place: Place, count: usize) -> Range<usize> {
        let start = |at: usize| self.nodes.get(at).map_or(count, |node| node.value as usize);
        let at = place.0 as usize;
        start(at)..start(at.saturating_add(1))
    }
}

impl<N: Net, V> Default for FrozenMap<N, V> {
    /// A map without a prefix.
    fn default() -> Self {
        Self::from_sorted([])
    }
}

/// The parent of a prefix that comes behind all others.
fn parent_of_next<N: Net, V>(nodes: &[Node<N, V>], prefix: N) -> u32 {
    let last = nodes.len().checked_sub(1);
    let mut at = last.map_or(NO_PARENT, |at| at as u32);
    while let Some(node) = nodes.get(at as usize) {
        if node.prefix.covers(prefix) {
            return at;
        }
        at = node.parent;
    }
    NO_PARENT
}

/// The first 32 bits of the address.
#[inline]
fn head<N: Net>(prefix: N) -> u32 {
    prefix.bits().head(32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rutter_net::{Ipv4Prefix, Ipv6Prefix};

    use super::*;

    fn check<N: Net>(mut prefixes: Vec<N>, wanted: &[N]) {
        prefixes.sort_unstable();
        prefixes.dedup();
        let entries = prefixes
            .iter()
            .enumerate()
            .map(|(at, prefix)| (*prefix, at));
        let map = FrozenMap::from_sorted(entries);
        assert_eq!(map.len(), prefixes.len());
        for probe in wanted.iter().chain(&prefixes) {
            let found: Vec<N> = map.covering(*probe).map(|(_, prefix)| prefix).collect();
            let covers = |prefix: &&N| prefix.covers(*probe);
            let mut expected: Vec<N> = prefixes.iter().filter(covers).copied().collect();
            expected.sort_unstable_by_key(|prefix| std::cmp::Reverse(prefix.prefix_len()));
            assert_eq!(found, expected, "{probe:?}");
            let longest = map.covering_from(map.locate(*probe)).next();
            assert_eq!(longest.map(|(_, prefix)| prefix), expected.first().copied());
            let at = prefixes.iter().position(|prefix| prefix == probe);
            assert_eq!(map.find(*probe), at.map(|at| Place(at as u32)));
            assert_eq!(map.get(*probe), at.as_ref());
        }
        let mut places = vec![Place::default(); wanted.len()];
        map.locate_all(wanted, &mut places);
        let single: Vec<Place> = wanted.iter().map(|prefix| map.locate(*prefix)).collect();
        assert_eq!(places, single);
        assert!(map.iter().map(|(prefix, _)| prefix).eq(prefixes.clone()));
        check_rows(prefixes);
    }

    /// Each prefix has as many rows as its length.
    fn check_rows<N: Net>(prefixes: Vec<N>) {
        let rows: Vec<N> = prefixes
            .iter()
            .flat_map(|prefix| vec![*prefix; usize::from(prefix.prefix_len())])
            .collect();
        let start = |prefix: &N| rows.iter().position(|row| row >= prefix);
        let starts = prefixes
            .iter()
            .map(|prefix| (*prefix, start(prefix).unwrap_or(rows.len()) as u32));
        let map = FrozenMap::from_sorted(starts);
        for (place, prefix) in map.places() {
            let own: Vec<N> = rows.iter().filter(|row| **row == prefix).copied().collect();
            assert_eq!(rows[map.rows_at(place, rows.len())], own);
        }
        assert!(map.rows_at(Place::default(), rows.len()).is_empty());
    }

    /// Few bits vary, so that prefixes are often nested.
    fn ipv4() -> impl Strategy<Value = Ipv4Prefix> {
        (0_u32..64, 0_u8..=32)
            .prop_map(|(bits, len)| Ipv4Prefix::new(bits << 26 | bits, len).unwrap())
    }

    fn ipv6() -> impl Strategy<Value = Ipv6Prefix> {
        (0_u128..16, 0_u128..16, 0_u8..=128).prop_map(|(head, tail, len)| {
            Ipv6Prefix::new(head << 124 | tail << 80 | tail, len).unwrap()
        })
    }

    proptest! {
        #[test]
        fn covering_prefixes_are_those_of_a_naive_search(
            held4 in proptest::collection::vec(ipv4(), 0..200),
            wanted4 in proptest::collection::vec(ipv4(), 50),
            held6 in proptest::collection::vec(ipv6(), 0..200),
            wanted6 in proptest::collection::vec(ipv6(), 50),
        ) {
            check(held4, &wanted4);
            check(held6, &wanted6);
        }
    }

    #[test]
    #[should_panic(expected = "not in ascending order")]
    fn an_unsorted_list_is_refused() {
        let prefix = |text: &str| text.parse::<Ipv4Prefix>().unwrap();
        let _ = FrozenMap::from_sorted([(prefix("10.0.0.0/8"), ()), (prefix("10.0.0.0/8"), ())]);
    }
}
