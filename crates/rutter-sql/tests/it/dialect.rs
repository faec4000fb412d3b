//! SQL in PostgreSQL's dialect has the same meaning here, or is refused.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn time_literals_need_no_seconds() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) > 0, (SELECT count(*) FROM events WHERE time BETWEEN '2030-01-01 00:00' AND '2030-01-02T00:00Z'), \
             timestamp '2024-02-01 12:00' - interval '1 hour' FROM events \
             WHERE time > '2026-11-18 11:06' AND time < '2026-11-18 13:07+02:00'::timestamptz"
        ),
        "t|0|2024-02-01 11:00:00\n"
    );
}

#[test]
fn any_and_all_accept_subqueries() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM routes WHERE med = ANY (SELECT med FROM routes WHERE med < 100)"
        ),
        "2\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM routes WHERE prefix <> ALL (SELECT prefix FROM routes WHERE med IS NOT NULL)"
        ),
        "3\n"
    );
    let refused = refusal(
        &server,
        "SELECT count(*) FROM routes WHERE med > ALL (SELECT med FROM routes)",
    );
    assert!(
        refused.contains("> beside ANY or ALL is not offered"),
        "{refused}"
    );
}

#[test]
fn array_literals_are_parsed() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FILTER (WHERE communities = '{}'::text[]), count(*) FILTER (WHERE communities = '{64500:1}'::text[]), \
             count(*) FILTER (WHERE prefix = ANY('{10.0.0.0/8,\"x,y\"}')), count(array_length(communities, 1)) FROM routes"
        ),
        "0|6|1|6\n"
    );
    let refused = refusal(&server, "SELECT u FROM routes r, unnest(r.communities) u");
    assert!(refused.contains("SELECT unnest(communities)"), "{refused}");
    assert_eq!(
        answer(
            &server,
            "SELECT x + 1 FROM unnest(ARRAY[1, 2]) AS t (x) ORDER BY x"
        ),
        "2\n3\n"
    );
}

#[test]
fn addresses_can_be_cast_to_inet_and_cidr() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*), min(host(prefix::inet)) FROM routes WHERE prefix >>= '10.1.2.3'::inet AND prefix <<= '10.0.0.0/8'::cidr"
        ),
        "3|10.0.0.0\n"
    );
}

#[test]
fn group_by_accepts_computed_values() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT as_path ~ '64510' AS x, count(*) FROM routes GROUP BY 1 ORDER BY 1"
        ),
        "f|2\nt|4\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT prefix LIKE '10.' || '%', count(*) FROM routes GROUP BY prefix LIKE '10.' || '%' ORDER BY 1"
        ),
        "f|3\nt|3\n"
    );
}

#[test]
fn malformed_byte_and_array_literals_are_refused() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT encode('\\x0aff'::bytea, 'hex'), '{1,NULL}'::int[]"
        ),
        "0aff|{1,NULL}\n"
    );
    for (sql, why) in [
        ("SELECT 'a,b'::text[]", "malformed array literal: 'a,b'"),
        ("SELECT as_path::text[] FROM routes", "string_to_array"),
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains(why), "{refused}");
    }
}

/// `float` has 64 bits.
#[test]
fn float_has_64_bits() {
    let server = server(Access::Open);
    assert_eq!(
        answer(&server, "SELECT 16777217::float, CAST(16777217 AS real)"),
        "16777217|1.6777216e+07\n"
    );
}

/// The description of an answer has the same types as its rows.
#[test]
fn described_column_types_equal_the_value_types() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    for sql in [
        "SELECT 1 UNION ALL SELECT 1.5 ORDER BY 1",
        "SELECT CASE WHEN true THEN 1 ELSE 1.5 END",
        "SELECT NULL UNION ALL SELECT 1.0 ORDER BY 1",
    ] {
        let rows = client.query(sql, &[]).unwrap();
        assert_eq!(rows[0].get::<_, f64>(0), 1.0, "{sql}");
    }
    let rows = client
        .query(
            "SELECT prefix_length FROM routes UNION SELECT 100000 ORDER BY 1 DESC",
            &[],
        )
        .unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 100_000);
}

#[test]
fn casts_round_and_array_remove_removes_all_equal_items() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT 2.7::int, (-2.7)::bigint, avg(masklen(prefix))::int, array_remove(ARRAY[1, 2, 2], 2) FROM routes"
        ),
        "3|-3|20|{1}\n"
    );
}

