//! The types that clients receive are PostgreSQL's.

use postgres::types::Type;
use rutter_sql::Access;

use crate::server::{answer, server};

#[test]
fn string_lengths_are_of_type_int4() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let rows = client
        .query(
            "SELECT length(as_path), char_length(peer_name), octet_length(as_path), bit_length(peer_name), ascii(peer_name), \
             CASE WHEN best THEN length(as_path) END FROM routes WHERE prefix = '10.0.0.0/8'",
            &[],
        )
        .unwrap();
    for (at, expected) in [11, 6, 11, 48, 112, 11].into_iter().enumerate() {
        assert_eq!(rows[0].columns()[at].type_(), &Type::INT4, "{at}");
        assert_eq!(rows[0].get::<_, i32>(at), expected, "{at}");
    }
    let rows = client
        .query(
            "SELECT coalesce(length(reason), 0) FROM routes WHERE prefix = '10.0.0.0/8'",
            &[],
        )
        .unwrap();
    assert_eq!(rows[0].get::<_, i64>(0), 0);
}

/// The two sides may differ in whether they allow NULL.
#[test]
fn unions_remove_duplicates_of_computed_values() {
    let server = server(Access::Open);
    for (sql, expected) in [
        (
            "SELECT peer_asn + 1 FROM best UNION SELECT 5 ORDER BY 1",
            "5\n64502\n64503",
        ),
        (
            "SELECT count(*) * 2 FROM best UNION SELECT 7 ORDER BY 1",
            "7\n8",
        ),
        (
            "SELECT 'total', count(*) FROM best UNION SELECT peer_name, count(*) + 1 FROM routes GROUP BY 1 ORDER BY 1",
            "peer 1|5\npeer 2|3\ntotal|4",
        ),
        (
            "SELECT DISTINCT (med > 5) IS NOT TRUE FROM routes ORDER BY 1",
            "f\nt",
        ),
        (
            "SELECT sum(med) / 40 FROM routes UNION SELECT 7 ORDER BY 1",
            "2\n7",
        ),
    ] {
        assert_eq!(answer(&server, sql).trim_end(), expected, "{sql}");
    }
}
