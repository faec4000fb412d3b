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
fn rows_are_kept_for_which_a_query_has_rows() {
    let server = server(Access::Open);
    for (condition, expected) in [
        ("EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", "1|10\n2|20\n"),
        ("NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", "3|\n|10\n"),
        (
            "EXISTS (SELECT 1 FROM b WHERE b.k > a.k)",
            "1|10\n2|20\n3|\n",
        ),
        (
            "EXISTS (SELECT 1 FROM b WHERE b.k = a.k ORDER BY y LIMIT 1)",
            "1|10\n2|20\n",
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
        ("x NOT IN (SELECT y FROM b WHERE b.k = a.k)", "3|\n|10\n"),
        ("NOT (x IN (SELECT y FROM b WHERE b.k > a.k))", "|10\n"),
        ("20 NOT IN (SELECT y FROM b)", ""),
        (
            "21 NOT IN (SELECT y FROM b WHERE y > 10) AND k = 1",
            "1|10\n",
        ),
        ("k = 3 OR x NOT IN (SELECT y FROM b)", "3|\n"),
        ("(x IN (SELECT y FROM b)) IS NULL", "3|\n"),
        ("x = (SELECT max(y) - 1 FROM b WHERE b.k = a.k)", "1|10\n"),
        ("0 = (SELECT count(*) FROM b WHERE b.k = a.k)", "3|\n|10\n"),
    ] {
        let sql = asked(&format!("SELECT k, x FROM a WHERE {condition} ORDER BY k"));
        assert_eq!(answer(&server, &sql), expected, "{condition}");
    }
}

#[test]
fn queries_are_values() {
    let server = server(Access::Open);
    for (value, expected) in [
        ("EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", "t t f f"),
        (
            "NOT EXISTS (SELECT * FROM b WHERE b.k = a.k AND y = 11)",
            "f t t t",
        ),
        ("EXISTS (SELECT 1 FROM b WHERE b.k > a.k)", "t t t f"),
        ("EXISTS (SELECT 1 FROM b WHERE y > 100)", "f f f f"),
        (
            "CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN k ELSE 0 END",
            "1 2 0 0",
        ),
        ("x IN (SELECT y FROM b)", "t t null t"),
        ("x NOT IN (SELECT y FROM b)", "f f null f"),
        ("x + 1 IN (SELECT y FROM b)", "t null null t"),
        ("x IN (SELECT y FROM b WHERE y > 100)", "f f f f"),
        ("x NOT IN (SELECT y FROM b WHERE b.k = a.k)", "f null t t"),
        ("x = ANY (SELECT y FROM b WHERE y > 10)", "f t null f"),
        ("(SELECT count(*) FROM b WHERE b.k = a.k)", "2 1 0 0"),
        (
            "(SELECT coalesce(max(y), -1) FROM b WHERE b.k = a.k)",
            "11 -1 -1 -1",
        ),
    ] {
        let sql = asked(&format!(
            "SELECT string_agg(coalesce(CAST(v AS text), 'null'), ' ' ORDER BY k) FROM (SELECT k, {value} AS v FROM a) t"
        ));
        // A cast to text gives `true` and `false`; rows show `t` and `f`.
        let found = answer(&server, &sql)
            .replace("true", "t")
            .replace("false", "f");
        assert_eq!(found.trim_end(), expected, "{value}");
    }
}

#[test]
fn groups_are_made_of_what_queries_find() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)), \
             sum(CASE WHEN x IN (SELECT y FROM b) THEN 1 ELSE 0 END) FROM a",
            "2|3\n",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS found, count(*) FROM a \
             GROUP BY EXISTS (SELECT 1 FROM b WHERE b.k = a.k) ORDER BY found",
            "f|2\nt|2\n",
        ),
        (
            "SELECT k FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.k = a.k) ORDER BY k",
            "1\n2\n",
        ),
    ] {
        assert_eq!(answer(&server, &asked(sql)), expected, "{sql}");
    }
    assert_eq!(
        answer(
            &server,
            "SELECT peer_name, EXISTS (SELECT 1 FROM rejected r WHERE r.peer_name = p.peer_name) FROM peers p ORDER BY 1"
        ),
        "peer 1|t\npeer 2|f\n"
    );
}

#[test]
fn what_no_join_answers_is_refused_with_what_to_write() {
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
            "SELECT (SELECT max(y) FROM b WHERE b.k > a.k) FROM a",
            "by = in its WHERE",
        ),
        (
            "SELECT k FROM a WHERE x = (SELECT max(y) FROM b WHERE b.k = a.k HAVING count(*) = 0)",
            "CASE WHEN count(*)",
        ),
        ("SELECT (SELECT y FROM b WHERE b.k = a.k) FROM a", "write"),
        (
            "SELECT k FROM a ORDER BY EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
            "stands in SELECT and WHERE",
        ),
        (
            "SELECT a.k FROM a JOIN b ON EXISTS (SELECT 1 FROM b c WHERE c.k = a.k)",
            "stands in SELECT and WHERE",
        ),
        (
            "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE EXISTS (SELECT 1 FROM b c WHERE c.k = a.k))",
            "write a join",
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
fn lists_of_queries_are_in_their_order_and_never_missing() {
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
            "SELECT ARRAY(SELECT DISTINCT x FROM a ORDER BY x)",
            "{10,20,NULL}\n",
        ),
        (
            "SELECT ARRAY(SELECT DISTINCT x FROM a ORDER BY 1 DESC LIMIT 2)",
            "{NULL,20}\n",
        ),
        (
            "SELECT ARRAY(SELECT x FROM a UNION SELECT y FROM b ORDER BY x DESC NULLS LAST)",
            "{20,11,10,NULL}\n",
        ),
        ("SELECT array_agg(DISTINCT x) FROM a", "{10,20,NULL}\n"),
        (
            "SELECT array_agg(DISTINCT x ORDER BY x DESC) FROM a",
            "{NULL,20,10}\n",
        ),
    ] {
        assert_eq!(answer(&server, &asked(sql)), expected, "{sql}");
    }
    let both = "SELECT array_agg(DISTINCT x), array_agg(DISTINCT x ORDER BY x DESC) FROM a";
    let refused = refusal(&server, &asked(both));
    assert!(refused.contains("with another order"), "{refused}");
}

#[test]
fn rows_are_null_when_all_of_them_is() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            &asked(
                "SELECT (k, x) IS NULL, ROW(k, x) IS NOT NULL, (k, x) IS NOT NULL OR (k, x) IS NULL FROM a UNION ALL SELECT (NULL, NULL) IS NULL, true, true ORDER BY 1, 2, 3"
            )
        ),
        "f|f|f\nf|f|f\nf|t|t\nf|t|t\nt|t|t\n"
    );
}
