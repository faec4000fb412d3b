//! `kill -9` of the old or the new process at random moments of `rutter upgrade`. Afterwards the old process or the new one
//! runs, with all sessions; or none, and a start by hand does what it does after any crash. In no case a client with
//! Graceful Restart loses a route.
//!
//! `SEED=n` repeats the draws of a run, not the moments at which the machine was.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rutter_interop::bird::Bird;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{
    Draws, Lab, Peer, Route, Samples, Speaker, child_of, client, eventually, holds, kill_process,
    process_runs, up,
};
use serde_json::Value;

/// Exchanges that run side by side: most of the time they wait.
const EXCHANGES: u64 = 5;
/// The crashes of each.
const ROUNDS: usize = 5;
/// The clients of each, BIRDs with Graceful Restart.
const CLIENTS: usize = 2;

fn host(n: usize) -> u8 {
    n as u8 + 2
}

fn asn(n: usize) -> u32 {
    2_102 + n as u32
}

fn routes(n: usize) -> Vec<Route> {
    let host = host(n);
    let path = [asn(n), 3_333];
    let hops = (format!("10.77.0.{host}"), format!("2a0e:ffff::{host}"));
    let of = |i: u32| {
        [
            Route::new(&format!("45.{host}.{i}.0/24"), &hops.0, &path),
            Route::new(&format!("2a0e:{host}:{i}::/48"), &hops.1, &path),
        ]
    };
    (0..50).flat_map(of).collect()
}

fn routes_of_others(n: usize) -> Vec<Route> {
    let others = (0..CLIENTS).filter(|other| *other != n);
    others.flat_map(routes).collect()
}

/// The process that is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Old,
    New,
}

/// What runs after a crash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// The process from before.
    Old,
    /// The one that took over.
    New,
    /// Nothing: it was started by hand.
    Started,
}

struct Exchange {
    rutter: Rutter,
    clients: Vec<Mutex<Bird>>,
    lab: Lab,
}

impl Exchange {
    fn open() -> Exchange {
        let lab = Lab::new();
        let keys = "passive = false";
        let members = (0..CLIENTS).map(|n| member(lab.address(host(n)), asn(n), keys));
        let mut rutter = Rutter::start(&lab, &members.collect::<String>());
        // With two connections at once, a BIRD with Graceful Restart gives its session up for the other one.
        let change = |peer: &mut Peer| {
            peer.graceful_restart_s = Some(60);
            peer.passive = true;
        };
        let start = |n| Bird::start(client(&lab, &rutter, host(n), asn(n), change));
        let mut clients: Vec<Bird> = (0..CLIENTS).map(start).collect();
        for (n, speaker) in clients.iter_mut().enumerate() {
            up(&lab, &mut rutter, host(n), speaker);
            speaker.announce(&routes(n));
        }
        let exchange = Exchange {
            rutter,
            clients: clients.into_iter().map(Mutex::new).collect(),
            lab,
        };
        exchange.is_exact();
        exchange
    }

    fn is_exact(&self) {
        for (n, one) in self.clients.iter().enumerate() {
            let one = one.lock().unwrap_or_else(PoisonError::into_inner);
            holds(&*one, &routes_of_others(n));
        }
    }

    /// The number of sessions that each client had with the process that runs, and with those from which it took over.
    fn sessions(&self) -> Vec<u64> {
        let count = |n| {
            let address = self.lab.address(host(n));
            eventually("the session is up", || {
                let session = self.rutter.session(address)?;
                let count = session["established-count"].as_u64();
                let is_up = session["state"] == "Established";
                count.filter(|_| is_up).ok_or_else(|| session.to_string())
            })
        };
        (0..CLIENTS).map(count).collect()
    }

    fn pid(&self) -> Result<u64, String> {
        let rows = self.rutter.ask(&["show", "status"])?;
        rows[0]["pid"].as_u64().ok_or_else(|| "no pid".to_owned())
    }

