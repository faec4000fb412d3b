//! Routes of several sources: compared with a naive twin, and under several writers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::prelude::*;
use rutter_lpm::{Net, Profile, RouteChange, Routes};
use rutter_net::{Ipv4Prefix, Ipv6Prefix};

/// Every route, in the order in which the sources first came.
type Twin<N> = BTreeMap<N, Vec<(u32, Vec<u32>)>>;

#[derive(Clone, Debug)]
enum Operation<N> {
    Insert(N, u32, Vec<u32>),
    Remove(N, u32),
    RemoveSource(u32),
    Apply(Vec<(N, u32, Option<Vec<u32>>)>),
}

fn operations<N: Net>(
    prefix: impl Strategy<Value = N> + Clone,
    sources: u32,
) -> impl Strategy<Value = Vec<Operation<N>>> {
    let source = 0..sources;
    let value = prop::collection::vec(0..3_u32, 0..4);
    let change = (
        prefix.clone(),
        source.clone(),
        prop::option::of(value.clone()),
    );
    prop::collection::vec(
        prop_oneof![
            2 => prop::collection::vec(change, 0..70).prop_map(Operation::Apply),
            12 => (prefix.clone(), source.clone(), value).prop_map(|(p, s, v)| Operation::Insert(p, s, v)),
            4 => (prefix, source.clone()).prop_map(|(p, s)| Operation::Remove(p, s)),
            1 => source.prop_map(Operation::RemoveSource),
        ],
        1..300,
    )
}

/// Few prefixes, so that they have many routes each. Some are too short for one shard.
fn ipv4() -> impl Strategy<Value = Ipv4Prefix> + Clone {
    let few = prop::sample::select(vec![0, 6, 8, 16, 24, 32]);
    (0..3_u32, few).prop_map(|(bits, len)| {
        Ipv4Prefix::new(bits << 30 | bits << 8, len).expect("a length in range")
    })
}

/// Many prefixes in a node, so that removed ones leave gaps.
fn dense() -> impl Strategy<Value = Ipv4Prefix> + Clone {
    let lens = prop::sample::select(vec![10, 17, 22, 23, 24, 24, 24, 24, 24, 25, 32]);
    (0..12_u32, lens).prop_map(|(at, len)| {
        Ipv4Prefix::new(0x0a01_0000 | at << 8, len).expect("a length in range")
    })
}

fn ipv6() -> impl Strategy<Value = Ipv6Prefix> + Clone {
    let few = prop::sample::select(vec![0, 20, 24, 32, 48, 64]);
    (0..3_u128, few).prop_map(|(bits, len)| {
        Ipv6Prefix::new(bits << 126 | bits << 80, len).expect("a length in range")
    })
}

fn run<N: Net>(shards: usize, operations: &[Operation<N>]) {
    let routes = Routes::new(Profile::Fast, shards);
    let mut twin: Twin<N> = BTreeMap::new();
    let mut reader = routes.reader();
    let mut view = reader.enter();
    for operation in operations {
        let near = match operation {
            Operation::Insert(prefix, source, value) => {
                set(&mut twin, *prefix, *source, Some(value));
                match source % 2 {
                    0 => assert_eq!(routes.insert(*prefix, *source, value), Ok(())),
                    _ => assert_eq!(view.insert(*prefix, *source, value), Ok(())),
                }
                *prefix
            }
            Operation::Remove(prefix, source) => {
                set(&mut twin, *prefix, *source, None);
                routes.remove(*prefix, *source);
                *prefix
            }
            Operation::RemoveSource(source) => {
                let before = count(&twin);
                let all = twin.values_mut();
                all.for_each(|routes| routes.retain(|(s, _)| s != source));
                assert_eq!(routes.remove_source(*source), before - count(&twin));
                N::from_bits(N::ZERO, 0)
            }
            Operation::Apply(changes) => {
                for (prefix, source, value) in changes {
                    set(&mut twin, *prefix, *source, value.as_deref());
                }
                let each = changes.iter().map(|(prefix, source, value)| RouteChange {
                    prefix: *prefix,
                    source: *source,
                    value: value.as_deref(),
                });
                assert_eq!(view.apply(&each.collect::<Vec<_>>()), Ok(()));
                let near = changes.first().map(|(prefix, ..)| *prefix);
                near.unwrap_or(N::from_bits(N::ZERO, 0))
            }
        };
        twin.retain(|_, routes| !routes.is_empty());
        let size = routes.size();
        assert_eq!((size.prefixes, size.routes), (twin.len(), count(&twin)));
        let addr = near.bits();
        let best = twin
            .iter()
            .filter(|(p, _)| p.covers(N::from_bits(addr, N::MAX_LEN)))
            .max_by_key(|(p, _)| p.prefix_len());
        let found = view.lookup(N::addr_from_bits(addr)).map(|found| {
            let each = found.routes().map(|(s, v)| (s, v.words().collect()));
            (found.prefix_len(), each.collect::<Vec<_>>())
        });
        assert_eq!(found, best.map(|(p, r)| (p.prefix_len(), r.clone())));
    }
}

