//! The collector is killed repeatedly while it writes to a database. In the end the database holds exactly the routes
//! that the neighbors announce, and no event is missing, repeated or changed.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use rutter_bench::rng::Rng;
use rutter_interop::mariadb::MariaDb;
use rutter_interop::postgres::Postgres;
use rutter_interop::rutter::{Rutter, neighbor};
use rutter_interop::{Lab, eventually_within};

use crate::feed::{Feed, Way};
use crate::stage::{rounds, seed};
use crate::{mariadb, postgres};

/// The operations on a database that this test needs.
trait Server {
    /// `address|prefix|path` of the routes of a relation with peers.
    const ROUTES: &'static str;
    /// A hash of an event, as a number.
    const DIGEST: &'static str;
    fn ask(&self, sql: &str) -> Result<Vec<String>, String>;
    fn check_history(&self);
    fn kill(&mut self);
    fn run(&mut self);
    /// The `[[sink]]` section for it.
    fn section(&self) -> String;
}

impl Server for Postgres {
    const ROUTES: &'static str = "SELECT host(p.peer_address), e.prefix, e.as_path";
    const DIGEST: &'static str = "hashtextextended(e::text, 0)";

    fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        self.try_query(sql)
    }

    fn check_history(&self) {
        postgres::check_history(self);
    }

    fn kill(&mut self) {
        Postgres::kill(self);
    }

    fn run(&mut self) {
        Postgres::run(self);
    }

    fn section(&self) -> String {
        let (host, port) = (self.socket().display(), self.port());
        format!("type = \"postgres\"\nhost = \"{host}\"\nport = {port}\nuser = \"postgres\"\n")
    }
}

impl Server for MariaDb {
    const ROUTES: &'static str = "SELECT p.peer_address, e.prefix, e.as_path";
    const DIGEST: &'static str =
        "crc32(concat_ws('|', seq, time, peer_id, kind, prefix, as_path, communities, detail))";

    fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        self.try_query(sql)
    }

    fn check_history(&self) {
        mariadb::check_history(self);
    }

    fn kill(&mut self) {
        MariaDb::kill(self);
    }

    fn run(&mut self) {
        MariaDb::run(self);
    }

    fn section(&self) -> String {
        let port = self.port();
        format!("type = \"mariadb\"\nport = {port}\nuser = \"rutter\"\npassword = \"sesame\"\n")
    }
}

/// A collector, its database and its feeds.
struct Scene<S> {
    server: S,
    collector: Rutter,
    feeds: Vec<Feed>,
    /// Committed before a kill: run, last number, row count and checksum.
    committed: Vec<[String; 4]>,
    /// The number of rows that the collector reported as accepted before each kill, by run.
    taken: Vec<(u64, u64)>,
}

const FEEDS: u8 = 3;
/// Exceeds the number of rows from which a peer is loaded by the bulk path.
const PREFIXES: u32 = 24_000;

