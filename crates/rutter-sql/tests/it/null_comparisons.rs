//! Comparisons with NULL, and comparisons that are refused because DataFusion's NULL rules differ.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn list_operators_with_null_match_nothing() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FILTER (WHERE communities @> NULL), count(*) FILTER (WHERE NOT communities && NULL), \
             count(*) FILTER (WHERE communities && ARRAY['64500:1']), count(*) FILTER (WHERE ARRAY['64500:1'] @> communities) \
             FROM routes"
        ),
        "0|0|6|6\n"
    );
}

#[test]
fn comparisons_of_rows_and_items_other_than_equality_are_refused() {
    let server = server(Access::Open);
    for (condition, why) in [
        ("med < ANY (ARRAY[5, 100])", "= ANY (…)"),
        ("med > ALL (SELECT med FROM routes)", "= ANY (…)"),
        ("(med, family) = (50, 4)", "a = x AND b = y"),
        ("(med, family) IN ((50, 4))", "a = x AND b = y"),
    ] {
        let sql = format!("SELECT 1 FROM routes WHERE {condition}");
        let refused = refusal(&server, &sql);
        assert!(refused.contains(why), "{sql}: {refused}");
    }
    let sql = "SELECT count(*) FROM routes WHERE med <> ALL (ARRAY[5, 100])";
    assert_eq!(answer(&server, sql), "2\n");
}
