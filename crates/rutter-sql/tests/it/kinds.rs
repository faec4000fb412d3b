//! The types that clients receive are PostgreSQL's.

use postgres::types::Type;
use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn lengths_of_texts_are_numbers() {
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

/// The sum of 64-bit numbers is a `numeric`, whose quotients have fractions. The sum of smaller numbers is a `bigint`.
#[test]
fn sums_are_as_wide_as_they_must_be() {
    let server = server(Access::Open);
    let port = server.addresses()[0].port();
    let parameters = format!("host=127.0.0.1 port={port} user=reader dbname=rutter");
    let mut client = postgres::Client::connect(&parameters, postgres::NoTls).unwrap();
    let statement = client
        .prepare(
            "SELECT sum(med), sum(family), sum(CASE WHEN best THEN 1 ELSE 0 END), sum(2 * family + 1), sum(peer_asn) OVER (), \
             sum(1) OVER (), sum(count(*)) OVER () FROM routes GROUP BY peer_asn, med",
        )
        .unwrap();
    let kinds: Vec<Type> = statement
        .columns()
        .iter()
        .map(|c| c.type_().clone())
        .collect();
    let (wide, narrow) = (Type::NUMERIC, Type::INT8);
    let expected = [&wide, &narrow, &narrow, &narrow, &wide, &narrow, &wide];
    assert_eq!(kinds.iter().collect::<Vec<_>>(), expected);
    for (sql, expected) in [
        (
            "sum(med) / count(med), sum(med) / 40, 100 * sum(med) / sum(peer_asn)",
            "50|2.5|0.025839259136762032",
        ),
        (
            "sum(family) / 4, sum(CASE WHEN best THEN 1 ELSE 0 END) / count(*)",
            "6|0",
        ),
        (
            "round(sum(med) / 3, 2), sum(med)::bigint / 3, sum(med) % 3, sum(med) / 3.0 > 33",
            "33.33|33|1|t",
        ),
        (
            "sum(med) + 1, sum(med) - sum(peer_asn), coalesce(sum(med), 0), sum(med) > 7, -sum(med)",
            "101|-386908|100|t|-100",
        ),
        ("sum(med) / NULL, sum(local_pref) / 0", "|"),
    ] {
        let sql = format!("SELECT {sql} FROM routes");
        assert_eq!(answer(&server, &sql), format!("{expected}\n"), "{sql}");
    }
    let refused = refusal(
        &server,
        "SELECT sum(med) / sum(family - family) FROM routes",
    );
    assert!(refused.contains("Divide by zero"), "{refused}");
    let row = client
        .query_one(
            "SELECT sum(med) / $1, sum(med) / count(*) FROM routes",
            &[&8.0],
        )
        .unwrap();
    assert_eq!(row.get::<_, f64>(0), 12.5);
    assert!(row.get::<_, f64>(1) > 16.6);
}

/// The two sides may differ in whether they allow NULL.
#[test]
fn computed_values_are_made_one_of_equal_ones() {
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
            "2.5\n7",
        ),
    ] {
        assert_eq!(answer(&server, sql).trim_end(), expected, "{sql}");
    }
}
