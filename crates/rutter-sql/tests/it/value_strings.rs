//! Values as strings: clients receive the same strings that queries compare, join and cast to.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn times_as_strings_have_postgresql_notation() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT timestamp '2024-01-01 10:20'::text, 'at ' || '2024-01-01 10:20:30.5Z'::timestamptz, \
             concat(timestamp '2024-01-01', '|', date '2024-01-02'), (interval '1 day 2 hours')::text, \
             (timestamp '2024-01-03' - timestamp '2024-01-01 12:00')::text, time '10:20:30.5'::text, \
             string_agg((timestamp '2024-01-01')::text, ',')"
        ),
        "2024-01-01 10:20:00|at 2024-01-01 10:20:30.5+00|2024-01-01 00:00:00|2024-01-02|1 day 02:00:00|1 day 12:00:00\
         |10:20:30.5|2024-01-01 00:00:00\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) > 0, count(*) - count(*) FILTER (WHERE time::text LIKE '2026-11-18 %+00'), \
             count(*) - count(*) FILTER (WHERE time::text = time::varchar), \
             count(*) - count(*) FILTER (WHERE time::text LIKE '2026-11-' || '18 %') FROM events"
        ),
        "t|0|0|0\n"
    );
}

#[test]
fn lists_as_strings_have_postgresql_notation() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT ARRAY['a b', NULL, 'null', '', 'c\"d', 'e,f']::text, ARRAY[1, NULL]::text, ARRAY[true, false]::text, \
             ARRAY[1.5, 2.0]::text, ARRAY[timestamp '2024-01-01']::text, 'x' || ARRAY[1, 2]::text"
        ),
        "{\"a b\",NULL,\"null\",\"\",\"c\\\"d\",\"e,f\"}|{1,NULL}|{t,f}|{1.5,2}|{\"2024-01-01 00:00:00\"}|x{1,2}\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*), count(*) FILTER (WHERE communities::text = '{64500:1}'), \
             count(*) FILTER (WHERE communities::text LIKE '%{64500:1%'), \
             count(*) FILTER (WHERE extended_communities::text = '{}'), min(communities::text), \
             length(string_agg(communities::text, ';')) FROM routes"
        ),
        "6|6|6|6|{64500:1}|59\n"
    );
}

/// Lists of lists, and rows, are sent as strings.
#[test]
fn nested_lists_are_printed() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT ARRAY[NULL], ARRAY[[1, 2], [3, 4]], ARRAY[ARRAY['a b'], ARRAY['c']]::text, \
             (SELECT array_agg(communities) FROM routes WHERE med = 50)"
        ),
        "{NULL}|{{1,2},{3,4}}|{{\"a b\"},{c}}|{{64500:1},{64500:1}}\n"
    );
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let row = client.query_one("SELECT ARRAY[NULL]", &[]).unwrap();
    assert_eq!(row.get::<_, Vec<Option<String>>>(0), [None]);
}

#[test]
fn booleans_numbers_and_bytes_as_strings_have_postgresql_notation() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT 1::float8::text, 1e10::float8::text, 1e20::float8::text, true::text, 'x' || 1e20::float8, \
             '\\x00ff'::bytea::text, avg(family)::text LIKE '4%', count(*) || '', \
             'is ' || true, 1.1::real::text, time '10:20:30.5', ARRAY[true]::text FROM routes"
        ),
        "1|10000000000|1e+20|true|x1e+20|\\x00ff|t|6|is true|1.1|10:20:30.5|{t}\n"
    );
}

#[test]
fn equal_addresses_are_equal_as_strings() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT '10.1.2.3'::inet = '10.1.2.3/32'::inet, '2001:DB8::1'::inet, '2001:DB8::1'::inet = '2001:db8::1'::inet, \
             '10.1.2.3/32'::inet, '10.1.2.3'::cidr, '10.1.2.3'::inet::text, '10.1.2.3'::inet = '10.1.2.3/32', \
             '10.1.2.3/8'::inet, NULL::inet IS NULL, \
             '10.1.2.3'::inet IN ('10.0.0.1', '10.1.2.3/32'::inet)"
        ),
        "t|2001:db8::1|t|10.1.2.3|10.1.2.3/32|10.1.2.3/32|t|10.1.2.3/8|t|t\n"
    );
    let hosts = "(VALUES ('10.1.2.3/32'), ('10.0.0.0/8'), ('2001:db8::1/128')) AS t (prefix)";
    for (condition, count) in [
        ("prefix = '10.1.2.3'::inet", "1"),
        ("prefix::inet = '10.1.2.3'", "1"),
        ("prefix::inet <> '10.1.2.3'", "2"),
        ("prefix = '10.1.2.3/32'::cidr", "1"),
        ("prefix::inet IN ('10.1.2.3', '10.0.0.0/8')", "2"),
        ("prefix IN ('2001:DB8::1'::inet, '10.0.0.0/8')", "2"),
        ("host(prefix::inet) = '10.1.2.3'", "1"),
    ] {
        let sql = format!("SELECT count(*) FROM {hosts} WHERE {condition}");
        assert_eq!(answer(&server, &sql), format!("{count}\n"), "{condition}");
    }
    let sql = "SELECT count(*) FROM routes WHERE prefix = '10.1.0.0/16'::inet AND peer_address = '192.0.2.1/32'::inet";
    assert_eq!(answer(&server, sql), "1\n");
    for (sql, why) in [
        (
            "SELECT 'nonsense'::inet",
            "invalid input syntax for type inet",
        ),
        (
            "SELECT '10.1.2.3/33'::inet",
            "invalid input syntax for type inet",
        ),
        ("SELECT '10.1.2.3/8'::cidr", "invalid cidr value"),
        (
            "SELECT count(as_path::inet) FROM routes",
            "invalid input syntax",
        ),
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains(why), "{sql}: {refused}");
    }
}
