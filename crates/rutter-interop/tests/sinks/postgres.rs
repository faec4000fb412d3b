//! PostgreSQL.

use rutter_config::{Database, SinkTarget};
use rutter_interop::postgres::Postgres;
use rutter_interop::{Lab, eventually};

use crate::stage::{Stage, docs, golden};

const ROUTES: &str = "SELECT host(peer_address), prefix, path_id, as_path FROM rutter_current";

fn stage(lab: &Lab, server: &Postgres, seed: u64) -> Stage {
    let database = Database {
        host: server.socket().display().to_string(),
        port: server.port(),
        database: "rutter".into(),
        user: "postgres".into(),
        password: None,
        history: true,
    };
    Stage::new(
        "lab",
        SinkTarget::Postgres(database),
        lab.folder("spool"),
        seed,
    )
}

/// The questions of docs/sinks.md are asked as they stand there.
fn questions(server: &Postgres) {
    let text = std::fs::read_to_string(docs().join("sinks.md")).expect("docs/sinks.md");
    let blocks = text.split("```sql\n").skip(1);
    let asked: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(asked.len(), 10);
    for sql in asked {
        assert!(!server.query(sql).is_empty(), "no answer to {sql}");
    }
}

/// Every number of a run is there once.
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
        "holes that nobody tells of"
    );
}

#[test]
fn postgres_is_exact_whoever_is_killed() {
    let lab = Lab::new();
    let mut server = Postgres::start(&lab);
    let mut stage = stage(&lab, &server, 5);
    stage.act(800);
    stage.settles(|| server.try_query(ROUTES));
    let schema =
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";
    golden("schema-postgres.txt", &server.query(schema));
    questions(&server);
    for round in 0..3 {
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
    eventually("the lock is free", || {
        let locks = server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
        if locks == ["0"] {
            Ok(())
        } else {
            Err(format!("{locks:?}"))
        }
    });
}
