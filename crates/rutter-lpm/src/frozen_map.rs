//! An immutable map from prefixes to values.

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
#[derive(Clone, Debug)]
pub struct FrozenMap<N: Net, V> {
    /// In order of address and length.
    nodes: Vec<Node<N, V>>,
    directory: Directory,
}

#[derive(Clone, Copy, Debug)]
struct Node<N, V> {
    prefix: N,
    /// The next shorter prefix around this one, or [`NO_PARENT`].
    parent: u32,
    value: V,
}

const NO_PARENT: u32 = u32::MAX;

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
        let mut at = self.last_not_behind(prefix) as u32;
        std::iter::from_fn(move || {
            loop {
                let index = at as usize;
                let node = self.nodes.get(index)?;
                at = node.parent;
                if node.prefix.covers(prefix) {
                    return Some((index, node.prefix));
                }
            }
        })
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
        let (from, to) = self.directory.bucket(head(prefix));
        let behind = from + self.nodes[from..to].partition_point(|node| node.prefix <= prefix);
        behind.wrapping_sub(1)
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
            let at = prefixes.iter().position(|prefix| prefix == probe);
            assert_eq!(map.position(*probe), at);
            assert_eq!(map.get(*probe), at.as_ref());
        }
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
