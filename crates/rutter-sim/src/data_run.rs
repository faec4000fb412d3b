//! Runs in which outside data change while sessions flap.

use std::sync::Arc;

use rutter_net::Prefix;
use rutter_policy::{ImportPolicy, OutsideData};
use rutter_session::{Input, ResetReason};

use crate::Random;
use crate::data_model::{Announced, DataModel};
use crate::random_data::RandomData;
use crate::round_check::RoundCheck;
use crate::setup::{Setup, TREATMENTS};
use crate::world::{World, prefix};

/// The result of a run with changing data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataOutcome {
    /// A hash of all received bytes, in order.
    pub digest: u64,
    /// The number of sessions that were established, over all clients.
    pub sessions: u64,
    /// The number of changes of the data.
    pub changes: u64,
    /// The number of prefixes in UPDATEs that were compared with the expected differences.
    pub checked: u64,
    /// The number of times that the exchange continued in the middle of a change.
    pub interruptions: u64,
}

/// An exchange, its data and its reference model.
struct DataRun {
    world: World,
    model: DataModel,
    source: RandomData,
    data: Arc<OutsideData>,
    outcome: DataOutcome,
}

/// The longest time until an exchange is quiet: stalls, hold times, restarts and attempts to connect in a row.
const QUIET_MS: u64 = 200_000;

/// The number of prefixes of a large exchange. A change of all routes then fills the log enough to wake writers, so
/// the table calls back in the middle of it.
const MANY_PREFIXES: u64 = 5_000;

/// Runs a seed: an exchange of members with different import policies, and outside data that change while members
/// announce routes, flap, restart gracefully and stall. `is_large`: the table is so large that the exchange continues
/// in the middle of a change.
///
/// # Panics
/// If a client receives a ROUTE-REFRESH, or an UPDATE for a prefix whose best route for it has the same verdict and
/// class as before. If a client does not hold the routes of the reference model at a quiet moment.
pub fn run_with_changing_data(seed: u64, is_large: bool) -> DataOutcome {
    let mut run = DataRun::new(seed, is_large);
    let rounds = if is_large { 4 } else { 12 };
    for round in 0..rounds {
        run.round(round, is_large);
    }
    run.settle(None);
    run.compare();
    DataOutcome {
        digest: run.world.digest,
        sessions: run.world.sessions,
        ..run.outcome
    }
}

impl DataRun {
    fn new(seed: u64, is_large: bool) -> Self {
        let mut random = Random::new(seed);
        let (treatments, prefixes) = match is_large {
            true => (vec![1, 1, 5, 0], MANY_PREFIXES),
            false => {
                let clients = 2 + random.below(5);
                let treatments = (0..clients).map(|_| random.below(TREATMENTS));
                (treatments.collect(), 1 + random.below(30))
            }
        };
        let log_limit = match is_large || random.once_in(2) {
            true => 16 << 20,
            false => 400,
        };
        let setup = Setup {
            is_fast: is_large,
            ..Setup::with_checks(&treatments, log_limit)
        };
        let policies = setup.imports.iter().cloned().map(ImportPolicy::new);
        let model = DataModel::new(policies.collect());
        let prefixes: Vec<Prefix> = (0..prefixes).map(prefix).collect();
        let mut source = RandomData::new(prefixes.clone(), treatments.len() as u16);
        source.fill(20, &mut random);
        let mut world = World::with(setup, random, seed);
        world.prefixes = prefixes;
        for client in &mut world.clients {
            client.has_communities = is_large;
        }
        let mut run = DataRun {
            world,
            model,
            source,
            data: Arc::default(),
            outcome: DataOutcome::default(),
        };
        run.announce_first_routes();
        run
    }

    /// Two thirds of all possible routes.
    fn announce_first_routes(&mut self) {
        let world = &mut self.world;
        for client in &mut world.clients {
            for prefix in &world.prefixes {
                if !world.random.once_in(3) {
                    let path_len = 1 + world.random.below(3) as u8;
                    client.announce(*prefix, Some(path_len));
                }
            }
        }
    }

