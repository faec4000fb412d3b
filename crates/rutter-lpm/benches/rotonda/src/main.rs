//! The insertion and the concurrent benchmark of routes on rotonda-store: one round, then one line a figure,
//! `VALUE UNIT`.
//!
//! The store has no choice of shards, no shared values, and never frees memory: a withdrawn route stays,
//! marked.

#[path = "../../routes/numbers.rs"]
mod numbers;
#[path = "../../routes/workload.rs"]
#[allow(dead_code, reason = "there are no shards to choose")]
mod workload;

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use inetnum::addr::Prefix;
use numbers::Pcg;
use rotonda_store::match_options::{IncludeHistory, MatchOptions, MatchType};
use rotonda_store::prefix_record::{Meta, Record, RouteStatus};
use rotonda_store::rib::StarCastRib;
use rotonda_store::rib::config::MemoryOnlyConfig;
use workload::{A_PEER, AsPaths, LIVE, PEERS, READERS, Route, TARGETS, WRITERS, routes};

type Store = StarCastRib<Words, MemoryOnlyConfig>;

/// The value of a route. Look-ups copy it, so it is shared.
#[derive(Clone, Debug)]
struct Words(Arc<[u8]>);

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Words {
    fn from(octets: Vec<u8>) -> Self {
        Words(octets.into())
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.0.len())
    }
}

impl Meta for Words {
    type Orderable<'a> = &'a [u8];
    type TBI = ();

    fn as_orderable(&self, (): ()) -> &[u8] {
        &self.0
    }
}

/// A route in the form of the store.
struct Prepared {
    prefix: Prefix,
    octets: Vec<u8>,
}

fn prepare(routes: &[Route], host: u32) -> Vec<Prepared> {
    let each = routes.iter().map(|route| Prepared {
        prefix: prefix(route),
        octets: route
            .value(0xc633_6400 | host)
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect(),
    });
    each.collect()
}

fn prefix(route: &Route) -> Prefix {
    Prefix::new(route.prefix.addr().into(), route.prefix.len()).expect("a length in range")
}

fn add(store: &Store, source: u32, time: u64, route: &Prepared) {
    let words = Words(route.octets.as_slice().into());
    let record = Record::new(source, time, RouteStatus::Active, words);
    store
        .insert(&route.prefix, record, None)
        .expect("the store takes every route");
}

fn main() {
    let paths = AsPaths::new();
    workload::check(&paths);
    insertion(&paths);
    concurrent(&paths);
}

fn insertion(paths: &AsPaths) {
    let mut prefixes = Pcg::new(10, 10);
    let peers: Vec<_> = (0..PEERS as u64)
        .map(|p| {
            let mut rest = Pcg::new(p, p);
            let mut all = routes(&mut prefixes, &mut rest, paths, A_PEER);
            all.retain(|_| rest.below(10) != 0);
            prepare(&all, p as u32 + 1)
        })
        .collect();
    let before = resident();
    let start = Instant::now();
    let store = Store::try_default().expect("a store in memory");
    for (p, peer) in peers.iter().enumerate() {
        peer.iter().for_each(|route| add(&store, p as u32, 1, route));
    }
    let ns = start.elapsed().as_nanos() as f64;
    let count: usize = peers.iter().map(Vec::len).sum();
    println!("{} ns/route", ns / count as f64);
    let bytes = resident().saturating_sub(before) as f64;
    println!("{} bytes/route", bytes / store.prefixes_count().total() as f64);
    let start = Instant::now();
    store.mark_mui_as_withdrawn(0).expect("the peer is known");
    println!("{} ms/op", start.elapsed().as_secs_f64() * 1e3);
}

