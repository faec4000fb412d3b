//! Comparisons with NULL are NULL: their negation selects no rows either.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn items_that_are_null_may_be_any() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "3 = ANY(ARRAY[1,NULL]), NOT 3 = ANY(ARRAY[1,NULL]), 1 = ANY(ARRAY[1,NULL]), NULL::int = ANY('{}'::int[])",
            "||t|f",
        ),
        (
            "1 < ANY(ARRAY[0,NULL]), 1 < ANY(ARRAY[2,NULL]), 1 < ALL(ARRAY[2,NULL]), 1 < ALL(ARRAY[0,NULL])",
            "|t||f",
        ),
        (
            "1 <> ANY(ARRAY[1,NULL]), 1 <> ANY(ARRAY[1,1]), 1 <> ANY(ARRAY[1,2]), 1 <> ALL(ARRAY[2,NULL]), 1 = ALL(ARRAY[1,1])",
            "|f|t||t",
        ),
        (
            "NULL < ANY(ARRAY[1]), NULL::int < ANY('{}'::int[]), 1 = ANY(NULL::int[])",
            "|f|",
        ),
    ] {
        let found = answer(&server, &format!("SELECT {sql}"));
        assert_eq!(found, format!("{expected}\n"), "{sql}");
    }
    for (condition, expected) in [
        ("NOT med < ANY (ARRAY[5, NULL])", "0"),
        ("med < ANY (ARRAY[5, NULL, 100])", "2"),
        ("med = ANY (ARRAY[med, NULL])", "2"),
        ("NOT med = ANY (ARRAY[local_pref, NULL])", "0"),
        (
            "NOT reason = ANY (array_remove(communities, '64500:1'))",
            "6",
        ),
        ("NOT reason = ANY (communities)", "1"),
    ] {
        let sql = format!("SELECT count(*) FROM routes WHERE {condition}");
        assert_eq!(answer(&server, &sql), format!("{expected}\n"), "{sql}");
    }
}

#[test]
fn lists_with_null_have_nothing_in_common() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FILTER (WHERE communities @> NULL), count(*) FILTER (WHERE NOT communities && NULL), \
             count(*) FILTER (WHERE ARRAY[reason, NULL] && ARRAY['as-loop', NULL]), \
             count(*) FILTER (WHERE ARRAY[reason] @> ARRAY[reason]) FROM routes"
        ),
        "0|0|1|1\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT ARRAY[1,NULL] @> ARRAY[NULL]::int[], ARRAY[1,NULL] && ARRAY[NULL]::int[], ARRAY[1,NULL] && ARRAY[NULL,1], \
             ARRAY[1] @> '{}'::int[], ARRAY[1] <@ ARRAY[1,NULL]"
        ),
        "f|f|t|t|t\n"
    );
}

#[test]
fn rows_are_compared_value_by_value() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT (1,NULL) = (1,2), (1,2) < (1,3), (1,2) <> (1,NULL), (2,2) <> (1,NULL), (1,2,3) <= (1,2,3), \
             ROW(1,2) = ROW(1,2), (1,2) >= (2,NULL), (1,NULL) > (1,2)"
        ),
        "|t||t|t|t|f|\n"
    );
    for (condition, expected) in [
        ("NOT ((med, local_pref) = (5, 100))", "2"),
        ("NOT ((med, local_pref) IN ((50, NULL), (10, 200)))", "0"),
        ("(med, family) IN ((50, 4), (10, 200))", "2"),
        ("(med, family) NOT IN ((50, 6), (10, 200))", "5"),
        ("(prefix, peer_asn) > ('10.1.0.0/16', 64501)", "4"),
    ] {
        let sql = format!("SELECT count(*) FROM routes WHERE {condition}");
        assert_eq!(answer(&server, &sql), format!("{expected}\n"), "{sql}");
    }
    let rows = vec!["(1, 2)"; 300].join(", ");
    let sql = format!("SELECT 1 FROM routes WHERE (med, family) IN ({rows})");
    let refused = refusal(&server, &sql);
    assert!(refused.contains("at most 256 rows"), "{refused}");
}
