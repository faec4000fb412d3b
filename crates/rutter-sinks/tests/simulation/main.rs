//! Spool, spooler, state and writer with faults drawn from a seed. Whatever is killed at any time, no promised
//! row is lost and no row is stored twice. Without further faults, the current routes become exact.
//!
//! `SEED=7 cargo test -p rutter-sinks --test simulation` runs one seed, `SEEDS=1000` that many.

mod database;
mod disk;
mod full_disk;
mod spool_damage;
mod store_loss;
#[path = "../world/mod.rs"]
mod world;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use parking_lot::Mutex;
use rutter_bench::rng::Rng;
use rutter_events::Now;
use rutter_sinks::*;

use database::Database;
use disk::Disk;
use world::World;

#[derive(Clone)]
struct SimClock(Rc<Cell<Now>>);

impl Clock for SimClock {
    fn now(&self) -> Now {
        self.0.get()
    }
}

/// The process: everything that a kill takes away.
struct Collector {
    world: World,
    spooler: FeedSpooler,
    writer: Writer<Database>,
    status: Status,
    spool: Mutex<Spool<Disk>>,
}

/// The parts that outlive the process.
struct Simulation {
    rng: Rng,
    clock: SimClock,
    disk: Disk,
    database: Database,
    limit: u64,
    /// The actions of the peers in each run.
    logs: BTreeMap<u64, Vec<String>>,
    kills: u32,
    hand_overs: u32,
}

const PEERS: usize = 5;

impl Simulation {
    fn new(seed: u64) -> Self {
        let rng = Rng::new(seed);
        let start = Now {
            unix_us: 1_795_000_000_000_000,
            monotonic_us: 0,
        };
        Self {
            database: Database::new(rng.fork(1)),
            clock: SimClock(Rc::new(Cell::new(start))),
            disk: Disk::default(),
            limit: 24 << 10,
            logs: BTreeMap::new(),
            kills: 0,
            hand_overs: 0,
            rng,
        }
    }

    fn start(&self) -> Collector {
        let world = World::new(PEERS, self.clock.now().unix_us);
        let spool = Spool::open(self.disk.clone(), self.limit).expect("the spool opens");
        let spooler = FeedSpooler::new(world.rib.clone(), "sim", &spool, &self.clock);
        self.collector(world, spool, spooler)
    }

    /// Another process goes on with the same table and in the same run. While rows are dropped it cannot.
    fn hand_over(&mut self, mut collector: Collector) -> Collector {
        let spool = collector.spool.get_mut();
        let Ok(end) = collector.spooler.store_all(spool, &self.clock) else {
            return collector;
        };
        self.hand_overs += 1;
        let world = collector.world;
        let spool = Spool::open(self.disk.clone(), self.limit).expect("the spool opens");
        assert_eq!(spool.end(), Some(end));
        let feed = world.rib.subscribe(1 << 16);
        let spooler = FeedSpooler::continued(world.rib.clone(), "sim", feed, end, &self.clock);
        self.collector(world, spool, spooler)
    }

    fn collector(&self, world: World, spool: Spool<Disk>, spooler: FeedSpooler) -> Collector {
        let limits = Limits {
            batch_rows: 50,
            // Small enough that peers are loaded from the table, too.
            defer_from: 40,
            ..Limits::default()
        };
        let status = Status::default();
        let database = self.database.clone();
        let writer = Writer::new(database, spooler.run(), limits, status.clone());
        Collector {
            world,
            spooler,
            writer,
            status,
            spool: Mutex::new(spool),
        }
    }

    /// Advances the time; now and then the clock is set.
    fn pass(&mut self) {
        let mut now = self.clock.now();
        let us = self.rng.between(1, 400_000);
        now.monotonic_us += us;
        now.unix_us += us;
        if self.rng.chance(1) {
            let most_us = if self.rng.chance(30) {
                7_200_000_000
            } else {
                50_000_000
            };
            now.unix_us = now.unix_us + most_us - self.rng.below(2 * most_us);
        }
        self.clock.0.set(now);
    }

