//! An immutable map from prefixes to values.

use crate::cpu::prefetch;
use crate::net::Bits;
use crate::{Directory, Net};

/// An immutable map from the prefixes of one family to values, in order of address and length.
///
/// It takes the least memory of all tables here: a prefix, four bytes, a value, and about half a byte for the
/// index. It has its own type because data from outside, such as VRPs, are replaced as a whole and never edited.
///
/// A search finds the last prefix that is not behind the wanted one. That prefix or its parents (the next shorter
/// prefix around each) are all prefixes that cover the wanted one. For a covering prefix is before the found one,
/// and a prefix between the two in order is inside it.
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

/// The place of the longest prefix of a [`FrozenMap`] that covers a wanted prefix. The default is that of none.
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

    /// The position of a prefix in the order.
    #[inline]
    pub fn position(&self, prefix: N) -> Option<usize> {
        let at = self.last_not_behind(prefix);
        let node = self.nodes.get(at)?;
        (node.prefix == prefix).then_some(at)
    }

    /// The value at a position in the order.
    #[inline]
    pub fn value_at(&self, position: usize) -> Option<&V> {
        self.nodes.get(position).map(|node| &node.value)
    }

    /// The value of a prefix.
    pub fn get(&self, prefix: N) -> Option<&V> {
        self.value_at(self.position(prefix)?)
    }

    /// The prefixes that cover `prefix`, itself included, with their positions, from the longest to the shortest.
    #[inline]
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (usize, N)> {
        self.covering_from(self.locate(prefix))
    }

    /// As [`Self::covering`] for a prefix whose place [`Self::locate`] found.
    #[inline]
    pub fn covering_from(&self, place: Place) -> impl Iterator<Item = (usize, N)> {
        // A parent covers its children, and so all prefixes inside them.
        let mut at = place.0;
        std::iter::from_fn(move || {
            let index = at as usize;
            let node = self.nodes.get(index)?;
            at = node.parent;
            Some((index, node.prefix))
        })
    }

    /// Finds the longest prefix that covers `prefix`, itself included.
    #[inline]
    pub fn locate(&self, prefix: N) -> Place {
        let mut at = self.last_not_behind(prefix) as u32;
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
            self.begin(prefixes, places);
            self.ascend(prefixes, places);
        }
    }

    /// Sets each place to the last prefix that is not behind the wanted one, and prefetches it.
    #[inline]
    fn begin(&self, prefixes: &[N], places: &mut [Place]) {
        let mut buckets = [0; LANES];
        let mut ranges = [(0, 0); LANES];
        let heads = || prefixes.iter().map(|prefix| head(*prefix));
        heads().for_each(|head| self.directory.prefetch_slot(head));
        for (bucket, head) in buckets.iter_mut().zip(heads()) {
            *bucket = self.directory.bucket_number(head);
            self.directory.prefetch_range(*bucket);
        }
        for (range, bucket) in ranges.iter_mut().zip(buckets).take(prefixes.len()) {
            *range = self.directory.range(bucket);
            let (from, to) = *range;
            for at in [usize::midpoint(from, to), from, to] {
                self.prefetch_node(at as u32);
            }
        }
        self.narrow(prefixes, &mut ranges);
        for ((prefix, place), range) in prefixes.iter().zip(places).zip(ranges) {
            *place = Place(self.last_not_behind_in(range, *prefix) as u32);
        }
    }

    /// Halves long ranges side by side: many IPv6 prefixes have the same first 32 bits, and so one bucket. Otherwise each
    /// step of a bisection would wait for memory.
    #[inline]
    fn narrow(&self, prefixes: &[N], ranges: &mut [(usize, usize); LANES]) {
        let mut is_long = true;
        while std::mem::take(&mut is_long) {
            for ((from, to), prefix) in ranges.iter_mut().zip(prefixes) {
                if *to - *from <= Self::SHORT {
                    continue;
                }
                let middle = usize::midpoint(*from, *to);
                let is_behind = self.nodes[middle].prefix > *prefix;
                *from = if is_behind { *from } else { middle + 1 };
                *to = if is_behind { middle } else { *to };
                is_long = true;
                self.prefetch_node(usize::midpoint(*from, *to) as u32);
            }
        }
    }

    /// The length of a range that two cache lines or so hold.
    const SHORT: usize = 192 / size_of::<Node<N, V>>();

    /// Moves each place up to the first prefix that covers the wanted one.
    #[inline]
    fn ascend(&self, prefixes: &[N], places: &mut [Place]) {
        let mut going = [0_u8; LANES];
        let mut count = prefixes.len();
        for (lane, at) in going.iter_mut().zip(0..) {
            *lane = at;
        }
        while count > 0 {
            let before = std::mem::take(&mut count);
            for index in 0..before {
                let lane = usize::from(going[index % LANES]);
                let Some(node) = self.nodes.get(places[lane].0 as usize) else {
                    places[lane] = Place::default();
                    continue;
                };
                if !node.prefix.covers(prefixes[lane]) {
                    places[lane] = Place(node.parent);
                    self.prefetch_node(node.parent);
                    going[count % LANES] = lane as u8;
                    count += 1;
                }
            }
        }
    }

    /// Prefetches the prefix at a position, if there is one.
    #[inline]
    fn prefetch_node(&self, at: u32) {
        if let Some(node) = self.nodes.get(at as usize) {
            prefetch(node);
        }
    }

    /// The value of a place's prefix, and that of the next in order. `None` if no prefix covers the wanted one.
    #[inline]
    pub fn values_at(&self, place: Place) -> Option<(&V, Option<&V>)> {
        let at = place.0 as usize;
        let node = self.nodes.get(at)?;
        Some((&node.value, self.value_at(at + 1)))
    }

    /// All prefixes with their values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (N, &V)> {
        self.nodes.iter().map(|node| (node.prefix, &node.value))
    }

    /// The bytes of the map, without memory that values own.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<N, V>>() + self.directory.memory()
    }

    /// The position of the last prefix that is not behind `prefix`; beyond the end if there is none.
    #[inline]
    fn last_not_behind(&self, prefix: N) -> usize {
        self.last_not_behind_in(self.directory.bucket(head(prefix)), prefix)
    }

    /// The same, with the positions of the prefix's bucket.
    #[inline]
    fn last_not_behind_in(&self, (from, to): (usize, usize), prefix: N) -> usize {
        let behind = from + self.nodes[from..to].partition_point(|node| node.prefix <= prefix);
        behind.wrapping_sub(1)
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
            assert_eq!(map.position(*probe), at);
            assert_eq!(map.get(*probe), at.as_ref());
        }
        let mut places = vec![Place::default(); wanted.len()];
        map.locate_all(wanted, &mut places);
        let single: Vec<Place> = wanted.iter().map(|prefix| map.locate(*prefix)).collect();
        assert_eq!(places, single);
        assert!(map.iter().map(|(prefix, _)| prefix).eq(prefixes));
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
