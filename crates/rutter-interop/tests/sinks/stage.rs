//! A table and a sink that tests can kill.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rutter_bench::rng::Rng;
use rutter_config::{Sink, SinkTarget};
use rutter_interop::eventually;
use rutter_service::Service as _;
use rutter_sinks::Handle;

use crate::world::World;

/// A collector's table and its one sink.
pub struct Stage {
    pub world: World,
    pub rng: Rng,
    collector: &'static str,
    settings: Sink,
    sink: Option<Handle>,
}

impl Stage {
    pub fn new(collector: &'static str, target: SinkTarget, spool: PathBuf, seed: u64) -> Self {
        let settings = Sink {
            name: "test".into(),
            target,
            spool,
            spool_limit: 1 << 30,
            interval_ms: 50,
            batch_rows: 5_000,
            events_retention_s: None,
        };
        let mut stage = Self {
            world: World::new(6, now_us()),
            rng: Rng::new(seed),
            collector,
            settings,
            sink: None,
        };
        stage.start();
        stage
    }

    fn start(&mut self) {
        // An abandoned sink locks its spool until its thread notices.
        self.sink = Some(eventually("the sink starts", || {
            let sink = rutter_sinks::start(&self.world.rib, self.collector, &self.settings);
            sink.map_err(|why| why.to_string())
        }));
    }

    /// Makes this many random changes to the routes.
    pub fn act(&mut self, times: usize) {
        self.world.now_us = now_us();
        for _ in 0..times {
            self.world.act(&mut self.rng);
        }
    }

    /// The collector is killed and starts again, with all peers down. The work of its threads is abandoned as far as is
    /// possible within one process.
    pub fn restart(&mut self) {
        drop(self.sink.take());
        self.world = World::new(6, now_us());
        self.start();
    }

    /// The sink stops and starts with another target. The table stays.
    pub fn retarget(&mut self, target: SinkTarget) {
        drop(self.sink.take());
        self.settings.target = target;
        self.start();
    }

    /// Like [`Stage::restart`], with events that are removed after a second.
    pub fn restart_forgetful(&mut self) {
        self.settings.spool_limit = 1 << 30;
        self.settings.events_retention_s = Some(1);
        self.restart();
    }

    /// Like [`Stage::restart`], with events that stay and a short timeout for stores that do not answer.
    pub fn restart_impatient(&mut self) {
        self.settings.events_retention_s = None;
        let patience = match &mut self.settings.target {
            SinkTarget::Postgres(store) | SinkTarget::MariaDb(store) => &mut store.answer_timeout_s,
            SinkTarget::Kafka(store) => &mut store.answer_timeout_s,
        };
        *patience = 2;
        self.restart();
    }

    /// Like [`Stage::restart`], with a spool that is soon full.
    pub fn restart_cramped(&mut self) {
        self.settings.spool_limit = 64 << 10;
        self.restart();
    }

    /// Changes routes until the spool has been full for a while.
    pub fn overflow(&mut self) {
        eventually("the spool is full", || {
            self.act(2_000);
            let status = self.sink().status();
            match status.dropping {
                Some(_) => Ok(()),
                None => Err(status.line()),
            }
        });
        self.act(500);
    }

    /// Waits until the sink reports an error with these words.
    pub fn complains(&self, words: &[&str]) {
        eventually("the sink complains", || {
            let trouble = self.sink().status().problem().unwrap_or_default();
            match words.iter().all(|word| trouble.contains(word)) {
                true => Ok(()),
                false => Err(format!("{words:?} instead of {trouble:?}")),
            }
        });
    }

    /// Waits until this many gaps were reported.
    pub fn has_reported(&self, gaps: u64) {
        eventually("a gap is reported", || {
            let status = self.sink().status();
            match status.gaps >= gaps {
                true => Ok(()),
                false => Err(format!("{status:?}")),
            }
        });
    }

