//! A collector is upgraded while FRR and GoBGP report to its BMP station. They stay connected, the table stays exact, and the
//! archive and the database show nothing of it. `kill -9` of the new process at random moments changes none of that.
//!
//! `SEED=n` repeats the draws of a run, not the moments at which the machine was.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rutter_interop::frr::Frr;
use rutter_interop::gobgp::GoBgp;
use rutter_interop::postgres::Postgres;
use rutter_interop::rutter::{self, Rutter};
use rutter_interop::{
    Draws, Lab, Peer, Route, Setup, Speaker, child_of, eventually, kill_process, output_of,
    process_runs,
};
use serde_json::Value;

const FRR: u32 = 2_101;
const GOBGP: u32 = 202_103;
/// The crashes of new processes.
const CRASHES: usize = 10;

struct Scene {
    collector: Rutter,
    database: Postgres,
    gobgp: GoBgp,
    _frr: Frr,
    /// The prefixes that GoBGP announces to FRR.
    announced: u32,
    /// The port of the BMP station.
    port: u16,
    lab: Lab,
}

impl Scene {
    fn open() -> Scene {
        let lab = Lab::new();
        let database = Postgres::start(&lab);
        let (address, port) = (lab.address(1), lab.port() + 4_000);
        let (history, spool) = (lab.folder("history"), lab.folder("spool"));
        let sections = format!(
            "[bmp]\nlisten = [\"{address}:{port}\"]\n[history]\npath = \"{}\"\n\
             [[sink]]\ntype = \"postgres\"\nhost = \"{}\"\nport = {}\nuser = \"postgres\"\nspool = \"{}\"\n",
            history.display(),
            database.socket().display(),
            database.port(),
            spool.display()
        );
        let collector = Rutter::start_collector(&lab, &sections);
        let (a, b) = (lab.address(2), lab.address(3));
        let mut frr = Frr::start(Setup::new(&lab, "frr", 2, FRR, Peer::new(b, GOBGP)));
        // Before there is a session: else FRR would ask GoBGP for its routes again.
        let lines = [
            "configure terminal".to_owned(),
            // FRR would otherwise announce its routes again, five seconds after the last change of a route map.
            "bgp route-map delay-timer 0".into(),
            format!("router bgp {FRR}"),
            "address-family ipv4 unicast".into(),
            format!("neighbor {b} soft-reconfiguration inbound"),
            "exit-address-family".into(),
            "bmp targets collector".into(),
            format!("bmp connect {address} port {port} min-retry 100 max-retry 500"),
            "bmp monitor ipv4 unicast pre-policy".into(),
        ];
        let done = frr.vtysh(lines);
        done.unwrap_or_else(|error| panic!("{error}"));
        frr.announce(&[Route::new("45.30.0.0/16", "10.77.0.2", &[FRR]).med(0)]);
        let gobgp = GoBgp::start(Setup::new(&lab, "gobgp", 3, GOBGP, Peer::new(a, FRR)));
        eventually("FRR and GoBGP talk", || {
            match frr.established() && gobgp.established() {
                true => Ok(()),
                false => Err("not yet".into()),
            }
        });
        let mut scene = Scene {
            collector,
            database,
            gobgp,
            _frr: frr,
            announced: 0,
            port,
            lab,
        };
        scene.gobgp_reports("add");
        scene.announce();
        scene
    }

    /// Lets GoBGP begin or end its reports: `add` or `del`.
    fn gobgp_reports(&self, word: &str) {
        let station = format!("{}:{}", self.lab.address(1), self.port);
        let done = self.gobgp.client(&["bmp", word, &station, "pre"]);
        done.unwrap_or_else(|error| panic!("{error}"));
    }

    /// GoBGP announces another prefix. Waits until the table is exact.
    fn announce(&mut self) {
        let prefix = format!("45.40.{}.0/24", self.announced);
        let path = [GOBGP];
        self.gobgp
            .announce(&[Route::new(&prefix, "10.77.0.3", &path)]);
        self.announced += 1;
        self.is_exact();
    }

    fn expected(&self) -> BTreeSet<String> {
        let (a, b) = (self.lab.address(2), self.lab.address(3));
        let of_gobgp = (0..self.announced).map(|n| format!("{b} 45.40.{n}.0/24"));
        of_gobgp.chain([format!("{a} 45.30.0.0/16")]).collect()
    }

    fn is_exact(&self) {
        let expected = self.expected();
        eventually("the table is exact", || {
            let rows = self.collector.ask(&["show", "routes"])?;
            let routes = rows.iter().filter(|row| row["prefix"].is_string());
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let held: Vec<String> = routes
                .map(|row| format!("{} {}", text(&row["peer"]["name"]), text(&row["prefix"])))
                .collect();
            let distinct: BTreeSet<String> = held.iter().cloned().collect();
            match distinct == expected && held.len() == expected.len() {
                true => Ok(()),
                false => Err(format!("{held:#?} instead of {expected:#?}")),
            }
        });
    }

    /// The addresses and ports of the connected routers: each connection has another port.
    fn connections(&self) -> BTreeSet<String> {
        eventually("both routers are connected", || {
            let rows = self.collector.ask(&["show", "routers"])?;
            let routers = rows.iter().filter(|row| row["address"].is_string());
            let routers: BTreeSet<String> = routers.map(|row| row["address"].to_string()).collect();
            match routers.len() {
                2 => Ok(routers),
                _ => Err(format!("{rows:?}")),
            }
        })
    }

