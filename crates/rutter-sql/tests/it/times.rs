//! Times and intervals as PostgreSQL computes, compares and describes them.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

/// The collector's queries of an archive as of a time.
#[test]
fn times_are_compared_with_to_timestamp() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*), max(cardinality(string_to_array(coalesce(communities, ''), ' '))) FROM events \
             WHERE time <= to_timestamp_micros(4102444800000000)"
        ),
        "8|1\n"
    );
}

#[test]
fn a_date_plus_an_interval_is_a_timestamp() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT date '2024-01-31' - interval '1 hour', date '2024-01-31' + interval '36 hours', \
             interval '1 month' + date '2024-01-31', date '2024-01-31' + (timestamp '2024-01-01 12:00' - timestamp '2024-01-01'), \
             date '2024-01-31' - 1, current_date - interval '1 hour' < current_date"
        ),
        "2024-01-30 23:00:00|2024-02-01 12:00:00|2024-02-29 00:00:00|2024-01-31 12:00:00|2024-01-30|t\n"
    );
    // The events happened on the 18th.
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) > 0, count(*) FILTER (WHERE time > date '2026-11-19' - interval '1 minute'), \
             count(*) FILTER (WHERE time > date '2026-11-18' + interval '25 hours') FROM events"
        ),
        "t|0|0\n"
    );
}

/// Client programs treat the two types differently.
#[test]
fn times_with_and_without_a_zone_have_different_types() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    for (value, expected) in [
        ("time", "timestamptz"),
        ("now()", "timestamptz"),
        ("current_timestamp", "timestamptz"),
        ("date_trunc('hour', time)", "timestamptz"),
        ("min(time)", "timestamptz"),
        ("to_timestamp(1)", "timestamptz"),
        ("'2024-01-01'::timestamptz", "timestamptz"),
        ("array_agg(time)", "_timestamptz"),
        ("timestamp '2024-01-01' AT TIME ZONE 'UTC'", "timestamptz"),
        ("time::timestamp", "timestamp"),
        ("timestamp '2024-01-01'", "timestamp"),
        ("time AT TIME ZONE 'UTC'", "timestamptz"),
        ("ARRAY[timestamp '2024-01-01']", "_timestamp"),
        ("current_date - interval '1 day'", "timestamp"),
    ] {
        let sql = format!("SELECT {value} FROM events");
        let prepared = client.prepare(&sql).unwrap();
        assert_eq!(prepared.columns()[0].type_().name(), expected, "{value}");
    }
    let sql = "SELECT timestamp '2024-01-01 10:20' AT TIME ZONE 'UTC', timestamp '2024-01-01 10:20' = '2024-01-01 10:20+00'::timestamptz";
    assert_eq!(answer(&server, sql), "2024-01-01 10:20:00+00|t\n");
}

/// DataFusion would compare them part by part, so that 25 hours are less than a day.
#[test]
fn comparisons_of_intervals_are_refused() {
    let server = server(Access::Open);
    for sql in [
        "SELECT interval '1 day' > interval '25 hours'",
        "SELECT count(*) FROM events WHERE now() - time > interval '1 day'",
        "SELECT count(*) FROM events WHERE now() - time BETWEEN interval '1 day' AND interval '2 days'",
        "SELECT interval '1 day' IN (interval '24 hours')",
        "SELECT i FROM (VALUES (interval '25 hours'), (interval '1 day')) t (i) ORDER BY i",
        "SELECT extract(hour FROM now() - time) FROM events",
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains("extract(epoch FROM"), "{sql}: {refused}");
    }
    let sql = "SELECT bool_and(extract(epoch FROM timestamptz '2027-01-01 00:00Z' - time) > 86400), \
        extract(epoch FROM interval '1 day 2.5 seconds'), bool_and(time < now() - interval '-10 years') FROM events";
    let sql = sql.replace(
        "timestamptz '2027-01-01 00:00Z'",
        "'2027-01-01 00:00Z'::timestamptz",
    );
    assert_eq!(answer(&server, &sql), "t|86402.5|t\n");
}