    /// Stops the sink cleanly.
    pub fn stop(&mut self) {
        if let Some(sink) = self.sink.take() {
            Box::new(sink).stop();
        }
    }

    pub fn sink(&self) -> &Handle {
        self.sink.as_ref().expect("the sink runs")
    }

    /// Waits until every event is written.
    pub fn has_written(&self) {
        eventually("all is written", || {
            let status = self.sink().status();
            let sent = self.world.log.len() as u64;
            match status.connected && !status.loading && status.waiting == 0 && status.taken >= sent
            {
                true => Ok(()),
                false => Err(format!("{status:?}")),
            }
        });
    }

    /// Each route as `address|prefix|path id|path`.
    pub fn owed(&self) -> BTreeSet<String> {
        let line = |((address, prefix, path_id), path): (&crate::world::Key, &String)| {
            format!("{address}|{prefix}|{path_id}|{path}")
        };
        self.world.routes.iter().map(line).collect()
    }

    /// Waits until the store holds exactly the routes of the table.
    pub fn settles(&self, stored: impl Fn() -> Result<Vec<String>, String>) {
        let owed = self.owed();
        eventually("the current routes are exact", || {
            let rows = stored()?;
            let stored: BTreeSet<String> = rows.iter().cloned().collect();
            if stored.len() == rows.len() && stored == owed {
                return Ok(());
            }
            let missing: Vec<_> = owed.difference(&stored).take(3).collect();
            let strange: Vec<_> = stored.difference(&owed).take(3).collect();
            let status = self.sink().status().line();
            Err(format!(
                "missing {missing:?}, strange {strange:?}; {status}"
            ))
        });
    }

    /// The server hangs: the connection is dropped, and nothing is lost.
    pub fn bears_silence<S>(
        &mut self,
        server: &mut S,
        freeze: impl Fn(&mut S),
        thaw: impl Fn(&mut S),
        routes: impl Fn(&S) -> Result<Vec<String>, String>,
    ) {
        self.restart_impatient();
        self.act(200);
        self.settles(|| routes(server));
        freeze(server);
        self.act(200);
        self.complains(&["no answer within `answer-timeout`"]);
        self.act(200);
        thaw(server);
        self.settles(|| routes(server));
        self.stop();
    }

    /// Rows of routes are deleted, and then the connection is closed. A gap is reported, and the rows are restored.
    pub fn bears_removed_rows(
        &mut self,
        routes: &str,
        remove: &str,
        ask: impl Fn(&str) -> Result<Vec<String>, String>,
    ) {
        self.settles(|| ask(routes));
        let gaps = self.sink().status().gaps;
        ask(remove).unwrap_or_else(|why| panic!("{remove}: {why}"));
        self.act(20);
        self.has_reported(gaps + 1);
        self.settles(|| ask(routes));
        let found = "SELECT detail FROM rutter_events WHERE kind = 'gap' AND detail LIKE 'somebody else added or removed%'";
        assert_eq!(ask(found).map(|rows| rows.len()), Ok(1));
    }

