//! MariaDB.

use rutter_config::{Database, Password, SinkTarget};
use rutter_interop::mariadb::MariaDb;
use rutter_interop::{Lab, eventually};

use crate::postgres::GAP;
use crate::recreated_tables::{FORGET, cuts_no_load_short};
use crate::stage::{Stage, ask_questions, golden, rounds, seed};

pub const ROUTES: &str = "SELECT peer_address, prefix, path_id, as_path FROM rutter_current";

pub fn database(server: &MariaDb, user: &str) -> Database {
    Database {
        host: "127.0.0.1".into(),
        port: server.port(),
        database: "rutter".into(),
        user: user.into(),
        password: Some(Password::new("sesame")),
        history: true,
        answer_timeout_s: 300,
        tls: None,
    }
}

fn stage(lab: &Lab, server: &MariaDb, user: &str, seed: u64) -> Stage {
    let target = SinkTarget::MariaDb(database(server, user));
    Stage::new("lab", target, lab.folder(user), seed)
}

/// Every number of a run occurs once: the key ensures it, and every hole is reported as a gap.
pub fn check_history(server: &MariaDb) {
    let holes = "SELECT run, seq, before_it, kind FROM (SELECT run, seq, kind,
        lag(seq) OVER (PARTITION BY run ORDER BY seq) AS before_it FROM rutter_events) e
        WHERE seq <> coalesce(before_it + 1, 0) AND kind <> 'gap'";
    assert_eq!(server.query(holes), Vec::<String>::new());
}

#[test]
fn mariadb_is_exact_whoever_is_killed() {
    let lab = Lab::new();
    let mut server = MariaDb::start(&lab);
    server.query("CREATE USER guest@'127.0.0.1' IDENTIFIED BY 'sesame'");
    server.query("GRANT SELECT ON rutter.* TO guest@'127.0.0.1'");
    self::stage(&lab, &server, "guest", 1).complains(&["denied", "GRANT ALL"]);
    self::stage(&lab, &server, "nobody", 1)
        .complains(&["cannot connect: Access denied", "see `user` and `password`"]);
    let mut stage = stage(&lab, &server, "rutter", seed(6));
    stage.act(800);
    stage.settles(|| server.try_query(ROUTES));
    let schema =
        "SELECT table_name, column_name, column_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'rutter' ORDER BY table_name, ordinal_position";
    golden("schema-mariadb.txt", &server.query(schema));
    ask_questions("## Ten questions to MariaDB\n", |sql| server.query(sql));
    for round in 0..rounds(2) {
        stage.act(400);
        std::thread::sleep(std::time::Duration::from_millis(stage.rng.below(120)));
        server.kill();
        stage.act(400);
        if round == 1 {
            stage.restart();
            stage.act(300);
        }
        server.run();
        stage.settles(|| server.try_query(ROUTES));
    }
    stage.stop();
    check_history(&server);
    let runs = server.query("SELECT count(*) FROM rutter_events WHERE kind IN ('start', 'stop')");
    assert_eq!(runs, ["4"], "two runs, each with its start and its end");
    stage.restart_cramped();
    stage.settles(|| server.try_query(ROUTES));
    server.kill();
    stage.overflow();
    server.run();
    stage.settles(|| server.try_query(ROUTES));
    stage.stop();
    check_history(&server);
    assert!(
        !server.query(GAP).is_empty(),
        "no gap reports the missing rows"
    );
    // Rows with a time in the future sort before all others.
    server.query(
        "INSERT INTO rutter_events (collector_id, run, seq, time, kind, detail)
         SELECT c.collector_id, 0, row_number() OVER (), '2037-01-01', 'announce', ''
         FROM rutter_collectors c, information_schema.columns a, information_schema.columns b LIMIT 30000",
    );
    stage.restart_forgetful();
    stage.act(300);
    eventually("old events are gone", || {
        match server.try_query("SELECT kind FROM rutter_events WHERE run > 0 LIMIT 3")? {
            rows if rows.is_empty() => Ok(()),
            rows => Err(format!("{rows:?}")),
        }
    });
    stage.settles(|| server.try_query(ROUTES));
    stage.stop();
    stage.bears_silence(&mut server, MariaDb::freeze, MariaDb::thaw, |server| {
        server.try_query(ROUTES)
    });
    stage.restart();
    bears_meddling(&mut stage, &server);
    stage.stop();
    let mut other = rutter_sinks::mariadb::MariaDb::new("other", database(&server, "rutter"));
    cuts_no_load_short(&mut other, || drop(server.query(FORGET)));
}

/// Closes the connection of the sink.
pub const CUT: &str = "SELECT concat('KILL ', id) INTO @kill FROM information_schema.processlist WHERE user = 'rutter';
    EXECUTE IMMEDIATE @kill";

/// An operator changes tables by hand, forbids writing, and drops tables: nothing is lost, or a gap is reported.
fn bears_meddling(stage: &mut Stage, server: &MariaDb) {
    stage.settles(|| server.try_query(ROUTES));
    server.query("ALTER TABLE rutter_routes ADD note varchar(9) NOT NULL DEFAULT 'ours' FIRST");
    server.query("ALTER TABLE rutter_events ADD note varchar(9) NOT NULL DEFAULT 'ours' FIRST");
    stage.act(200);
    stage.settles(|| server.try_query(ROUTES));
    server.query("SET GLOBAL read_only = 1");
    stage.act(200);
    stage.complains(&["read-only"]);
    server.query("SET GLOBAL read_only = 0");
    stage.settles(|| server.try_query(ROUTES));
    stage.bears_removed_rows(
        ROUTES,
        &format!("DELETE FROM rutter_routes ORDER BY network LIMIT 1; {CUT}"),
        |sql| server.try_query(sql),
    );
    stage.bears_a_restored_backup(ROUTES, ("time", CUT), |sql| server.try_query(sql));
    stage.bears_dropped_tables(ROUTES, "", |sql| server.try_query(sql));
}