    /// Kills a process during an upgrade, this long after its begin, or after that of the new process. Returns what
    /// runs then.
    fn crash(&mut self, victim: Victim, after: Duration) -> Outcome {
        let before = self.sessions();
        let old = self.pid().expect("a process");
        let rutter = &self.rutter;
        let new = thread::scope(|scope| {
            let upgrade = scope.spawn(|| rutter.ask(&["upgrade"]));
            let mut begun = Instant::now();
            let mut new = None;
            while begun.elapsed() < after || victim == Victim::New && new.is_none() {
                if new.is_none() {
                    new = child_of(old);
                    begun = if victim == Victim::New {
                        Instant::now()
                    } else {
                        begun
                    };
                }
                if upgrade.is_finished() && new.is_none() {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            let new = new.or_else(|| child_of(old));
            let pid = if victim == Victim::Old {
                Some(old)
            } else {
                new
            };
            pid.into_iter().for_each(kill_process);
            let answer = upgrade
                .join()
                .unwrap_or_else(|_| Err("no answer".to_owned()));
            new.or_else(|| successor(&answer.ok()?))
        });
        let found = eventually("a process answers, or none is left", || {
            let left = [Some(old), new].into_iter().flatten();
            match left.filter(|pid| process_runs(*pid)).count() {
                0 => Ok(None),
                1 => self.pid().map(Some),
                _ => Err("two processes run".to_owned()),
            }
        });
        let outcome = match found {
            Some(pid) if pid == old => Outcome::Old,
            Some(_) => Outcome::New,
            None => {
                self.rutter.run_again();
                Outcome::Started
            }
        };
        match outcome {
            Outcome::Old | Outcome::New => assert_eq!(self.sessions(), before, "{outcome:?}"),
            Outcome::Started => assert_eq!(self.sessions(), [1; CLIENTS], "one session each"),
        }
        outcome
    }

    /// Waits until Rutter has advertised its routes after a start.
    fn has_advertised(&self) {
        eventually("Rutter advertises", || {
            let rows = self.rutter.ask(&["show", "status"])?;
            match &rows[0]["selection-deferral"] {
                deferral if deferral.is_null() => Ok(()),
                deferral => Err(deferral.to_string()),
            }
        });
    }

    /// Lets a process crash in each of several upgrades, while every client is sampled. Returns what ran then.
    fn run(&mut self, draws: &mut Draws) -> Vec<(Victim, Duration, Outcome)> {
        let begun = Instant::now();
        self.rutter.upgrade().expect("an upgrade");
        let length = begun.elapsed();
        let names = (0..CLIENTS).map(|n| format!("client {n}"));
        let samples = Samples::of(names);
        let clients = std::mem::take(&mut self.clients);
        let mut outcomes = Vec::new();
        thread::scope(|scope| {
            let _end = samples.end();
            for (n, one) in clients.iter().enumerate() {
                let samples = &samples;
                let lock = || one.lock().unwrap_or_else(PoisonError::into_inner);
                let expected = routes_of_others(n);
                scope.spawn(move || samples.take(n, &expected, || lock().received()));
            }
            for round in 0..ROUNDS {
                let victim = [Victim::Old, Victim::New][round % 2];
                let after = length.mul_f64(draws.below(1_000) as f64 / 1_000.0);
                let outcome = self.crash(victim, after);
                self.has_advertised();
                outcomes.push((victim, after, outcome));
            }
        });
        self.clients = clients;
        samples.check();
        self.is_exact();
        outcomes
    }
}

/// The process that took over, by the answer to `rutter upgrade`.
fn successor(rows: &[Value]) -> Option<u64> {
    let message = rows.first()?["message"].as_str()?;
    let pid = message.strip_prefix("process ")?.split(',').next()?;
    pid.parse().ok()
}

#[test]
fn a_crash_during_an_upgrade_leaves_one_state_or_the_other() {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock");
    let given = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or(since.as_secs());
    eprintln!("SEED={seed}");
    thread::scope(|scope| {
        for number in 0..EXCHANGES {
            scope.spawn(move || {
                let mut draws = Draws(seed.wrapping_mul(EXCHANGES).wrapping_add(number));
                for (victim, after, outcome) in Exchange::open().run(&mut draws) {
                    let ms = after.as_millis();
                    eprintln!("exchange {number}: {victim:?} killed after {ms} ms: {outcome:?}");
                }
            });
        }
    });
}
