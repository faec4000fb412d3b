//! A run in which the server restarts again and again, while clients come back in any order, late, changed or never.

use std::collections::BTreeSet;

use rutter_net::Prefix;
use rutter_session::{Input, ResetReason};

use crate::Random;
use crate::server::RESTART_TIME_S;
use crate::setup::Setup;
use crate::world::{World, prefix};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestartOutcome {
    /// A hash of all received bytes, in order.
    pub digest: u64,
    /// The samples of routes at clients, over all restarts.
    pub samples: u64,
    /// The restarts whose deferral ended because its time was over.
    pub timed_out: u64,
    /// The restarts whose deferral ended before.
    pub complete: u64,
}

/// The way in which a client comes back after a restart of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Return {
    /// As soon as it can.
    Prompt,
    /// A while later, within the deferral.
    Late,
    /// After the deferral and the restart time.
    TooLate,
    /// It restarted, too, and says so by the R bit.
    Restarted,
    /// Without Graceful Restart.
    Changed,
}

/// The longest deferral. It is shorter than the restart time: until then clients keep the routes.
const DEFERRAL_MS: u64 = RESTART_TIME_S as u64 * 1_000 - 2_000;
/// The latest time at which a late client can connect again. The rest is for its attempts and its routes.
const LATE_MS: u64 = 2_000;
/// The time after which all is quiet.
const QUIET_MS: u64 = 200_000;
/// The restarts of a run.
const RESTARTS: u64 = 4;

/// Runs a seed to its end. Panics if a client loses a route that it should keep, or ends with other routes than the
/// reference model.
pub fn run_with_restarts(seed: u64) -> RestartOutcome {
    let mut random = Random::new(seed);
    let clients = 2 + random.below(6) as u16;
    let mut setup = Setup::without_checks(clients);
    setup.is_fast = true;
    let mut world = World::with(setup, random, seed);
    world.prefixes = (0..30).map(prefix).collect();
    for client in &mut world.clients {
        client.keeps_stale = true;
    }
    for _ in 0..60 {
        let index = world.random.below(clients.into()) as u16;
        world.change_announcement(index);
    }
    let mut outcome = RestartOutcome::default();
    settle(&mut world, seed);
    for restart in 0..RESTARTS {
        restart_once(&mut world, seed ^ restart << 32, &mut outcome);
        settle(&mut world, seed);
    }
    outcome.digest = world.digest;
    outcome
}

/// Lets time pass until every client holds exactly its routes.
fn settle(world: &mut World, seed: u64) {
    let from_ms = world.now_ms;
    while !(world.is_quiet() && world.differences().is_empty()) {
        world.step();
        assert!(
            world.now_ms < from_ms + QUIET_MS,
            "seed {seed}: {:?}\n{}",
            world.differences(),
            world.describe()
        );
    }
}

fn restart_once(world: &mut World, seed: u64, outcome: &mut RestartOutcome) {
    let all = 0..world.clients.len();
    let returns: Vec<Return> = all.clone().map(|_| draw(&mut world.random)).collect();
    let is_orderly = world.random.once_in(2);
    for (index, how) in returns.iter().enumerate() {
        prepare(world, index as u16, *how);
    }
    world.restart_server(is_orderly, DEFERRAL_MS, seed);
    let restarted_ms = world.now_ms;
    for (index, how) in returns.iter().enumerate() {
        come_back(world, index as u16, *how);
    }
    let good: Vec<usize> = all
        .filter(|n| matches!(returns[*n], Return::Prompt | Return::Late))
        .collect();
    let kept = good
        .iter()
        .map(|n| (*n, routes_of_others(world, *n, &good)));
    let kept: Vec<(usize, BTreeSet<Prefix>)> = kept.collect();
    while world.now_ms < restarted_ms + 2 * DEFERRAL_MS {
        let deferred = world.server.defers(world.now_ms);
        world.step();
        if deferred && !world.server.defers(world.now_ms) {
            match world.now_ms >= restarted_ms + DEFERRAL_MS {
                true => outcome.timed_out += 1,
                false => outcome.complete += 1,
            }
        }
        for (n, routes) in &kept {
            for prefix in routes {
                outcome.samples += 1;
                assert!(
                    world.clients[*n].held.get(prefix).is_some(),
                    "seed {seed}: client {n} lost {prefix} {} ms after the restart ({returns:?}, orderly: {is_orderly})\n{}",
                    world.now_ms - restarted_ms,
                    world.describe()
                );
            }
        }
    }
    for (index, how) in returns.iter().enumerate() {
        if *how == Return::Changed {
            set_graceful_restart(world, index, true);
            let reason = ResetReason::ConfigChange;
            world.client_input(index as u16, Input::Reset { reason, text: "" });
        }
    }
}

fn draw(random: &mut Random) -> Return {
    match random.below(10) {
        0..=4 => Return::Prompt,
        5..=6 => Return::Late,
        7 => Return::TooLate,
        8 => Return::Restarted,
        _ => Return::Changed,
    }
}

/// Arranges when a client can connect again. Its own earlier restart is over: its OPEN has no R bit. Both must be known
/// before the server starts, because the server connects at once.
fn prepare(world: &mut World, index: u16, how: Return) {
    let after_ms = match how {
        Return::Late => world.random.below(LATE_MS),
        Return::TooLate => u64::from(RESTART_TIME_S) * 1_000 + 1_000,
        Return::Prompt | Return::Restarted | Return::Changed => 0,
    };
    world.unreachable_until_ms[usize::from(index)] = world.now_ms + after_ms;
    world.client_input(index, Input::Restarting(false));
}

/// Arranges how a client comes back.
fn come_back(world: &mut World, index: u16, how: Return) {
    let at = usize::from(index);
    match how {
        Return::Restarted => {
            world.clients[at].held.clear();
            world.restart(index);
        }
        Return::Changed => set_graceful_restart(world, at, false),
        Return::Prompt | Return::Late | Return::TooLate => {}
    }
}

/// Sets whether a client offers Graceful Restart in its next session.
fn set_graceful_restart(world: &mut World, at: usize, on: bool) {
    let session = &mut world.clients[at].end.session;
    let mut config = session.config().clone();
    config.graceful_restart = on.then(Default::default);
    session.set_config(config);
}

/// The prefixes that a client holds from others that come back in time.
fn routes_of_others(world: &World, n: usize, good: &[usize]) -> BTreeSet<Prefix> {
    let others = good.iter().filter(|other| **other != n);
    let announced = others.flat_map(|other| world.clients[*other].announced.keys());
    announced.copied().collect()
}
