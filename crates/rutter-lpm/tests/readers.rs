//! Readers in their own threads while the table changes.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rutter_lpm::{Profile, Table, View};
use rutter_net::Ipv4Prefix;

fn prefix(bits: u32, len: u8) -> Ipv4Prefix {
    Ipv4Prefix::new(bits, len).expect("a length in range")
}

/// A number that encodes its prefix: a recycled node would return the number of another prefix.
fn value_of(prefix: Ipv4Prefix) -> u32 {
    prefix.bits() ^ u32::from(prefix.len()).wrapping_mul(0x9e37_79b9) & 0x7fff_ffff
}

fn is_true_of(value: u32, addr: Ipv4Addr) -> bool {
    (0..=32)
        .any(|len| value_of(Ipv4Prefix::from_addr(addr, len).expect("a length in range")) == value)
}

/// A simple generator of numbers.
fn next(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *state >> 8
}

/// Any prefix near 10.0.0.0, so that nodes are shared and rebuilt all the time.
fn some_prefix(state: &mut u32) -> Ipv4Prefix {
    let len = 9 + next(state) % 24;
    prefix(0x0a00_0000 | next(state) & 0x0003_03f3, len as u8)
}

fn some_addr(state: &mut u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | next(state) & 0x0003_03f3)
}

