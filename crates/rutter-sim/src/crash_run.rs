//! A run in which the server changes its configuration and its process, and dies at any moment of it.

use std::collections::BTreeMap;

use rutter_net::{Family, PerFamily, Prefix};
use rutter_session::{Input, ResetReason};

use crate::Random;
use crate::configuration::{Configuration, changed};
use crate::server::RESTART_TIME_S;
use crate::setup::Setup;
use crate::world::{World, prefix};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashOutcome {
    /// A hash of all received bytes, in order.
    pub digest: u64,
    /// The changes that went to their end.
    pub completed: u64,
    /// The changes in which the server died.
    pub crashed: u64,
    /// The deaths in the middle of a walk over the table.
    pub crashed_in_walk: u64,
    /// The hand-overs to another process.
    pub handed_over: u64,
    /// The hand-overs after which the old process went on.
    pub refused: u64,
    /// The hand-overs at a quiet moment, after which nothing was sent.
    pub unnoticed: u64,
    /// The number of times that a lagging client left the log.
    pub demotions: u64,
}

/// The changes of a run.
const ROUNDS: u64 = 4;
/// The longest deferral of a start. It is shorter than the restart time: until then clients keep the routes.
const DEFERRAL_MS: u64 = RESTART_TIME_S as u64 * 1_000 - 2_000;
/// The longest time until an exchange is quiet: stalls, hold times, restarts and attempts to connect in a row.
const QUIET_MS: u64 = 300_000;
/// The time after a hand-over in which nothing may be sent. Within it each side sends KEEPALIVEs.
const UNNOTICED_MS: u64 = 5_000;
/// The steps in which a moment must come in which the server can be held still.
const HOLD_ATTEMPTS: u64 = 400;
/// The prefixes of a large exchange: a walk over its table stops several times.
const MANY_PREFIXES: u64 = 5_000;

/// What a death leaves.
#[derive(Default)]
struct Disk {
    /// The configuration that a start reads.
    own_file: Configuration,
    /// The configurations that ran, the oldest first.
    history: Vec<Configuration>,
    /// The clients that keep the server's routes. It is written a while after it changes.
    kept: BTreeMap<u16, PerFamily<bool>>,
}

/// The server died.
struct Crashed;

/// What the world does to the server while it changes.
struct Fate {
    disk: Disk,
    /// The moments until it dies.
    dies_in: Option<u64>,
    /// Sessions flap, and members announce routes.
    faults: bool,
}

struct CrashRun {
    world: World,
    fate: Fate,
    seed: u64,
    outcome: CrashOutcome,
}

/// Runs a seed: reloads, applied and rolled back configurations and hand-overs, during which sessions flap, clients lag
/// and the server dies. `is_large`: the table is so large that it dies in the middle of a walk, too.
///
/// # Panics
/// If afterwards a client holds other routes than those of the configuration that a start reads. If a hand-over ends a
/// session or, at a quiet moment, sends an UPDATE.
pub fn run_with_crashes(seed: u64, is_large: bool) -> CrashOutcome {
    let mut run = CrashRun::new(seed, is_large);
    run.settle();
    for round in 0..ROUNDS {
        run.round(round);
    }
    run.outcome.digest = run.world.digest;
    run.outcome
}

impl Fate {
    /// One step of the world. It can be the last one of the server.
    fn moment(&mut self, world: &mut World) -> Result<(), Crashed> {
        if self.faults {
            disturb(world);
        }
        world.step();
        if world.random.once_in(4) {
            self.disk.kept.clone_from(&world.server.kept);
        }
        match &mut self.dies_in {
            Some(0) => return Err(Crashed),
            Some(moments) => *moments -= 1,
            None => {}
        }
        Ok(())
    }

    fn moments(&mut self, world: &mut World, most: u64) -> Result<(), Crashed> {
        for _ in 0..world.random.below(most) {
            self.moment(world)?;
        }
        Ok(())
    }
}

