//! Requests of real clients: Python's drivers, Grafana's data source, `psql`'s descriptions of tables.

use std::process::Command;

use rutter_sql::{Access, Server};

use crate::server::{answer, server};

/// Runs a program of `tests/it/python`. The drivers come from Debian's packages.
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
fn psycopg_3_queries_the_server() {
    python(&server(Access::Open), "with_psycopg3.py");
}

#[test]
fn psycopg_2_queries_the_server() {
    python(&server(Access::Open), "with_psycopg2.py");
}

#[test]
fn asyncpg_queries_the_server() {
    python(&server(Access::Open), "with_asyncpg.py");
}

#[test]
fn sqlalchemy_queries_the_server() {
    python(&server(Access::Open), "with_sqlalchemy.py");
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
fn catalogue_queries_of_tools_return_rows() {
    let server = server(Access::Open);
    for sql in include_str!("tools.sql").trim().split("\n\n") {
        let rows = answer(&server, sql);
        let what = sql.lines().next().unwrap_or_default();
        assert_eq!(rows.is_empty(), what.contains("(nothing)"), "{sql}\n{rows}");
    }
}

/// Every command of `psql` that describes objects gets an answer, even if there are no such objects.
#[test]
fn psql_describes_every_kind_of_object() {
    let server = server(Access::Open);
    for (command, expected) in [
        ("\\l", "rutter|rutter|UTF8|C|C||libc|"),
        ("\\l+", "pg_default"),
        ("\\du", "rutter||{}"),
        ("\\dn", "public|rutter"),
        ("\\dn+", "public|rutter"),
        ("\\df", "public|origin_as|bigint|as_path text|func"),
        ("\\df has_community", "public|has_community|boolean"),
        ("\\dt", "public|routes|table|rutter"),
        ("\\dt+", "public|routes|table|rutter|permanent|"),
        ("\\dt pg_catalog.*", "pg_catalog|pg_class|table|rutter"),
        ("\\d", "public|best|table|rutter"),
        ("\\d routes", "communities|text[]|"),
        ("\\d public.routes", "as_path|text|"),
        ("\\d+ routes", "prefix|text|"),
        ("\\dS pg_class", "relname|text|"),
        ("\\dp", "public|peers|table"),
        ("\\db", "pg_default|rutter|"),
    ] {
        let said = answer(&server, command);
        assert!(said.contains(expected), "{command}: {said}");
    }
    let all = "\\dv \\di \\ds \\dm \\dT \\dT+ \\dx \\dD \\dew \\des \\dC \\do \\da \\dconfig \\dy \\dRp \\dRs \\dF \\dO \\dL \\dc \\dd \\ddp \\dE \\dg \\dP \\drds \\dX \\dA \\dAc \\dl \\z \\dS \\dvS";
    for command in all.split(' ') {
        answer(&server, command);
    }
}

#[test]
fn result_columns_have_postgresql_names() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let sql = "SELECT count(*), max(peer_asn), max(med), 1, peer_name, upper(peer_name) AS peer_name, med::text, \
        peer_name AS \"Name\" FROM routes GROUP BY peer_name, med";
    let statement = client.prepare(sql).unwrap();
    let names: Vec<&str> = statement
        .columns()
        .iter()
        .map(|column| column.name())
        .collect();
    assert_eq!(
        names,
        [
            "count",
            "max",
            "max",
            "?column?",
            "peer_name",
            "peer_name",
            "med",
            "Name"
        ]
    );
    let sql = "SELECT 1::int, 1::bigint, 'a'::varchar(3), 2.5::float8::int, true::boolean, 1::real, 1::decimal(3, 1), \
        CASE WHEN best THEN med ELSE peer_asn END, CASE WHEN best THEN 1 END, CASE WHEN best THEN 2 ELSE 1::int END, '{1}'::int[], \
        timestamp '2024-01-01', '2024-01-01'::timestamp with time zone, interval '1 day', 'a'::char(1), med::numeric FROM routes";
    let statement = client.prepare(sql).unwrap();
    let names: Vec<&str> = statement
        .columns()
        .iter()
        .map(|column| column.name())
        .collect();
    assert_eq!(
        names.join(" "),
        "?column? ?column? ?column? ?column? ?column? ?column? ?column? case case case ?column? ?column? ?column? \
         ?column? ?column? med"
    );
    let counted = "SELECT count FROM (SELECT count(*) FROM peers) AS t ORDER BY count";
    assert_eq!(answer(&server, counted), "2\n");
    assert_eq!(answer(&server, "SELECT 1, 1, NULL, NULL"), "1|1||\n");
    for sql in [
        "SELECT cardinality(ARRAY(SELECT prefix FROM (SELECT prefix FROM routes LIMIT 3) t ORDER BY 1))",
        "SELECT count(*) FROM (SELECT prefix FROM routes ORDER BY 1 OFFSET 1 FETCH NEXT 3 ROWS ONLY) t",
    ] {
        assert_eq!(answer(&server, sql), "3\n", "{sql}");
    }
    assert_eq!(
        answer(&server, "SELECT to_regtype('text'), to_regclass('nobody')"),
        "25|\n"
    );
    let twice = "SELECT p.peer_asn, p.* FROM peers p ORDER BY peer_asn LIMIT 1";
    assert!(answer(&server, twice).starts_with("64501|"));
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
