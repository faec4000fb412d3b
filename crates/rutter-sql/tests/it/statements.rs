//! Statements that are not queries: COPY, TABLE, savepoints, cursors, settings.

use std::io::Read as _;

use rutter_sql::Access;

use crate::raw::Raw;
use crate::server::{answer, failure, psql, refusal, server};

#[test]
fn copy_writes_text_csv_and_binary() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "COPY (SELECT prefix, communities, reason, 'a\tb' FROM routes WHERE prefix = '10.0.0.0/8') TO STDOUT",
            "10.0.0.0/8\t{64500:1}\t\\N\ta\\tb\n",
        ),
        (
            "COPY (SELECT * FROM best ORDER BY prefix LIMIT 0) TO STDOUT CSV",
            "",
        ),
        (
            "COPY (SELECT '\"x\", y' AS a, NULL AS b, '' AS c, 1.0::float8 AS d) TO STDOUT WITH (FORMAT csv, HEADER)",
            "a,b,c,d\n\"\"\"x\"\", y\",,\"\",1\n",
        ),
        (
            "copy public.rejected (prefix, \"reason\") to stdout delimiter '|'; SELECT 1",
            "198.51.100.0/24|as-loop\n1\n",
        ),
    ] {
        assert_eq!(answer(&server, sql), expected, "{sql}");
    }
    let file = std::env::temp_dir().join(format!("rutter-copy-{}.csv", std::process::id()));
    let said = psql(
        &server,
        "",
        &[
            "-c",
            &format!(
                "\\copy (SELECT value FROM generate_series(1, 100000) AS s (value) ORDER BY value) TO '{}' CSV HEADER",
                file.display()
            ),
        ],
    );
    assert_eq!(String::from_utf8_lossy(&said.stdout), "COPY 100000\n");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("value\n1\n2\n") && written.ends_with("\n100000\n"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn refused_copies_name_the_reason() {
    let server = server(Access::Open);
    for (sql, expected) in [
        ("COPY routes FROM STDIN", "read-only"),
        ("COPY routes TO '/tmp/routes'", "\\copy in psql"),
        ("COPY nowhere TO STDOUT", "nowhere"),
        ("COPY (DELETE FROM routes) TO STDOUT", "read-only"),
        ("COPY routes TO STDOUT (FORMAT xml)", "text, csv or binary"),
        ("COPY (SELECT 1/0 FROM routes) TO STDOUT", "ivide by zero"),
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains(expected), "{sql}: {refused}");
    }
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}

/// Queries of DuckDB, ADBC and ConnectorX.
#[test]
fn drivers_read_binary_copies() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let mut copied = Vec::new();
    let sql = "COPY (SELECT 7::bigint, NULL::text, 'ab') TO STDOUT (FORMAT binary)";
    client
        .copy_out(sql)
        .unwrap()
        .read_to_end(&mut copied)
        .unwrap();
    let row = b"\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x07\xff\xff\xff\xff\0\0\0\x02ab";
    let expected = [&b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0"[..], row, b"\xff\xff"].concat();
    assert_eq!(copied, expected);
    copied.clear();
    let none = "COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)";
    client
        .copy_out(none)
        .unwrap()
        .read_to_end(&mut copied)
        .unwrap();
    assert_eq!(copied.len(), 21);
    // The connection still works afterwards.
    let rows = client.query("SELECT count(*) FROM routes", &[]).unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 6);
}

/// The status of the transaction in `ReadyForQuery`.
fn status(raw: &mut Raw, sql: &str) -> char {
    raw.send(b'Q', format!("{sql}\0").as_bytes());
    char::from(raw.until(b'Z')[0])
}