#[test]
fn queries_that_datafusion_would_answer_differently_are_refused() {
    let server = server(Access::Open);
    let (a, b) = ("(VALUES (1), (2)) a(x)", "(VALUES (2), (3)) b(x)");
    for (sql, why) in [
        (
            "SELECT 1 FROM routes WHERE best IS DISTINCT FROM true AND family = 6".to_owned(),
            "(x IS DISTINCT FROM y)",
        ),
        (
            "SELECT 1 FROM routes WHERE (med, family) < (7, 5, 3)".to_owned(),
            "rows of values",
        ),
        (
            "SELECT DISTINCT ON (1) prefix FROM routes ORDER BY 1".to_owned(),
            "DISTINCT ON takes expressions",
        ),
        (
            "SELECT 1 FROM routes WHERE prefix::inet < '9.0.0.0/8'".to_owned(),
            "prefix_key(prefix)",
        ),
        (
            "SELECT prefix::inet AS p FROM best UNION SELECT '1.0.0.0/8' ORDER BY p".to_owned(),
            "prefix_key(prefix)",
        ),
        (
            "SELECT now() - interval '1 day' + - interval '1 month 1 day'".to_owned(),
            "a sign before an interval",
        ),
        (
            format!("SELECT * FROM {a} FULL JOIN {b} USING (x)"),
            "coalesce(a.x, b.x)",
        ),
        (
            format!("SELECT * FROM {a} NATURAL RIGHT JOIN {b}"),
            "coalesce(a.x, b.x)",
        ),
        (
            "SELECT 1 UNION ALL SELECT 1 EXCEPT ALL SELECT 1".to_owned(),
            "EXCEPT ALL is not offered",
        ),
        (
            "SELECT min(prefix::inet) FROM routes".to_owned(),
            "prefix_key(prefix)",
        ),
    ] {
        let refused = refusal(&server, &sql);
        assert!(refused.contains(why), "{sql}: {refused}");
    }
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM routes WHERE (best IS DISTINCT FROM true) AND family = 4"
        ),
        "2\n"
    );
    assert_eq!(
        answer(
            &server,
            &format!("SELECT coalesce(a.x, b.x) FROM {a} FULL JOIN {b} ON a.x = b.x ORDER BY 1")
        ),
        "1\n2\n3\n"
    );
}

#[test]
fn unions_accept_computed_columns() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "SELECT count(*) * 2 FROM routes WHERE false UNION SELECT 7 ORDER BY 1",
            "0\n7\n",
        ),
        (
            "SELECT '2026-01-01 00:00'::timestamp::text AS at UNION SELECT 'x' ORDER BY at",
            "2026-01-01 00:00:00\nx\n",
        ),
        (
            "SELECT DISTINCT time::text = 'x' FROM events UNION SELECT false",
            "f\n",
        ),
    ] {
        assert_eq!(answer(&server, sql), expected, "{sql}");
    }
}

/// Addresses are ordered by their numbers, not by their strings.
#[test]
fn networks_sort_by_address_not_by_string() {
    let server = server(Access::Open);
    let prefixes = "(VALUES ('10.0.0.0/8', 1), ('9.0.0.0/8', 2), ('100.0.0.0/8', 1)) AS t (p, x)";
    for (columns, by) in [
        ("p::inet AS net", "net"),
        ("p::inet", "1"),
        ("p", "p::inet"),
    ] {
        let sql = format!("SELECT {columns} FROM {prefixes} ORDER BY {by}");
        assert_eq!(
            answer(&server, &sql),
            "9.0.0.0/8\n10.0.0.0/8\n100.0.0.0/8\n",
            "{sql}"
        );
    }
    assert_eq!(
        answer(
            &server,
            "SELECT prefix, row_number() OVER (ORDER BY prefix::inet) FROM best ORDER BY prefix::inet LIMIT 2"
        ),
        "10.0.0.0/8|1\n10.1.0.0/16|2\n"
    );
    let sql = "SELECT string_agg(prefix, ' ' ORDER BY prefix::inet DESC) FROM best";
    assert_eq!(
        answer(&server, sql),
        "2001:db8::/32 203.0.113.0/24 10.1.0.0/16 10.0.0.0/8\n"
    );
}
