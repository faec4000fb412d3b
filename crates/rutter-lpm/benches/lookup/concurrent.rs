//! Readers beside a writer, and batches.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rutter_lpm::{Net, Profile, Reader, Table};
use rutter_net::Ipv4Prefix;

use crate::contenders;
use crate::data::{self, Numbers};
use crate::rows::{Measure, Row, print as print_rows, thread_time, time};

/// The prefixes of a table that is larger than any cache.
const MANY: usize = 6_000_000;

/// A measurement of [`rutter_lpm::View::lookup_many`].
pub fn batch<'a, N: Net>(table: &Table<N>, addrs: &'a [N::Addr]) -> Measure<'a> {
    let mut reader = table.reader();
    Box::new(move || {
        let view = reader.enter();
        let mut values = [None; 64];
        let mut pass = || {
            for addrs in addrs.chunks(64) {
                view.lookup_many(addrs, &mut values);
                black_box(&values);
            }
        };
        pass();
        time(addrs.len(), pass)
    })
}

fn single<'a>(table: &Table<Ipv4Prefix>, addrs: &'a [Ipv4Addr]) -> Measure<'a> {
    let mut reader = table.reader();
    Box::new(move || {
        let view = reader.enter();
        let pass = || {
            let found = addrs.iter().map(|addr| view.lookup(*addr).unwrap_or(0));
            black_box(found.fold(0, u32::wrapping_add));
        };
        pass();
        time(addrs.len(), pass)
    })
}

/// Several passes over the addresses, long enough to be measured in the thread's own time.
fn passes(reader: &mut Reader<Ipv4Prefix>, addrs: &[Ipv4Addr]) -> f64 {
    const PASSES: usize = 8;
    let view = reader.enter();
    thread_time(addrs.len() * PASSES, || {
        for _ in 0..PASSES {
            let found = addrs.iter().map(|addr| view.lookup(*addr).unwrap_or(0));
            black_box(found.fold(0, u32::wrapping_add));
        }
    })
}

/// Prints how much a writer at full speed slows a reader down, and how much faster batches are.
pub fn print(prefixes: &[Ipv4Prefix]) {
    let inside = data::inside(prefixes);
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        let table = contenders::table(profile, prefixes);
        let mut alone = table.reader();
        let addrs = &inside;
        let quiet: Measure<'_> = Box::new(move || passes(&mut alone, addrs));
        let (mut reader, mut table) = (table.reader(), table);
        let written: Measure<'_> =
            Box::new(move || beside_a_writer(&mut table, &mut reader, prefixes, addrs));
        rows.push(Row {
            name: format!("rutter {profile}"),
            cells: vec![Some(quiet), Some(written)],
            bytes: None,
        });
    }
    print_rows("IPv4, a reader", &["quiet", "beside a writer"], rows, 5);
    batches();
}

fn beside_a_writer(
    table: &mut Table<Ipv4Prefix>,
    reader: &mut Reader<Ipv4Prefix>,
    prefixes: &[Ipv4Prefix],
    addrs: &[Ipv4Addr],
) -> f64 {
    let (started, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(5);
            while !done.load(Ordering::Relaxed) {
                let at = numbers.below(prefixes.len());
                table.remove(prefixes[at]);
                table.insert(prefixes[at], at as u32);
                started.fetch_add(2, Ordering::Relaxed);
            }
        });
        while started.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let ns = passes(reader, addrs);
        done.store(true, Ordering::Relaxed);
        ns
    })
}

/// Compares single and batched look-ups on a table larger than the caches.
fn batches() {
    let mut numbers = Numbers(4);
    let mut some = || {
        let len = 18 + numbers.below(11) as u8;
        Ipv4Prefix::new(numbers.next() as u32, len).expect("a length in range")
    };
    let prefixes: Vec<_> = (0..MANY).map(|_| some()).collect();
    let inside = data::inside(&prefixes);
    let mut rows = Vec::new();
    for profile in [Profile::Fast, Profile::Compact] {
        let table = contenders::table(profile, &prefixes);
        rows.push(Row {
            name: format!("rutter {profile}"),
            cells: vec![Some(single(&table, &inside)), Some(batch(&table, &inside))],
            bytes: Some(table.size().taken as f64 / table.len() as f64),
        });
    }
    let title = format!("IPv4, {MANY} random prefixes");
    print_rows(&title, &["single", "batched"], rows, 3);
}
