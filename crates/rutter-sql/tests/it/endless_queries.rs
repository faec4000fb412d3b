//! Endless queries yield to other queries, whatever they compute.

use std::time::Duration;

use futures::StreamExt as _;
use rutter_sql::Database;

use crate::table;

/// Each query takes far too long on any machine. Most of them never return a row.
const ENDLESS: [&str; 8] = [
    // Nested loops in which no row matches.
    "SELECT count(*) FROM generate_series(1, 600000) AS a (value) JOIN generate_series(1, 600000) AS b (value) ON a.value + b.value < 0",
    "SELECT a.value FROM generate_series(1, 600000) AS a (value) LEFT JOIN generate_series(1, 600000) AS b (value) ON a.value + b.value < 0",
    // All rows have the same key, and no row fulfils the condition.
    "SELECT count(*) FROM (SELECT 1 AS k, value AS v FROM generate_series(1, 600000) AS s (value)) a \
     JOIN (SELECT 1 AS k, value AS v FROM generate_series(1, 600000) AS s (value)) b ON a.k = b.k AND a.v + b.v < 0",
    // No row is returned before all rows are compared.
    "SELECT count(*) FROM (SELECT value % 2 AS k, value AS v FROM generate_series(1, 600000) AS s (value)) a \
     WHERE EXISTS (SELECT 1 FROM (SELECT value % 2 AS k, value AS v FROM generate_series(1, 600000) AS s (value)) b \
     WHERE a.k = b.k AND a.v + b.v < 0)",
    "SELECT count(*) FROM generate_series(1, 600000) AS a (value) WHERE NOT EXISTS \
     (SELECT 1 FROM generate_series(1, 600000) AS b (value) WHERE a.value + b.value < 0)",
    // A scan of all rows, none of which passes the filter.
    "SELECT count(*) FROM generate_series(1, 600000) AS a (value), generate_series(1, 600000) AS b (value) WHERE a.value * b.value < 0",
    // The rows are counted but not returned.
    "SELECT count(*) FROM generate_series(1, 600000) AS a (value), generate_series(1, 600000) AS b (value)",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 0 FROM t) SELECT count(*) FROM t",
];

#[tokio::test]
async fn endless_queries_yield_to_others() {
    let database = table::database();
    for sql in ENDLESS {
        // The timer runs on the same thread, so it fires only when the query yields.
        let answer = tokio::time::timeout(Duration::from_millis(300), all(&database, sql)).await;
        assert!(answer.is_err(), "{sql}: {answer:?}");
    }
}

async fn all(database: &Database, sql: &str) -> Result<(), String> {
    let mut batches = database
        .query(sql)
        .await
        .map_err(|error| error.to_string())?;
    while let Some(batch) = batches.next().await {
        batch.map_err(|error| error.to_string())?;
    }
    Ok(())
}
