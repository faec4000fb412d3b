//! The three benchmarks, on [`Routes`].

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rutter_lpm::{Profile, Routes, RoutesReader};
use rutter_net::Ipv4Prefix;

use crate::numbers::Pcg;
use crate::workload::{AsPaths, Route, routes};

pub const SHARDS: usize = 16;
pub const LIVE: usize = 500_000;
pub const WRITERS: usize = 8;
pub const READERS: usize = 32;
pub const PEERS: usize = 5;
pub const A_PEER: usize = 100_000;
const TARGETS: usize = 10_000;

type Table = Routes<Ipv4Prefix>;

/// A route with its words, as the codec of a collector would hand it over.
struct Prepared {
    prefix: Ipv4Prefix,
    value: Vec<u32>,
}

/// Nanoseconds a read and a write with all readers and writers at work.
pub struct Concurrent {
    pools: Vec<Vec<Prepared>>,
    targets: Vec<Ipv4Addr>,
}

fn prepare(routes: Vec<Route>, host: u32) -> Vec<Prepared> {
    let next_hop = 0xc633_6400 | host;
    let each = routes.into_iter().map(|route| Prepared {
        prefix: route.prefix,
        value: route.value(next_hop),
    });
    each.collect()
}

impl Concurrent {
    /// `real` takes the place of the drawn prefixes where there are any.
    pub fn new(paths: &AsPaths, real: &[Ipv4Prefix]) -> Self {
        let size = LIVE / WRITERS * 5 / 4;
        let mut order = Pcg::new(7, 7);
        let mut swap = |routes: &mut Vec<Route>| {
            for route in routes.iter_mut().filter(|_| !real.is_empty()) {
                route.prefix = real[order.below(real.len() as u32) as usize];
            }
        };
        let pools = (0..WRITERS as u64).map(|w| {
            let mut seeds = [w * 2 + 100, w * 2 + 101].map(|seed| Pcg::new(seed, seed));
            let [prefixes, rest] = &mut seeds;
            let mut all = routes(prefixes, rest, paths, size);
            swap(&mut all);
            prepare(all, w as u32 + 1)
        });
        let pools = pools.collect();
        let (mut prefixes, mut rest) = (Pcg::new(999, 999), Pcg::new(1000, 1000));
        let mut targets = routes(&mut prefixes, &mut rest, paths, TARGETS);
        swap(&mut targets);
        Concurrent {
            pools,
            targets: targets.iter().map(|route| route.prefix.addr()).collect(),
        }
    }

    /// Reads and writes of one run.
    pub fn run(&self) -> (Cost, Cost) {
        let table = Table::new(Profile::Fast, SHARDS);
        thread::scope(|scope| {
            for (w, pool) in self.pools.iter().enumerate() {
                let table = &table;
                scope.spawn(move || {
                    let live = &pool[..LIVE / WRITERS];
                    live.iter().for_each(|route| add(table, w, route));
                });
            }
        });
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let write = |w: usize| {
                let (table, pool) = (&table, &self.pools[w]);
                scope.spawn(move || churn(table, w, pool))
            };
            let read = |r: usize| {
                let (reader, done) = (table.reader(), &done);
                let offset = r * TARGETS / READERS;
                scope.spawn(move || look_up(reader, &self.targets, offset, done))
            };
            let writers: Vec<_> = (0..WRITERS).map(write).collect();
            let readers: Vec<_> = (0..READERS).map(read).collect();
            let join = |handle: thread::ScopedJoinHandle<'_, _>| handle.join().expect("no panic");
            let writes = mean(writers.into_iter().map(join));
            done.store(true, Ordering::Relaxed);
            (mean(readers.into_iter().map(join)), writes)
        })
    }
}

/// What operations took: on the clock, and of a processor.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    pub ns: f64,
    pub cpu_ns: f64,
}

/// A clock and a processor's clock, running.
struct Start(Instant, u64);

impl Start {
    fn now() -> Self {
        Start(Instant::now(), processor_time())
    }

    fn cost(&self) -> Cost {
        Cost {
            ns: self.0.elapsed().as_nanos() as f64,
            cpu_ns: (processor_time() - self.1) as f64,
        }
    }
}