/// Sets or removes a route.
fn set<N: Net>(twin: &mut Twin<N>, prefix: N, source: u32, value: Option<&[u32]>) {
    let routes = twin.entry(prefix).or_default();
    let known = routes.iter_mut().find(|(s, _)| *s == source);
    match (known, value) {
        (Some((_, known)), Some(value)) => value.clone_into(known),
        (None, Some(value)) => routes.push((source, value.to_vec())),
        (_, None) => routes.retain(|(s, _)| *s != source),
    }
}

fn count<N>(twin: &Twin<N>) -> usize {
    twin.values().map(Vec::len).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ipv4_routes_answer_as_the_twin(operations in operations(ipv4(), 90)) {
        run(5, &operations);
        run(1, &operations);
    }

    #[test]
    fn routes_that_leave_gaps_answer_as_the_twin(operations in operations(dense(), 2)) {
        run(2, &operations);
    }

    #[test]
    fn ipv6_routes_answer_as_the_twin(operations in operations(ipv6(), 90)) {
        run(3, &operations);
    }
}

/// Four writers with a source each change routes and values. Readers check that each route is consistent, and
/// that a prefix that always exists is always found.
#[test]
fn readers_find_whole_routes_while_several_write() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 4);
    let net = |n: u32, len| Ipv4Prefix::new(n, len).expect("a length in range");
    let value = |source: u32, n: u32| [source, n, source ^ n, 7];
    routes.insert(net(0, 1), 9, &value(9, 0)).expect("short");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (mut reader, done) = (routes.reader(), &done);
            scope.spawn(move || {
                let mut n = 1_u32;
                let mut view = reader.enter();
                while !done.load(Ordering::Acquire) {
                    n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let addr = Ipv4Addr::from_bits(n >> 8 & 0x0303_00ff);
                    let found = view.lookup(addr).expect("always covered");
                    let mut seen = 0;
                    for (source, value) in found.routes() {
                        assert_eq!(value.word(0), source);
                        assert_eq!(value.word(0) ^ value.word(1), value.word(2));
                        seen += 1;
                    }
                    assert!(seen > 0, "a prefix without a route");
                }
            });
        }
        let writers = (0..4).map(|source| {
            let routes = &routes;
            scope.spawn(move || {
                let mut reader = routes.reader();
                let mut view = reader.enter();
                for n in 0..12_000_u32 {
                    let at = n.wrapping_mul(2_654_435_761) & 0x0303_00e0;
                    let prefix = net(at, 16 + (n % 3 * 6) as u8);
                    if n % 3 == 0 {
                        view.remove(prefix, source);
                    } else {
                        let value = value(source, n / 64 % 2);
                        view.insert(prefix, source, &value).expect("short");
                        // The same change again, at once and after more changes.
                        view.insert(prefix, source, &value).expect("short");
                    }
                }
                drop(view);
                routes.remove_source(source);
            })
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().for_each(|writer| {
            writer.join().expect("a writer does not panic");
        });
        done.store(true, Ordering::Release);
    });
    routes.reclaim();
    let size = routes.size();
    assert_eq!((size.prefixes, size.routes), (1, 1));
}

