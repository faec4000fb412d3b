//! The PostgreSQL protocol, with `psql` as the client.

use std::io::Read as _;
use std::net::TcpStream;
use std::process::{Command, Output};
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator as _;
use rutter_sql::{Access, CertificateFiles, ConnectionBounds, Server, Settings};

use crate::raw::Raw;
use crate::table;

pub fn server(access: Access) -> Server {
    bounded(access, ConnectionBounds::default())
}

fn bounded(access: Access, bounds: ConnectionBounds) -> Server {
    start(access, None, bounds)
}

pub fn start(access: Access, tls: Option<CertificateFiles>, bounds: ConnectionBounds) -> Server {
    Server::start(table::database(), settings(access, tls, bounds)).unwrap()
}

pub fn settings(
    access: Access,
    tls: Option<CertificateFiles>,
    bounds: ConnectionBounds,
) -> Settings {
    Settings {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        access,
        tls,
        threads: 1,
        bounds,
        step_back: || {},
        release: || {},
    }
}

/// Runs `psql` from PostgreSQL's client package. The test fails without it.
pub fn psql(server: &Server, password: &str, arguments: &[&str]) -> Output {
    let mut psql = psql_of(server, password);
    let output = psql.args(arguments).output();
    output.expect("psql runs: install postgresql-client")
}

