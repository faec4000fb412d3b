//! Limits on the cost of queries.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

/// A query that does not fit in memory fails. It never writes to disk.
#[test]
fn queries_above_the_memory_limit_fail_without_spilling() {
    let server = server(Access::Open);
    let said = refusal(
        &server,
        "SELECT a.value, b.value FROM generate_series(1, 20000) AS a (value), generate_series(1, 20000) AS b (value) \
         ORDER BY a.value + b.value DESC",
    );
    assert!(said.contains("more memory"), "{said}");
}

#[test]
fn queries_above_the_limits_of_the_planner_are_refused() {
    let server = server(Access::Open);
    let sum = |terms: usize| format!("SELECT 1{}", "+1".repeat(terms));
    assert_eq!(answer(&server, &sum(900)), "901\n");
    let refused = refusal(&server, &sum(1_100));
    assert!(refused.contains("at most 1000 are planned"), "{refused}");
    let tables = vec!["peers"; 60].join(" NATURAL JOIN ");
    let refused = refusal(&server, &format!("SELECT 1 FROM {tables}"));
    assert!(refused.contains("at most 50"), "{refused}");
    let long = format!("SELECT 1 WHERE 'x' = '{}'", "x".repeat(40_000));
    let refused = refusal(&server, &long);
    assert!(refused.contains("at most 32768 are read"), "{refused}");
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}

/// The items of lists do not count. The parentheses of rows do.
#[test]
fn long_lists_of_values_are_planned() {
    let server = server(Access::Open);
    let all = |from: usize, row: &dyn Fn(usize) -> String| {
        (from..1_000).map(row).collect::<Vec<_>>().join(",")
    };
    let prefixes = all(600, &|n| format!("('10.{}.{}.0/24')", n / 256, n % 256));
    let items = all(0, &|n| format!("'10.0.{}.{}'", n / 256, n % 256));
    for sql in [
        format!("SELECT 600 + count(*) FROM (VALUES {prefixes}) AS t (prefix)"),
        format!("SELECT 1000 + count(*) FROM routes WHERE prefix::inet IN ({items})"),
    ] {
        assert_eq!(answer(&server, &sql), "1000\n", "{}", &sql[..60]);
    }
    let rows = vec!["(1)"; 600].join(",");
    let refused = refusal(&server, &format!("SELECT 1 FROM (VALUES {rows}) AS t"));
    assert!(refused.contains("at most 1000 are planned"), "{refused}");
}

/// A query that doubles a string this many times.
fn doubled(text: &str, times: usize) -> String {
    (1..=times).fold(format!("SELECT {text} AS a0"), |sql, time| {
        let before = time - 1;
        format!("SELECT a{before} || a{before} AS a{time} FROM ({sql}) AS t{time}")
    })
}

#[test]
fn results_of_functions_count_as_memory() {
    let server = server(Access::Open);
    for sql in [
        "SELECT repeat('x', 1000000000)",
        "SELECT array_agg(repeat(CAST(value AS TEXT), 10000000)) FROM generate_series(1, 100) AS s (value)",
        "SELECT replace(repeat('x', 10000), 'x', repeat('y', 10000))",
        &doubled("repeat('x', 40000)", 15),
        "SELECT array_to_string(string_to_array(repeat('x,', 10000), ','), repeat('x', 10000))",
        "SELECT length(lpad('x', 2000000000, 'y'))",
        "SELECT length(rpad('x', 2000000000, 'y'))",
        "SELECT length(rpad('x', 2000000000))",
        "SELECT length(regexp_replace(repeat('a', 20000), 'a', repeat('b', 50000), 'g'))",
        "SELECT max(replace(CAST(value AS TEXT), '1', repeat('y', 1000000))) FROM generate_series(1, 9000) AS s (value)",
        &nested("quote_ident({})", "repeat('\"', 100000)", 10),
        "SELECT max(cardinality(a)) FROM (SELECT array_agg(value) OVER () AS a FROM generate_series(1, 100000) AS s (value)) t",
        "SELECT max(cardinality(a)) FROM (SELECT array_agg(value) OVER (ORDER BY value) AS a FROM generate_series(1, 100000) AS s (value)) t",
        "SELECT max(length(a)) FROM (SELECT string_agg(CAST(value AS TEXT), ',') OVER (ORDER BY value) AS a \
         FROM generate_series(1, 100000) AS s (value)) t",
        "SELECT count(m) FROM (SELECT max(x) OVER () AS m FROM (SELECT repeat('x', CASE WHEN value = 1 \
         THEN 1000000 ELSE 1 END) AS x FROM generate_series(1, 100000) AS s (value)) s) t",
        "SELECT count(a) FROM (SELECT array_agg(value) OVER (PARTITION BY value % 2) AS a FROM generate_series(1, 200000) AS s (value)) t",
        "SELECT max(s) FROM (SELECT sum(value) OVER (ORDER BY value ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s \
         FROM generate_series(1, 7000000) AS s (value)) t",
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains("`memory`"), "{sql}: {refused}");
    }
    assert_eq!(
        answer(
            &server,
            "SELECT repeat('x', 3) || 1 || concat('a', 'b') || replace('ab', 'b', 'c')"
        ),
        "xxx1abac\n"
    );
}