impl<S: Server> Scene<S> {
    fn start(lab: &Lab, server: S, sections: &str, way: Way) -> Self {
        let spool = lab.folder("spool");
        let sink = format!(
            "[[sink]]\n{}spool = \"{}\"\nbatch-rows = 5000\n",
            server.section(),
            spool.display()
        );
        let collector = Rutter::start_collector(lab, &(sections.to_owned() + &sink));
        let feed = |n: u8| Feed::start(way, lab.address(2 + n), asn(n), PREFIXES);
        Scene {
            server,
            collector,
            feeds: (0..FEEDS).map(feed).collect(),
            committed: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Records the rows that the database has committed.
    fn note_what_is_committed(&mut self) {
        let sums = format!(
            "SELECT run, max(seq), count(*), sum({}) FROM rutter_events e GROUP BY run",
            S::DIGEST
        );
        // The first kill may happen before the tables exist.
        for row in self.server.ask(&sums).unwrap_or_default() {
            let mut cells = row.split('|').map(str::to_owned);
            self.committed
                .push([(); 4].map(|()| cells.next().unwrap_or_default()));
        }
    }

    /// Records the rows that the collector has accepted.
    fn note_what_is_taken(&mut self) {
        let rows = self.collector.ask(&["show", "sinks"]);
        for row in rows.unwrap_or_else(|why| panic!("{why}")) {
            let number = |key: &str| row[key].as_u64().expect("a number");
            self.taken.push((number("run"), number("spooled")));
        }
    }

    fn owed(&self) -> BTreeSet<String> {
        self.feeds.iter().flat_map(Feed::routes).collect()
    }

    /// Waits until the database holds exactly the announced routes, each once, and the events that lead to them. A load
    /// has the present routes, so it may be ahead of the events.
    fn settles(&self) {
        let current = format!(
            "{} FROM rutter_routes e JOIN rutter_peers p USING (peer_id)",
            S::ROUTES
        );
        // A busy machine may take long for the spool and the loads.
        eventually_within(
            Duration::from_secs(120),
            "the current routes are exact",
            || {
                compare(&self.server.ask(&current)?, &self.owed())?;
                self.compare_events_of_last_run()
            },
        );
    }

    /// The events of the last run result in the same routes.
    fn compare_events_of_last_run(&self) -> Result<(), String> {
        let last = format!(
            "{} FROM (SELECT peer_id, prefix, as_path, kind, row_number()
                 OVER (PARTITION BY peer_id, prefix, path_id ORDER BY seq DESC) AS back FROM rutter_events
                 WHERE kind IN ('announce', 'withdraw') AND run = (SELECT max(run) FROM rutter_events)) e
             JOIN rutter_peers p USING (peer_id) WHERE back = 1 AND kind = 'announce'",
            S::ROUTES
        );
        let rows = self.server.ask(&last)?;
        compare(&rows, &self.owed()).map_err(|why| format!("the events: {why}"))
    }

    fn check_what_was_committed(&self) {
        for [run, last, count, sum] in &self.committed {
            let now = format!(
                "SELECT count(*), sum({}) FROM rutter_events e WHERE run = {run} AND seq <= {last}",
                S::DIGEST
            );
            let now = self.server.ask(&now).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(now, [format!("{count}|{sum}")], "run {run} up to {last}");
        }
    }

    fn check_what_was_taken(&self) {
        for (run, taken) in &self.taken {
            let stored = format!("SELECT count(*) FROM rutter_events WHERE run = {run}");
            let stored = self
                .server
                .ask(&stored)
                .unwrap_or_else(|why| panic!("{why}"));
            let stored: u64 = stored[0].parse().expect("a number");
            assert!(stored >= *taken, "run {run}: {stored} of {taken} rows");
        }
        let backlog = self.taken.iter().map(|(_, taken)| taken).max();
        assert!(
            backlog > Some(&0),
            "the collector took nothing before it was killed"
        );
    }
}

fn asn(n: u8) -> u32 {
    65_001 + u32::from(n)
}

fn compare(stored: &[String], owed: &BTreeSet<String>) -> Result<(), String> {
    let rows: BTreeSet<String> = stored.iter().cloned().collect();
    if rows.len() != stored.len() {
        return Err(format!("{} of {} rows", rows.len(), stored.len()));
    }
    let missing: Vec<_> = owed.difference(&rows).take(3).collect();
    let strange: Vec<_> = rows.difference(owed).take(3).collect();
    match missing.is_empty() && strange.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} rows, {} owed: missing {missing:?}, strange {strange:?}",
            rows.len(),
            owed.len()
        )),
    }
}

/// Kills the collector at random moments: while it loads, while routes change, and once while the database is down.
fn is_exact_whenever_it_is_killed<S: Server>(mut scene: Scene<S>, usual: u64) {
    let mut rng = Rng::new(seed(usual));
    for round in 0..rounds(ROUNDS) {
        thread::sleep(Duration::from_millis(rng.below(2_500)));
        scene.note_what_is_committed();
        let away = round % ROUNDS == ROUNDS / 2;
        if away {
            scene.server.kill();
            thread::sleep(Duration::from_millis(500 + rng.below(500)));
        }
        scene.note_what_is_taken();
        scene.collector.kill();
        if away {
            scene.server.run();
        }
        scene.collector.run_again();
    }
    thread::sleep(Duration::from_millis(500));
    scene.feeds.iter().for_each(|feed| feed.be_quiet(true));
    scene.settles();
    scene.note_what_is_committed();
    scene.collector.process().stop();
    scene.server.check_history();
    scene.check_what_was_committed();
    scene.check_what_was_taken();
    scene
        .compare_events_of_last_run()
        .unwrap_or_else(|why| panic!("{why}"));
    let gaps = scene.server.ask(
        "SELECT detail FROM rutter_events WHERE kind = 'gap' AND detail NOT LIKE '%if there were any%'",
    );
    let why = "only what was killed may have lost what it had not stored";
    assert_eq!(gaps, Ok(Vec::new()), "{why}");
}

const ROUNDS: u32 = 5;

#[test]
fn postgres_is_exact_whenever_the_collector_is_killed() {
    let lab = Lab::new();
    let server = Postgres::start(&lab);
    let members: String = (0..FEEDS)
        .map(|n| neighbor(lab.address(2 + n), asn(n), "mode = \"collector\""))
        .collect();
    let way = Way::Bgp((lab.address(1), lab.port()).into());
    is_exact_whenever_it_is_killed(Scene::start(&lab, server, &members, way), 11);
}

#[test]
fn mariadb_is_exact_whenever_the_collector_is_killed() {
    let lab = Lab::new();
    let server = MariaDb::start(&lab);
    let station = (lab.address(1), lab.port() + 4_000).into();
    let section = format!("[bmp]\nlisten = [\"{station}\"]\n");
    let scene = Scene::start(&lab, server, &section, Way::Bmp(station));
    is_exact_whenever_it_is_killed(scene, 12);
}