    fn draw_faults(&mut self) {
        let drawn = self.rng.below(100);
        let mut server = self.database.server.borrow_mut();
        match drawn {
            0..=1 => server.away = !server.away,
            2..=3 => server.faults = if server.faults == 0 { 20 } else { 0 },
            4 => self.disk.fail_appends(1 + (drawn as u32 % 3)),
            _ => {}
        }
    }

    /// Kills the collector, or cuts the power of its machine.
    fn kill(&mut self, collector: Collector) {
        self.kills += 1;
        self.logs
            .insert(collector.spooler.run(), collector.world.log);
        if self.rng.chance(50) {
            self.disk.lose_power(&mut self.rng);
        }
    }

    /// Stops the collector as an operator does.
    fn stop(&mut self, mut collector: Collector) {
        let spool = collector.spool.get_mut();
        collector.spooler.stop(spool, &self.clock);
        self.logs
            .insert(collector.spooler.run(), collector.world.log);
    }

    fn turn(&mut self, collector: &mut Collector) {
        self.pass();
        collector.world.now_us = self.clock.now().unix_us;
        for _ in 0..self.rng.below(30) {
            collector.world.act(&mut self.rng);
        }
        if self.rng.chance(70) {
            self.spool_events(collector);
        }
        if self.rng.chance(5) {
            collector.spool.lock().sync().expect("the disk syncs");
        }
        if self.rng.chance(60) {
            self.write_rows(collector);
        }
    }

    fn spool_events(&self, collector: &mut Collector) {
        collector.spooler.read_feed(Duration::ZERO, &self.clock);
        collector
            .spooler
            .store(&mut collector.spool.lock(), &self.clock);
    }

    fn write_rows(&self, collector: &mut Collector) -> Step {
        let source = TableSource(collector.world.rib.clone());
        let now_us = self.clock.now().unix_us;
        let step = collector.writer.step(now_us, &collector.spool, &source);
        if let Step::StartOver(why) = &step {
            collector.spooler.start_over(why);
        }
        step
    }

    /// Ends all faults: everything must become right.
    fn quiet(&mut self, collector: &mut Collector) {
        {
            let mut server = self.database.server.borrow_mut();
            (server.away, server.faults) = (false, 0);
        }
        self.disk.fail_appends(0);
        let mut idle = 0;
        for _ in 0..10_000 {
            self.pass();
            self.spool_events(collector);
            idle = match self.write_rows(collector) {
                Step::Idle => idle + 1,
                _ => 0,
            };
            if idle == 3 && collector.spooler.drop_reason().is_none() {
                return;
            }
        }
        let (trouble, bytes) = (
            collector.spooler.drop_reason(),
            collector.spool.lock().bytes(),
        );
        panic!("it does not come to rest: idle {idle}, {trouble:?}, {bytes} bytes wait");
    }

    fn check(&self, collector: &Collector) {
        let mut logs = self.logs.clone();
        logs.insert(collector.spooler.run(), collector.world.log.clone());
        let server = self.database.server.borrow();
        let tables = &server.tables;
        same(&tables.routes, &collector.world.routes);
        let numbers: BTreeSet<_> = tables.events.iter().map(|e| (e.0, e.1)).collect();
        assert_eq!(numbers.len(), tables.events.len(), "each row once");
        let rows = |p: disk::Promise| p.seqs.map(move |seq| (p.run, seq));
        let promised = self.disk.promised().into_iter().flat_map(rows);
        let lost: Vec<_> = promised.filter(|row| !numbers.contains(row)).collect();
        assert!(lost.is_empty(), "promised and lost: {lost:?}");
        for (run, log) in &logs {
            check_run(tables, *run, log);
        }
    }
}

fn same(stored: &BTreeMap<world::Key, String>, expected: &BTreeMap<world::Key, String>) {
    let only = |a: &BTreeMap<_, String>, b: &BTreeMap<_, String>| -> Vec<_> {
        let differs = |(key, path): &(&world::Key, &String)| b.get(*key) != Some(*path);
        a.iter()
            .filter(differs)
            .map(|(key, path)| (*key, path.clone()))
            .collect()
    };
    let (stored, expected) = (only(stored, expected), only(expected, stored));
    assert!(
        stored.is_empty() && expected.is_empty(),
        "stored: {stored:?}\nexpected: {expected:?}"
    );
}

