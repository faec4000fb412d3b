//! Hostile clients do not affect other clients.

use rutter_sql::Access;

use crate::raw::Raw;
use crate::server::{answer, server};

#[test]
fn parameter_numbers_above_65535_are_refused() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    for number in ["65536", "4000000000", "99999999999999999999999"] {
        raw.parse("", &format!("SELECT ${number}::int"));
        raw.send(b'D', b"S\0");
        raw.send(b'S', b"");
        let said = raw.error();
        assert!(said.contains("54023") && said.contains("65535"), "{said}");
        raw.until(b'Z');
    }
    raw.parse("", "SELECT $65535::int");
    raw.send(b'D', b"S\0");
    raw.send(b'S', b"");
    assert_eq!(raw.until(b't')[..2], [0xff, 0xff]);
    raw.until(b'Z');
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}

/// Messages with a wrong length or wrong parts.
#[test]
fn malformed_messages_end_the_connection_with_an_error() {
    let server = server(Access::Open);
    for lie in [
        &b"Q\x7f\xff\xff\xff"[..],
        b"Q\xff\xff\xff\xfb",
        b"Q\0\0\0\0",
        b"z\0\0\0\x04",
        b"B\0\0\0\x0a\0\0\0\0\x7f\xff",
        b"B\0\0\0\x0a\0\0\0\0\xff\xff",
        b"B\0\0\0\x0e\0\0\0\0\0\x01\x7f\0\0\0",
        b"P\0\0\0\x06\0\0",
        b"P\0\0\0\x08\0\0\xff\xff",
        b"C\0\0\0\x04",
        b"D\0\0\0\x05S",
        b"E\0\0\0\x05\0",
        b"Q\0\0\0\x0cSELECT 1",
        b"Q\0\0\0\x0fSELECT '\xff'\0",
    ] {
        let mut raw = Raw::login(&server);
        raw.write(lie);
        let said = raw.error();
        assert!(said.contains("FATAL"), "{lie:?}: {said}");
        assert!(raw.ends());
    }
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}

#[test]
fn incomplete_logins_are_refused() {
    let access = Access::Password {
        user: "reader".into(),
        password: "secret".into(),
    };
    let server = server(access);
    for lie in [
        &b"SCRAM-SHA-256"[..],
        b"SCRAM-SHA-256\0",
        b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,",
        b"SCRAM-SHA-256\0\xff\xff\xff\xfen,,",
    ] {
        let mut raw = Raw::connect(&server);
        raw.until(b'R');
        raw.send(b'p', lie);
        assert!(raw.error().contains("malformed"));
    }
    let mut raw = Raw::connect(&server);
    raw.until(b'R');
    raw.send(b'Q', b"SELECT 1\0");
    assert!(raw.error().contains("a password must come first"));
    assert!(raw.ends());
}

#[test]
fn overlong_queries_are_refused() {
    let server = server(Access::Open);
    let long = "x".repeat(5_000_000);
    for _ in 0..2 {
        let mut raw = Raw::login(&server);
        raw.send(b'Q', format!("SELECT '{long}'\0").as_bytes());
        let said = raw.error();
        assert!(said.contains("54000") && said.contains("at most"), "{said}");
        assert!(raw.ends());
    }
    let mut raw = Raw::login(&server);
    raw.parse("", &format!("SELECT '{long}'"));
    assert!(raw.error().contains("54000"));
    assert!(raw.ends());
    let mut raw = Raw::login(&server);
    raw.send(
        b'Q',
        format!("SELECT '{}'\0", &long[..2_000_000]).as_bytes(),
    );
    assert!(raw.error().contains("at most 32768 are read"));
    raw.until(b'Z');
}

/// The statements and portals of a connection are limited, and can be closed.
#[test]
fn statements_and_portals_are_limited() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    for number in 0..256 {
        raw.parse(&format!("s{number}"), "SELECT $1::text");
    }
    raw.parse("more", "SELECT 1");
    raw.send(b'S', b"");
    let said = raw.error();
    assert!(
        said.contains("54000") && said.contains("at most 256 prepared statements"),
        "{said}"
    );
    raw.until(b'Z');
    raw.send(b'Q', b"DEALLOCATE s7\0");
    raw.until(b'Z');
    raw.parse("more", "SELECT 1");
    raw.send(b'S', b"");
    raw.until(b'1');
    raw.until(b'Z');
    let large = "x".repeat(1_000_000);
    for number in 0..5 {
        raw.bind(&format!("p{number}"), "s1", Some(&large));
    }
    raw.send(b'S', b"");
    let said = raw.error();
    assert!(
        said.contains("54000") && said.contains("at most 64 portals"),
        "{said}"
    );
    raw.until(b'Z');
    raw.send(b'Q', b"COMMIT\0");
    raw.until(b'Z');
    raw.bind("p9", "s1", Some(&large));
    raw.send(b'S', b"");
    raw.until(b'2');
    raw.until(b'Z');
    raw.send(b'Q', b"DEALLOCATE ALL\0");
    raw.until(b'Z');
    raw.parse(
        "one",
        &format!("SELECT 1 WHERE 1 IN ({}0)", "0,".repeat(15_000)),
    );
    raw.send(b'S', b"");
    raw.until(b'1');
}