/// Writers of one shard, with a source each, find it locked again and again, and leave changes to each other.
/// They continue from routes that they found before. In the end each source has its last value.
#[test]
fn the_last_change_of_each_of_many_writers_wins() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 1);
    // No prefix is inside another, so that each can be looked up.
    let prefix = |n: u32| {
        let (bits, len) = (0x0a01_0000 | n << 10, 22 + (n % 3) as u8);
        Ipv4Prefix::new(bits, len).expect("a length in range")
    };
    let write = |source: u32| {
        let mut reader = routes.reader();
        let mut view = reader.enter();
        let (mut last, mut n) = ([None; 40], source);
        for _ in 0..30_000 {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (at, value) = (n >> 8 & 31, [source, n >> 30]);
            let change = |at: u32, is_there: bool| RouteChange {
                prefix: prefix(at),
                source,
                value: is_there.then_some(&value[..]),
            };
            let is_there = n >> 16 & 3 != 0;
            let changes = [change(at, is_there), change(at + 8, !is_there)];
            let some = &changes[..1 + (n >> 20 & 1) as usize];
            view.apply(some).expect("short");
            for (change, at) in some.iter().zip([at, at + 8]) {
                last[at as usize] = change.value.map(|value| value[1]);
            }
        }
        last
    };
    let last: Vec<_> = thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> = (0..6)
            .map(|source| scope.spawn(move || write(source)))
            .collect();
        let join = |writer: thread::ScopedJoinHandle<'_, _>| writer.join().expect("no panic");
        writers.into_iter().map(join).collect()
    });
    let mut reader = routes.reader();
    let mut view = reader.enter();
    for at in 0..40 {
        let found = view.lookup(prefix(at).addr());
        let mut seen: Vec<_> = found
            .iter()
            .flat_map(|found| found.routes())
            .map(|(source, value)| (source, value.word(1)))
            .collect();
        seen.sort_unstable();
        let expected =
            (0..6).filter_map(|source| Some((source, last[source as usize][at as usize]?)));
        assert!(seen.iter().copied().eq(expected), "{at}: {seen:?} {last:?}");
    }
}

/// A removed prefix leaves a gap in its node, and shorter prefixes come and go. A look-up that finds
/// the gap must not return a prefix that existed only before or after.
#[test]
fn the_prefix_found_around_a_gap_existed_with_the_gap() {
    let net = |n: u32, len| Ipv4Prefix::new(n, len).expect("a length in range");
    // A prefix of the root, which leaves the node with the gap unchanged; and one of the same node.
    for sometimes in [net(0x0a00_0000, 12), net(0x0a01_0400, 22)] {
        find_around_a_gap(net(0x0a01_0400, 24), sometimes);
    }
}

/// `sometimes` exists only while `flaps` exists.
fn find_around_a_gap(flaps: Ipv4Prefix, sometimes: Ipv4Prefix) {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 1);
    let net = |n: u32, len| Ipv4Prefix::new(n, len).expect("a length in range");
    let set = |prefix| routes.insert(prefix, 1, &[7]).expect("short");
    (0..20).for_each(|n| set(net(0x0a01_0000 | n << 10, 24)));
    set(net(0, 1));
    set(sometimes);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = (0..3).map(|_| {
            let (mut reader, done) = (routes.reader(), &done);
            scope.spawn(move || {
                let mut seen = [0_u64; 33];
                while !done.load(Ordering::Acquire) {
                    let mut view = reader.enter();
                    let found = view
                        .lookup(Ipv4Addr::new(10, 1, 4, 1))
                        .expect("always covered");
                    seen[usize::from(found.prefix_len())] += 1;
                }
                seen
            })
        });
        let readers: Vec<_> = readers.collect();
        for _ in 0..100_000 {
            routes.remove(sometimes, 1);
            routes.remove(flaps, 1);
            set(flaps);
            set(sometimes);
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            let seen = reader.join().expect("a reader does not panic");
            let of_sometimes = seen[usize::from(sometimes.len())];
            assert_eq!(of_sometimes, 0, "{seen:?}");
        }
    });
}

/// Gaps and unused values do not make the memory grow without bound.
#[test]
fn changing_prefixes_do_not_leak_memory() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 1);
    let turn = |rounds: std::ops::Range<u32>| {
        for n in rounds {
            let at = n.wrapping_mul(0x9e37_79b1);
            let prefix = Ipv4Prefix::new(at & 0x000f_ff00, 24).expect("a length in range");
            match at >> 30 {
                0 => routes.insert(prefix, 1, &[n, 1, 2, 3]).expect("short"),
                _ => routes.remove(prefix, 1),
            }
        }
        routes.size()
    };
    let before = turn(0..100_000);
    let after = turn(100_000..600_000);
    assert!(
        after.taken <= before.taken + (64 << 10),
        "{before:?} {after:?}"
    );
    (0..1 << 12).for_each(|n| {
        let prefix = Ipv4Prefix::new(n << 8, 24).expect("a length in range");
        routes.remove(prefix, 1);
    });
    let size = routes.size();
    assert_eq!((size.prefixes, size.routes, size.values), (0, 0, 0));
}

