//! The three benchmarks, on [`Routes`].

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rutter_lpm::{Profile, RouteChange, Routes, RoutesReader, RoutesView};
use rutter_net::Ipv4Prefix;

use crate::numbers::Pcg;
use crate::workload::{
    A_PEER, AsPaths, LIVE, PEERS, READERS, Route, SHARDS, TARGETS, WRITERS, routes,
};

type Table = Routes<Ipv4Prefix>;

/// Routes with their words, as a collector's codec would produce them. They are stored one after the other, so
/// that reading one costs one cache miss and not three.
struct Prepared {
    /// For each route the prefix, its length, the number of words of its value, and the words.
    words: Vec<u32>,
    /// The start of each route.
    starts: Vec<u32>,
}

/// The nanoseconds of a read and a write with all readers and writers active.
pub struct Concurrent {
    pools: Vec<Prepared>,
    targets: Vec<Ipv4Addr>,
}

impl Prepared {
    fn new(routes: &[Route], host: u32) -> Self {
        let next_hop = 0xc633_6400 | host;
        let (mut words, mut starts) = (Vec::new(), Vec::new());
        for route in routes {
            let value = route.value(next_hop);
            starts.push(words.len() as u32);
            words.push(route.prefix.bits());
            words.extend([u32::from(route.prefix.len()), value.len() as u32]);
            words.extend(value);
        }
        Prepared { words, starts }
    }

    /// The route at an offset.
    fn route(&self, start: u32) -> (Ipv4Prefix, &[u32]) {
        let words = &self.words[start as usize..];
        let prefix = Ipv4Prefix::new(words[0], words[1] as u8).expect("a length in range");
        (prefix, &words[3..][..words[2] as usize])
    }

    fn add(&self, start: u32, table: &Table, source: usize) {
        let (prefix, value) = self.route(start);
        let added = table.insert(prefix, source as u32, value);
        added.expect("values are short");
    }
}

impl Concurrent {
    /// `real` replaces the drawn prefixes, unless it is empty.
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
            Prepared::new(&all, w as u32 + 1)
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

    /// The addresses that readers look up.
    pub fn targets(&self) -> &[Ipv4Addr] {
        &self.targets
    }

    /// The cost of the reads and the writes of one run.
    pub fn run(&self, together: usize) -> (Cost, Cost) {
        let table = Table::new(Profile::Fast, SHARDS);
        thread::scope(|scope| {
            for (w, pool) in self.pools.iter().enumerate() {
                let table = &table;
                scope.spawn(move || {
                    let live = &pool.starts[..LIVE / WRITERS];
                    live.iter().for_each(|start| pool.add(*start, table, w));
                });
            }
        });
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let write = |w: usize| {
                let (table, pool) = (&table, &self.pools[w]);
                named("writer")
                    .spawn_scoped(scope, move || churn(table, w, pool, together))
                    .expect("a thread")
            };
            let read = |r: usize| {
                let (reader, done) = (table.reader(), &done);
                let offset = r * TARGETS / READERS;
                named("reader")
                    .spawn_scoped(scope, move || look_up(reader, &self.targets, offset, done))
                    .expect("a thread")
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

/// Names the thread for profilers.
fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// The cost of operations: wall time and processor time.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    pub ns: f64,
    pub cpu_ns: f64,
}

/// A running wall clock and processor clock.
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

/// As many operations as there are live routes: 20 % withdrawals, 20 % announcements, 60 % changes of
/// attributes. They are applied one by one, or in batches.
fn churn(table: &Table, w: usize, pool: &Prepared, together: usize) -> (Cost, u64) {
    let mut numbers = Pcg::new(w as u64 + 1000, w as u64 + 1000);
    let mut order = pool.starts.clone();
    let mut live = LIVE / WRITERS;
    let mut reader = table.reader();
    let mut view = reader.enter();
    let mut drawn = Vec::with_capacity(together);
    let mut changes = Vec::with_capacity(together);
    let start = Start::now();
    for done in 1..=LIVE / WRITERS {
        let roll = numbers.below(10);
        let (chosen, is_there) = if roll < 2 && live > 0 {
            let at = numbers.below(live as u32) as usize;
            live -= 1;
            order.swap(at, live);
            (order[live], false)
        } else if roll < 4 && live < order.len() || live == 0 {
            live += 1;
            (order[live - 1], true)
        } else {
            (order[numbers.below(live as u32) as usize], true)
        };
        if together == 1 {
            let (prefix, value) = pool.route(chosen);
            match is_there {
                true => view
                    .insert(prefix, w as u32, value)
                    .expect("values are short"),
                false => view.remove(prefix, w as u32),
            }
            continue;
        }
        drawn.push((chosen, is_there));
        if drawn.len() == together || done == LIVE / WRITERS {
            changes.clear();
            changes.extend(drawn.drain(..).map(|(chosen, is_there)| {
                let (prefix, value) = pool.route(chosen);
                RouteChange {
                    prefix,
                    source: w as u32,
                    value: is_there.then_some(value),
                }
            }));
            view.apply(&changes).expect("values are short");
        }
    }
    (start.cost(), (LIVE / WRITERS) as u64)
}

fn look_up(
    reader: RoutesReader<Ipv4Prefix>,
    targets: &[Ipv4Addr],
    offset: usize,
    done: &AtomicBool,
) -> (Cost, u64) {
    let (before, after) = targets.split_at(offset);
    let turns = after.iter().chain(before).cycle();
    reads(reader, turns.take_while(|_| !done.load(Ordering::Relaxed)))
}

/// The table of the benchmark with readers only: all live routes are of one peer, as in the original.
pub struct Quiet<'t> {
    table: Table,
    targets: &'t [Ipv4Addr],
}

impl<'t> Quiet<'t> {
    /// The number of passes of each reader over all targets.
    const TURNS: usize = 200;