    /// From one quiet moment until everything has happened that follows from the changes after it.
    fn round(&mut self, round: u64, is_large: bool) {
        self.settle(None);
        self.compare();
        let base = self.announced();
        let tables = self.model.tables(&base, &self.data);
        let mut check = RoundCheck::new(&mut self.world, tables);
        // Every third round has changes of data alone: then no prefix is exempt.
        let faults = !round.is_multiple_of(3);
        let changes = 1 + self.world.random.below(3);
        for _ in 0..changes {
            for _ in 0..self.world.random.below(12) {
                if faults && !is_large {
                    disturb(&mut self.world, &mut check);
                }
                self.world.step();
                check.check(&mut self.world);
            }
            match is_large {
                true => self.source.come_or_go(0),
                false => self.source.change(&mut self.world.random),
            }
            self.change_data(&mut check, &base, faults);
        }
        self.settle(Some(&mut check));
        self.outcome.checked += check.checked;
    }

    /// Applies the present state of the source. The exchange continues whenever the table calls back.
    fn change_data(&mut self, check: &mut RoundCheck, base: &[Announced], faults: bool) {
        let data = Arc::new(self.source.build());
        check.change_data(self.model.tables(base, &data));
        let former = std::mem::replace(&mut self.data, Arc::clone(&data));
        self.outcome.changes += 1;
        let (world, outcome) = (&mut self.world, &mut self.outcome);
        let rib = Arc::clone(&world.server.rib);
        let edits = rib.changes();
        rib.replace_outside_data(data, || {
            outcome.interruptions += 1;
            for _ in 0..1 + world.random.below(60) {
                if faults {
                    disturb(world, check);
                }
                world.step();
                check.check(world);
            }
        });
        rib.flush();
        if !faults {
            // The change feed passes on each edit, so a route whose verdict stays must not count as edited.
            let expected = self.model.differences(base, &former, &self.data);
            assert_eq!(rib.changes() - edits, expected, "edited routes");
        }
    }

    fn announced(&self) -> Vec<Announced> {
        let clients = self.world.clients.iter();
        clients.map(|client| client.announced.clone()).collect()
    }

    /// Steps until all sessions are established and everything is sent and received.
    fn settle(&mut self, mut check: Option<&mut RoundCheck>) {
        let world = &mut self.world;
        let until = world.now_ms + QUIET_MS;
        loop {
            world.step();
            if let Some(check) = &mut check {
                check.check(world);
            }
            if world.is_quiet() && world.has_arrived() {
                return;
            }
            assert!(world.now_ms < until, "not quiet:\n{}", world.describe());
        }
    }

    /// Compares the routes of all clients with the reference model.
    fn compare(&self) {
        let expected = self.model.tables(&self.announced(), &self.data);
        for (client, expected) in self.world.clients.iter().zip(&expected) {
            let held = client.held.routes();
            let prefixes = held.keys().chain(expected.keys());
            for prefix in prefixes {
                let (held, expected) = (held.get(prefix), expected.get(prefix));
                assert_eq!(held, expected, "client {} has {prefix}", client.index);
            }
        }
        let unmarked = self.world.server.rib.unmarked_verdicts();
        assert_eq!(unmarked, 0, "verdicts without a place for their class");
    }
}

/// A fault or a change of routes, or none.
fn disturb(world: &mut World, check: &mut RoundCheck) {
    let index = world.random.below(world.clients.len() as u64) as u16;
    match world.random.below(30) {
        0..=9 => {
            let prefix = world.change_announcement(index);
            check.touch(prefix);
        }
        10 => world.reset_connection(),
        11 => world.restart(index),
        12 => {
            let reason = ResetReason::Administrative;
            let text = "maintenance";
            world.server_input(index, Input::Reset { reason, text });
        }
        13 => world.stall(),
        _ => {}
    }
}
