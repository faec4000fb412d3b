//! Clients that mean harm: nobody else notices them.

use rutter_sql::Access;

use crate::raw::Raw;
use crate::server::{answer, server};

#[test]
fn a_parameter_has_a_number_that_can_be_bound() {
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

/// A message of another length than it says, or with other parts.
#[test]
fn what_is_no_message_ends_the_connection_with_a_word() {
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
fn a_login_has_all_its_parts() {
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
fn a_query_of_any_length_has_an_answer() {
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

/// What a connection keeps between its queries has an end, and can be let go of.
#[test]
fn statements_and_portals_are_counted() {
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
