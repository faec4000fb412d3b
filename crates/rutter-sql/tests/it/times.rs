//! Times and intervals as PostgreSQL computes, compares and describes them.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn a_date_and_an_interval_are_a_time() {
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

#[test]
fn intervals_are_as_long_as_they_are() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT interval '1 day' = interval '24 hours', interval '1 month' = interval '30 days', \
             interval '1 month' > interval '29 days 23 hours', interval '25 hours' <= interval '1 day', \
             interval '36 hours' BETWEEN interval '1 day' AND interval '2 days', \
             interval '48 hours' IN (interval '1 day', interval '2 days'), \
             (interval '24 hours' IS DISTINCT FROM interval '1 day'), interval '1 day' <> NULL IS NULL"
        ),
        "t|t|t|f|t|t|f|t\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT bool_and(timestamp '2027-01-01' - time > interval '1 day'), \
             bool_or(timestamp '2027-01-01' - time > interval '100 days'), \
             bool_and(time - timestamp '2026-01-01' BETWEEN interval '10 months' AND interval '11 months') FROM events"
        ),
        "t|f|t\n"
    );
    let spans = "(VALUES (interval '25 hours'), (interval '1 day'), (interval '1 month')) t (i)";
    let ordered = format!("SELECT i FROM {spans} ORDER BY i");
    assert_eq!(answer(&server, &ordered), "1 day\n25:00:00\n1 mon\n");
    assert_eq!(
        answer(
            &server,
            "SELECT bool_and(timestamp '2027-01-01' - time > '1 day'), bool_or('1 month' < interval '30 days') FROM events"
        ),
        "t|f\n"
    );
}

#[test]
fn fractions_of_seconds_are_kept() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT extract(second FROM timestamp '2024-01-01 00:00:12.345'), \
             date_part('seconds', timestamp '2024-01-01 00:00:12.000001'), \
             extract(milliseconds FROM timestamp '2024-01-01 00:00:12.345678'), \
             extract(microseconds FROM timestamp '2024-01-01 00:00:12.345678'), \
             extract(minute FROM timestamp '2024-01-01 00:01:12.9')"
        ),
        "12.345|12.000001|12345.678|12345678|1\n"
    );
    let difference = "timestamp '2024-01-03 05:06:07.5' - timestamp '2024-01-01'";
    assert_eq!(
        answer(
            &server,
            &format!(
                "SELECT extract(second FROM {difference}), extract(hour FROM {difference}), extract(day FROM {difference}), \
                 extract(epoch FROM {difference}), extract(second FROM interval '1 minute 5.5 seconds'), \
                 extract(hour FROM interval '26 hours'), date_part('year', interval '14 months'), extract(second FROM time '10:20:30.5')"
            )
        ),
        "7.5|5|2|191167.5|5.5|26|1|30.5\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT timestamp '2024-01-01 10:20:30.6'::timestamp(0), '2024-01-01 10:20:30.1236'::timestamptz(3), \
             to_timestamp('2024-02-03 16:05:06.789', 'YYYY-MM-DD HH24:MI:SS.MS'), \
             to_timestamp('2024-02-03 16:05:06.5', 'YYYY-MM-DD HH24:MI:SS.US'), \
             to_timestamp('20240203160506789', 'YYYYMMDDHH24MISSMS')"
        ),
        "2024-01-01 10:20:31|2024-01-01 10:20:30.124+00|2024-02-03 16:05:06.789+00|2024-02-03 16:05:06.5+00|2024-02-03 16:05:06.789+00\n"
    );
}

#[test]
fn zones_do_not_matter_where_a_time_has_none() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT '2024-01-07 10:00:00+02'::timestamp, timestamp '2024-01-07 10:00+02:30', '2024-01-07T10:00:00Z'::timestamp, \
             '2024-01-07 10:00:00 UTC'::timestamp, '10:00:00+02'::time, '2024-01-07 01:00:00+02'::date, \
             '2024-01-07 10:00:00+02'::timestamptz, '2024-01-07 10:00+02'::timestamptz"
        ),
        "2024-01-07 10:00:00|2024-01-07 10:00:00|2024-01-07 10:00:00|2024-01-07 10:00:00|10:00:00|2024-01-07|\
         2024-01-07 08:00:00+00|2024-01-07 08:00:00+00\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT x::timestamp, x::timestamptz FROM (VALUES ('2024-01-07 10:00:00.1234567+02'), ('2024-01-07 10:00'), (NULL)) v(x)"
        ),
        "2024-01-07 10:00:00.123457|2024-01-07 08:00:00.123457+00\n2024-01-07 10:00:00|2024-01-07 10:00:00+00\n|\n"
    );
}

#[test]
fn seconds_are_rounded_to_millionths() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT timestamp '2024-01-07 10:00:00.1234567', timestamp '2024-12-31 23:59:59.9999996', \
             '2024-01-07 10:00:00.1234567+02'::timestamptz, time '10:00:00.1234567', \
             timestamp '2024-01-07 10:00:00.1234567' = timestamp '2024-01-07 10:00:00.123457', \
             interval '0.5 microseconds', interval '1.6 microseconds', interval '00:00:01.0000015'"
        ),
        "2024-01-07 10:00:00.123457|2025-01-01 00:00:00|2024-01-07 08:00:00.123457+00|10:00:00.123457|t|\
         00:00:00|00:00:00.000002|00:00:01.000002\n"
    );
}