/// Runs `read` in two threads until the writer is done.
fn while_written(
    table: &mut Table<Ipv4Prefix>,
    write: impl FnOnce(&mut Table<Ipv4Prefix>),
    read: impl Fn(&View<'_, Ipv4Prefix>, u32) + Sync,
) {
    let (done, start) = (AtomicBool::new(false), Barrier::new(3));
    let (mut first, mut second) = (table.reader(), table.reader());
    thread::scope(|scope| {
        for (seed, reader) in [(1, &mut first), (2, &mut second)] {
            let (done, start, read) = (&done, &start, &read);
            scope.spawn(move || {
                let mut rounds = 0_u32;
                start.wait();
                while !done.load(Ordering::Acquire) || rounds < 2 {
                    read(&reader.enter(), seed + rounds * 2);
                    rounds += 1;
                }
            });
        }
        start.wait();
        write(table);
        done.store(true, Ordering::Release);
    });
}

#[test]
fn readers_never_see_a_number_from_elsewhere() {
    for profile in [Profile::Compact, Profile::Balanced, Profile::Fast] {
        let mut table = Table::new(profile);
        let anchor = prefix(0x0a00_0000, 8);
        table.insert(anchor, value_of(anchor));
        let write = |table: &mut Table<Ipv4Prefix>| {
            let mut state = 7;
            for _ in 0..60_000 {
                let prefix = some_prefix(&mut state);
                if table.remove(prefix).is_none() {
                    table.insert(prefix, value_of(prefix));
                }
            }
        };
        while_written(&mut table, write, |view, seed| {
            let mut state = seed;
            let mut addrs = [Ipv4Addr::UNSPECIFIED; 40];
            for _ in 0..100 {
                let addr = some_addr(&mut state);
                let value = view.lookup(addr).expect("the anchor covers it");
                assert!(is_true_of(value, addr), "{addr} {value:x}");
                let (prefix, value) = view.lookup_prefix(addr).expect("the anchor covers it");
                assert!(
                    prefix.contains(addr) && value == value_of(prefix),
                    "{addr} {prefix}"
                );
            }
            addrs.fill_with(|| some_addr(&mut state));
            let mut values = [None; 40];
            view.lookup_many(&addrs, &mut values);
            for (addr, value) in addrs.iter().zip(values) {
                assert!(
                    is_true_of(value.expect("the anchor covers it"), *addr),
                    "{addr}"
                );
            }
        });
    }
}

/// At every instant one of several prefixes contains the address, but none of them always does. A look-up that
/// mixed two instants would find nothing.
#[test]
fn an_address_that_is_always_covered_is_always_found() {
    for profile in Profile::ALL {
        let mut table = Table::new(profile);
        let addr = Ipv4Addr::new(10, 1, 2, 3);
        let nest = [8, 30, 12, 24, 16, 32, 20];
        let nest = nest.map(|len| Ipv4Prefix::from_addr(addr, len).expect("a length"));
        table.insert(nest[0], value_of(nest[0]));
        let write = |table: &mut Table<Ipv4Prefix>| {
            // A /8 is 65,536 words of the direct array.
            let rounds = if profile == Profile::Fastest {
                300
            } else {
                15_000
            };
            for pair in 0..rounds {
                let (old, new) = (nest[pair % nest.len()], nest[(pair + 1) % nest.len()]);
                table.insert(new, value_of(new));
                table.remove(old);
            }
        };
        while_written(&mut table, write, |view, _| {
            for _ in 0..100 {
                let value = view.lookup(addr).expect("something covers it");
                assert!(is_true_of(value, addr), "{value:x}");
                assert!(view.lookup_prefix(addr).is_some());
            }
        });
    }
}

/// A longer prefix is added before the longest is removed, and removed after the longest is added again. A
/// look-up that mixed old upper nodes with new lower ones would find the shortest, which is never the answer.
#[test]
fn a_prefix_that_is_never_the_longest_is_never_found() {
    let addr = Ipv4Addr::new(10, 1, 2, 3);
    for profile in [Profile::Compact, Profile::Balanced, Profile::Fast] {
        // A prefix of the root, and one of the first node under a root of 8 bits.
        for shortest in [7, 9] {
            let mut table = Table::new(profile);
            let of_len = |len| Ipv4Prefix::from_addr(addr, len).expect("a length");
            let [never, longer, longest] = [shortest, shortest + 1, 28].map(of_len);
            // Keeps its nodes in place.
            let neighbor = prefix(longest.bits() | 16, 28);
            for prefix in [never, longest, neighbor] {
                table.insert(prefix, value_of(prefix));
            }
            let write = |table: &mut Table<Ipv4Prefix>| {
                for _ in 0..100 {
                    // A reader that is preempted in a look-up continues in another state of the table.
                    table.insert(longer, value_of(longer));
                    table.remove(longest);
                    thread::yield_now();
                    table.insert(longest, value_of(longest));
                    table.remove(longer);
                    thread::yield_now();
                }
            };
            while_written(&mut table, write, |view, _| {
                for _ in 0..100 {
                    assert_ne!(view.lookup(addr), Some(value_of(never)), "{profile}");
                    let found = view.lookup_prefix(addr).expect("something covers it");
                    assert!(found == (longer, value_of(longer)) || found.0 == longest);
                }
                let mut values = [None; 32];
                view.lookup_many(&[addr; 32], &mut values);
                assert!(!values.contains(&Some(value_of(never))), "{profile}");
            });
        }
    }
}

#[test]
fn churn_leaves_the_size_where_it_was() {
    let mut table = Table::new(Profile::Fast);
    let mut held = VecDeque::new();
    let mut state = 3;
    let mut churn = |table: &mut Table<Ipv4Prefix>, rounds: u32| {
        for _ in 0..rounds {
            let prefix = prefix(next(&mut state) << 8, 20 + (next(&mut state) % 8) as u8);
            if table.insert(prefix, 1).is_none() {
                held.push_back(prefix);
            }
            if held.len() > 5_000 {
                let oldest = held.pop_front().expect("one of many");
                assert_eq!(table.remove(oldest), Some(1));
            }
        }
    };
    churn(&mut table, 20_000);
    let before = table.size();
    let mut reader = table.reader();
    let view = reader.enter();
    for _ in 0..1000 {
        churn(&mut table, 100);
        view.pause();
    }
    drop(view);
    table.reclaim();
    let after = table.size();
    assert_eq!(after.retired, 0);
    assert!(
        after.nodes <= before.nodes * 11 / 10,
        "{before:?}, then {after:?}"
    );
    assert!(
        after.taken <= before.taken * 3 / 2,
        "{before:?}, then {after:?}"
    );
    for prefix in table.iter().map(|(prefix, _)| prefix).collect::<Vec<_>>() {
        table.remove(prefix);
    }
    table.reclaim();
    assert_eq!(table.size().nodes, 0);
}

#[test]
fn an_active_reader_delays_reclamation_and_a_resting_one_does_not() {
    let mut table = Table::new(Profile::Balanced);
    let mut reader = table.reader();
    let idle = reader.clone();
    let churn = |table: &mut Table<Ipv4Prefix>| {
        for n in 0..1000_u32 {
            table.insert(prefix(n << 12, 24), n);
            table.remove(prefix(n << 12, 24));
        }
        table.reclaim();
        table.size().retired
    };
    assert_eq!(churn(&mut table), 0);
    let view = reader.enter();
    assert!(churn(&mut table) > 1000);
    view.pause();
    table.reclaim();
    assert_eq!(table.size().retired, 0);
    assert!(churn(&mut table) > 1000);
    drop(view);
    table.reclaim();
    assert_eq!(table.size().retired, 0);
    drop(idle);
    drop(table);
    assert_eq!(reader.lookup(Ipv4Addr::LOCALHOST), None);
}

#[test]
fn nodes_held_by_the_last_reader_are_freed_after_it() {
    let mut table = Table::new(Profile::Fast);
    let mut reader = table.reader();
    let view = reader.enter();
    for n in 0..1000_u32 {
        table.insert(prefix(n << 8, 24), n);
    }
    assert!(table.size().retired > 0);
    drop(view);
    drop(reader);
    table.insert(prefix(0, 24), 1);
    table.remove(prefix(0, 24));
    assert_eq!(table.size().retired, 0);
}
