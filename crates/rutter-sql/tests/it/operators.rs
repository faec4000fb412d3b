//! Operators and regular expressions that DataFusion reads differently from PostgreSQL.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn windows_that_extend_a_named_window_are_refused() {
    let server = server(Access::Open);
    for sql in [
        "SELECT sum(x) OVER (w ROWS 1 PRECEDING) FROM (VALUES (1)) v(x) WINDOW w AS (ORDER BY x)",
        "SELECT sum(x) OVER u FROM (VALUES (1)) v(x) WINDOW w AS (ORDER BY x), u AS (w)",
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains("write OVER w"), "{sql}: {refused}");
    }
}

/// Regular expressions are those of Rust. What PostgreSQL would read differently is refused if it is silent otherwise.
#[test]
fn regular_expressions_match_as_paths() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            r"SELECT count(*) FILTER (WHERE as_path ~ '\b64510\b'), count(*) FILTER (WHERE as_path ~ '\b6451\b'), count(*) FILTER (WHERE as_path ~ '^64501 .*0$') FROM routes"
        ),
        "4|0|3\n"
    );
    assert_eq!(
        answer(
            &server,
            r"SELECT regexp_replace(peer_name, '(\w+) (\d)', '\2 \1') FROM peers ORDER BY 1 LIMIT 1"
        ),
        "1 peer\n"
    );
    for (sql, why) in [
        (r"SELECT regexp_replace('abc', 'b', '$1')", "neither $ nor"),
        (
            r"SELECT regexp_replace('abc', 'b', '[\&]')",
            "neither $ nor",
        ),
        (r"SELECT 'x' ~ '\mx'", "regex"),
        ("SELECT 'x' SIMILAR TO 'x'", "write ~"),
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains(why), "{sql}: {refused}");
    }
}
