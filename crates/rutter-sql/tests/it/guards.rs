//! Expressions that can fail do not fail for rows that another condition removes.

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
    // Only conditions joined by AND protect each other.
    let refused = refusal(
        &server,
        "SELECT count(*) FROM generate_series(0, 99999) AS s(x) WHERE x % 3 = 0 OR 6 / (x % 3) = 3",
    );
    assert!(refused.contains("Divide by zero"), "{refused}");
    let refused = refusal(
        &server,
        "SELECT 1 FROM routes WHERE best AND 100 / (family - 4) > 1",
    );
    assert!(refused.contains("Divide by zero"), "{refused}");
}

/// A dictionary also holds the strings of other rows.
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