fn concurrent(paths: &AsPaths) {
    let size = LIVE / WRITERS * 5 / 4;
    let pools: Vec<_> = (0..WRITERS as u64)
        .map(|w| {
            let [mut a, mut b] = [w * 2 + 100, w * 2 + 101].map(|seed| Pcg::new(seed, seed));
            prepare(&routes(&mut a, &mut b, paths, size), w as u32 + 1)
        })
        .collect();
    let (mut a, mut b) = (Pcg::new(999, 999), Pcg::new(1000, 1000));
    let targets = routes(&mut a, &mut b, paths, TARGETS);
    let host = |route: &Route| Prefix::new(route.prefix.addr().into(), 32).expect("a host");
    let targets: Vec<Prefix> = targets.iter().map(host).collect();
    let store = Store::try_default().expect("a store in memory");
    thread::scope(|scope| {
        for (w, pool) in pools.iter().enumerate() {
            let store = &store;
            let live = &pool[..LIVE / WRITERS];
            scope.spawn(move || live.iter().for_each(|route| add(store, w as u32, 1, route)));
        }
    });
    let done = AtomicBool::new(false);
    let (reads, writes) = thread::scope(|scope| {
        let write = |w: usize| {
            let (store, pool) = (&store, &pools[w]);
            scope.spawn(move || churn(store, w as u32, pool))
        };
        let read = |r: usize| {
            let (store, targets, done) = (&store, &targets, &done);
            scope.spawn(move || look_up(store, targets, r * TARGETS / READERS, done))
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let readers: Vec<_> = (0..READERS).map(read).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, _>| handle.join().expect("no panic");
        let writes = mean(writers.into_iter().map(join));
        done.store(true, Ordering::Relaxed);
        (mean(readers.into_iter().map(join)), writes)
    });
    println!("{reads} ns/read\n{writes} ns/write");
}

fn mean(each: impl Iterator<Item = (f64, u64)>) -> f64 {
    let (ns, count) = each.fold((0.0, 0), |(ns, n), (more, count)| (ns + more, n + count));
    ns / count as f64
}

/// The same draws from the same generator as in our own benchmark.
fn churn(store: &Store, w: u32, pool: &[Prepared]) -> (f64, u64) {
    let mut numbers = Pcg::new(u64::from(w) + 1000, u64::from(w) + 1000);
    let mut order: Vec<usize> = (0..pool.len()).collect();
    let mut live = LIVE / WRITERS;
    let (mut count, mut time) = (0, 1);
    let start = Instant::now();
    for _ in 0..LIVE / WRITERS {
        let roll = numbers.below(10);
        time += 1;
        if roll < 2 && live > 0 {
            let at = numbers.below(live as u32) as usize;
            let prefix = &pool[order[at]].prefix;
            // Two draws of one prefix are one route, which may be withdrawn already.
            let _ = store.mark_mui_as_withdrawn_for_prefix(prefix, w, time);
            live -= 1;
            order.swap(at, live);
        } else if roll < 4 && live < pool.len() || live == 0 {
            add(store, w, time, &pool[order[live]]);
            live += 1;
        } else {
            let at = numbers.below(live as u32) as usize;
            add(store, w, time, &pool[order[at]]);
        }
        count += 1;
    }
    (start.elapsed().as_nanos() as f64, count)
}

fn look_up(store: &Store, targets: &[Prefix], offset: usize, done: &AtomicBool) -> (f64, u64) {
    let options = MatchOptions {
        match_type: MatchType::LongestMatch,
        include_withdrawn: false,
        include_less_specifics: false,
        include_more_specifics: false,
        mui: None,
        include_history: IncludeHistory::None,
    };
    let mut count = 0;
    let start = Instant::now();
    let mut targets = targets.iter().cycle().skip(offset);
    while !done.load(Ordering::Relaxed) {
        let Some(target) = targets.next() else { break };
        let guard = rotonda_store::epoch::pin();
        if let Ok(found) = store.match_prefix(target, &options, &guard) {
            // No route has this next hop, as in the original.
            let wanted = |record: &&Record<Words>| record.meta.0[4..8] == [0; 4];
            let chosen = found.records.iter().find(wanted);
            black_box((found.prefix, chosen.or(found.records.first())));
        }
        count += 1;
    }
    (start.elapsed().as_nanos() as f64, count)
}

/// The resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