#[test]
fn rollback_to_a_savepoint_resumes_the_transaction() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    assert_eq!(status(&mut raw, "SELECT 1"), 'I');
    assert_eq!(status(&mut raw, "BEGIN"), 'T');
    assert_eq!(status(&mut raw, "SAVEPOINT a"), 'T');
    assert_eq!(status(&mut raw, "SELECT nonsense"), 'E');
    assert_eq!(status(&mut raw, "SELECT 1"), 'E');
    assert_eq!(status(&mut raw, "ROLLBACK TO SAVEPOINT a"), 'T');
    assert_eq!(status(&mut raw, "SELECT 1"), 'T');
    assert_eq!(status(&mut raw, "ROLLBACK TO a; SELECT 1"), 'T');
    assert_eq!(status(&mut raw, "COMMIT"), 'I');
    raw.send(b'Q', b"ROLLBACK TO a\0");
    assert!(raw.error().contains("25P01"));
    raw.until(b'Z');
    assert_eq!(status(&mut raw, "-- nothing"), 'I');
    // The extended protocol reports the same status.
    assert_eq!(status(&mut raw, "BEGIN; SELECT 1; SELECT nonsense"), 'E');
    raw.parse("", "ROLLBACK TO a");
    raw.bind("", "", None);
    raw.send(b'E', b"\0\0\0\0\0");
    raw.send(b'S', b"");
    raw.until(b'C');
    assert_eq!(raw.until(b'Z'), b"T");
    assert_eq!(status(&mut raw, "ROLLBACK"), 'I');
}

/// Each statement is answered before the next one begins.
#[test]
fn statements_of_one_query_are_answered_in_order() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    raw.send(b'Q', b"SELECT 1; SELECT 1/0; SELECT 2\0");
    let mut kinds = Vec::new();
    while kinds.last() != Some(&b'Z') {
        kinds.push(raw.next().unwrap().0);
    }
    assert_eq!(String::from_utf8(kinds).unwrap(), "TDCTEZ");
}

const NUMBERS: &str = "SELECT value FROM generate_series(1, 9) AS s (value) ORDER BY value";

#[test]
fn cursors_fetch_forwards() {
    let server = server(Access::Open);
    let sql = format!(
        "BEGIN; DECLARE c CURSOR FOR {NUMBERS}; FETCH 2 FROM c; FETCH FORWARD 3 IN c; FETCH NEXT FROM c; \
         FETCH ALL c; FETCH c; COMMIT; FETCH c"
    );
    let ended = failure(&server, &sql);
    assert!(ended.contains("34000"), "{ended}");
    let whole = sql.trim_end_matches("; FETCH c");
    assert_eq!(
        answer(&server, &format!("{whole}; COMMIT")),
        "BEGIN\nDECLARE CURSOR\n1\n2\n3\n4\n5\n6\n7\n8\n9\nCOMMIT\nCOMMIT\n"
    );
    for (sql, why) in [
        ("FETCH PRIOR FROM c", "0A000"),
        ("FETCH BACKWARD 2 FROM c", "0A000"),
        ("MOVE 1 FROM c", "0A000"),
        ("DECLARE d CURSOR WITH HOLD FOR SELECT 1", "0A000"),
        ("DECLARE d BINARY CURSOR FOR SELECT 1", "0A000"),
        ("FETCH 1 FROM d", "34000"),
    ] {
        let declared = format!("BEGIN; DECLARE c CURSOR FOR {NUMBERS}; {sql}");
        let refused = failure(&server, &declared);
        assert!(refused.contains(why), "{sql}: {refused}");
    }
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let mut transaction = client.transaction().unwrap();
    let declare = format!("DECLARE c CURSOR FOR {NUMBERS}");
    transaction.execute(&declare, &[]).unwrap();
    assert_eq!(transaction.query("FETCH 8 FROM c", &[]).unwrap().len(), 8);
    let rows = transaction.query("FETCH ALL FROM c", &[]).unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i64>>(), [9]);
}

#[test]
fn unknown_settings_are_errors() {
    let server = server(Access::Open);
    for name in ["x", "\"X y\"", "work memory"] {
        let refused = failure(&server, &format!("SHOW {name}"));
        let name = name.trim_matches('"').to_lowercase();
        let why = format!("42704: unrecognized configuration parameter \"{name}\"");
        assert!(refused.contains(&why), "{refused}");
    }
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let failed = client.query("SHOW nothing", &[]).unwrap_err();
    assert_eq!(failed.code().map(|code| code.code()), Some("42704"));
    assert_eq!(
        answer(
            &server,
            "SHOW TRANSACTION ISOLATION LEVEL; SHOW statement_timeout; SET statement_timeout = '90s'; \
             SHOW statement_timeout; SHOW Extra_Float_Digits; SELECT current_setting('server_version_num'), \
             current_setting('x', true)"
        ),
        "read committed\n5min\nSET\n90s\n1\n160000|\n"
    );
    let all = answer(&server, "SHOW ALL");
    assert!(all.contains("\nserver_encoding|UTF8|"), "{all}");
}
