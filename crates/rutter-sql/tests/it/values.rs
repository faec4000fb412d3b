//! The results of functions and of special forms of the grammar.

use rutter_sql::Access;

use crate::server::{answer, failure, refusal, server};

/// DataFusion must not assume an order from a moving window, or from a constant in one branch of a union.
#[test]
fn window_results_are_sorted_by_order_by() {
    let server = server(Access::Open);
    let rows = "(VALUES (1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)) AS v (x, y)";
    let count = "count(*) OVER (PARTITION BY y ORDER BY x ROWS 1 PRECEDING) AS c";
    for (sql, expected) in [
        (
            format!("SELECT c, y, x FROM (SELECT x, y, {count} FROM {rows}) AS t ORDER BY c, y, x"),
            "1|1|1\n1|2|1\n2|1|2\n2|1|3\n2|2|2\n2|2|3\n",
        ),
        (format!("SELECT DISTINCT {count} FROM {rows} ORDER BY c"), "1\n2\n"),
        (
            format!("SELECT c, count(*) FROM (SELECT {count} FROM {rows}) AS t GROUP BY c ORDER BY c"),
            "1|2\n2|4\n",
        ),
        (
            "SELECT best, 0::bigint AS b FROM routes UNION ALL SELECT true, 3::bigint FROM routes ORDER BY 1 DESC, 2 DESC LIMIT 2".to_owned(),
            "t|3\nt|3\n",
        ),
        (
            "SELECT true AS a, true AS b FROM events UNION ALL SELECT false, established FROM peers ORDER BY b DESC, a LIMIT 1".to_owned(),
            "f|t\n",
        ),
        (
            format!("SELECT k, x FROM (SELECT x, 1::bigint AS k FROM {rows} WHERE y = 1 UNION ALL SELECT x, 0::bigint FROM {rows} WHERE y = 2) AS t ORDER BY k, x LIMIT 4"),
            "0|1\n0|2\n0|3\n1|1\n",
        ),
    ] {
        assert_eq!(answer(&server, &sql), expected, "{sql}");
    }
}

#[test]
fn sum_and_count_distinct_combine() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT sum(x), count(DISTINCT y), sum(CASE WHEN y = 'a' THEN 1 ELSE 0 END), sum(DISTINCT x) \
             FROM (VALUES (1::int, 'a'), (1, 'b'), (2, 'b')) AS t (x, y)"
        ),
        "4|2|1|3\n"
    );
    let routes = "SELECT origin, sum(prefix_length) > 0, count(DISTINCT prefix) > 0 FROM best GROUP BY origin ORDER BY origin";
    assert_eq!(answer(&server, routes), "igp|t|t\n");
}

#[test]
fn string_functions_split_route_attributes() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT DISTINCT (regexp_match(as_path, '\\d+$'))[1], split_part(as_path, ' ', 1) FROM best WHERE prefix = '10.0.0.0/8'"
        ),
        "64510|64501\n"
    );
    assert_eq!(
        answer(&server, "SELECT string_agg(DISTINCT origin, ',') FROM best"),
        "igp\n"
    );
}

/// Such deeply nested calls once took a minute to plan. No other client was served in that time.
#[test]
fn long_concatenations_are_planned() {
    let server = server(Access::Open);
    let sql = format!("SELECT length('a'{})", " || 'a'".repeat(600));
    assert_eq!(answer(&server, &sql), "601\n");
    let sql = format!("SELECT count('a'{} || med)", " || origin".repeat(300));
    assert_eq!(
        answer(&server, &format!("{sql} FROM routes WHERE med IS NULL")),
        "0\n"
    );
}

#[test]
fn order_by_is_limited_to_32_values() {
    let server = server(Access::Open);
    let keys: Vec<String> = (0..33).map(|key| format!("med + {key}")).collect();
    let sql = format!("SELECT prefix FROM routes ORDER BY {}", keys.join(", "));
    let refused = refusal(&server, &sql);
    assert!(
        refused.contains("ordered by 33 values: at most 32"),
        "{refused}"
    );
    let sql = format!(
        "SELECT count(*) > 0 FROM (SELECT prefix FROM routes ORDER BY {} LIMIT 5) AS t",
        keys[..32].join(", ")
    );
    assert_eq!(answer(&server, &sql), "t\n");
}

#[test]
fn with_ordinality_is_refused_with_an_alternative() {
    let server = server(Access::Open);
    for table in ["generate_series(1, 2)", "unnest(ARRAY[1, 2])"] {
        let refused = refusal(&server, &format!("SELECT * FROM {table} WITH ORDINALITY"));
        assert!(refused.contains("row_number()"), "{refused}");
    }
}