/// Checks that the rows of a run are the actions of the peers, in order. A gap must come first after missing
/// numbers, with the right bounds.
fn check_run(tables: &database::Tables, run: u64, log: &[String]) {
    let own = ["start", "stop", "gap", "clock-step"];
    let mut log = log.iter();
    let (mut expected, mut hole) = (0, None);
    let rows = tables.events.iter().filter(|event| event.0 == run);
    for (_, seq, text) in rows {
        if *seq != expected {
            hole = Some(expected..*seq);
        }
        expected = seq + 1;
        if text == "gap" {
            check_bounds(&tables.gaps[&(run, *seq)], hole.take());
        }
        assert!(
            hole.is_none() || text == "clock-step",
            "row {seq} behind {hole:?}: {text}"
        );
        if own.contains(&text.as_str()) {
            continue;
        }
        let same = |logged: &&String| {
            **logged == *text || logged.ends_with('?') && same_peer(logged, text)
        };
        assert!(
            log.by_ref().any(|logged| same(&logged)),
            "{text} did not happen then"
        );
    }
}

/// Checks the missing rows that a gap names.
fn check_bounds(detail: &str, hole: Option<std::ops::Range<u64>>) {
    let words: Vec<&str> = detail.split(' ').collect();
    if let (["rows", first, "to", last, ..], Some(hole)) = (&words[..], hole) {
        let logged = [*first, last.trim_end_matches(',')].map(|number| number.parse());
        assert_eq!(logged, [Ok(hole.start), Ok(hole.end - 1)], "{detail}");
    }
}