#[test]
fn a_value_that_is_too_long_is_refused() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Compact, 2);
    let prefix = Ipv4Prefix::new(0, 8).expect("a length in range");
    let mut value = vec![1; Routes::<Ipv4Prefix>::LONGEST_VALUE];
    assert_eq!(routes.insert(prefix, 1, &value), Ok(()));
    value.push(1);
    let refused = routes.insert(prefix, 2, &value).expect_err("too long");
    assert!(refused.to_string().contains("1399 words"));
    assert_eq!(routes.size().routes, 1);
}

/// A change of a batch sees the earlier changes of the batch, whatever was found before them.
#[test]
fn changes_of_one_batch_follow_each_other() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 4);
    let prefix = Ipv4Prefix::new(0xc000_0200, 24).expect("a length in range");
    routes.insert(prefix, 1, &[1]).expect("short");
    let change = |value: Option<&'static [u32]>| RouteChange {
        prefix,
        source: 1,
        value,
    };
    let mut reader = routes.reader();
    let mut view = reader.enter();
    let there_and_back = [change(None), change(Some(&[1])), change(Some(&[2]))];
    view.apply(&there_and_back).expect("short");
    assert_eq!(routes.size().values, 1);
    view.apply(&[change(Some(&[3])), change(Some(&[2]))])
        .expect("short");
    let found = view.lookup(Ipv4Addr::new(192, 0, 2, 1)).expect("covered");
    let words: Vec<Vec<u32>> = found.routes().map(|(_, v)| v.words().collect()).collect();
    assert_eq!(words, [[2]]);
}

#[test]
fn a_value_too_long_ends_a_batch_after_the_changes_before_it() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 4);
    let long = vec![0; Routes::<Ipv4Prefix>::LONGEST_VALUE + 1];
    let change = |n: u32, value| RouteChange {
        prefix: Ipv4Prefix::new(n << 24, 8).expect("a length in range"),
        source: 1,
        value,
    };
    let mut reader = routes.reader();
    let batch = [
        change(1, Some(&[1][..])),
        change(2, Some(&long[..])),
        change(3, Some(&[1][..])),
    ];
    assert!(reader.enter().apply(&batch).is_err());
    assert_eq!(routes.size().routes, 1);
}

/// Only values change, those of a list of two.
#[test]
fn changing_values_do_not_leak_memory() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 1);
    let prefix = Ipv4Prefix::new(0xc000_0200, 24).expect("a length in range");
    let change = |n: u32| {
        for source in 0..2 {
            let inserted = routes.insert(prefix, source, &[n, source, 1, 2, 3]);
            inserted.expect("short");
        }
    };
    (0..1_000).for_each(change);
    let before = routes.size();
    (1_000..100_000).for_each(change);
    assert_eq!(routes.size(), before);
}

/// A default route is in every shard: the last writer must win in all of them.
#[test]
fn short_prefixes_are_the_same_in_all_shards_after_concurrent_changes() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 16);
    let all = Ipv4Prefix::new(0, 0).expect("a length in range");
    for round in 0..200 {
        thread::scope(|scope| {
            for writer in 0..3 {
                let routes = &routes;
                scope.spawn(move || match (writer + round) % 3 {
                    0 => drop(routes.remove_source(7)),
                    1 => routes.remove(all, 7),
                    _ => routes.insert(all, 7, &[round * 3 + writer]).expect("short"),
                });
            }
        });
        routes.size();
        let mut reader = routes.reader();
        let mut view = reader.enter();
        let mut sent = (0..=255).map(|high| {
            let found = view.lookup(Ipv4Addr::new(high, 0, 0, 1))?;
            found.routes().map(|(_, value)| value.word(0)).next()
        });
        let first = sent.next();
        assert!(sent.all(|other| Some(other) == first), "round {round}");
    }
}

/// Direct tables in each of many shards would take a gigabyte.
#[test]
fn there_are_no_direct_tables_for_several_routes() {
    let routes = Routes::<Ipv4Prefix>::new(Profile::Fastest, 16);
    assert!(routes.size().taken < 32 << 20, "{:?}", routes.size());
}
