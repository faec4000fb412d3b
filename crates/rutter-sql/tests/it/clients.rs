//! What real clients send: Python's drivers, Grafana's data source, `psql`'s descriptions of tables.

use std::process::Command;

use rutter_sql::{Access, Server};

use crate::server::{answer, server};

/// Runs a program of `tests/it/python`. Debian's packages python3-psycopg and python3-psycopg2 have the drivers.
fn python(server: &Server, program: &str) {
    let path = format!("{}/tests/it/python/{program}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("/usr/bin/python3")
        .arg(&path)
        .arg(server.addresses()[0].port().to_string())
        .output()
        .expect("python3 runs: tools/install-test-deps installs it");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{error}");
}

#[test]
fn psycopg_3_works() {
    python(&server(Access::Open), "with_psycopg3.py");
}

#[test]
fn psycopg_2_works() {
    python(&server(Access::Open), "with_psycopg2.py");
}

#[test]
fn grafana_finds_tables_and_draws_events() {
    let server = server(Access::Open);
    for sql in include_str!("grafana.sql").split("\n\n") {
        let rows = answer(&server, sql);
        let what = sql.lines().next().unwrap_or_default();
        assert_eq!(rows.is_empty(), what.contains("(nothing)"), "{sql}\n{rows}");
    }
}

#[test]
fn psql_describes_tables() {
    let server = server(Access::Open);
    let tables = answer(&server, "\\dt");
    for table in ["best", "events", "peers", "rejected", "routes"] {
        assert!(
            tables.contains(&format!("public|{table}|table|rutter")),
            "{tables}"
        );
    }
    assert_eq!(answer(&server, "\\d"), tables);
    let routes = answer(&server, "\\d routes");
    assert!(routes.contains("prefix|text|"), "{routes}");
    assert!(routes.contains("communities|text[]|"), "{routes}");
    assert!(answer(&server, "\\dn").contains("public|"));
    assert!(answer(&server, "SELECT version()").starts_with("PostgreSQL 16"));
}