/// Parts of times are divided like decimal numbers.
#[test]
fn parts_of_times_are_numbers_with_a_point() {
    let server = server(Access::Open);
    let times = "FROM (VALUES (timestamp '2024-01-01 13:00:02.5')) v(t)";
    for (sql, expected) in [
        (
            "extract(hour FROM t) / 5, date_part('hour', t) / 5",
            "2.6|2.6",
        ),
        (
            "extract(hour FROM t), extract(hour FROM t) = 13, extract(hour FROM t)::text",
            "13|t|13",
        ),
        (
            "extract(hour FROM t)::int / 5, 'h' || extract(hour FROM t), extract(hour FROM t) % 5",
            "2|h13|3",
        ),
        (
            "extract(dow FROM t) IN (0, 1), date_part('year', t) BETWEEN 2024 AND 2025",
            "t|t",
        ),
        (
            "CASE extract(month FROM t) WHEN 1 THEN 'Jan' END, date_part('isodow', t)",
            "Jan|1",
        ),
        (
            "extract(epoch FROM timestamp '2024-12-30 13:14:15.25'), date_part('epoch', '2024-12-30 13:14:15.25+01'::timestamptz)",
            "1735564455.25|1735560855.25",
        ),
        (
            "65 % extract(hour FROM t), (60 / extract(second FROM t))::int, extract('hour' FROM t) / 2",
            "0|24|6.5",
        ),
        (
            "extract(second FROM t)::int, date_part('second', t)::int",
            "3|3",
        ),
        (
            "extract(epoch FROM interval '2.5 seconds')::int, date_part('epoch', interval '2.5 seconds')::int",
            "3|3",
        ),
        (
            "round(extract(epoch FROM interval '2.5 seconds')), round(date_part('epoch', interval '2.5 seconds'))",
            "3|3",
        ),
        (
            "extract(day FROM interval '36 days') / 5, date_part('hour', interval '13 hours') / 5",
            "7.2|2.6",
        ),
        (
            "extract(epoch FROM t)::bigint, extract(epoch FROM t), extract(year FROM date '2024-02-03')::int + 1",
            "1704114003|1704114002.5|2025",
        ),
    ] {
        let sql = format!("SELECT {sql} {times}");
        assert_eq!(answer(&server, &sql).trim_end(), expected, "{sql}");
    }
    let grouped = "SELECT extract(hour FROM time) AS h, count(*) > 0 FROM events GROUP BY extract(hour FROM time) ORDER BY h LIMIT 1";
    let by_place = grouped.replace("GROUP BY extract(hour FROM time)", "GROUP BY 1");
    let rows = answer(&server, grouped);
    assert!(rows.ends_with("|t\n"), "{rows}");
    assert_eq!(answer(&server, &by_place), rows);
}

#[test]
fn days_between_dates_are_small_numbers() {
    let server = server(Access::Open);
    let dates =
        "FROM (VALUES (date '2024-01-01', date '2024-01-31'), (date '2024-01-01', NULL)) v(a, b)";
    for (sql, expected) in [
        ("sum(b - a), sum(b - a) / 7, max(b - a) / 7", "30|4|4"),
        (
            "date '2024-01-01' + max(b - a), date '2024-01-31' - max(b - a)",
            "2024-01-31|2024-01-01",
        ),
        (
            "count(*) FILTER (WHERE b - a > 29), max(b - '2024-01-01')",
            "1|30",
        ),
    ] {
        let sql = format!("SELECT {sql} {dates}");
        assert_eq!(answer(&server, &sql).trim_end(), expected, "{sql}");
    }
    let sql = "SELECT sum(time::date - date '2020-01-01') / 7 = trunc(sum(time::date - date '2020-01-01') / 7.0) FROM events";
    assert_eq!(answer(&server, sql), "t\n");
}

/// Client programs treat the two types differently.
#[test]
fn times_with_and_without_a_zone_are_two_types() {
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
        ("time AT TIME ZONE 'UTC'", "timestamp"),
        ("ARRAY[timestamp '2024-01-01']", "_timestamp"),
        ("current_date - interval '1 day'", "timestamp"),
    ] {
        let sql = format!("SELECT {value} FROM events");
        let prepared = client.prepare(&sql).unwrap();
        assert_eq!(prepared.columns()[0].type_().name(), expected, "{value}");
    }
    let sql = "SELECT timestamp '2024-01-01 10:20' AT TIME ZONE 'UTC', '2024-01-01 10:20:30.5'::timestamptz AT TIME ZONE 'utc', \
        timestamp '2024-01-01 10:20' = '2024-01-01 10:20+00'::timestamptz";
    assert_eq!(
        answer(&server, sql),
        "2024-01-01 10:20:00+00|2024-01-01 10:20:30.5|t\n"
    );
    let refused = refusal(&server, "SELECT timezone('Europe/Berlin', now())");
    assert!(refused.contains("all times are UTC"), "{refused}");
}
