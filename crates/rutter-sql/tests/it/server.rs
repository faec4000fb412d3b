//! The PostgreSQL protocol, with `psql` as the client.

use std::process::{Command, Output};

use rutter_sql::{Access, Server};

use crate::table;

pub fn server(access: Access) -> Server {
    let listen = ["127.0.0.1:0".parse().unwrap()];
    Server::start(table::engine(), &listen, access, 1).unwrap()
}

/// Runs `psql`. It comes with PostgreSQL's client package; without it the test fails.
pub fn psql(server: &Server, password: &str, arguments: &[&str]) -> Output {
    let port = server.addresses()[0].port().to_string();
    Command::new("psql")
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "reader",
            "-d",
            "rutter",
            "-X",
            "-A",
            "-t",
        ])
        .args(arguments)
        .env("PGPASSWORD", password)
        .env("PGCONNECT_TIMEOUT", "10")
        .output()
        .expect("psql runs: install postgresql-client")
}

pub fn answer(server: &Server, sql: &str) -> String {
    let output = psql(server, "", &["-c", sql]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn psql_reads_rows_of_all_types() {
    let server = server(Access::Open);
    let sql = "SELECT prefix, best, peer_asn, family, communities, med, reason FROM routes \
        WHERE prefix >>= '10.1.0.0/16' ORDER BY prefix, peer_asn";
    assert_eq!(
        answer(&server, sql),
        "10.0.0.0/8|t|64501|4|{64500:1}|50|\n\
         10.1.0.0/16|t|64501|4|{64500:1}|50|\n\
         10.1.0.0/16|f|64502|4|{64500:1}||\n"
    );
    assert_eq!(
        answer(&server, "BEGIN; SELECT max(med) FROM routes; COMMIT"),
        "BEGIN\n50\nCOMMIT\n"
    );
    let time = answer(&server, "SELECT max(time) FROM events");
    assert!(time.starts_with("2026-11-18 "), "{time}");
    assert_eq!(answer(&server, "SHOW transaction_read_only"), "on\n");
}

#[test]
fn prepared_statements_take_parameters() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let mut client = postgres::Client::connect(
        &format!("host=127.0.0.1 port={port} user=reader dbname=rutter"),
        postgres::NoTls,
    )
    .unwrap();
    let sql =
        "SELECT prefix, peer_asn, communities FROM routes WHERE peer_asn = $1 AND prefix >>= $2";
    let rows = client.query(sql, &[&64_502_i64, &"10.1.2.3"]).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get::<_, String>(0), "10.1.0.0/16");
    assert_eq!(rows[0].get::<_, i64>(1), 64_502);
    assert_eq!(rows[0].get::<_, Vec<String>>(2), ["64500:1"]);
}

#[test]
fn errors_are_the_clients_and_the_connection_goes_on() {
    let server = server(Access::Open);
    let output = psql(
        &server,
        "",
        &["-c", "SELECT nonsense FROM routes", "-c", "SELECT 1"],
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("nonsense"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
    let output = psql(&server, "", &["-c", "DROP TABLE routes"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("read-only"), "{error}");
}

#[test]
fn a_password_is_asked_for_where_there_is_one() {
    let access = Access::Password {
        user: "reader".into(),
        password: "secret".into(),
    };
    let server = server(access);
    let good = psql(&server, "secret", &["-c", "SELECT 1"]);
    assert_eq!(String::from_utf8_lossy(&good.stdout), "1\n");
    let bad = psql(&server, "wrong", &["-c", "SELECT 1"]);
    assert!(!bad.status.success());
}

#[test]
fn a_long_query_can_be_cancelled() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let cancel = client.cancel_token();
    let (begun, wait) = std::sync::mpsc::channel();
    let asker = std::thread::spawn(move || {
        begun.send(()).unwrap();
        // Far more rows than anybody would wait for.
        client.simple_query(
            "SELECT a.value FROM generate_series(1, 10000000) a, generate_series(1, 10000) b",
        )
    });
    wait.recv().unwrap();
    // The request may come before the query: it is repeated until the query has ended.
    while !asker.is_finished() {
        cancel.cancel_query(postgres::NoTls).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let error = asker.join().unwrap().unwrap_err();
    assert_eq!(
        error.code(),
        Some(&postgres::error::SqlState::QUERY_CANCELED),
        "{error}"
    );
}

/// What `psql` says when a query fails.
fn refusal(server: &Server, sql: &str) -> String {
    let output = psql(server, "", &["-c", sql]);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn as_long_as_a_query_may_be_it_is_planned() {
    let server = server(Access::Open);
    let sum = |terms: usize| format!("SELECT 1{}", "+1".repeat(terms));
    assert_eq!(answer(&server, &sum(15_000)), "15001\n");
    let either = format!("SELECT 1 WHERE 1=2{}", " OR 1=2".repeat(4_000));
    assert_eq!(answer(&server, &either), "");
    let refused = refusal(&server, &sum(20_000));
    assert!(refused.contains("at most 32768 are read"), "{refused}");
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}

#[test]
fn a_fetch_of_everything_has_an_end() {
    let server = server(Access::Open);
    let sql = "BEGIN; DECLARE c CURSOR FOR SELECT repeat('x', 1000) FROM generate_series(1, 1000000); \
        FETCH ALL FROM c";
    let refused = refusal(&server, sql);
    assert!(refused.contains("fetch fewer rows"), "{refused}");
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}
