//! Queries run on their own threads, so that a long query blocks neither connecting nor cancelling. Short queries run on
//! the thread that reads them: waking two threads takes longer and competes with other work of the process.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt as _, stream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::limits::memory::octets;
use crate::{Database, QueryError};

/// The most batches that wait for a slow client.
const MAX_QUEUED_BATCHES: usize = 2;

/// The bytes charged for batches between operators and batches that wait to be sent: a query does not count them itself.
const BASE_BYTES: usize = 2 << 20;

/// Rows on their way to a client, with their memory reservation. It ends when the client requests the next rows.
type ChargedBatch = (Result<RecordBatch>, MemoryReservation);

/// Aborts a query when its answer is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a plan, on this thread if it is short.
pub async fn run(
    threads: &Handle,
    database: &Database,
    plan: LogicalPlan,
    query_timeout: Duration,
) -> Result<SendableRecordBatchStream, QueryError> {
    match database.runs_inline(&plan) {
        true => run_inline(database, plan).await,
        false => run_on_worker(threads, database, plan, query_timeout).await,
    }
}

/// Runs a plan on this thread, as its rows are requested. A short query copies the rows that it reads at once, so that it
/// may wait.
async fn run_inline(
    database: &Database,
    plan: LogicalPlan,
) -> Result<SendableRecordBatchStream, QueryError> {
    let reservation = MemoryConsumer::new("query").register(&database.memory());
    reservation.try_grow(BASE_BYTES)?;
    let batches = database.run(plan).await?;
    let schema = batches.schema();
    let memory = database.memory();
    let state = Some((batches, reservation, None));
    let rows = stream::unfold(state, move |state| {
        let memory = Arc::clone(&memory);
        async move {
            let (mut batches, reservation, last) = state?;
            drop::<Option<MemoryReservation>>(last);
            let (batch, held) = charged(batches.next().await?, &memory);
            let more = batch.is_ok().then_some((batches, reservation, Some(held)));
            Some((batch, more))
        }
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// Runs a plan on other threads. It ends if its rows are not read for `patience`: until then it keeps old pages of the
/// tables in memory.
async fn run_on_worker(
    threads: &Handle,
    database: &Database,
    plan: LogicalPlan,
    query_timeout: Duration,
) -> Result<SendableRecordBatchStream, QueryError> {
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_BATCHES);
    let database = database.clone();
    let reservation = MemoryConsumer::new("query").register(&database.memory());
    reservation.try_grow(BASE_BYTES)?;
    let task = threads.spawn(async move {
        let _kept = reservation;
        let batches = match database.run(plan).await {
            Ok(batches) => batches,
            Err(error) => {
                let _ = begun.send(Err(error));
                return;
            }
        };
        if begun.send(Ok(batches.schema())).is_ok() {
            forward(batches, &sender, &database.memory(), query_timeout).await;
        }
    });
    let ends = AbortOnDrop(task);
    let schema: SchemaRef = match begins.await {
        Ok(begun) => begun?,
        Err(_) => return Err(DataFusionError::Execution("the server stops".into()).into()),
    };
    let state = Some((receiver, ends, None));
    let rows = stream::unfold(state, |state| async move {
        let (mut receiver, mut ends, last) = state?;
        drop::<Option<MemoryReservation>>(last);
        match receiver.recv().await {
            Some((batch, held)) => Some((batch, Some((receiver, ends, Some(held))))),
            // A broken answer must not look complete.
            None => match (&mut ends.0).await {
                Ok(()) => None,
                Err(broken) => Some((Err(DataFusionError::External(broken.into())), None)),
            },
        }
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

async fn forward(
    mut batches: SendableRecordBatchStream,
    sender: &mpsc::Sender<ChargedBatch>,
    memory: &Arc<dyn MemoryPool>,
    query_timeout: Duration,
) {
    while let Some(batch) = batches.next().await {
        let (batch, held) = charged(batch, memory);
        let failed = batch.is_err();
        match timeout(query_timeout, sender.reserve()).await {
            Ok(Ok(place)) => place.send((batch, held)),
            Ok(Err(_)) => return,
            Err(_) => {
                drop((batch, batches));
                held.free();
                let why = format!(
                    "the client fetched no rows for {query_timeout:.0?} (the setting `query-timeout`): run the query again"
                );
                let late = Err(DataFusionError::Execution(why));
                let _ = sender.send((late, held)).await;
                return;
            }
        }
        if failed {
            return;
        }
    }
}

/// Reserves the memory of a batch until the next one is requested.
fn charged(batch: Result<RecordBatch>, memory: &Arc<dyn MemoryPool>) -> ChargedBatch {
    let held = MemoryConsumer::new("answer").register(memory);
    let batch = batch.and_then(|batch| {
        held.try_grow(sent(&batch))?;
        Ok(batch)
    });
    (batch, held)
}

/// The bytes of a batch until it is sent: the batch, and a few of its rows in the protocol's form, twice.
fn sent(batch: &RecordBatch) -> usize {
    let octets = octets(batch);
    octets.saturating_add(2 * octets / batch.num_rows().max(1))
}
