//! Items of lists, and lists that are expanded to rows.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn series_are_rows() {
    let server = server(Access::Open);
    for (sql, expected) in [
        ("SELECT generate_series(1, 3)", "1\n2\n3"),
        (
            "SELECT x + 1 FROM (SELECT generate_series(1, 5, 2) AS x) AS t ORDER BY 1",
            "2\n4\n6",
        ),
        (
            "SELECT family, generate_series(1, 2) FROM routes WHERE family = 6 ORDER BY 2",
            "6|1\n6|2",
        ),
        (
            "SELECT array_agg(x) FROM (SELECT generate_series(1, 3) AS x) AS t",
            "{1,2,3}",
        ),
        ("SELECT ARRAY(SELECT generate_series(1, 3))", "{1,2,3}"),
        (
            "SELECT to_char(generate_series(timestamp '2026-01-01', timestamp '2026-01-02', interval '1 day'), 'DD')",
            "01\n02",
        ),
        (
            "SELECT count(*) FROM generate_series(1, 3) AS s (value)",
            "3",
        ),
    ] {
        assert_eq!(answer(&server, sql).trim_end(), expected, "{sql}");
    }
    refusal(&server, "SELECT 1 WHERE generate_series(1, 3) = 1");
}

#[test]
fn nothing_adds_nothing_to_a_list() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT ARRAY[1] || NULL, NULL || ARRAY[1], ARRAY[1] || NULL::int, NULL::int[] || NULL, \
             communities || NULL FROM routes WHERE prefix = '10.0.0.0/8'"
        ),
        "{1}|{1}|{1,NULL}||{64500:1}\n"
    );
}

#[test]
fn empty_lists_begin_nowhere() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT array_lower('{}'::int[], 1), array_lower(NULL::int[], 1), array_ndims('{}'::int[]), array_ndims(ARRAY[1]), \
             array_ndims(NULL::int[]), array_upper(ARRAY[1, 2], 1), array_lower(ARRAY[1], 1), array_lower(ARRAY[NULL], 1), \
             array_upper('{}'::int[], 1), min(array_lower(communities, 1)) FROM routes"
        ),
        "|||1||2|1|1||1\n"
    );
}