/// A message gives one format for all values, or one for each value.
#[test]
fn bind_with_a_wrong_number_of_formats_is_refused() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    raw.parse("s", "SELECT $1::text, 2, 3");
    for (formats, values, results) in [(0, 1, 2), (0, 1, 4), (2, 1, 0), (0, 0, 0), (0, 2, 0)] {
        raw.bind_formats("s", formats, values, results);
        raw.send(b'E', b"\0\0\0\0\0");
        raw.send(b'S', b"");
        let said = raw.error();
        assert!(
            said.contains("08P01"),
            "{formats} {values} {results}: {said}"
        );
        raw.until(b'Z');
    }
    for (formats, values, results) in [(0, 1, 0), (1, 1, 1), (1, 1, 3)] {
        raw.bind_formats("s", formats, values, results);
        raw.send(b'E', b"\0\0\0\0\0");
        raw.send(b'S', b"");
        raw.until(b'D');
        raw.until(b'Z');
    }
}

#[test]
fn deallocate_works_in_the_extended_protocol() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    let execute = |raw: &mut Raw, sql: &str| {
        raw.parse("", sql);
        raw.bind("", "", None);
        raw.send(b'E', b"\0\0\0\0\0");
        raw.send(b'S', b"");
    };
    for (sql, tag) in [
        ("DEALLOCATE s", "DEALLOCATE\0"),
        ("DEALLOCATE ALL", "DEALLOCATE ALL\0"),
        ("DISCARD ALL", "DISCARD ALL\0"),
    ] {
        raw.parse("s", "SELECT 1");
        execute(&mut raw, sql);
        assert_eq!(raw.until(b'C'), tag.as_bytes());
        raw.until(b'Z');
        raw.bind("", "s", None);
        raw.send(b'S', b"");
        let said = raw.error();
        assert!(said.contains("26000"), "{sql}: {said}");
        raw.until(b'Z');
    }
    execute(&mut raw, "DEALLOCATE nobody");
    assert!(raw.error().contains("26000"));
    raw.until(b'Z');
}

/// A login and SHOW report the same parameters.
#[test]
fn show_returns_the_reported_parameters() {
    let server = server(Access::Open);
    let mut raw = Raw::connect(&server);
    let mut said = Vec::new();
    while let Some((kind, body)) = raw.next()
        && kind != b'Z'
    {
        if kind == b'S' {
            let text = String::from_utf8(body).unwrap();
            let (name, value) = text.trim_end_matches('\0').split_once('\0').unwrap();
            said.push((name.to_lowercase(), value.to_owned()));
        }
    }
    for name in [
        "server_version",
        "default_transaction_read_only",
        "datestyle",
        "timezone",
    ] {
        let (_, value) = said.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(answer(&server, &format!("SHOW {name}")).trim_end(), value);
    }
    assert!(said.contains(&("is_superuser".to_owned(), "off".to_owned())));
}

/// No ReadyForQuery follows a fatal error.
#[test]
fn nothing_follows_a_fatal_error() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    raw.write(b"z\0\0\0\x04");
    assert_eq!(raw.next().map(|(kind, _)| kind), Some(b'E'));
    assert_eq!(raw.next(), None);
}

/// The server charges the received bytes of a message, not its announced length.
#[test]
fn incomplete_messages_are_charged_for_received_bytes_only() {
    let server = server(Access::Open);
    let mut half: Vec<Raw> = (0..90).map(|_| Raw::login(&server)).collect();
    for raw in &mut half {
        raw.write(b"Q\0\x3f\xff\xf0");
        raw.write(&[b'x'; 70_000]);
    }
    // If each message were charged 4 MiB, no memory would be left for the rows.
    let sql = "SELECT count(*) FROM (SELECT repeat('x', 1000) AS x FROM generate_series(1, 150000) AS s (value) ORDER BY x DESC) t";
    assert_eq!(answer(&server, sql), "150000\n");
}