impl CrashRun {
    fn new(seed: u64, is_large: bool) -> Self {
        let mut random = Random::new(seed);
        let clients = if is_large { 4 } else { 2 + random.below(5) };
        let configuration = vec![Default::default(); clients as usize];
        let setup = Setup {
            is_fast: is_large || random.once_in(3),
            log_limit: if is_large { 16 << 20 } else { 400 },
            ..Setup::configured(&configuration)
        };
        let mut world = World::with(setup, random, seed);
        let prefixes = if is_large {
            MANY_PREFIXES
        } else {
            1 + world.random.below(40)
        };
        world.prefixes = (0..prefixes).map(prefix).collect();
        for client in &mut world.clients {
            client.keeps_stale = true;
            client.has_communities = is_large;
            for prefix in &world.prefixes {
                if !world.random.once_in(3) {
                    client.announce(*prefix, Some(1 + world.random.below(3) as u8));
                }
            }
        }
        let disk = Disk {
            own_file: configuration.clone(),
            history: vec![configuration],
            kept: BTreeMap::new(),
        };
        let fate = Fate {
            disk,
            dies_in: None,
            faults: false,
        };
        CrashRun {
            world,
            fate,
            seed,
            outcome: CrashOutcome::default(),
        }
    }

    /// One change, the death of the server or not, and the state that follows.
    fn round(&mut self, round: u64) {
        let random = &mut self.world.random;
        self.fate.faults = !random.once_in(3);
        self.fate.dies_in = random.once_in(2).then(|| random.below(80));
        let kind = random.below(6);
        let old = self.world.configuration.clone();
        let new = changed(&old, &self.world.prefixes, &mut self.world.random);
        let result = match kind {
            0 => self.reload(&new),
            1 => self.apply(&new),
            2 => self.try_out(&new, &old),
            3 => self.roll_back(),
            _ => self.hand_over(round),
        };
        match result {
            Ok(()) => self.outcome.completed += 1,
            Err(Crashed) => self.start_again(round),
        }
        self.fate.dies_in = None;
        let _ = self.fate.moments(&mut self.world, 60);
        self.settle();
        assert_eq!(self.world.configuration, self.fate.disk.own_file);
    }

    /// The operator changed the file.
    fn reload(&mut self, new: &Configuration) -> Result<(), Crashed> {
        self.fate.disk.own_file = new.clone();
        self.fate.moments(&mut self.world, 30)?;
        self.put_in_force(new)?;
        self.fate.disk.history.push(new.clone());
        self.fate.moments(&mut self.world, 60)
    }

    /// The server replaces its file.
    fn apply(&mut self, new: &Configuration) -> Result<(), Crashed> {
        self.fate.moments(&mut self.world, 30)?;
        self.fate.disk.own_file = new.clone();
        self.put_in_force(new)?;
        self.fate.disk.history.push(new.clone());
        self.fate.moments(&mut self.world, 60)
    }

    /// The server replaces its file only when somebody confirms the change.
    fn try_out(&mut self, new: &Configuration, old: &Configuration) -> Result<(), Crashed> {
        self.put_in_force(new)?;
        self.fate.disk.history.push(new.clone());
        self.fate.moments(&mut self.world, 80)?;
        if self.world.random.once_in(2) {
            self.fate.disk.own_file = new.clone();
        } else {
            self.put_in_force(old)?;
            self.fate.disk.history.push(old.clone());
        }
        self.fate.moments(&mut self.world, 60)
    }

    fn roll_back(&mut self) -> Result<(), Crashed> {
        let before = self.fate.disk.history.iter().rev().nth(1);
        match before.cloned() {
            Some(before) => self.apply(&before),
            None => Ok(()),
        }
    }

    fn put_in_force(&mut self, new: &Configuration) -> Result<(), Crashed> {
        let CrashRun {
            world,
            fate,
            outcome,
            ..
        } = self;
        let mut result = Ok(());
        world.put_in_force(new, |world| pause(world, fate, &mut result));
        outcome.crashed_in_walk += u64::from(result.is_err());
        result
    }

    /// One or several hand-overs in a row.
    fn hand_over(&mut self, round: u64) -> Result<(), Crashed> {
        for _ in 0..1 + self.world.random.below(3) {
            self.fate.moments(&mut self.world, 30)?;
            let seed = self.seed ^ round << 40;
            self.hand_over_once(seed)?;
        }
        self.fate.moments(&mut self.world, 60)
    }