/// A query that nests a call this many times.
fn nested(call: &str, inner: &str, times: usize) -> String {
    let sql = (0..times).fold(inner.to_owned(), |inner, _| call.replace("{}", &inner));
    format!("SELECT length({sql})")
}

/// No running call can be stopped, so the server refuses long ones in advance.
#[test]
fn function_calls_that_would_take_long_are_refused() {
    let server = server(Access::Open);
    for sql in [
        "SELECT regexp_replace(repeat('A', 1000000), '.*[^A-Z]|[A-Z]', '', 'g')",
        "SELECT array_has_all(a, a) FROM (SELECT string_to_array(repeat('x,', 100000), ',') AS a) t",
        "SELECT a @> a FROM (SELECT string_to_array(repeat('x,', 100000), ',') AS a) t",
        "SELECT repeat('x', 1000000) ~ '((x{50}){50}){50}y'",
        "SELECT regexp_like(repeat('x', 1000000), '((x{50}){50}){50}y')",
        "SELECT string_agg(CAST(value AS TEXT), repeat('x', 100000)) FROM generate_series(1, 100000) AS s (value)",
        "SELECT count(*) FROM routes GROUP BY CUBE(peer_name, prefix, origin, as_path, next_hop, med, family, view, best)",
        "SELECT map(['a'], [1])",
        &nested("abs({})", "1", 30),
        &format!(
            "SELECT 1 WHERE {}1=1{}",
            "1 IN (SELECT 1 WHERE ".repeat(40),
            ")".repeat(40)
        ),
        &nested("coalesce( ({}))", "1", 30),
        "SELECT count(m) FROM (SELECT max(repeat('x', CASE WHEN value = 1 THEN 1000000 ELSE 1 END)) OVER () AS m \
         FROM generate_series(1, 1000) AS s (value)) t",
        "SELECT repeat('a', 1000000) LIKE repeat('%a', 100000) || 'b'",
        "SELECT repeat('a', 1000000) ~~* (repeat('%a', 100000) || 'b')",
        "SELECT repeat('a', 1000000) SIMILAR TO repeat('%a', 100000)",
        &format!(
            "SELECT repeat('a', 1000000) NOT LIKE '{}'",
            "%a".repeat(10_000)
        ),
    ] {
        let refused = refusal(&server, sql);
        let said = [
            "takes too long",
            "too large",
            "at most",
            "not offered",
            "Invalid function",
            "takes only columns",
            "as it is written",
            "`memory`",
        ];
        assert!(
            said.iter().any(|said| refused.contains(said)),
            "{sql}: {refused}"
        );
    }
    assert_eq!(
        answer(
            &server,
            "SELECT lpad('7', 3, '0'), regexp_replace('a-b-c', '-', '+', 'g'), \
             'AS64500' ~ '^AS[0-9]{5}$', 'x' ~* 'X', 'x' !~ 'y', array_has_all([1, 2], [2]), [1] || [2], [7, 8][2]"
        ),
        "007|a+b+c|t|t|t|t|{1,2}|8\n"
    );
    let sql = "SELECT string_agg(peer_name, ', ' ORDER BY peer_name) FROM peers";
    assert_eq!(answer(&server, sql), "peer 1, peer 2\n");
    let sql = "SELECT count(*) FROM routes WHERE prefix ~ '^10\\.' AND verdict ~ 'ac{2}epted'";
    assert_eq!(answer(&server, sql), "3\n");
}

#[test]
fn fetch_all_of_many_rows_is_refused() {
    let server = server(Access::Open);
    let sql = "BEGIN; DECLARE c CURSOR FOR SELECT repeat('x', 1000) FROM generate_series(1, 1000000) AS s (value); \
        FETCH ALL FROM c";
    let refused = refusal(&server, sql);
    assert!(refused.contains("fetch fewer rows"), "{refused}");
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}
