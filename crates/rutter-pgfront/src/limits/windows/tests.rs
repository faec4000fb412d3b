use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{Accumulator, Volatility, create_udaf};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use futures::{StreamExt as _, TryStreamExt as _, poll};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::partitions::BATCH;
use crate::{Application, Database, Limits};

/// Window functions that DataFusion computes at once.
const FUNCTIONS: [&str; 11] = [
    "count(v) OVER w, sum(v) OVER w, min(s) OVER w, max(v) OVER w",
    "avg(v) OVER w, median(v) OVER w, count(DISTINCT v) OVER w, sum(v) FILTER (WHERE v > 3) OVER w",
    "array_agg(v) OVER (PARTITION BY id / 70 ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "sum(v) OVER (w ORDER BY v, id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), count(*) OVER w",
    "first_value(s) OVER (w ORDER BY id ROWS BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING)",
    "last_value(s) OVER (w ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), row_number() OVER (w ORDER BY id)",
    "nth_value(s, 2) OVER (w ORDER BY id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "count(s) OVER (w ORDER BY v RANGE BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING)",
    "max(id) OVER (w ORDER BY v GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)",
    "ntile(3) OVER (w ORDER BY id), percent_rank() OVER (w ORDER BY id), cume_dist() OVER (w ORDER BY id)",
    "lag(s) OVER (w ORDER BY id), ntile(2) OVER (w ORDER BY id), lead(v, 2) OVER (w ORDER BY id)",
];

const KEYS: [&str; 6] = ["", "k", "s", "s, k", "k % 3, s", "length(s), k IS NULL"];

#[tokio::test]
async fn rows_are_those_of_the_engine() {
    for seed in 0..12 {
        let mut random = StdRng::seed_from_u64(seed);
        let database = database(random.random_range(1..4), 512 << 20);
        register(&database, &mut random);
        let plain = plain(&database);
        for functions in FUNCTIONS {
            let keys = KEYS[random.random_range(0..KEYS.len())];
            let window = if keys.is_empty() {
                "("
            } else {
                "(PARTITION BY "
            };
            let inner = format!("{window}{keys} ");
            let functions = functions
                .replace("(w ", &inner)
                .replace("OVER w", &format!("OVER {inner})"));
            let sql = format!("SELECT id, {functions} FROM t ORDER BY id");
            let expected = all(plain
                .sql(&sql)
                .await
                .unwrap()
                .execute_stream()
                .await
                .unwrap());
            let expected = expected.await;
            let seen = all(database.query(&sql).await.unwrap()).await;
            assert_eq!(seen.columns(), expected.columns(), "seed {seed}: {sql}");
            let plan = all(database.query(&format!("EXPLAIN {sql}")).await.unwrap()).await;
            let plan = pretty_format_batches(&[plan]).unwrap().to_string();
            assert!(
                plan.contains("By partition: WindowAggExec"),
                "{sql}\n{plan}"
            );
        }
    }
}

fn database(threads: usize, memory: usize) -> Database {
    Database::new(Application::default(), &Limits { memory, threads }).unwrap()
}

/// The same tables without this crate's operators.
fn plain(database: &Database) -> SessionContext {
    let state = database.context.state();
    let rules = state.physical_optimizers().iter();
    let rules = rules.filter(|rule| rule.name() != "interruptible");
    let rules = rules.cloned().collect();
    let state = SessionStateBuilder::new_from_existing(state)
        .with_physical_optimizer_rules(rules)
        .build();
    SessionContext::new_with_state(state)
}