pub fn psql_of(server: &Server, password: &str) -> Command {
    let port = server.addresses()[0].port().to_string();
    let mut psql = Command::new("psql");
    psql.args([
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
    .env("PGPASSWORD", password)
    .env("PGCONNECT_TIMEOUT", "10");
    psql
}

pub fn answer(server: &Server, sql: &str) -> String {
    let output = psql(server, "", &["-c", sql]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error message that `psql` prints.
pub fn refusal(server: &Server, sql: &str) -> String {
    let output = psql(server, "", &["-c", sql]);
    assert!(!output.status.success(), "not refused: {sql}");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns the error message that `psql` prints, with its SQLSTATE.
pub fn failure(server: &Server, sql: &str) -> String {
    let output = psql(server, "", &["-v", "VERBOSITY=verbose", "-c", sql]);
    assert!(!output.status.success(), "not refused: {sql}");
    String::from_utf8(output.stderr).unwrap()
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
fn errors_reach_the_client_and_keep_the_connection() {
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
fn a_configured_password_is_required() {
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

fn secret() -> Access {
    Access::Password {
        user: "reader".into(),
        password: "sécret, 'long'".into(),
    }
}

#[test]
fn wrong_passwords_delay_the_next_login() {
    let server = server(secret());
    let good = psql(&server, "sécret, 'long'", &["-c", "SELECT 1"]);
    assert_eq!(String::from_utf8_lossy(&good.stdout), "1\n");
    let mut said = Vec::new();
    // Each guess extends the delay. So one guess comes too early, however slow `psql` is.
    while said
        .iter()
        .all(|said: &String| !said.contains("try again in"))
    {
        let output = psql(&server, "guess", &["-c", "SELECT 1"]);
        said.push(String::from_utf8(output.stderr).unwrap());
        let last = said.last().unwrap();
        let known = ["authentication failed", "try again in"];
        assert!(known.iter().any(|known| last.contains(known)), "{said:?}");
    }
    assert!(said.len() > 3, "{said:?}");
}

/// `psql` first connects without a password, and asks for one if the server requires it.
#[test]
fn a_login_without_a_password_counts_as_no_attempt() {
    let server = server(secret());
    for _ in 0..3 {
        psql(&server, "guess", &["-c", "SELECT 1"]);
    }
    // From now on, each attempt must wait for the one before: currently a second.
    std::thread::sleep(Duration::from_millis(1_100));
    for _ in 0..3 {
        let mut asking = psql_of(&server, "");
        let asked = asking.env_remove("PGPASSWORD").args(["-w", "-c", ""]);
        let said = String::from_utf8(asked.output().unwrap().stderr).unwrap();
        assert!(said.contains("no password supplied"), "{said}");
    }
    let good = psql(&server, "sécret, 'long'", &["-c", "SELECT 1"]);
    let said = String::from_utf8_lossy(&good.stderr);
    assert_eq!(String::from_utf8_lossy(&good.stdout), "1\n", "{said}");
}

#[test]
fn silent_connections_take_little_memory() {
    let bounds = ConnectionBounds {
        login: Duration::from_secs(3600),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    // More connections than the server serves, and more than may wait for their rejection.
    let silent: Vec<TcpStream> = (0..120)
        .map(|_| TcpStream::connect(server.addresses()[0]).unwrap())
        .collect();
    let refused = connect(&server).map(drop).unwrap_err();
    let error = refused.as_db_error().expect("the server says why");
    assert_eq!(
        error.code(),
        &postgres::error::SqlState::TOO_MANY_CONNECTIONS
    );
    assert!(error.message().contains("at most 32 of an address"));
    drop(silent);
    while connect(&server).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn connections_without_a_login_are_closed() {
    let bounds = ConnectionBounds {
        login: Duration::from_millis(300),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let mut silent = TcpStream::connect(server.addresses()[0]).unwrap();
    silent
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
}

#[test]
fn connections_above_the_limit_are_refused() {
    let bounds = ConnectionBounds {
        connections: 1,
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let _held = connect(&server).unwrap();
    let refused = connect(&server).map(drop).unwrap_err();
    assert_eq!(
        refused.code(),
        Some(&postgres::error::SqlState::TOO_MANY_CONNECTIONS),
        "{refused}"
    );
}

/// A cursor holds a snapshot of the table, so the server ends it after a while.
#[test]
fn an_unread_cursor_ends() {
    let bounds = ConnectionBounds {
        query: Duration::from_secs(3),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let mut client = connect(&server).unwrap();
    let declared = "BEGIN; DECLARE c CURSOR FOR SELECT value FROM generate_series(1, 10000000) AS s (value); FETCH 10 FROM c";
    client.batch_execute(declared).unwrap();
    std::thread::sleep(Duration::from_secs(9));
    // The server still returns the rows that it computed earlier.
    let ended = (0..10).find_map(|_| client.batch_execute("FETCH 8192 FROM c").err());
    let ended = ended.expect("the cursor ends");
    let why = ended.as_db_error().map_or("", |error| error.message());
    assert!(why.contains("fetched no rows"), "{ended:?}");
}

#[test]
fn idle_connections_are_closed() {
    let bounds = ConnectionBounds {
        connections: 1,
        idle: Duration::from_millis(300),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let mut held = connect(&server).unwrap();
    while connect(&server).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(held.simple_query("SELECT 1").is_err());
}

fn connect(server: &Server) -> Result<postgres::Client, postgres::Error> {
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    postgres::Client::connect(&parameters, postgres::NoTls)
}

#[test]
fn a_query_times_out_and_others_are_answered_meanwhile() {
    let bounds = ConnectionBounds {
        query: Duration::from_secs(10),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let mut client = connect(&server).unwrap();
    let asker = std::thread::spawn(move || {
        // Each step is short, but all steps together exceed the time limit on any machine.
        client.simple_query(
            "SELECT count(*) FROM generate_series(1, 8000000) AS s (value) \
             WHERE path_contains(repeat('1 ', 10000) || CAST(value AS TEXT), '7')",
        )
    });
    assert_eq!(answer(&server, "SELECT count(*) FROM routes"), "6\n");
    let error = asker.join().unwrap().unwrap_err();
    let said = error.as_db_error().map(|error| error.message().to_owned());
    assert!(said.unwrap().contains("query-timeout"), "{error}");
    assert_eq!(answer(&server, "SELECT count(*) FROM routes"), "6\n");
}

#[test]
fn a_query_ends_when_its_client_disconnects() {
    let bounds = ConnectionBounds {
        connections: 1,
        query: Duration::from_secs(3600),
        ..ConnectionBounds::default()
    };
    let server = bounded(Access::Open, bounds);
    let mut asker = Raw::login(&server);
    // This query returns no row for a long time, on any machine.
    let sql = "SELECT count(*) FROM generate_series(1, 10000000) AS a (value), generate_series(1, 1000000) AS b (value) \
        WHERE a.value + b.value < 0";
    asker.send(b'Q', format!("{sql}\0").as_bytes());
    drop(asker);
    // The only connection slot is free again.
    while connect(&server).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The server sends an answer while it computes it. It reserves no memory for rows that a client may never read.
#[test]
fn results_of_prepared_statements_are_streamed() {
    let server = server(Access::Open);
    let mut client = connect(&server).unwrap();
    let mut asking = client.transaction().unwrap();
    let portal = asking.bind("SELECT prefix FROM routes", &[]).unwrap();
    assert_eq!(asking.query_portal(&portal, 4).unwrap().len(), 4);
    assert_eq!(asking.query_portal(&portal, i32::MAX).unwrap().len(), 2);
    assert_eq!(asking.query_portal(&portal, 0).unwrap().len(), 0);
    drop(asking);
    // These rows exceed the memory of any machine.
    let sql = "SELECT a.value FROM generate_series(1, 10000000) AS a (value), generate_series(1, 10000000) AS b (value)";
    let none: [&str; 0] = [];
    let cancel = client.cancel_token();
    let mut rows = client.query_raw(sql, none).unwrap();
    assert!(rows.next().unwrap().is_some());
    cancel.cancel_query(postgres::NoTls).unwrap();
    while let Ok(Some(_)) = rows.next() {}
}

#[test]
fn lists_and_large_numbers_keep_their_values() {
    let server = server(Access::Open);
    let sql = "SELECT make_array(1, NULL, -3), make_array(true, false), make_array(1.5), make_array('a b', NULL), \
        array_agg(peer_asn) FROM peers WHERE peer_asn = 64501";
    assert_eq!(
        answer(&server, sql),
        "{1,NULL,-3}|{t,f}|{1.5}|{\"a b\",NULL}|{64501}\n"
    );
    let mut client = connect(&server).unwrap();
    let row = client.query_one(sql, &[]).unwrap();
    assert_eq!(row.get::<_, Vec<Option<i64>>>(0), [Some(1), None, Some(-3)]);
    assert_eq!(row.get::<_, Vec<bool>>(1), [true, false]);
    assert_eq!(row.get::<_, Vec<f64>>(2), [1.5]);
    let large = "SELECT CAST(18446744073709551615 AS BIGINT UNSIGNED)";
    let refused = refusal(&server, large);
    assert!(refused.contains("18446744073709551615"), "{refused}");
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
        // Far more rows than any client would wait for.
        client.simple_query(
            "SELECT a.value FROM generate_series(1, 10000000) AS a (value), generate_series(1, 10000) AS b (value)",
        )
    });
    wait.recv().unwrap();
    // The request may arrive before the query does. So it is repeated until the query has ended.
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

/// Joins produce rows long after all tables are read. One join per worker thread must not block all these threads.
#[test]
fn cancelled_joins_release_their_threads() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    for _ in 0..6 {
        let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
        let cancel = client.cancel_token();
        let asker = std::thread::spawn(move || {
            client.simple_query(
                "SELECT count(*) FROM generate_series(1, 600000) AS a (value) \
                 JOIN generate_series(1, 600000) AS b (value) ON a.value < b.value",
            )
        });
        std::thread::sleep(Duration::from_millis(200));
        while !asker.is_finished() {
            cancel.cancel_query(postgres::NoTls).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(asker.join().unwrap().is_err());
    }
    assert_eq!(answer(&server, "SELECT count(*) FROM routes"), "6\n");
}

#[test]
fn statement_timeout_shortens_the_query_timeout() {
    let server = server(Access::Open);
    let endless = "SELECT count(*) FROM generate_series(1, 10000000) AS a (value), generate_series(1, 1000000) AS b (value) WHERE a.value + b.value < 0";
    let refused = refusal(
        &server,
        &format!("SET statement_timeout = '200ms'; {endless}"),
    );
    assert!(refused.contains("statement_timeout"), "{refused}");
    let refused = refusal(&server, "SET statement_timeout = soon");
    assert!(refused.contains("is no time"), "{refused}");
    assert_eq!(
        answer(&server, "SET statement_timeout TO 0; SELECT 1"),
        "SET\n1\n"
    );
}

/// A failed transaction must be ended. After a rollback to a savepoint it continues.
#[test]
fn an_error_aborts_the_transaction() {
    let server = server(Access::Open);
    let mut client = connect(&server).unwrap();
    client
        .batch_execute("/* app */ BEGIN; SAVEPOINT a")
        .unwrap();
    assert!(client.batch_execute("SELECT nonsense").is_err());
    let refused = client.query("SELECT 1", &[]).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "25P02");
    client.batch_execute("ROLLBACK TO SAVEPOINT a").unwrap();
    client.batch_execute("RELEASE a").unwrap();
    client.batch_execute("BEGIN; SELECT 1").unwrap();
    assert!(client.batch_execute("SELECT 1; SELECT nonsense").is_err());
    assert!(client.simple_query("SELECT 1").is_err());
    client.batch_execute("ROLLBACK").unwrap();
    assert_eq!(client.query("SELECT 1", &[]).unwrap().len(), 1);
}

/// Drivers know this code: they connect again.
#[test]
fn clients_of_a_server_that_stops_receive_an_error() {
    let server = server(Access::Open);
    let mut idle = Raw::login(&server);
    let mut busy = Raw::login(&server);
    let endless = "SELECT count(*) FROM generate_series(1, 600000) AS a (value) \
                   JOIN generate_series(1, 600000) AS b (value) ON a.value + b.value < 0\0";
    busy.send(b'Q', endless.as_bytes());
    // Its query runs: the first is answered.
    idle.send(b'Q', b"SELECT 1\0");
    idle.until(b'Z');
    // Each is at another point of its login. The server has accepted all of them before the last one.
    let mut starting: Vec<Raw> = (0..20).map(|_| Raw::connect(&server)).collect();
    starting.push(Raw::login(&server));
    let copy = server.sockets()[0].try_clone().expect("a copy");
    let leaving = std::thread::spawn(move || server.leave());
    for client in [&mut idle, &mut busy].into_iter().chain(&mut starting) {
        let error = client.error();
        assert!(
            error.contains("FATAL") && error.contains("57P01"),
            "{error}"
        );
        assert!(client.ends());
    }
    leaving.join().expect("it leaves");
    // A client that connects now waits for the next process.
    let address = copy.local_addr().expect("an address");
    let _waits = TcpStream::connect(address).expect("a place in the queue");
    copy.set_nonblocking(false).expect("a socket");
    let _accepted = copy.accept().expect("nobody else accepts");
}