/// The order of swept routes is not specified.
fn same_peer(logged: &str, text: &str) -> bool {
    let words = |text: &str| {
        text.split(' ')
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    words(logged) == words(text)
}

/// Some hours of one sink.
fn run(seed: u64) -> ([u32; 2], usize) {
    let mut simulation = Simulation::new(seed);
    let mut collector = simulation.start();
    let turns = simulation.rng.between(50, 600);
    for _ in 0..turns {
        simulation.draw_faults();
        simulation.turn(&mut collector);
        if simulation.rng.chance(2) {
            simulation.kill(collector);
            collector = simulation.start();
        } else if simulation.rng.chance(1) {
            simulation.stop(collector);
            collector = simulation.start();
        } else if simulation.rng.chance(3) {
            collector = simulation.hand_over(collector);
        }
    }
    simulation.quiet(&mut collector);
    simulation.check(&collector);
    let events = simulation.database.server.borrow().tables.events.len();
    ([simulation.kills, simulation.hand_overs], events)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_promised_row_is_lost_and_none_is_stored_twice() {
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SEEDS").unwrap_or(60),
    };
    let (mut kills, mut hand_overs, mut events) = (0, 0, 0);
    for seed in seeds {
        let ran = std::panic::catch_unwind(|| run(seed));
        let ([killed, handed_over], stored) = ran.unwrap_or_else(|why| {
            eprintln!("SEED={seed} cargo test -p rutter-sinks --test simulation");
            std::panic::resume_unwind(why)
        });
        (kills, hand_overs) = (kills + killed, hand_overs + handed_over);
        events += stored;
    }
    println!("{kills} kills, {hand_overs} hand-overs, {events} rows");
    assert!(
        kills > 0 && hand_overs > 0 || number("SEED").is_some(),
        "no faults were drawn"
    );
}

#[test]
fn the_same_seed_does_the_same() {
    assert_eq!(run(3), run(3));
}

/// The database is away, the spool is full, and the collector is stopped. The missing rows are recorded, and
/// the stop was clean.
#[test]
fn a_run_that_ends_with_a_full_spool_records_a_gap() {
    let mut simulation = Simulation::new(7);
    simulation.database.server.borrow_mut().away = true;
    let mut collector = simulation.start();
    let mut after = 0;
    while after < 20 {
        simulation.pass();
        collector.world.now_us = simulation.clock.now().unix_us;
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(&mut collector);
        after += u32::from(collector.spooler.drop_reason().is_some());
    }
    let run = collector.spooler.run();
    simulation.stop(collector);
    let mut next = simulation.start();
    simulation.quiet(&mut next);
    simulation.check(&next);
    let server = simulation.database.server.borrow();
    let own = server.tables.events.iter().filter(|event| event.0 == run);
    let logged: Vec<&str> = own.map(|event| event.2.as_str()).collect();
    assert_eq!(logged[logged.len() - 2..], ["gap", "stop"]);
}

/// The status of a collector that has just started does not claim that the database has everything.
#[test]
fn rows_of_earlier_runs_wait_until_they_are_committed() {
    let mut simulation = Simulation::new(13);
    simulation.limit = 1 << 20;
    simulation.database.server.borrow_mut().away = true;
    let mut collector = simulation.start();
    let began_us = simulation.clock.now().unix_us;
    for _ in 0..20 {
        simulation.pass();
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(&mut collector);
    }
    let left = collector.spool.lock().end().expect("rows").next_seq;
    simulation.stop(collector);
    let mut now = simulation.clock.now();
    now.unix_us = began_us + 3_600_000_000;
    simulation.clock.0.set(now);
    let mut next = simulation.start();
    let clock = simulation.clock.clone();
    let row = |collector: &Collector| {
        let spool = collector.spool.lock();
        let now_us = clock.now().unix_us;
        collector.status.note(&collector.spooler, &spool, now_us);
        collector.status.view().row()
    };
    // The `stop` row counts, too.
    let at_first = row(&next);
    assert_eq!((at_first.earlier, at_first.spooled), (left + 1, 0));
    assert_eq!(at_first.pending(), left + 1);
    assert_eq!(at_first.behind_s, 3_600);
    simulation.quiet(&mut next);
    let at_last = row(&next);
    assert!(at_last.spooled > 0);
    assert_eq!((at_last.earlier, at_last.pending()), (0, 0));
    assert_eq!((at_last.behind_s, at_last.state.as_str()), (0, "live"));
}

/// Its own rows fill the disk. Committing them makes room for the next run.
#[test]
fn a_drained_spool_makes_room_for_the_next_run() {
    let mut simulation = Simulation::new(14);
    // All rows are in one segment.
    simulation.limit = 1 << 30;
    simulation.database.server.borrow_mut().away = true;
    let mut collector = simulation.start();
    for _ in 0..20 {
        simulation.pass();
        collector.world.now_us = simulation.clock.now().unix_us;
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(&mut collector);
    }
    collector.spool.lock().sync().expect("the disk syncs");
    simulation.kill(collector);
    simulation.disk.fill();
    simulation.pass();
    let mut next = simulation.start();
    simulation.spool_events(&mut next);
    assert!(next.spooler.drop_reason().is_some(), "the disk is full");
    simulation.quiet(&mut next);
    simulation.check(&next);
    // The kept block identifies the run for the next one.
    let run = next.spooler.run();
    simulation.kill(next);
    assert!(simulation.start().spooler.run() > run);
}

/// All events that wait in the feed at the stop belong to the run, however many they are.
#[test]
fn a_run_that_ends_spools_all_waiting_events() {
    let mut simulation = Simulation::new(9);
    simulation.limit = 1 << 30;
    let mut collector = simulation.start();
    collector.world.now_us = simulation.clock.now().unix_us;
    // Many full blocks.
    (0..40_000).for_each(|_| collector.world.act(&mut simulation.rng));
    let (run, logged) = (collector.spooler.run(), collector.world.log.len());
    simulation.stop(collector);
    let mut next = simulation.start();
    simulation.quiet(&mut next);
    simulation.check(&next);
    let server = simulation.database.server.borrow();
    let own = server.tables.events.iter().filter(|event| event.0 == run);
    // Between `start` and `stop`.
    assert_eq!(own.count(), logged + 2);
}
