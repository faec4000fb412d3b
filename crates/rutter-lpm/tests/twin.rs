//! Compares every answer with a naive twin: an ordered map that checks every prefix.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use rutter_lpm::{Net, PrefixMap, Profile, Table};
use rutter_net::{Ipv4Prefix, Ipv6Prefix};

/// The slow table, which is obviously right.
#[derive(Debug)]
struct Twin<N: Ord>(BTreeMap<N, u32>);

impl<N: Net> Twin<N> {
    fn lookup_net(&self, prefix: N) -> Option<(N, u32)> {
        self.covering(prefix).pop()
    }

    fn covering(&self, prefix: N) -> Vec<(N, u32)> {
        let mut all: Vec<_> = self.pairs().filter(|(p, _)| p.covers(prefix)).collect();
        all.sort_by_key(|(p, _)| p.prefix_len());
        all
    }

    fn covered(&self, prefix: N) -> Vec<(N, u32)> {
        self.pairs().filter(|(p, _)| prefix.covers(*p)).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (N, u32)> + '_ {
        self.0.iter().map(|(prefix, value)| (*prefix, *value))
    }

    /// The ranges one after another, joined if adjacent.
    fn ranges(&self) -> Vec<(N::Addr, N::Addr)> {
        let mut joined: Vec<(N, N)> = Vec::new();
        let host = |addr| net_of::<N>(addr, N::MAX_LEN);
        for (prefix, _) in self.pairs() {
            let (first, last) = (host(first_of(prefix)), host(last_of(prefix)));
            match joined.last_mut() {
                Some((_, end)) if first <= *end || follows(*end, first) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        let ends = joined.into_iter();
        ends.map(|(first, last)| (first_of(first), first_of(last)))
            .collect()
    }
}

/// The operations, over prefixes that are near each other.
#[derive(Clone, Debug)]
enum Operation<N> {
    Insert(N, u32),
    Remove(N),
    /// Keeps the prefixes inside a prefix only if their number is divisible by this.
    Retain(N, u32),
    Look(N),
}

fn operations<N: Net>(
    prefix: impl Strategy<Value = N> + Clone,
) -> impl Strategy<Value = Vec<Operation<N>>> {
    let value = prop_oneof![
        0..1000_u32,
        Just(u32::MAX),
        (1_u32 << 31) - 3..(1 << 31) + 3
    ];
    prop::collection::vec(
        prop_oneof![
            4 => (prefix.clone(), value).prop_map(|(p, v)| Operation::Insert(p, v)),
            2 => prefix.clone().prop_map(Operation::Remove),
            1 => (prefix.clone(), 1..4_u32).prop_map(|(p, n)| Operation::Retain(p, n)),
            2 => prefix.prop_map(Operation::Look),
        ],
        1..120,
    )
}

/// Few addresses and all lengths, so that prefixes nest, touch and share nodes. The ends of the address space
/// are included.
fn ipv4() -> impl Strategy<Value = Ipv4Prefix> + Clone {
    let bits = prop_oneof![
        4 => (0..4_u32, 0..4_u32, 0..3_u32).prop_map(|(a, b, c)| 0x0a00_0000 | a << 16 | b << 8 | c << 6),
        2 => prop::sample::select(vec![0, u32::MAX, 0x0aff_ffff, 0x0b00_0000, 0x7fff_ffff, 0x8000_0000]),
        1 => any::<u32>(),
    ];
    (bits, 0..=32_u8).prop_map(|(bits, len)| Ipv4Prefix::new(bits, len).expect("a length in range"))
}

fn ipv6() -> impl Strategy<Value = Ipv6Prefix> + Clone {
    let bits = prop_oneof![
        4 => (0..4_u128, 0..4_u128, 0..3_u128).prop_map(|(a, b, c)| 0x2001_0db8 << 96 | a << 94 | b << 78 | c << 62),
        2 => prop::sample::select(vec![0, u128::MAX, 1 << 127, (1 << 127) - 1, 0x2001_0db8 << 96 | 7]),
        1 => any::<u128>(),
    ];
    let len = prop_oneof![
        0..=128_u8,
        16..=64_u8,
        prop::sample::select(vec![0, 8, 16, 24, 32, 48, 127, 128])
    ];
    (bits, len).prop_map(|(bits, len)| Ipv6Prefix::new(bits, len).expect("a length in range"))
}

fn first_of<N: Net>(prefix: N) -> N::Addr {
    N::addr_from_bits(prefix.bits())
}

fn last_of<N: Net>(prefix: N) -> N::Addr {
    N::addr_from_bits(prefix.last_bits())
}

fn net_of<N: Net>(addr: N::Addr, len: u8) -> N {
    N::from_bits(N::addr_bits(addr), len)
}

/// Returns whether `next` is the address after `end`, without arithmetic: no address is between them.
fn follows<N: Net>(end: N, next: N) -> bool {
    (0..N::MAX_LEN).any(|len| {
        let half = |prefix: N, at| prefix.shortened(at);
        half(end, len) == half(next, len)
            && last_of(half(end, len + 1)) == first_of(end)
            && first_of(half(next, len + 1)) == first_of(next)
            && half(end, len + 1) != half(next, len + 1)
    })
}

fn run<N: Net>(profile: Profile, operations: &[Operation<N>]) {
    let (mut table, mut map, mut twin) = (
        Table::new(profile),
        PrefixMap::new(profile),
        Twin(BTreeMap::new()),
    );
    let mut shared = Table::new(profile);
    let mut reader = shared.reader();
    let view = reader.enter();
    for operation in operations {
        match operation {
            Operation::Insert(prefix, value) => {
                let old = twin.0.insert(*prefix, *value);
                assert_eq!(table.insert(*prefix, *value), old);
                assert_eq!(shared.insert(*prefix, *value), old);
                assert_eq!(
                    map.insert(*prefix, value.to_string()),
                    old.map(|v| v.to_string())
                );
            }
            Operation::Remove(prefix) => {
                let old = twin.0.remove(prefix);
                assert_eq!(table.remove(*prefix), old);
                assert_eq!(shared.remove(*prefix), old);
                assert_eq!(map.remove(*prefix), old.map(|v| v.to_string()));
            }
            Operation::Retain(outer, n) => {
                let stays =
                    |prefix: N, value: u32| value.is_multiple_of(*n) || !outer.covers(prefix);
                twin.0.retain(|prefix, value| stays(*prefix, *value));
                table.retain(stays);
                shared.retain(stays);
                map = PrefixMap::new(profile);
                for (prefix, value) in twin.pairs() {
                    map.insert(prefix, value.to_string());
                }
            }
            Operation::Look(prefix) => {
                assert_eq!(table.get(*prefix), twin.0.get(prefix).copied());
                assert_eq!(table.lookup_net(*prefix), twin.lookup_net(*prefix));
                same(table.covering(*prefix), twin.covering(*prefix));
                same(table.covered(*prefix), twin.covered(*prefix));
            }
        }
        let (Operation::Insert(near, _)
        | Operation::Remove(near)
        | Operation::Retain(near, _)
        | Operation::Look(near)) = operation;
        for addr in [first_of(*near), last_of(*near)] {
            let best = twin.lookup_net(net_of(addr, N::MAX_LEN));
            assert_eq!(table.lookup_prefix(addr), best);
            assert_eq!(view.lookup_prefix(addr), best);
            assert_eq!(table.lookup(addr), best.map(|(_, v)| v));
            assert_eq!(view.lookup(addr), best.map(|(_, v)| v));
            assert_eq!(map.lookup(addr).cloned(), best.map(|(_, v)| v.to_string()));
        }
    }
    assert_eq!((table.len(), map.len()), (twin.0.len(), twin.0.len()));
    same(table.iter(), twin.pairs().collect());
    same(shared.iter(), twin.pairs().collect());
    same(table.ranges(), twin.ranges());
    let addrs: Vec<_> = twin
        .pairs()
        .flat_map(|(p, _)| [first_of(p), last_of(p)])
        .collect();
    let mut values = vec![None; addrs.len()];
    view.lookup_many(&addrs, &mut values);
    assert_eq!(
        values,
        addrs
            .iter()
            .map(|addr| table.lookup(*addr))
            .collect::<Vec<_>>()
    );
}

fn same<T: PartialEq + Debug>(found: impl Iterator<Item = T>, expected: Vec<T>) {
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ipv4_tables_answer_as_the_twin(operations in operations(ipv4())) {
        for profile in [Profile::Compact, Profile::Balanced, Profile::Fast] {
            run(profile, &operations);
        }
    }

    #[test]
    fn ipv6_tables_answer_as_the_twin(operations in operations(ipv6())) {
        for profile in [Profile::Compact, Profile::Balanced, Profile::Fast] {
            run(profile, &operations);
        }
    }
}

proptest! {
    // Tables with large roots: fewer of them.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fastest_ipv4_tables_answer_as_the_twin(operations in operations(ipv4())) {
        run(Profile::Fastest, &operations);
    }

    #[test]
    fn fastest_ipv6_tables_answer_as_the_twin(operations in operations(ipv6())) {
        run(Profile::Fastest, &operations);
    }
}

/// Adds and removes every length on the paths to both ends of the space and to the middle, in both orders.
fn every_length<N: Net>(profile: Profile, addrs: &[N::Addr]) {
    let all = || {
        addrs
            .iter()
            .flat_map(|a| (0..=N::MAX_LEN).map(|len| net_of::<N>(*a, len)))
    };
    let inserts = all()
        .enumerate()
        .map(|(n, prefix)| Operation::Insert(prefix, n as u32));
    let mut operations: Vec<_> = inserts.collect();
    operations.extend(all().map(Operation::Look));
    operations.extend(all().map(Operation::Remove));
    run(profile, &operations);
    operations.reverse();
    run(profile, &operations);
}

#[test]
fn every_length_at_every_boundary() {
    for profile in Profile::ALL {
        let addrs = [0, u32::MAX, 1 << 31, (1 << 31) - 1, 0x0a0a_0a0a].map(Into::into);
        every_length::<Ipv4Prefix>(profile, &addrs);
    }
    for profile in [Profile::Compact, Profile::Balanced, Profile::Fast] {
        let addrs = [0, u128::MAX, 1 << 127, (1 << 127) - 1].map(Into::into);
        every_length::<Ipv6Prefix>(profile, &addrs);
    }
}