    fn hand_over_once(&mut self, seed: u64) -> Result<(), Crashed> {
        let CrashRun {
            world,
            fate,
            outcome,
            ..
        } = self;
        let mut held = None;
        for _ in 0..HOLD_ATTEMPTS {
            fate.moment(world)?;
            held = world.hold_server();
            if held.is_some() {
                break;
            }
        }
        let Some(records) = held else {
            return Ok(());
        };
        if world.random.once_in(4) {
            let len = records.table_len() as u64;
            let cut = records.cut(world.random.below(len) as usize);
            assert!(world.refuses(&cut, seed), "a part of the table is refused");
            outcome.refused += 1;
            return Ok(());
        }
        let is_quiet = world.is_quiet() && world.has_arrived() && world.differences().is_empty();
        let before = take_received(world);
        let shards = 1 + world.random.below(4) as usize;
        let mut result = Ok(());
        world.go_on_with(&records, shards, seed, |world| {
            pause(world, fate, &mut result);
        });
        outcome.handed_over += 1;
        outcome.crashed_in_walk += u64::from(result.is_err());
        result?;
        if is_quiet && !fate.faults {
            let until_ms = world.now_ms + UNNOTICED_MS;
            while world.now_ms < until_ms {
                fate.moment(world)?;
                let now = take_received(world);
                assert_eq!(now.0, before.0, "seed {}: a session ended", self.seed);
                assert_eq!(now.1, 0, "seed {}: an UPDATE that is no change", self.seed);
            }
            outcome.unnoticed += 1;
        }
        Ok(())
    }

    /// The process is gone. Another one starts with what is on the disk.
    fn start_again(&mut self, round: u64) {
        self.outcome.crashed += 1;
        let disk = &mut self.fate.disk;
        if disk.history.last() != Some(&disk.own_file) {
            disk.history.push(disk.own_file.clone());
        }
        let setup = Setup {
            log_limit: self.world.log_limit,
            ..Setup::configured(&disk.own_file)
        };
        let seed = self.seed ^ round << 32;
        let kept = disk.kept.clone();
        self.world.start_server(setup, kept, DEFERRAL_MS, seed);
    }

    /// Lets time pass until every client holds exactly its routes.
    fn settle(&mut self) {
        let world = &mut self.world;
        let from_ms = world.now_ms;
        self.outcome.demotions += world.server.rib.demotions();
        while !(world.is_quiet() && world.has_arrived() && world.differences().is_empty()) {
            world.step();
            assert!(
                world.now_ms < from_ms + QUIET_MS,
                "seed {}: {:?}\n{:?}\n{}",
                self.seed,
                world.differences(),
                world.configuration,
                world.describe()
            );
        }
        self.fate.disk.kept.clone_from(&world.server.kept);
    }
}

/// The world goes on in the middle of a walk over the table, until the server dies.
fn pause(world: &mut World, fate: &mut Fate, result: &mut Result<(), Crashed>) {
    if result.is_ok() {
        *result = fate.moments(world, 60);
    }
}

/// The numbers of the clients' sessions, and that of the changes of routes that they received since the last call.
fn take_received(world: &mut World) -> (Vec<u64>, usize) {
    let clients = world.clients.iter_mut();
    let taken = clients.map(|client| (client.sessions, client.held.take_received().len()));
    let (sessions, received): (Vec<u64>, Vec<usize>) = taken.unzip();
    (sessions, received.iter().sum())
}

/// A fault or a change of routes, or none.
fn disturb(world: &mut World) {
    let index = world.random.below(world.clients.len() as u64) as u16;
    match world.random.below(40) {
        0..=9 => {
            let _: Prefix = world.change_announcement(index);
        }
        10 => world.reset_connection(),
        11 => world.restart(index),
        12 => {
            let reason = ResetReason::Administrative;
            let text = "maintenance";
            world.server_input(index, Input::Reset { reason, text });
        }
        13 => world.stall(),
        14 => {
            let family = Family::ALL[world.random.below(2) as usize];
            world.client_input(index, Input::RequestRefresh { family });
        }
        15 => {
            let family = Family::ALL[world.random.below(2) as usize];
            world.server_input(index, Input::RequestRefresh { family });
        }
        _ => {}
    }
}
