//! Prefixes that come and go for long while others look up: does what the table takes stay where it is?
//!
//! `cargo bench -p rutter-lpm --bench churn -- SECONDS` (20 without): two writers, two readers, 16 shards; ten lines of sizes.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rutter_lpm::{Profile, Routes, RoutesReader};
use rutter_net::Ipv4Prefix;

/// Prefixes that may be there; about half are at a time.
const PREFIXES: u64 = 400_000;
const LINES: u32 = 10;

/// A small generator: good enough to choose with.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }
}

/// Always the same prefix for a number.
fn prefix(number: u64) -> Ipv4Prefix {
    let bits = Numbers(number).next();
    let len = 12 + (bits >> 40) % 17;
    Ipv4Prefix::new(bits as u32, len as u8).expect("a length in range")
}

fn write(routes: &Routes<Ipv4Prefix>, source: u32, done: &AtomicBool, changes: &AtomicU64) {
    let mut numbers = Numbers(u64::from(source) << 32);
    while !done.load(Ordering::Relaxed) {
        let number = numbers.next();
        let prefix = prefix(number % PREFIXES);
        if number >> 40 & 1 == 0 {
            routes.remove(prefix, source);
        } else {
            let value = [(number >> 44) as u32 % 5000, source];
            routes
                .insert(prefix, source, &value)
                .expect("a short value");
        }
        // Now and then a source goes as a whole.
        if changes.fetch_add(1, Ordering::Relaxed) % 5_000_000 == 0 {
            routes.remove_source(source);
        }
    }
}

fn read(mut reader: RoutesReader<Ipv4Prefix>, done: &AtomicBool) {
    let mut numbers = Numbers(77);
    let mut view = reader.enter();
    while !done.load(Ordering::Relaxed) {
        let addr = Ipv4Addr::from(prefix(numbers.next() % PREFIXES).bits());
        black_box(view.lookup(addr).map(|found| found.prefix_len()));
    }
}

/// Resident octets of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|a| a.parse().ok());
    let seconds: u32 = seconds.unwrap_or(20);
    let routes = Routes::new(Profile::Fast, 16);
    let (done, changes) = (AtomicBool::new(false), AtomicU64::new(1));
    thread::scope(|scope| {
        let (routes, done, changes) = (&routes, &done, &changes);
        for source in 0..2 {
            scope.spawn(move || write(routes, source, done, changes));
            let reader = routes.reader();
            scope.spawn(move || read(reader, done));
        }
        println!(
            "{:>10}{:>12}{:>10}{:>10}{:>10}",
            "seconds", "changes", "prefixes", "taken KB", "RSS KB"
        );
        for line in 1..=LINES {
            thread::sleep(Duration::from_secs(1) * seconds / LINES);
            let size = routes.size();
            println!(
                "{:>10}{:>12}{:>10}{:>10}{:>10}",
                seconds * line / LINES,
                changes.load(Ordering::Relaxed),
                size.prefixes,
                size.taken / 1024,
                resident() / 1024
            );
        }
        done.store(true, Ordering::Relaxed);
    });
}
