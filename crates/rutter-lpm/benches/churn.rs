//! Adds and removes prefixes for a long time while other threads look up, and shows whether the memory of the
//! table stays constant.
//!
//! `cargo bench -p rutter-lpm --bench churn -- SECONDS [CHANGES]` (20 by default): two writers, two readers, 16
//! shards. It prints a line of sizes after the table is filled, and ten more. With `CHANGES` the writers make
//! that many changes a second, and the readers as many look-ups, in bursts. Without it, all run at full speed.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rutter_lpm::{Profile, Routes, RoutesReader};
use rutter_net::Ipv4Prefix;

/// The number of possible prefixes; about half exist at a time.
const PREFIXES: u64 = 400_000;
const LINES: u32 = 10;
/// The changes of a writer before the first line: many times the number of prefixes, so that each exists at
/// random.
const FILL: u64 = 2_000_000;
/// The numbers of readers and writers.
const EACH: u32 = 2;
/// The operations between two checks of the clock.
const BURST: u64 = 1_000;

/// A small generator: good enough for choices.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }
}

/// Always returns the same prefix for a number.
fn prefix(number: u64) -> Ipv4Prefix {
    let bits = Numbers(number).next();
    let len = 12 + (bits >> 40) % 17;
    Ipv4Prefix::new(bits as u32, len as u8).expect("a length in range")
}

/// Sleeps so that a thread does a given number of operations a second.
struct Pace {
    start: Instant,
    a_second: Option<u32>,
    done: u64,
}

impl Pace {
    fn new(of_all: Option<u32>) -> Self {
        Pace {
            start: Instant::now(),
            a_second: of_all.map(|all| (all / EACH).max(1)),
            done: 0,
        }
    }

    /// Sleeps after a burst.
    fn rest(&mut self) {
        self.done += BURST;
        if let Some(rate) = self.a_second {
            let due = Duration::from_micros(self.done * 1_000_000 / u64::from(rate));
            thread::sleep(due.saturating_sub(self.start.elapsed()));
        }
    }
}

fn change(routes: &Routes<Ipv4Prefix>, source: u32, number: u64) {
    let prefix = prefix(number % PREFIXES);
    if number >> 40 & 1 == 0 {
        return routes.remove(prefix, source);
    }
    let value = [(number >> 44) as u32 % 5000, source];
    let added = routes.insert(prefix, source, &value);
    added.expect("a short value");
}

/// The data that all threads share.
struct Run {
    routes: Routes<Ipv4Prefix>,
    a_second: Option<u32>,
    changes: AtomicU64,
    done: AtomicBool,
}

impl Run {
    fn is_on(&self) -> bool {
        !self.done.load(Ordering::Relaxed)
    }

    fn fill(&self, source: u32) {
        let mut numbers = Numbers(u64::from(source) << 48);
        (0..FILL).for_each(|_| change(&self.routes, source, numbers.next()));
    }

    fn write(&self, source: u32) {
        let mut numbers = Numbers(u64::from(source) << 32);
        let mut pace = Pace::new(self.a_second);
        while self.is_on() {
            for _ in 0..BURST {
                change(&self.routes, source, numbers.next());
                // Now and then all routes of a source are removed.
                if self.changes.fetch_add(1, Ordering::Relaxed) % 5_000_000 == 4_999_999 {
                    self.routes.remove_source(source);
                }
            }
            pace.rest();
        }
    }

    /// A new view for each burst: a sleeping thread should hold no reference.
    fn read(&self, mut reader: RoutesReader<Ipv4Prefix>) {
        let mut numbers = Numbers(77);
        let mut pace = Pace::new(self.a_second);
        while self.is_on() {
            let mut view = reader.enter();
            for _ in 0..BURST {
                let addr = Ipv4Addr::from(prefix(numbers.next() % PREFIXES).bits());
                black_box(view.lookup(addr).map(|found| found.prefix_len()));
            }
            drop(view);
            pace.rest();
        }
    }

    fn print(&self, seconds: u32) {
        let size = self.routes.size();
        println!(
            "{seconds:>10}{:>12}{:>10}{:>10}{:>10}",
            self.changes.load(Ordering::Relaxed),
            size.prefixes,
            size.taken / 1024,
            resident() / 1024
        );
    }
}

/// The resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let seconds: u32 = numbers.next().unwrap_or(20);
    let run = &Run {
        routes: Routes::new(Profile::Fast, 16),
        a_second: numbers.next(),
        changes: AtomicU64::new(0),
        done: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        (0..EACH).for_each(|source| drop(scope.spawn(move || run.fill(source))));
    });
    println!(
        "{:>10}{:>12}{:>10}{:>10}{:>10}",
        "seconds", "changes", "prefixes", "taken KB", "RSS KB"
    );
    run.print(0);
    thread::scope(|scope| {
        for source in 0..EACH {
            let reader = run.routes.reader();
            scope.spawn(move || run.write(source));
            scope.spawn(move || run.read(reader));
        }
        for line in 1..=LINES {
            thread::sleep(Duration::from_secs(1) * seconds / LINES);
            run.print(seconds * line / LINES);
        }
        run.done.store(true, Ordering::Relaxed);
    });
}