/// The cost of an operation over all threads.
fn mean(each: impl Iterator<Item = (Cost, u64)>) -> Cost {
    let (sum, count) = each.fold((Cost::default(), 0), |(sum, count), (cost, n)| {
        let sum = Cost {
            ns: sum.ns + cost.ns,
            cpu_ns: sum.cpu_ns + cost.cpu_ns,
        };
        (sum, count + n)
    });
    sum.over(count as usize)
}

impl Cost {
    fn over(self, count: usize) -> Self {
        Cost {
            ns: self.ns / count as f64,
            cpu_ns: self.cpu_ns / count as f64,
        }
    }
}

fn add(table: &Table, source: usize, route: &Prepared) {
    let added = table.insert(route.prefix, source as u32, &route.value);
    added.expect("values are short");
}

/// As many operations as there are live routes: 20 % withdrawals, 20 % announcements, 60 % changes of attributes.
fn churn(table: &Table, w: usize, pool: &[Prepared]) -> (Cost, u64) {
    let mut numbers = Pcg::new(w as u64 + 1000, w as u64 + 1000);
    let mut order: Vec<usize> = (0..pool.len()).collect();
    let mut live = LIVE / WRITERS;
    let mut count = 0;
    let start = Start::now();
    for _ in 0..LIVE / WRITERS {
        let roll = numbers.below(10);
        if roll < 2 && live > 0 {
            let at = numbers.below(live as u32) as usize;
            table.remove(pool[order[at]].prefix, w as u32);
            live -= 1;
            order.swap(at, live);
        } else if roll < 4 && live < pool.len() || live == 0 {
            add(table, w, &pool[order[live]]);
            live += 1;
        } else {
            add(table, w, &pool[order[numbers.below(live as u32) as usize]]);
        }
        count += 1;
    }
    (start.cost(), count)
}

fn look_up(
    mut reader: RoutesReader<Ipv4Prefix>,
    targets: &[Ipv4Addr],
    offset: usize,
    done: &AtomicBool,
) -> (Cost, u64) {
    let mut view = reader.enter();
    let mut count = 0;
    let start = Start::now();
    let mut targets = targets.iter().cycle().skip(offset);
    while !done.load(Ordering::Relaxed) {
        let Some(addr) = targets.next() else { break };
        if let Some(found) = view.lookup(*addr) {
            // No route has this next hop, as in the original.
            let chosen = found.prefer(|_, value| value.word(1) == 0);
            let answer = chosen.map(|(_, value)| (value.word(0), value.word(1), value));
            black_box((found.prefix_len(), answer));
        }
        count += 1;
    }
    (start.cost(), count)
}

/// The table of `PEERS` peers with up to `A_PEER` routes each.
pub struct Peers(Vec<Vec<Prepared>>);

impl Peers {
    pub fn new(paths: &AsPaths) -> Self {
        let mut prefixes = Pcg::new(10, 10);
        let peer = |p: u64| {
            let mut rest = Pcg::new(p, p);
            let mut all = routes(&mut prefixes, &mut rest, paths, A_PEER);
            // One of ten is left out.
            all.retain(|_| rest.below(10) != 0);
            prepare(all, p as u32 + 1)
        };
        Peers((0..PEERS as u64).map(peer).collect())
    }

    /// Nanoseconds a route that is inserted, and octets a prefix.
    pub fn insert(&self) -> (Cost, f64, Table) {
        let before = resident();
        let start = Start::now();
        let table = Table::new(Profile::Fast, SHARDS);
        for (p, peer) in self.0.iter().enumerate() {
            peer.iter().for_each(|route| add(&table, p, route));
        }
        let cost = start.cost();
        let bytes = resident().saturating_sub(before) as f64;
        let size = table.size();
        (cost.over(size.routes), bytes / size.prefixes as f64, table)
    }

    /// Until one peer's routes are gone.
    pub fn flush(table: &Table) -> Cost {
        let start = Start::now();
        table.remove_source(0);
        start.cost()
    }
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Resident octets of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
