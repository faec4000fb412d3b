//! What cannot be computed is no error in rows that a condition takes out.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn divisors_are_looked_at_first() {
    let server = server(Access::Open);
    for (condition, expected) in [
        ("family - 4 <> 0 AND 100 / (family - 4) > 1", "1"),
        ("100 / (family - 4) > 1 AND family <> 4", "1"),
        (
            "family <> 4 AND 100 / (family - 4) > 1 AND 100 / (family - 4) < 60 AND 100 % (family - 4) = 0",
            "1",
        ),
    ] {
        let sql = format!("SELECT count(*) FROM routes WHERE {condition}");
        assert_eq!(answer(&server, &sql), format!("{expected}\n"), "{sql}");
    }
    assert_eq!(
        answer(
            &server,
            "SELECT count(*), sum(x) FROM generate_series(0, 99999) AS s(x) WHERE x % 3 <> 0 AND 6 / (x % 3) = 3"
        ),
        "33333|1666650000\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FILTER (WHERE x % 3 = 0 OR 6 / (x % 3) = 3), count(*) FILTER (WHERE 6 / (x % 3) = 3 AND x % 3 <> 0), \
             count(*) FILTER (WHERE CASE WHEN x % 3 = 0 THEN true WHEN x > 1 THEN 6 / (x % 3) = 3 ELSE x = 5 END), \
             count(*) FILTER (WHERE NOT (x % 3 = 0 OR 6 / (x % 3) = 3 OR x IS NULL)) \
             FROM (SELECT CASE WHEN v <> 7 THEN v END AS x FROM generate_series(0, 99999) AS s(v)) AS t"
        ),
        "66667|33333|66667|33332\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM generate_series(0, 99999) AS s(x) WHERE x % 3 = 0 OR 6 / (x % 3) = 3"
        ),
        "66667\n"
    );
    let refused = refusal(
        &server,
        "SELECT 1 FROM routes WHERE best AND 100 / (family - 4) > 1",
    );
    assert!(refused.contains("Divide by zero"), "{refused}");
}

/// Texts of a column are kept in a dictionary, which has those of other rows, too.
#[test]
fn only_texts_that_are_asked_for_are_cast() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*), max(replace(peer_name, 'peer ', '')::bigint) FROM routes WHERE peer_name::text ~ '2$'"
        ),
        "2|2\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT max(x::bigint) FROM (SELECT CASE WHEN best THEN prefix_length::text ELSE as_path END AS x, best FROM routes) AS t \
             WHERE best"
        ),
        "32\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT max(as_path::bigint) FROM routes WHERE as_path ~ '^[0-9]+$'"
        ),
        "\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM routes WHERE as_path ~ '^[0-9]+$' AND (as_path::bigint > 5 OR as_path::int < 7)"
        ),
        "0\n"
    );
    let refused = refusal(&server, "SELECT max(as_path::bigint) FROM routes");
    assert!(refused.contains("64501 645"), "{refused}");
}

/// The engine computes the conditions of a join for all pairs.
#[test]
fn conditions_of_joins_are_guarded() {
    let server = server(Access::Open);
    for join in ["LEFT", "INNER"] {
        let sql = format!(
            "SELECT count(*), count(y) FROM (VALUES (0, 1), (1, 1), (2, 2)) AS a (n, k) \
             {join} JOIN (VALUES (1), (2)) AS b (y) ON k = y AND a.n <> 0 AND 2 / a.n > y"
        );
        let expected = if join == "LEFT" { "3|1\n" } else { "1|1\n" };
        assert_eq!(answer(&server, &sql), expected, "{sql}");
    }
}

#[test]
fn no_rows_are_compared_with_no_lists() {
    let server = server(Access::Open);
    for sql in [
        "SELECT count(*) FROM routes WHERE med < -1 AND prefix < ALL(extended_communities)",
        "SELECT count(*) FROM rejected WHERE med < -1 AND 'a' > ANY(reasons)",
    ] {
        assert_eq!(answer(&server, sql), "0\n", "{sql}");
    }
}
