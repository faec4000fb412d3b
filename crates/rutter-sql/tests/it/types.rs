//! Parameters and values of all types, in both forms, as drivers send them.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};
use rutter_sql::{Access, Server};

use crate::raw::Raw;
use crate::server::{answer, server};

fn client(server: &Server) -> postgres::Client {
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    postgres::Client::connect(&parameters, postgres::NoTls).unwrap()
}

type Fault = Box<dyn std::error::Error + Sync + Send>;

/// A value of any type, in its wire format.
#[derive(Debug, PartialEq, Eq)]
struct Octets(Vec<u8>);

impl ToSql for Octets {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Fault> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

impl FromSql<'_> for Octets {
    fn from_sql(_: &Type, octets: &[u8]) -> Result<Self, Fault> {
        Ok(Self(octets.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A driver that relies on the types that the server described.
#[test]
fn parameter_types_follow_the_other_operand() {
    let server = server(Access::Open);
    let mut client = client(&server);
    for (sql, expected) in [
        ("SELECT 1 FROM routes WHERE peer_asn = $1", Type::INT8),
        ("SELECT 1 FROM routes WHERE family = $1", Type::INT2),
        (
            "SELECT 1 FROM routes WHERE $1 IS NULL OR med = $1",
            Type::INT8,
        ),
        (
            "SELECT 1 FROM routes WHERE med = $1 OR $1 IS NULL",
            Type::INT8,
        ),
        (
            "SELECT 1 FROM routes WHERE family = $1 OR med = $1",
            Type::INT2,
        ),
        (
            "SELECT 1 FROM routes WHERE prefix = ANY($1)",
            Type::TEXT_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE peer_asn = ANY ( $1 )",
            Type::INT8_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE med <> ALL($1)",
            Type::INT8_ARRAY,
        ),
        (
            "SELECT 1 FROM events WHERE time = ANY($1)",
            Type::TIMESTAMPTZ_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE $1 = ANY(communities)",
            Type::TEXT,
        ),
        (
            "SELECT 1 FROM routes WHERE communities && $1",
            Type::TEXT_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE $1 <@ communities",
            Type::TEXT_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE path_contains(as_path, $1)",
            Type::INT8,
        ),
        ("SELECT coalesce(med, $1) FROM routes", Type::INT8),
        ("SELECT 1 FROM routes LIMIT $1", Type::INT8),
        ("SELECT $1::int[]", Type::INT4_ARRAY),
        (
            "SELECT 1 FROM pg_type WHERE oid = any($1::oid[])",
            Type::OID_ARRAY,
        ),
        (
            "SELECT 1 FROM routes WHERE peer_asn = ANY($1::int[])",
            Type::INT4_ARRAY,
        ),
        ("SELECT $1::date", Type::DATE),
        ("SELECT $1::time", Type::TIME),
        ("SELECT $1::timestamp", Type::TIMESTAMP),
        ("SELECT $1::timestamptz", Type::TIMESTAMPTZ),
        ("SELECT $1::cidr", Type::CIDR),
        (
            "SELECT 1 FROM lookup($1) WHERE peer_asn = $2 AND $1 <> ''",
            Type::TEXT,
        ),
        ("SELECT $1::interval", Type::INTERVAL),
        ("SELECT $1::numeric", Type::NUMERIC),
        ("SELECT date_bin($1, now(), now())", Type::INTERVAL),
        ("SELECT $1", Type::TEXT),
    ] {
        let statement = client.prepare(sql).unwrap();
        assert_eq!(statement.params()[0], expected, "{sql}");
    }
    let rows = client
        .query(
            "SELECT 1 FROM routes WHERE peer_asn = ANY($1) AND family = ANY($2)",
            &[&vec![64_501_i64], &vec![4_i64]],
        )
        .unwrap();
    assert_eq!(rows.len(), 4);
}

#[test]
fn parameters_of_all_types_round_trip() {
    let server = server(Access::Open);
    let mut client = client(&server);
    let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_000_000_000_001);
    let row = client
        .query_one(
            "SELECT $1::int[], $2::smallint[], $3::float8[], $4::bool[], $5::text[], $6::timestamptz[], $7::bytea",
            &[
                &vec![Some(1_i32), None],
                &Vec::<i16>::new(),
                &vec![1.5_f64],
                &vec![true, false],
                &vec![Some("it''s"), None, Some("{\"\\")],
                &vec![time],
                &vec![0_u8, 1],
            ],
        )
        .unwrap();
    assert_eq!(row.get::<_, Vec<Option<i32>>>(0), [Some(1), None]);
    assert!(row.get::<_, Vec<i16>>(1).is_empty());
    assert_eq!(row.get::<_, Vec<f64>>(2).len(), 1);
    assert_eq!(row.get::<_, Vec<bool>>(3), [true, false]);
    assert_eq!(
        row.get::<_, Vec<Option<&str>>>(4),
        [Some("it''s"), None, Some("{\"\\")]
    );
    assert_eq!(row.get::<_, Vec<SystemTime>>(5), [time]);
    assert_eq!(row.get::<_, Vec<u8>>(6), [0, 1]);
    for (kind, octets) in [
        (Type::INTERVAL, "0000000000000005 00000002 00000001"),
        (Type::INTERVAL, "fffffffffffffffb fffffffe ffffffff"),
        (Type::DATE, "00002653"),
        (Type::TIME, "00000000ddc5a443"),
        (Type::TIMESTAMPTZ, "0002f1e1d1a0b000"),
        (Type::INET, "02200004 0a010203"),
        (Type::CIDR, "021801040a010200"),
        (
            Type::CIDR_ARRAY,
            "00000001 00000000 0000028a 00000001 00000001 00000008 02180104 0a010200",
        ),
        (Type::BOOL, "01"),
    ] {
        let sent = octets_of(octets);
        let statement = client
            .prepare_typed("SELECT $1", std::slice::from_ref(&kind))
            .unwrap();
        let row = client.query_one(&statement, &[&Octets(sent.clone())]);
        let found: Octets = row.unwrap().get(0);
        match kind {
            Type::INET => assert_eq!(found.0, b"10.1.2.3"),
            Type::CIDR => assert_eq!(found.0, b"10.1.2.0/24"),
            Type::CIDR_ARRAY => assert!(found.0.ends_with(b"10.1.2.0/24")),
            kind => assert_eq!(found.0, sent, "{kind}"),
        }
    }
    let address: IpAddr = "10.1.2.3".parse().unwrap();
    let covering = client.prepare_typed("SELECT 1 FROM routes WHERE prefix >>= $1", &[Type::INET]);
    assert_eq!(
        client.query(&covering.unwrap(), &[&address]).unwrap().len(),
        3
    );
}

fn octets_of(hex: &str) -> Vec<u8> {
    let digits: String = hex.split(' ').collect();
    let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(octet).collect()
}

/// A program subtracts an hour. Without a declared type, `now() - $1` could also be the difference of two times.
#[test]
fn parameters_declared_as_intervals_are_intervals() {
    let server = server(Access::Open);
    let mut client = client(&server);
    let sql = "SELECT count(*) FROM events WHERE time > now() - $1";
    let since = client.prepare_typed(sql, &[Type::INTERVAL]).unwrap();
    let century = Octets(octets_of("0000000000000000 00000000 000004b0"));
    let count: i64 = client.query_one(&since, &[&century]).unwrap().get(0);
    assert!(count > 0);
    let none = Octets(octets_of("0000000000000000 00000000 00000000"));
    let sql = "SELECT count(*) FROM events WHERE time > now() - $1 + interval '10 years'";
    let since = client.prepare_typed(sql, &[Type::INTERVAL]);
    assert_eq!(
        client
            .query_one(&since.unwrap(), &[&none])
            .unwrap()
            .get::<_, i64>(0),
        0
    );
}

#[test]
fn malformed_binary_values_are_refused() {
    let server = server(Access::Open);
    let mut client = client(&server);
    for (kind, octets) in [
        (Type::INT4, "00"),
        (Type::INTERVAL, "00"),
        (Type::DATE, "7fffffff"),
        (Type::TIMESTAMPTZ, "7fffffffffffffff"),
        (Type::NUMERIC, "0001 0000 0000 0000"),
        (Type::INET, "02ff0004 0a010203"),
        (Type::TEXT_ARRAY, "00000002 00000000"),
        (
            Type::TEXT_ARRAY,
            "00000001 00000000 00000019 7fffffff 00000001",
        ),
        (
            Type::INT4_ARRAY,
            "00000001 00000000 00000017 00000001 00000001 00000008 00",
        ),
    ] {
        let statement = client
            .prepare_typed("SELECT $1", std::slice::from_ref(&kind))
            .unwrap();
        let refused = client.query(&statement, &[&Octets(octets_of(octets))]);
        let refused = refused.unwrap_err();
        assert_eq!(
            refused.code().map(|code| code.code()),
            Some("22P03"),
            "{kind}"
        );
    }
    assert_eq!(client.query("SELECT 1", &[]).unwrap().len(), 1);
}

/// JDBC describes a statement once, and then decodes all its values by that description.
#[test]
fn described_statements_have_text_format() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    raw.parse("s", "SELECT count(*), prefix FROM routes GROUP BY prefix");
    raw.send(b'D', b"Ss\0");
    raw.send(b'S', b"");
    let fields = raw.until(b'T');
    let formats = [&fields[fields.len() - 2..], &fields[2 + 6 + 16..2 + 6 + 18]];
    assert_eq!(formats, [[0, 0], [0, 0]]);
    raw.until(b'Z');
}

/// Requests of drivers that do not know the types: node-postgres, lib/pq and others that encode lists themselves.
#[test]
fn text_parameters_are_converted_to_the_type_of_the_other_operand() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    for (sql, value, expected) in [
        (
            "SELECT count(*) FROM routes WHERE peer_asn = ANY($1)",
            "{64501,1}",
            "4",
        ),
        (
            "SELECT count(*) FROM routes WHERE best = ANY($1)",
            "{t}",
            "4",
        ),
        ("SELECT $1::text[]", "{a,\"b,c\",NULL}", "{a,\"b,c\",NULL}"),
        ("SELECT $1::int[]", "{}", "{}"),
        (
            "SELECT $1::interval",
            "1 day, 2:03:04.5",
            "1 day 02:03:04.5",
        ),
        (
            "SELECT $1::interval",
            "0 years 0 mons 0 days 1 hours 0 mins 0.0 secs",
            "01:00:00",
        ),
        ("SELECT $1::date", "2026-11-18", "2026-11-18"),
        (
            "SELECT $1::timestamp",
            "2026-11-18T01:02:03.500Z",
            "2026-11-18 01:02:03.5",
        ),
        (
            "SELECT $1::timestamptz",
            "2026-11-18T01:02:03.500Z",
            "2026-11-18 01:02:03.5+00",
        ),
        ("SELECT $1::numeric(5, 2)", "1.5", "1.50"),
        ("SELECT $1::bytea", "\\x00ff", "\\x00ff"),
        ("SELECT $1::text", "it''s", "it''s"),
    ] {
        raw.parse("", sql);
        raw.bind("", "", Some(value));
        raw.send(b'E', b"\0\0\0\0\0");
        raw.send(b'S', b"");
        let (kind, body) = loop {
            let (kind, body) = raw.next().unwrap();
            if matches!(kind, b'D' | b'E') {
                break (kind, String::from_utf8_lossy(&body).into_owned());
            }
        };
        assert_eq!(kind, b'D', "{sql}: {body}");
        assert_eq!(&body[6..], expected, "{sql}");
        raw.until(b'Z');
    }
    for (sql, value, state) in [
        ("SELECT $1::int[]", "{1", "22P02"),
        ("SELECT $1::int[]", "{x}", "22P02"),
        ("SELECT $1::int", "99999999999999999999", "22003"),
        ("SELECT $1::interval", "soon", "22007"),
        ("SELECT $1::date", "soon", "22007"),
        ("SELECT $1::date", "2026-02-30", "22007"),
        ("SELECT $1::inet", "10.0.0.256", "22P02"),
        ("SELECT $1::cidr", "10.0.0.1/8", "22P02"),
    ] {
        raw.parse("", sql);
        raw.bind("", "", Some(value));
        raw.send(b'E', b"\0\0\0\0\0");
        raw.send(b'S', b"");
        let said = raw.error();
        assert!(said.contains(state), "{sql}: {said}");
        raw.until(b'Z');
    }
}

#[test]
fn times_and_numbers_have_postgresql_notation() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "SELECT interval '1 month 2 days 03:04:05'",
            "1 mon 2 days 03:04:05",
        ),
        (
            "SELECT '90 minutes'::interval, interval '-1 day'",
            "01:30:00|-1 days",
        ),
        (
            "SELECT '2026-01-03 01:00:00+00'::timestamptz - '2026-01-01 00:00:00+00'::timestamptz",
            "2 days 01:00:00",
        ),
        (
            "SELECT '2026-01-02'::date, '01:02:03'::time",
            "2026-01-02|01:02:03",
        ),
        (
            "SELECT ARRAY['2026-01-02 03:04:05.25'::timestamp]",
            "{\"2026-01-02 03:04:05.25\"}",
        ),
        (
            "SELECT 10000.5::numeric(12, 3), ARRAY['2026-01-02'::date]",
            "10000.500|{2026-01-02}",
        ),
        (
            "SELECT '2026-01-02 00:00:00'::timestamptz + interval '1 hour'",
            "2026-01-02 01:00:00+00",
        ),
    ] {
        let said = answer(&server, sql);
        assert_eq!(said.trim_end(), expected, "{sql}");
    }
}

/// The first query that a program sends.
#[test]
fn functions_in_from_accept_parameters() {
    let server = server(Access::Open);
    let mut client = client(&server);
    let sql = "SELECT prefix FROM lookup($1) WHERE peer_asn = $2";
    let lookup = client.prepare(sql).unwrap();
    for (address, asn, expected) in [
        ("10.1.2.3", 64_501_i64, vec!["10.1.0.0/16"]),
        ("2001:db8::1", 64_502, vec!["2001:db8::/32"]),
        ("192.0.2.1", 64_501, vec![]),
        ("') OR 1=1 --", 64_501, vec![]),
    ] {
        let rows = client.query(&lookup, &[&address, &asn]);
        let Ok(rows) = rows else {
            assert!(address.starts_with('\''), "{address}");
            continue;
        };
        let found: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(found, expected, "{address}");
    }
    let address: IpAddr = "10.1.2.3".parse().unwrap();
    let typed = client.prepare_typed("SELECT count(*) FROM lookup($1)", &[Type::INET]);
    let rows = client.query(&typed.unwrap(), &[&address]).unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 2);
}
