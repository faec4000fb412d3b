//! Our own restart with two clients of each kind of daemon: no client with Graceful Restart loses a route. An upgrade
//! ends no session either.
//!
//! BIRD 2.0, FRR 8.4, GoBGP 3.10 and OpenBGPD 7.7 all keep routes as helpers. ExaBGP is left out: it keeps no table.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rutter_interop::bird::Bird;
use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::openbgpd::OpenBgpd;
use rutter_interop::rutter::{Rutter, member};
use rutter_interop::{Lab, Peer, Route, Samples, Speaker, client, eventually, holds, up};
use serde_json::Value;

type Client = Box<dyn Speaker + Send>;

/// Two clients of each daemon.
struct Exchange {
    rutter: Rutter,
    clients: Vec<Mutex<Client>>,
    lab: Lab,
}

/// The number of clients.
const CLIENTS: usize = 8;
/// The kinds of the clients, in pairs.
const KINDS: [&str; CLIENTS / 2] = ["BIRD", "FRR", "GoBGP", "OpenBGPD"];

fn host(n: usize) -> u8 {
    n as u8 + 2
}

fn asn(n: usize) -> u32 {
    2_102 + n as u32
}

fn is_late(n: usize) -> bool {
    n % 2 == 1
}

/// The routes of a client. OpenBGPD announces only paths of its own AS.
fn routes(n: usize) -> Vec<Route> {
    let (asn, host) = (asn(n), host(n));
    let path: &[u32] = if KINDS[n / 2] == "OpenBGPD" {
        &[asn]
    } else {
        &[asn, 3_333]
    };
    let hops = (format!("10.77.0.{host}"), format!("2a0e:ffff::{host}"));
    (0..3)
        .flat_map(|i| {
            [
                Route::new(&format!("45.{host}.{i}.0/24"), &hops.0, path).med(5),
                Route::new(&format!("2a0e:{host}:{i}::/48"), &hops.1, path).med(5),
            ]
        })
        .collect()
}

/// The routes of all clients but one.
fn routes_of_others(n: usize) -> Vec<Route> {
    let others = (0..CLIENTS).filter(|other| *other != n);
    others.flat_map(routes).collect()
}

impl Exchange {
    fn open() -> Exchange {
        let lab = Lab::new();
        let keys = "passive = false";
        let members = (0..CLIENTS).map(|n| member(lab.address(host(n)), asn(n), keys));
        let mut rutter = Rutter::start(&lab, &members.collect::<String>());
        let start = |n: usize| -> Client {
            let change = |peer: &mut Peer| {
                peer.graceful_restart_s = Some(60);
                // A daemon that was frozen and then connects, too, gives its session up for the other connection. So does
                // a BIRD with Graceful Restart if the two connections collide.
                peer.passive = is_late(n) || KINDS[n / 2] == "BIRD";
            };
            let setup = client(&lab, &rutter, host(n), asn(n), change);
            match KINDS[n / 2] {
                "BIRD" => Box::new(Bird::start(setup)),
                "FRR" => Box::new(Frr::start(setup)),
                "GoBGP" => Box::new(GoBgp::start(setup)),
                _ => Box::new(OpenBgpd::start(setup)),
            }
        };
        let mut clients: Vec<Client> = (0..CLIENTS).map(start).collect();
        for (n, speaker) in clients.iter_mut().enumerate() {
            up(&lab, &mut rutter, host(n), speaker.as_mut());
            speaker.announce(&routes(n));
        }
        let exchange = Exchange {
            rutter,
            clients: clients.into_iter().map(Mutex::new).collect(),
            lab,
        };
        exchange.each_holds_the_others();
        for n in 0..CLIENTS {
            let session = exchange.session(n);
            let agreed = &session["negotiated"]["graceful-restart"];
            assert!(agreed.is_string(), "{}: {session}", name(n));
        }
        exchange
    }

    /// The session of a client, as Rutter shows it.
    fn session(&self, n: usize) -> Value {
        let session = self.rutter.session(self.lab.address(host(n)));
        session.expect("a session")
    }