    /// The events in the database by kind, when all are there and the routes are exact.
    fn events(&self) -> Vec<String> {
        let count = self.expected().len().to_string();
        eventually("the database is exact", || {
            let rows = self.collector.ask(&["show", "sinks"])?;
            let sink = rows.iter().find(|row| row["kind"] == "sink");
            let is_idle = sink.is_some_and(|sink| {
                sink["state"] == "live" && sink["spooled"] == sink["committed"]
            });
            let routes = self
                .database
                .try_query("SELECT count(*) FROM rutter_routes")?;
            let by_kind = "SELECT kind, count(*) FROM rutter_events GROUP BY kind ORDER BY kind";
            let announced = "SELECT count(DISTINCT (peer_id, prefix)) FROM rutter_events WHERE kind = 'announce'";
            let announced = self.database.try_query(announced)?;
            match is_idle && routes == [count.clone()] && announced == [count.clone()] {
                true => self.database.try_query(by_kind),
                false => Err(format!("{rows:?}, {routes:?}, {announced:?} of {count}")),
            }
        })
    }

    fn pid(&self) -> Result<u64, String> {
        let rows = self.collector.ask(&["show", "status"])?;
        rows[0]["pid"].as_u64().ok_or_else(|| "no pid".to_owned())
    }

    /// Kills the new process of an upgrade this long after its start. Returns whether a process runs then.
    fn crash(&mut self, after: Duration) -> bool {
        let old = self.pid().expect("a process");
        let collector = &self.collector;
        let new = thread::scope(|scope| {
            let upgrade = scope.spawn(|| collector.ask(&["upgrade"]));
            let mut new = None;
            while new.is_none() && !upgrade.is_finished() {
                new = child_of(old);
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(after);
            new.into_iter().for_each(kill_process);
            let _ = upgrade.join();
            new
        });
        let runs = eventually("a process answers, or none is left", || {
            let left = [Some(old), new].into_iter().flatten();
            match left.filter(|pid| process_runs(*pid)).count() {
                0 => Ok(false),
                1 => self.pid().map(|_| true),
                _ => Err("two processes run".to_owned()),
            }
        });
        if !runs {
            self.collector.run_again();
            // By itself, GoBGP only finds out when it has something to report.
            self.gobgp_reports("del");
            self.gobgp_reports("add");
        }
        runs
    }

    /// Compares the events in the database by kind with earlier ones.
    fn expect_events(&self, expected: &[String]) {
        let events = self.events();
        let all = "SELECT run, seq, time, kind, prefix, as_path, med FROM rutter_events ORDER BY run, seq";
        assert_eq!(events, expected, "{:#?}", self.database.query(all));
    }

    /// The events in the archive by kind.
    fn archived(&self) -> Result<Vec<String>, String> {
        let mut command = Command::new(rutter::program());
        let query = "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind";
        command
            .args(["sql", "--csv", "--history"])
            .arg(self.lab.folder("history"))
            .arg(query);
        let text = output_of(&mut command)?;
        let lines = text.lines().skip(1);
        Ok(lines.map(|line| line.replace(',', "|")).collect())
    }
}

#[test]
fn routers_archive_and_database_do_not_notice_upgrades_and_crashes() {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock");
    let given = std::env::var("SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(since.as_secs());
    eprintln!("SEED={seed}");
    let mut scene = Scene::open();
    let (mut connections, mut events) = (scene.connections(), scene.events());
    let mut length = Duration::ZERO;
    for _ in 0..3 {
        let begun = Instant::now();
        let rows = scene.collector.upgrade();
        let rows = rows.unwrap_or_else(|why| panic!("{why}"));
        length = begun.elapsed();
        eprintln!("{}", rows[0]["message"]);
        scene.is_exact();
        assert_eq!(scene.connections(), connections);
        scene.expect_events(&events);
        scene.announce();
        events = scene.events();
    }
    let mut draws = Draws(seed);
    for round in 0..CRASHES {
        // Often early: on a busy machine the end takes longest.
        let part = draws.below(1_000) as f64 / 1_000.0;
        let after = length.mul_f64(part * part);
        let goes_on = scene.crash(after);
        eprintln!("round {round}: after {} ms: {goes_on}", after.as_millis());
        if goes_on {
            scene.is_exact();
            assert_eq!(scene.connections(), connections);
            scene.expect_events(&events);
        } else {
            // The new process had already taken over: this was a crash as any other.
            connections = scene.connections();
        }
        scene.announce();
        events = scene.events();
    }
    let _ = scene.collector.ask(&["stop"]);
    let stopped = |lines: &[String]| lines.iter().any(|line| line.starts_with("stop|"));
    eventually("the archive is complete", || {
        let archived = scene.archived()?;
        match stopped(&archived) {
            true => Ok(()),
            false => Err(format!("{archived:?}")),
        }
    });
    let last = scene
        .database
        .query("SELECT kind, count(*) FROM rutter_events GROUP BY kind ORDER BY kind");
    let number = |lines: &[String], kind: &str| {
        let line = lines.iter().find_map(|line| line.strip_prefix(kind));
        line.map_or(0, |count| count.parse::<u64>().expect("a number"))
    };
    let archived = scene.archived().expect("an archive");
    let starts = number(&last, "start|");
    for lines in [&last, &archived] {
        assert_eq!(number(lines, "start|"), starts, "{lines:?}");
        assert!(number(lines, "gap|") < starts, "{lines:?}");
        assert_eq!(number(lines, "withdraw|"), 0, "{lines:?}");
    }
    let announced = [&last, &archived].map(|lines| number(lines, "announce|"));
    assert!(starts > 1 || announced[0] == announced[1], "{announced:?}");
}