    pub fn new(paths: &AsPaths, targets: &'t [Ipv4Addr]) -> Self {
        let table = Table::new(Profile::Fast, SHARDS);
        let (mut prefixes, mut rest) = (Pcg::new(100, 100), Pcg::new(101, 101));
        let pool = Prepared::new(&routes(&mut prefixes, &mut rest, paths, LIVE), 1);
        pool.starts
            .iter()
            .for_each(|start| pool.add(*start, &table, 0));
        Quiet { table, targets }
    }

    /// The nanoseconds a read of each of this number of readers.
    pub fn run(&self, readers: usize) -> f64 {
        let read = |r: usize| {
            let (reader, targets) = (self.table.reader(), self.targets);
            move || {
                let offset = r * targets.len() / readers;
                let turns = targets.iter().cycle().skip(offset);
                reads(reader, turns.take(targets.len() * Self::TURNS))
            }
        };
        thread::scope(|scope| {
            let readers: Vec<_> = (0..readers).map(|r| scope.spawn(read(r))).collect();
            let join = |handle: thread::ScopedJoinHandle<'_, _>| handle.join().expect("no panic");
            mean(readers.into_iter().map(join)).ns
        })
    }
}

fn reads<'a>(
    mut reader: RoutesReader<Ipv4Prefix>,
    targets: impl Iterator<Item = &'a Ipv4Addr>,
) -> (Cost, u64) {
    let mut view = reader.enter();
    let mut count = 0;
    let start = Start::now();
    for addr in targets {
        read_one(&mut view, *addr);
        count += 1;
    }
    (start.cost(), count)
}

/// Looks up the longest match, and its route with a next hop that no route has, as in the original; else the
/// oldest.
fn read_one(view: &mut RoutesView<'_, Ipv4Prefix>, addr: Ipv4Addr) {
    if let Some(found) = view.lookup(addr) {
        let chosen = found.prefer(|_, value| value.word(1) == 0);
        let answer = chosen.map(|(_, value)| (value.word(0), value.word(1), value));
        black_box((found.prefix_len(), answer));
    }
}

/// The table of `PEERS` peers with up to `A_PEER` routes each.
pub struct Peers(Vec<Prepared>);

impl Peers {
    pub fn new(paths: &AsPaths) -> Self {
        let mut prefixes = Pcg::new(10, 10);
        let peer = |p: u64| {
            let mut rest = Pcg::new(p, p);
            let mut all = routes(&mut prefixes, &mut rest, paths, A_PEER);
            // One route in ten is left out.
            all.retain(|_| rest.below(10) != 0);
            Prepared::new(&all, p as u32 + 1)
        };
        Peers((0..PEERS as u64).map(peer).collect())
    }

    /// The nanoseconds per inserted route.
    pub fn insert(&self) -> (Cost, Table) {
        let start = Start::now();
        let table = Table::new(Profile::Fast, SHARDS);
        for (p, peer) in self.0.iter().enumerate() {
            let starts = peer.starts.iter();
            starts.for_each(|start| peer.add(*start, &table, p));
        }
        let cost = start.cost();
        let size = table.size();
        (cost.over(size.routes), table)
    }

    /// The growth in bytes per prefix of a process that does nothing else; NaN if it cannot be run.
    pub fn memory(&self) -> f64 {
        let run = || {
            let mut child = Command::new(std::env::current_exe()?)
                .arg(MEMORY)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            // Closed before waiting for the answer: the child reads to the end.
            let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
            for peer in &self.0 {
                let words = std::iter::once(peer.words.len() as u32);
                let words = words.chain(peer.words.iter().copied());
                let octets: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
                input.write_all(&octets)?;
            }
            drop(input);
            child.wait_with_output()
        };
        let output = run();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(f64::NAN)
    }

    /// Removes one peer's routes.
    pub fn flush(table: &Table) -> Cost {
        let start = Start::now();
        table.remove_source(0);
        start.cost()
    }
}

/// The argument of the process for [`Peers::memory`].
pub const MEMORY: &str = "memory";

/// The main function of that process: reads the peers' routes from its input, and prints their memory.
pub fn print_memory() -> io::Result<()> {
    let mut octets = Vec::new();
    io::stdin().read_to_end(&mut octets)?;
    let before = resident();
    let table = Table::new(Profile::Fast, SHARDS);
    let mut words = octets.chunks_exact(4).map(|word| {
        let octets = word.try_into().expect("four octets");
        u32::from_ne_bytes(octets)
    });
    let (mut source, mut value) = (0, Vec::new());
    while let Some(mut left) = words.next() {
        while left > 0 {
            let [bits, len, count] = [(); 3].map(|()| words.next().expect("a whole route"));
            value.clear();
            value.extend(words.by_ref().take(count as usize));
            let prefix = Ipv4Prefix::new(bits, len as u8).expect("a length in range");
            table
                .insert(prefix, source, &value)
                .expect("values are short");
            left -= 3 + count;
        }
        source += 1;
    }
    let bytes = resident().saturating_sub(before) as f64;
    println!("{}", bytes / table.size().prefixes as f64);
    Ok(())
}

/// The nanoseconds of processor time of this thread.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// The resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