async fn all(stream: SendableRecordBatchStream) -> RecordBatch {
    let schema = stream.schema();
    let batches: Vec<_> = stream.try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

/// A table `t` of random size, with random batches and few or many keys, some of them NULL.
fn register(database: &Database, random: &mut StdRng) {
    let rows = [0, 1, 7, 500, 9_000, 20_000][random.random_range(0..6)];
    let keys = [1, 3, 700, 1 << 40][random.random_range(0..4)];
    let mut ids = 0..rows;
    let mut batches = Vec::new();
    while !ids.is_empty() {
        let some = random.random_range(0..5_000);
        let ids: Vec<_> = ids.by_ref().take(some).collect();
        batches.push(batch(&ids, keys, random));
    }
    let table = MemTable::try_new(schema(), vec![batches]).unwrap();
    database
        .context
        .register_table("t", Arc::new(table))
        .unwrap();
}

fn schema() -> SchemaRef {
    let number = |name| Field::new(name, DataType::Int64, true);
    let text = Field::new("s", DataType::Utf8, true);
    Arc::new(Schema::new(vec![
        number("id"),
        number("k"),
        number("v"),
        text,
    ]))
}

fn batch(ids: &[i64], keys: i64, random: &mut StdRng) -> RecordBatch {
    let mut numbers = |below: i64| -> Vec<Option<i64>> {
        let mut one = || random.random_range(-1..below);
        ids.iter()
            .map(|_| Some(one()).filter(|n| *n >= 0))
            .collect()
    };
    let texts = numbers(keys.min(40)).into_iter();
    let texts = texts.map(|n| n.map(|n| "x".repeat(n as usize * 3)));
    let columns: [ArrayRef; 4] = [
        Arc::new(Int64Array::from(ids.to_vec())),
        Arc::new(Int64Array::from(numbers(keys))),
        Arc::new(Int64Array::from(numbers(10))),
        Arc::new(texts.collect::<StringArray>()),
    ];
    RecordBatch::try_new(schema(), columns.to_vec()).unwrap()
}

/// A slow aggregate that counts its calls.
#[derive(Debug)]
struct Slow(Arc<AtomicUsize>, Duration);

impl Accumulator for Slow {
    fn update_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.fetch_add(1, Relaxed);
        std::thread::sleep(self.1);
        Ok(ScalarValue::Int64(Some(1)))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Ok(())
    }
}

/// Rows with `slow` over a partition each, and the number of calls.
async fn slow(partitions: usize, takes: Duration) -> (SendableRecordBatchStream, Arc<AtomicUsize>) {
    let database = database(1, 64 << 20);
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let number = DataType::Int64;
    database.context.register_udaf(create_udaf(
        "slow",
        vec![number.clone()],
        Arc::new(number.clone()),
        Volatility::Immutable,
        Arc::new(move |_| Ok(Box::new(Slow(Arc::clone(&counts), takes)))),
        Arc::new(vec![number]),
    ));
    let sql = format!(
        "SELECT slow(value) OVER (PARTITION BY value) FROM generate_series(1, {partitions}) AS s (value)"
    );
    let plan = database.context.sql(&sql).await.unwrap();
    (plan.execute_stream().await.unwrap(), asked)
}

#[tokio::test]
async fn others_have_a_turn_between_partitions() {
    let (mut rows, asked) = slow(20, Duration::from_millis(11)).await;
    let mut seen = 0;
    let mut count = 0;
    loop {
        let polled = poll!(rows.next());
        let now = asked.load(Relaxed);
        assert!(now - seen <= 1, "{} partitions without a turn", now - seen);
        seen = now;
        match polled {
            Poll::Ready(Some(batch)) => count += batch.unwrap().num_rows(),
            Poll::Ready(None) => break,
            Poll::Pending => tokio::task::yield_now().await,
        }
    }
    assert_eq!((seen, count), (20, 20));
}

#[tokio::test]
async fn partitions_are_computed_a_batch_at_a_time() {
    let (mut rows, asked) = slow(60_000, Duration::ZERO).await;
    let mut given = 0;
    while let Some(batch) = rows.next().await {
        given += batch.unwrap().num_rows();
        let ahead = asked.load(Relaxed) - given;
        assert!(ahead <= 2 * BATCH, "{ahead} partitions ahead");
    }
    assert_eq!(given, 60_000);
}

/// A window holds one batch, or the largest partition.
#[tokio::test]
async fn memory_is_asked_for_by_partition() {
    let database = database(1, 8 << 20);
    let to_the_end = "ORDER BY value ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING";
    for (function, rest) in [("sum(value)", to_the_end), ("count(DISTINCT value)", "")] {
        let sql = |keys: &str| {
            format!(
                "SELECT {function} OVER ({keys} {rest}) FROM generate_series(1, 200000) AS s (value)"
            )
        };
        let by_key = sql("PARTITION BY value % 1000");
        let rows = all(database.query(&by_key).await.unwrap()).await;
        assert_eq!(rows.num_rows(), 200_000);
        let refused = database.query(&sql("")).await.unwrap();
        let refused = refused.try_collect::<Vec<_>>().await.unwrap_err();
        assert_eq!(crate::QueryError::from(refused).state(), "53200");
        assert_eq!(database.memory().reserved(), 0);
    }
}
