//! Strings that are cast: only those of the rows, not those of a whole dictionary.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

/// A dictionary also holds the strings of other rows.
#[test]
fn only_strings_of_matching_rows_are_cast() {
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
    let refused = refusal(&server, "SELECT max(as_path::bigint) FROM routes");
    assert!(refused.contains("64501 645"), "{refused}");
}

#[test]
fn division_by_zero_is_an_error() {
    let server = server(Access::Open);
    let refused = refusal(&server, "SELECT 1 FROM routes WHERE 100 / (family - 4) > 1");
    assert!(refused.contains("Divide by zero"), "{refused}");
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FROM routes WHERE 100 / nullif(family - 4, 0) > 1"
        ),
        "1\n"
    );
}
