//! Subqueries within expressions. The expected answers are those of PostgreSQL 15.

use rutter_sql::Access;

use crate::server::{answer, failure, refusal, server};

/// Two tables with NULL in them.
const TABLES: &str = "WITH a (k, x) AS (VALUES (1, 10), (2, 20), (3, NULL), (NULL, 10)), \
    b (k, y) AS (VALUES (1, 10), (1, 11), (2, NULL), (4, 20)) ";

fn asked(sql: &str) -> String {
    format!("{TABLES}{sql}")
}

#[test]
fn exists_and_in_filter_rows() {
    let server = server(Access::Open);
    for (condition, expected) in [
        ("EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", "1|10\n2|20\n"),
        ("NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", "3|\n|10\n"),
        (
            "EXISTS (SELECT 1 FROM b WHERE b.k > a.k)",
            "1|10\n2|20\n3|\n",
        ),
        ("EXISTS (SELECT 1 FROM b WHERE y > 100)", ""),
        (
            "NOT EXISTS (SELECT 1 FROM b WHERE y > 100) AND x = 10",
            "1|10\n|10\n",
        ),
        (
            "x = 20 OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "1|10\n2|20\n",
        ),
        ("x IN (SELECT y FROM b)", "1|10\n2|20\n|10\n"),
        ("x NOT IN (SELECT y FROM b)", ""),
        ("x NOT IN (SELECT y FROM b WHERE y > 10)", "1|10\n|10\n"),
        (
            "x NOT IN (SELECT y FROM b WHERE y > 100)",
            "1|10\n2|20\n3|\n|10\n",
        ),
        ("x IN (SELECT y FROM b WHERE b.k = a.k)", "1|10\n"),
        ("x = (SELECT max(y) - 1 FROM b WHERE b.k = a.k)", "1|10\n"),
        ("0 = (SELECT count(*) FROM b WHERE b.k = a.k)", "3|\n|10\n"),
    ] {
        let sql = asked(&format!("SELECT k, x FROM a WHERE {condition} ORDER BY k"));
        assert_eq!(answer(&server, &sql), expected, "{condition}");
    }
}

#[test]
fn scalar_subqueries_return_values() {
    let server = server(Access::Open);
    for (value, expected) in [
        ("(SELECT count(*) FROM b WHERE b.k = a.k)", "2 1 0 0"),
        (
            "(SELECT coalesce(max(y), -1) FROM b WHERE b.k = a.k)",
            "11 -1 -1 -1",
        ),
    ] {
        let sql = asked(&format!(
            "SELECT string_agg(CAST(v AS text), ' ' ORDER BY k) FROM (SELECT k, {value} AS v FROM a) t"
        ));
        assert_eq!(answer(&server, &sql).trim_end(), expected, "{value}");
    }
}

/// DataFusion has no answer, or another one.
#[test]
fn unsupported_subqueries_are_refused_with_an_alternative() {
    let server = server(Access::Open);
    for (sql, why) in [
        (
            "SELECT (SELECT y FROM b WHERE b.k = a.k ORDER BY y LIMIT 1) FROM a",
            "(array_agg(x ORDER BY y))[1]",
        ),
        (
            "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k OFFSET 1)",
            "or a join",
        ),
        (
            "SELECT k FROM a WHERE EXISTS (SELECT count(*) FROM b WHERE b.k = a.k)",
            "compare with (SELECT count(…) …)",
        ),
        (
            "SELECT k FROM a WHERE x = (SELECT max(y) FROM b WHERE b.k = a.k HAVING count(*) = 0)",
            "CASE WHEN count(*)",
        ),
        ("SELECT (SELECT y FROM b WHERE b.k = a.k) FROM a", "write"),
        ("SELECT EXISTS (SELECT 1 FROM b) FROM a", "LEFT JOIN"),
        (
            "SELECT CASE WHEN x IN (SELECT y FROM b) THEN 1 END FROM a",
            "LEFT JOIN",
        ),
        (
            "SELECT k FROM a WHERE x NOT IN (SELECT y FROM b WHERE b.k = a.k)",
            "LEFT JOIN",
        ),
        (
            "SELECT k FROM a WHERE k = 3 OR x NOT IN (SELECT y FROM b)",
            "LEFT JOIN",
        ),
        (
            "SELECT k FROM a WHERE 20 NOT IN (SELECT y FROM b)",
            "LEFT JOIN",
        ),
        (
            "SELECT k FROM a WHERE (x IN (SELECT y FROM b)) IS NULL",
            "LEFT JOIN",
        ),
        (
            "SELECT k FROM a ORDER BY EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "LEFT JOIN",
        ),
        (
            "SELECT a.k FROM a JOIN b ON EXISTS (SELECT 1 FROM b c WHERE c.k = a.k)",
            "LEFT JOIN",
        ),
    ] {
        let refused = failure(&server, &asked(sql));
        assert!(
            refused.contains("0A000") && refused.contains(why),
            "{sql}: {refused}"
        );
    }
    let two = refusal(&server, &asked("SELECT (SELECT y FROM b)"));
    assert!(two.contains("more than one row"), "{two}");
}

#[test]
fn array_subqueries_keep_their_order_and_are_never_null() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "SELECT ARRAY(SELECT x FROM a WHERE x > 99), cardinality(ARRAY(SELECT k FROM b WHERE k > 9))",
            "{}|0\n",
        ),
        (
            "SELECT a.k, ARRAY(SELECT y FROM b WHERE b.k = a.k ORDER BY y DESC) FROM a ORDER BY 1",
            "1|{11,10}\n2|{NULL}\n3|{}\n|{}\n",
        ),
        (
            "SELECT ARRAY(SELECT x FROM (SELECT DISTINCT x FROM a) AS t ORDER BY 1 DESC)",
            "{NULL,20,10}\n",
        ),
    ] {
        assert_eq!(answer(&server, &asked(sql)), expected, "{sql}");
    }
    for (sql, why) in [
        ("SELECT ARRAY(SELECT DISTINCT x FROM a)", "no DISTINCT"),
        (
            "SELECT array_agg(DISTINCT x ORDER BY x DESC) FROM a",
            "order in a query within FROM",
        ),
    ] {
        let refused = refusal(&server, &asked(sql));
        assert!(refused.contains(why), "{sql}: {refused}");
    }
}