    fn client(&self, n: usize) -> MutexGuard<'_, Client> {
        lock(&self.clients[n])
    }

    fn each_holds_the_others(&self) {
        for n in 0..CLIENTS {
            holds(self.client(n).as_ref(), &routes_of_others(n));
        }
    }

    /// The addresses of the clients for which Rutter waits before it advertises anything.
    fn awaited(&self) -> Result<BTreeSet<IpAddr>, String> {
        let rows = self.rutter.ask(&["show", "status"])?;
        let awaited = rows[0]["selection-deferral"]["awaited"].as_array();
        let address = |row: &Value| row["address"].as_str()?.parse().ok();
        Ok(awaited.into_iter().flatten().filter_map(address).collect())
    }

    /// Restarts Rutter with `stop`, while every client is sampled route by route. The second client of each kind gives no
    /// answer until all others are back.
    fn restart(&mut self, stop: impl FnOnce(&mut Rutter)) {
        let late: BTreeSet<IpAddr> = (0..CLIENTS)
            .filter(|n| is_late(*n))
            .map(|n| self.lab.address(host(n)))
            .collect();
        stop(&mut self.rutter);
        let samples = Samples::of((0..CLIENTS).map(name));
        let mut frozen = freeze(&self.clients);
        self.rutter.run_again();
        thread::scope(|scope| {
            let _end = samples.end();
            for (n, one) in self.clients.iter().enumerate() {
                let samples = &samples;
                scope.spawn(move || sample(samples, n, one));
            }
            eventually("Rutter waits for the late clients only", || {
                match self.awaited()? {
                    awaited if awaited == late => Ok(()),
                    awaited => Err(format!("it waits for {awaited:?}")),
                }
            });
            // The others are back, with all their routes in the table, and are told nothing.
            rounds(&samples, 5);
            assert_eq!(self.awaited().expect("a status"), late);
            frozen.iter_mut().for_each(|one| one.process().thaw());
            frozen.clear();
            eventually("Rutter advertises", || match self.awaited()? {
                awaited if awaited.is_empty() => Ok(()),
                awaited => Err(format!("it waits for {awaited:?}")),
            });
            // Clients remove what is stale after End-of-RIB, so a lost route would be seen now.
            rounds(&samples, 10);
        });
        samples.check();
        self.each_holds_the_others();
        for n in 0..CLIENTS {
            let count = &self.session(n)["established-count"];
            assert_eq!(count, 1, "{}: one session since the restart", name(n));
        }
    }
}

/// Freezes the late clients. While they are locked they are not sampled.
fn freeze(clients: &[Mutex<Client>]) -> Vec<MutexGuard<'_, Client>> {
    let late = clients.iter().enumerate().filter(|(n, _)| is_late(*n));
    let mut locked: Vec<_> = late.map(|(_, one)| lock(one)).collect();
    locked.iter_mut().for_each(|one| one.process().freeze());
    locked
}

fn lock(one: &Mutex<Client>) -> MutexGuard<'_, Client> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(n: usize) -> String {
    format!("{} at host {}", KINDS[n / 2], host(n))
}

/// Samples a client until the end.
fn sample(samples: &Samples, n: usize, one: &Mutex<Client>) {
    samples.take(n, &routes_of_others(n), || lock(one).received());
}

/// Waits for more samples of every client that is not late.
fn rounds(samples: &Samples, count: usize) {
    for n in (0..CLIENTS).filter(|n| !is_late(*n)) {
        samples.wait_for(n, count);
    }
}

/// The clients keep their sessions and all routes while ten processes follow one another.
#[test]
fn no_client_notices_ten_upgrades() {
    let mut exchange = Exchange::open();
    let count = |exchange: &Exchange, n: usize| {
        let session = exchange.session(n);
        assert_eq!(session["state"], "Established", "{}: {session}", name(n));
        session["established-count"].clone()
    };
    let before: Vec<Value> = (0..CLIENTS).map(|n| count(&exchange, n)).collect();
    let samples = Samples::of((0..CLIENTS).map(name));
    let Exchange {
        rutter, clients, ..
    } = &mut exchange;
    thread::scope(|scope| {
        let _end = samples.end();
        for (n, one) in clients.iter().enumerate() {
            let samples = &samples;
            scope.spawn(move || sample(samples, n, one));
        }
        for round in 0..10 {
            let taken = rutter.upgrade();
            let rows = taken.unwrap_or_else(|why| panic!("upgrade {round}: {why}"));
            let message = rows[0]["message"].as_str().unwrap_or_default();
            assert!(message.contains("8 sessions"), "{message}");
            rounds(&samples, 2);
        }
    });
    samples.check();
    exchange.each_holds_the_others();
    let after: Vec<Value> = (0..CLIENTS).map(|n| count(&exchange, n)).collect();
    assert_eq!(before, after, "a session was established again");
}

/// What `systemctl restart` does: SIGTERM, then another start.
#[test]
fn no_client_loses_a_route_in_an_orderly_restart() {
    Exchange::open().restart(|rutter| rutter.process().stop());
}

#[test]
fn no_client_loses_a_route_in_a_crash() {
    Exchange::open().restart(Rutter::kill);
}
