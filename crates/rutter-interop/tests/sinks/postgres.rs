//! PostgreSQL.

use rutter_config::{Database, SinkTarget};
use rutter_interop::postgres::Postgres;
use rutter_interop::{Lab, eventually};

use crate::recreated_tables::{FORGET, cuts_no_load_short};
use crate::stage::{Stage, ask_questions, golden, rounds, seed};

pub const ROUTES: &str = "SELECT host(peer_address), prefix, path_id, as_path FROM rutter_current";

pub fn database(server: &Postgres, user: &str) -> Database {
    Database {
        host: server.socket().display().to_string(),
        port: server.port(),
        database: "rutter".into(),
        user: user.into(),
        password: None,
        history: true,
        answer_timeout_s: 300,
        tls: None,
    }
}

fn stage(lab: &Lab, server: &Postgres, user: &str, seed: u64) -> Stage {
    Stage::new(
        "lab",
        SinkTarget::Postgres(database(server, user)),
        lab.folder(user),
        seed,
    )
}

/// The query for the description of a gap.
pub const GAP: &str = "SELECT detail FROM rutter_events WHERE kind = 'gap' AND detail LIKE 'rows % to % are missing, from %'";

/// Every number of a run occurs once, and the current routes have their indexes.
pub fn check_history(server: &Postgres) {
    let twice = "SELECT run, seq, count(*) FROM rutter_events GROUP BY 1, 2 HAVING count(*) > 1";
    assert_eq!(
        server.query(twice),
        Vec::<String>::new(),
        "rows that are there twice"
    );
    let holes = "SELECT run, seq, before, kind FROM (SELECT run, seq, kind,
        lag(seq) OVER (PARTITION BY run ORDER BY seq) AS before FROM rutter_events) e
        WHERE seq <> coalesce(before + 1, 0) AND kind <> 'gap'";
    assert_eq!(
        server.query(holes),
        Vec::<String>::new(),
        "holes without a gap"
    );
    let indexes = "SELECT indexname FROM pg_indexes WHERE tablename = 'rutter_routes' ORDER BY 1";
    assert_eq!(
        server.query(indexes),
        ["rutter_routes_pkey", "rutter_routes_prefix"],
        "a load that was cut short left the table without"
    );
}

/// An operator changes tables by hand, forbids writing, and drops tables: nothing is lost, or a gap is reported.
fn bears_meddling(stage: &mut Stage, server: &Postgres) {
    stage.settles(|| server.try_query(ROUTES));
    server.query("ALTER TABLE rutter_routes ADD note text NOT NULL DEFAULT 'ours'");
    server.query("ALTER TABLE rutter_events ADD note text NOT NULL DEFAULT 'ours'");
    stage.act(200);
    stage.settles(|| server.try_query(ROUTES));
    server.query(
        "ALTER DATABASE rutter SET default_transaction_read_only = on;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rutter'",
    );
    stage.act(200);
    stage.complains(&["read-only"]);
    server.query(
        "BEGIN READ WRITE; ALTER DATABASE rutter RESET default_transaction_read_only; COMMIT",
    );
    stage.settles(|| server.try_query(ROUTES));
    // A schema that precedes the one with the tables in the search path.
    stage.bears_removed_rows(
        ROUTES,
        "CREATE SCHEMA postgres;
         DELETE FROM rutter_routes WHERE prefix = (SELECT min(prefix) FROM rutter_routes);
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rutter'",
        |sql| server.try_query(sql),
    );
    let time = "to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')";
    let cut =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rutter'";
    server.query("ALTER DATABASE rutter SET timezone = 'UTC'");
    stage.bears_a_restored_backup(ROUTES, (time, cut), |sql| server.try_query(sql));
    stage.bears_dropped_tables(ROUTES, " CASCADE", |sql| server.try_query(sql));
}

#[test]
fn postgres_is_exact_whoever_is_killed() {
    let lab = Lab::new();
    let mut server = Postgres::start(&lab);
    server.query("CREATE ROLE guest LOGIN");
    self::stage(&lab, &server, "guest", 1).complains(&["permission denied", "GRANT CREATE, USAGE"]);
    let mut stage = stage(&lab, &server, "postgres", seed(5));
    stage.act(800);
    stage.settles(|| server.try_query(ROUTES));
    let schema =
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";
    golden("schema-postgres.txt", &server.query(schema));
    ask_questions("## Ten questions\n", |sql| server.query(sql));
    for round in 0..rounds(3) {
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
    stage.restart();
    stage.act(300);
    stage.settles(|| server.try_query(ROUTES));
    stage.stop();
    check_history(&server);
    let kinds = server.query("SELECT kind, count(*) > 0 FROM rutter_events GROUP BY 1 ORDER BY 1");
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    let runs = server.query("SELECT count(*) FROM rutter_events WHERE kind IN ('start', 'stop')");
    assert_eq!(runs, ["6"], "three runs, each with its start and its end");
    stage.restart_cramped();
    stage.settles(|| server.try_query(ROUTES));
    server.kill();
    stage.overflow();
    server.run();
    stage.settles(|| server.try_query(ROUTES));
    stage.act(100);
    stage.settles(|| server.try_query(ROUTES));
    stage.stop();
    check_history(&server);
    assert!(
        !server.query(GAP).is_empty(),
        "no gap reports the missing rows"
    );
    server.query("INSERT INTO rutter_schema (version) VALUES (99)");
    stage.restart();
    stage.complains(&["version 99", "use a newer Rutter"]);
    stage.stop();
    server.query("DELETE FROM rutter_schema WHERE version = 99");
    stage.restart_forgetful();
    stage.act(300);
    eventually("old events are gone", || {
        match server.try_query("SELECT kind FROM rutter_events LIMIT 3")? {
            rows if rows.is_empty() => Ok(()),
            rows => Err(format!("{rows:?}")),
        }
    });
    stage.settles(|| server.try_query(ROUTES));
    stage.stop();
    stage.bears_silence(&mut server, Postgres::freeze, Postgres::thaw, |server| {
        server.try_query(ROUTES)
    });
    stage.restart();
    bears_meddling(&mut stage, &server);
    stage.stop();
    let mut other = rutter_sinks::postgres::Postgres::new("other", database(&server, "postgres"));
    cuts_no_load_short(&mut other, || drop(server.query(FORGET)));
    eventually("the lock is free", || {
        let locks = server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
        if locks == ["0"] {
            Ok(())
        } else {
            Err(format!("{locks:?}"))
        }
    });
}