#[test]
fn has_community_refuses_an_invalid_pattern() {
    let server = server(Access::Open);
    let refused = refusal(
        &server,
        "SELECT 1 FROM routes WHERE has_community(communities, '64500')",
    );
    assert!(refused.contains("'64500' is no community"), "{refused}");
}

/// Forms of the grammar that other databases also plan as calls.
#[test]
fn substring_position_and_trim_take_the_standard_syntax() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT substring('abcdef' FROM 2 FOR 3), substring('abcdef' FROM 3), substring('abcdef', 2, 2), \
             substring('abcdef' FOR 2), substr('abcdef', 5), \
             position('c' IN 'abc'), strpos('abc', 'b'), \
             trim(BOTH 'x' FROM 'xax'), trim(LEADING ' ' FROM ' a'), trim(TRAILING 'b' FROM 'ab'), trim('  a '), \
             char_length('äö'), \
             left('abc', 2), right('abc', 2), extract(year FROM TIMESTAMP '2026-01-02 03:04:05')"
        ),
        "bcd|cdef|bc|ab|ef|3|2|a|a|a|a|2|ab|bc|2026\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT 'abc' LIKE 'a' || '%', 'abc' NOT LIKE repeat('_', 3), 'ABC' ILIKE '%' || 'b%', 'abc' LIKE 'a%', \
             NULL LIKE 'a' || 'b', 'a_c' LIKE 'a\\_' || 'c', 'abc' ~~ ('a' || '%')"
        ),
        "t|f|t|t||t|t\n"
    );
    let sql = "SELECT count(*) FROM routes WHERE substring(prefix FROM 1 FOR 3) = '10.' AND position('/' IN prefix) > 0";
    assert_eq!(answer(&server, sql), "3\n");
}

#[test]
fn numbers_and_bytes_keep_their_values() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT abs(-9007199254740993), round(2.345, 2), round(avg(as_path_length), 1), ceil(1.2), floor(-1.2), \
             x'00ff', encode(x'ff', 'hex') FROM routes"
        ),
        "9007199254740993|2.35|2.3|2|-2|\\x00ff|ff\n"
    );
    let sql = "SELECT count(*) FROM routes WHERE prefix <<= '10.0.0.0/8'::cidr AND prefix::text >>= '10.1.2.3'::inet";
    assert_eq!(answer(&server, sql), "3\n");
}

#[test]
fn window_functions_return_postgresql_results() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT value, array_agg(value) OVER (ORDER BY value), string_agg(CAST(value AS TEXT), '+') OVER \
             (ORDER BY value ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), \
             lag(CAST(value AS TEXT), 1, 'none') OVER (ORDER BY value), max(value * 2) OVER (), \
             first_value(value) OVER (PARTITION BY value % 2 ORDER BY value) FROM generate_series(1, 3) AS s (value) ORDER BY value"
        ),
        "1|{1}|1+2+3|none|6|1\n2|{1,2}|1+2+3|1|6|2\n3|{1,2,3}|1+2+3|2|6|1\n"
    );
}

/// Each call would be costly for each of many rows, and could not be stopped.
#[test]
fn expensive_aggregates_over_windows_are_refused() {
    let server = server(Access::Open);
    let sql = "SELECT approx_distinct(value) OVER (PARTITION BY value) FROM generate_series(1, 3000000) AS s (value)";
    assert!(refusal(&server, sql).contains("not offered over windows"));
    let median = "SELECT median(value) OVER (ORDER BY value ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) \
        FROM generate_series(1, 3000000) AS s (value)";
    assert!(refusal(&server, median).contains("not offered over windows"));
    let grouped = "SELECT approx_distinct(value) FROM generate_series(1, 10) AS s (value)";
    assert_eq!(answer(&server, grouped), "10\n");
}

/// The value would be repeated for each of 8,192 rows at once.
#[test]
fn values_of_scalar_subqueries_are_copied_in_small_batches() {
    let server = server(Access::Open);
    let sql = "EXPLAIN SELECT (SELECT array_agg(value) FROM generate_series(1, 3) AS s (value)) FROM generate_series(1, 2) AS s (value)";
    let plan = answer(&server, sql);
    assert!(plan.contains("Paced: Pieces"), "{plan}");
}

