//! Queries in the process.

use futures::TryStreamExt as _;
use rutter_sql::{Database, Format, Printer};

use crate::table;

/// Returns the answer as sorted lines of CSV without the header, or the error.
pub async fn ask(database: &Database, sql: &str) -> Result<Vec<String>, String> {
    let stream = database.query(sql).await.map_err(|e| e.to_string())?;
    let schema = stream.schema();
    let batches: Vec<_> = stream.try_collect().await.map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    let mut printer = Printer::of(&mut out, Format::Csv, &schema);
    batches
        .iter()
        .try_for_each(|batch| printer.batch(batch))
        .unwrap();
    printer.end().unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

async fn answers(sql: &str, expected: &[&str]) {
    assert_eq!(
        ask(&table::database(), sql).await.unwrap(),
        expected,
        "{sql}"
    );
}

#[tokio::test]
async fn routes_have_all_columns() {
    let columns = "peer_name, peer_address, peer_asn, view, family, prefix, prefix_length, path_id, \
        best, verdict, reason, stale, origin, as_path, as_path_length, origin_as, next_hop, med, local_pref";
    answers(
        &format!("SELECT {columns} FROM routes WHERE peer_asn = 64501 AND family = 4"),
        &[
            "peer 1,192.0.2.1,64501,adj-in-pre,4,10.0.0.0/8,8,0,t,accepted,,f,igp,64501 64510,2,64510,192.0.2.1,50,",
            "peer 1,192.0.2.1,64501,adj-in-pre,4,10.1.0.0/16,16,0,t,accepted,,f,igp,64501 64510,2,64510,192.0.2.1,50,",
            "peer 1,192.0.2.1,64501,adj-in-pre,4,198.51.100.0/24,24,0,f,rejected,as-loop,f,igp,64501 64500,2,64500,192.0.2.1,,",
            "peer 1,192.0.2.1,64501,adj-in-pre,4,203.0.113.0/24,24,0,t,accepted,,f,igp,64501 64511,2,64511,192.0.2.1,,",
        ],
    )
    .await;
}

#[tokio::test]
async fn best_and_rejected_are_subsets_of_routes() {
    answers("SELECT count(*) FROM routes", &["6"]).await;
    let best = [
        "10.0.0.0/8",
        "10.1.0.0/16",
        "2001:db8::/32",
        "203.0.113.0/24",
    ];
    answers("SELECT prefix FROM best", &best).await;
    answers(
        "SELECT prefix, reason, reasons[1] FROM rejected",
        &["198.51.100.0/24,as-loop,as-loop: AS_PATH 64501 64500 contains 64500"],
    )
    .await;
    // The same holds if the route was looked up and not read from a page.
    answers(
        "SELECT cardinality(reasons) FROM routes WHERE prefix = '198.51.100.0/24'",
        &["1"],
    )
    .await;
    answers("SELECT max(cardinality(reasons)) FROM best", &["0"]).await;
}

#[tokio::test]
async fn prefix_operators_compare_as_inet() {
    let cases = [
        ("prefix = '10.1.0.0/16'", vec!["10.1.0.0/16", "10.1.0.0/16"]),
        ("prefix = '10.1.0.1/16'", vec![]),
        (
            "prefix >>= '10.1.2.3'",
            vec!["10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16"],
        ),
        ("prefix >> '10.1.0.0/16'", vec!["10.0.0.0/8"]),
        (
            "prefix <<= '10.0.0.0/8'",
            vec!["10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16"],
        ),
        ("prefix << '10.0.0.0/8'", vec!["10.1.0.0/16", "10.1.0.0/16"]),
        (
            "prefix && '10.1.0.0/17'",
            vec!["10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16"],
        ),
        (
            "prefix >>= '10.1.2.3' AND prefix_length > 8 AND peer_asn = 64502",
            vec!["10.1.0.0/16"],
        ),
        (
            "prefix >>= '10.1.2.3' AND prefix = '203.0.113.0/24'",
            vec![],
        ),
        ("prefix <<= '2001:db8::/16'", vec!["2001:db8::/32"]),
        (
            "family(prefix) = 6 AND masklen(prefix) = 32",
            vec!["2001:db8::/32"],
        ),
    ];
    for (condition, expected) in cases {
        answers(
            &format!("SELECT prefix FROM routes WHERE {condition}"),
            &expected,
        )
        .await;
    }
}

#[tokio::test]
async fn lookup_returns_the_longest_match() {
    let columns = "SELECT prefix, peer_name, best FROM";
    let expected = ["10.1.0.0/16,peer 1,t", "10.1.0.0/16,peer 2,f"];
    answers(&format!("{columns} lookup('10.1.2.3')"), &expected).await;
    answers(
        &format!("{columns} lookup('10.2.0.0/16')"),
        &["10.0.0.0/8,peer 1,t"],
    )
    .await;
    // A destination whose only route is rejected is not found.
    answers(&format!("{columns} lookup('198.51.100.1')"), &[]).await;
}

#[tokio::test]
async fn functions_of_paths_and_communities_filter_routes() {
    let cases = [
        (
            "origin_as(as_path) = 64510",
            vec!["10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16", "2001:db8::/32"],
        ),
        ("path_len(as_path) = 3 AND family = 4", vec!["10.1.0.0/16"]),
        ("path_contains(as_path, 64511)", vec!["203.0.113.0/24"]),
        ("NOT has_community(communities, '64500:1')", vec![]),
        (
            "has_community(communities, '64500:*') AND med IS NOT NULL",
            vec!["10.0.0.0/8", "10.1.0.0/16"],
        ),
    ];
    for (condition, expected) in cases {
        answers(
            &format!("SELECT prefix FROM routes WHERE {condition}"),
            &expected,
        )
        .await;
    }
    answers("SELECT DISTINCT communities[1] FROM routes", &["64500:1"]).await;
}

#[tokio::test]
async fn peers_and_events_can_be_queried() {
    let expected = ["peer 1,64501,4,1,0,t", "peer 2,64502,1,0,1,t"];
    let columns = "peer_name, peer_asn, ipv4_received, ipv4_rejected, ipv6_received, established";
    answers(&format!("SELECT {columns} FROM peers"), &expected).await;
    let expected = ["announce,6", "peer-up,2"];
    answers("SELECT kind, count(*) FROM events GROUP BY kind", &expected).await;
}

#[tokio::test]
async fn statements_that_write_or_read_files_are_refused() {
    let database = table::database();
    for sql in [
        "CREATE TABLE t (a int)",
        "DROP TABLE routes",
        "INSERT INTO peers VALUES (1)",
        "COPY routes TO '/tmp/rutter-sql-never.csv'",
        "SELECT * FROM '/etc/passwd'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SELECT nonsense FROM routes",
        "SELECT * FROM lookup('nonsense')",
        "SELECT * FROM routes WHERE prefix <<= 'nonsense'",
    ] {
        let refused = ask(&database, sql).await;
        assert!(refused.is_err(), "{sql}: {refused:?}");
    }
}

#[tokio::test]
async fn a_query_reads_the_current_table() {
    let (rib, log) = table::rib();
    let limits = rutter_sql::Limits::default();
    let database =
        rutter_sql::live_database(std::sync::Arc::clone(&rib), Some(log), &limits).unwrap();
    let count = "SELECT count(*) FROM best";
    assert_eq!(ask(&database, count).await.unwrap(), ["4"]);
    table::announce(&rib, 1, &[64_502], None, &["192.88.98.0/24"]);
    assert_eq!(ask(&database, count).await.unwrap(), ["5"]);
    let exact = "SELECT as_path FROM routes WHERE prefix = '192.88.98.0/24'";
    assert_eq!(ask(&database, exact).await.unwrap(), ["64502"]);
}

/// A prepared query runs many times.
#[tokio::test]
async fn a_prepared_look_up_reads_the_current_table() {
    let (rib, log) = table::rib();
    let limits = rutter_sql::Limits::default();
    let database =
        rutter_sql::live_database(std::sync::Arc::clone(&rib), Some(log), &limits).unwrap();
    let prepared = database.plan("SELECT prefix FROM lookup('10.1.2.3')").await;
    let prepared = prepared.unwrap();
    let ask = async || {
        let rows = prepared.clone().execute_stream().await.unwrap();
        let rows: Vec<_> = rows.try_collect().await.unwrap();
        format!(
            "{:?}",
            rows.iter().map(|rows| rows.column(0)).collect::<Vec<_>>()
        )
    };
    assert!(ask().await.contains("10.1.0.0/16"));
    table::announce(&rib, 1, &[64_502], None, &["10.1.2.0/24"]);
    let now = ask().await;
    assert!(now.contains("10.1.2.0/24") && !now.contains("/16"), "{now}");
}

#[tokio::test]
async fn routers_can_be_queried() {
    let sql = "SELECT router, address, state, since, peers, messages FROM routers";
    let expected = ["edge 1,192.0.2.9:50000,connected,2026-11-18 11:06:40+00,2,10"];
    answers(sql, &expected).await;
}

/// No value is lost, although an object has each key once.
#[tokio::test]
async fn json_keys_of_columns_with_one_name_differ() {
    let sql = "SELECT peer_asn, peer_name, peer_asn, count(*), count(*) FROM peers \
        WHERE peer_asn = 64501 GROUP BY peer_asn, peer_name";
    let stream = table::database().query(sql).await.unwrap();
    let schema = stream.schema();
    let batches: Vec<_> = stream.try_collect().await.unwrap();
    let printed = |format| {
        let mut out = Vec::new();
        let mut printer = Printer::of(&mut out, format, &schema);
        batches
            .iter()
            .try_for_each(|batch| printer.batch(batch))
            .unwrap();
        printer.end().unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        printed(Format::Json),
        "{\"peer_asn\":64501,\"peer_name\":\"peer 1\",\"peer_asn_2\":64501,\"count\":1,\"count_2\":1}\n"
    );
    let header = "peer_asn,peer_name,peer_asn,count,count\n";
    assert!(printed(Format::Csv).starts_with(header));
    let table = printed(Format::Table);
    assert!(table.is_ascii(), "{table}");
}