    /// The server is restored from a backup. A gap reports the row and the time from which committed rows were lost,
    /// and the current routes are restored. `time` converts a column to `YYYY-MM-DD hh:mm:ss.us`, and `cut` closes the
    /// connection.
    pub fn bears_a_restored_backup(
        &mut self,
        routes: &str,
        (time, cut): (&str, &str),
        ask: impl Fn(&str) -> Result<Vec<String>, String>,
    ) {
        let done = |sql: &str| ask(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        self.settles(|| ask(routes));
        self.has_written();
        let at = format!("SELECT run, next_seq, {time} FROM rutter_collectors");
        let (backup, gaps) = (done(&at), self.sink().status().gaps);
        let [run, row, since] = *backup[0].split('|').collect::<Vec<_>>() else {
            panic!("{backup:?}");
        };
        // The recorded position and the events agree.
        let seq = row.parse::<u64>().expect("a number") - 1;
        let last = format!("SELECT {time} FROM rutter_events WHERE run = {run} AND seq = {seq}");
        assert_eq!(done(&last), [since]);
        for _ in 0..3 {
            self.act(300);
            self.settles(|| ask(routes));
        }
        self.has_written();
        done(&format!(
            "DELETE FROM rutter_events WHERE run = {run} AND seq >= {row};
             UPDATE rutter_collectors SET run = {run}, next_seq = {row}, time = '{since}';
             {cut}"
        ));
        self.act(20);
        self.has_reported(gaps + 1);
        self.settles(|| ask(routes));
        let gap = format!(
            "rows {row} to % of run {run} are missing, from {since} UTC to %: the store is not at the committed position%"
        );
        let none = "no rows are missing: the store is not at the committed position%";
        let found = |like: &str| {
            format!(
                "SELECT count(*) FROM rutter_events WHERE kind = 'gap' AND detail LIKE '{like}'"
            )
        };
        let found = [&*gap, none].map(|like| done(&found(like)));
        assert!(found == [["1"], ["0"]], "{gap}: {found:?}");
        assert_eq!(self.sink().status().gaps, gaps + 1);
    }

    /// One table after the other is dropped. A gap is reported for each, and the table is restored. `routes` queries
    /// the current routes, and `DROP TABLE …` ends with `cascade`.
    pub fn bears_dropped_tables(
        &mut self,
        routes: &str,
        cascade: &str,
        ask: impl Fn(&str) -> Result<Vec<String>, String>,
    ) {
        let done = |sql: &str| ask(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        for table in [
            "rutter_routes",
            "rutter_peers",
            "rutter_collectors",
            "rutter_events",
        ] {
            // The last event is kept when events are removed below.
            self.act(20);
            self.has_written();
            done(&format!("DROP TABLE {table}{cascade}"));
            self.act(200);
            self.settles(|| ask(routes));
            let found = done("SELECT detail FROM rutter_events WHERE kind = 'gap'");
            let lost = match table {
                "rutter_routes" | "rutter_peers" => "no rows are missing: ",
                // The run of the remaining events is no longer known.
                _ => "rows before row ",
            };
            assert!(
                found
                    .iter()
                    .any(|gap| gap.starts_with(lost) && gap.contains(NOT_AS_LEFT)),
                "no gap reports that {table} was dropped: {found:?}"
            );
            done("DELETE FROM rutter_events WHERE kind = 'gap'");
        }
    }
}

/// The end of a gap's description if a store was changed by others.
const NOT_AS_LEFT: &str = ": the store is not at the committed position: ";

/// The seed of a test: `SEED` of the environment, or the default. A failing test has printed it.
pub fn seed(usual: u64) -> u64 {
    let given = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or(usual);
    eprintln!("moments and changes are drawn from SEED={seed}");
    seed
}

/// The number of kills: `ROUNDS` of the environment, or the default.
pub fn rounds(usual: u32) -> u32 {
    let given = std::env::var("ROUNDS").ok();
    given
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(usual)
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_micros() as u64
}

/// Compares the schema of a store with a file in `docs/samples`; `UPDATE_GOLDEN=1` rewrites the file.
pub fn golden(name: &str, lines: &[String]) {
    let file = docs().join("samples").join(name);
    let text = lines.join("\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).expect("the sample is written");
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, expected, "{}", file.display());
}

/// Runs the queries of docs/sinks.md below a heading, unchanged.
pub fn ask_questions(heading: &str, ask: impl Fn(&str) -> Vec<String>) {
    let text = std::fs::read_to_string(docs().join("sinks.md")).expect("docs/sinks.md");
    let (_, section) = text.split_once(heading).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sql\n").skip(1);
    let asked: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(asked.len(), 10);
    for sql in asked {
        assert!(!ask(sql).is_empty(), "no answer to {sql}");
    }
}

/// The `docs` folder.
pub fn docs() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
}