/// Other time zones are not known. An answer in UTC would look like one in the requested zone.
#[test]
fn time_zones_other_than_utc_are_refused() {
    let server = server(Access::Open);
    for sql in [
        "SELECT now() AT TIME ZONE 'Europe/Berlin'",
        "SELECT time AT TIME ZONE 'x', time FROM events",
        "SELECT now() AT TIME ZONE origin FROM routes",
        "SET TIME ZONE 'Europe/Berlin'",
        "SET TIME ZONE 2",
        "SET SESSION TimeZone='America/New_York'",
        "SET timezone TO 'Europe/Berlin'",
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains("all times are UTC"), "{sql}: {refused}");
    }
    for sql in [
        "SET TIME ZONE 'UTC'",
        "SET timezone TO 'utc'",
        "SET TimeZone = DEFAULT",
        "SET x = 1",
    ] {
        assert_eq!(answer(&server, sql), "SET\n");
    }
    let utc = "SELECT TIMESTAMP '2026-01-02 03:04:05' AT TIME ZONE 'UTC'";
    let said = answer(&server, utc);
    assert!(said.starts_with("2026-01-02 03:04:05"), "{said}");
}

#[test]
fn prefixes_sort_by_address_not_by_string() {
    let server = server(Access::Open);
    let prefixes = "(VALUES ('10.0.0.0/16'), ('9.0.0.0/8'), ('2001:db8::/32'), ('10.0.0.0/8'), ('100.0.0.0/8'), ('x')) AS t (prefix)";
    let ordered = "9.0.0.0/8\n10.0.0.0/8\n10.0.0.0/16\n100.0.0.0/8\n2001:db8::/32\nx\n";
    for by in [
        "prefix_key(prefix)",
        "prefix::inet",
        "(prefix)::cidr",
        "((prefix)::cidr)",
    ] {
        let sql = format!("SELECT prefix FROM {prefixes} ORDER BY {by}");
        assert_eq!(answer(&server, &sql), ordered, "{by}");
    }
    let grouped = format!(
        "SELECT prefix::inet, count(*) FROM {prefixes} WHERE prefix <> 'x' GROUP BY prefix::inet ORDER BY prefix::inet DESC LIMIT 2"
    );
    assert_eq!(
        answer(&server, &grouped),
        "2001:db8::/32|1\n100.0.0.0/8|1\n"
    );
}

#[test]
fn floats_have_postgresql_notation_and_exact_binary_values() {
    let server = server(Access::Open);
    let written = answer(
        &server,
        "SELECT 2::float8, 1e300::float8, ARRAY[1.5, 2.0], 'Infinity'::float8",
    );
    assert_eq!(written, "2|1e+300|{1.5,2}|Infinity\n");
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let row = client
        .query_one("SELECT 2::float8, ARRAY[1.5, 2.0]", &[])
        .unwrap();
    assert_eq!(row.get::<_, f64>(0).to_bits(), 2_f64.to_bits());
    assert_eq!(row.get::<_, Vec<f64>>(1).len(), 2);
}

/// Programs compare the SQLSTATE, so it must be PostgreSQL's.
#[test]
fn failed_casts_and_computations_have_sqlstates() {
    let server = server(Access::Open);
    for (value, state) in [
        ("'x'::int", "22P02"),
        ("'99999999999'::int", "22003"),
        ("70000::smallint", "22003"),
        ("1e10::int", "22003"),
        ("'x'::float8", "22P02"),
        ("'x'::numeric", "22P02"),
        ("12345::numeric(3, 1)", "22003"),
        ("'x'::bool", "22P02"),
        ("'{1,x}'::int[]", "22P02"),
        ("'{1'::int[]", "22P02"),
        ("'\\xzz'::bytea", "22023"),
        ("'10.0.0.256'::inet", "22P02"),
        ("'10.0.0.1/33'::inet", "22P02"),
        ("'10.0.0.1/8'::cidr", "22P02"),
        ("'x'::date", "22007"),
        ("'2026-02-30'::date", "22007"),
        ("timestamp 'x'", "22007"),
        ("'2026-02-03 25:00:00'::timestamptz", "22007"),
        ("'10:70'::time", "22007"),
        ("interval 'x'", "22007"),
        ("to_timestamp('2026-11-01', 'YYYY-MM-DD')", "0A000"),
        ("1 / 0", "22012"),
        ("1 % 0", "22012"),
        ("abs()", "42883"),
        ("(SELECT prefix FROM routes)", "21000"),
    ] {
        let refused = failure(&server, &format!("SELECT {value}"));
        assert!(refused.contains(state), "{value}: {refused}");
    }
    let sql = "SELECT sum(v::int) FROM (VALUES ('1'), ('x')) AS t (v)";
    assert!(failure(&server, sql).contains("22P02"));
    assert_eq!(
        answer(
            &server,
            "SELECT '10.1.2.3/8'::inet, '10.0.0.0/8'::cidr, '2001:db8::1'::inet"
        ),
        "10.1.2.3/8|10.0.0.0/8|2001:db8::1\n"
    );
}
