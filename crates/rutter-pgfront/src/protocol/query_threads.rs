//! Queries run on threads of their own: one that computes for long keeps nobody from connecting or cancelling. Those that are
//! known to be short run where they are read: to wake two threads for them takes longer, and processors from who routes.

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

/// Batches that wait for a slow client.
const AHEAD: usize = 2;

/// Octets that a query keeps and does not count itself: a batch between two operators, and what waits to be sent.
const KEPT: usize = 2 << 20;

/// Rows on their way to a client, and the memory that they are charged until it has asked for the next ones.
type Sent = (Result<RecordBatch>, MemoryReservation);

/// Ends a query when nobody wants its answer any more.
struct Ends(JoinHandle<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Answers a plan, here where that is short.
pub async fn run(
    threads: &Handle,
    database: &Database,
    plan: LogicalPlan,
    patience: Duration,
) -> Result<SendableRecordBatchStream, QueryError> {
    match database.runs_inline(&plan) {
        true => here(database, plan).await,
        false => elsewhere(threads, database, plan, patience).await,
    }
}

/// Answers a plan on this thread, whenever rows are asked for. What a short query reads of the table is copied at once: it
/// may wait.
async fn here(
    database: &Database,
    plan: LogicalPlan,
) -> Result<SendableRecordBatchStream, QueryError> {
    let kept = MemoryConsumer::new("query").register(&database.memory());
    kept.try_grow(KEPT)?;
    let batches = database.run(plan).await?;
    let schema = batches.schema();
    let memory = database.memory();
    let state = Some((batches, kept, None));
    let rows = stream::unfold(state, move |state| {
        let memory = Arc::clone(&memory);
        async move {
            let (mut batches, kept, last) = state?;
            drop::<Option<MemoryReservation>>(last);
            let (batch, held) = charged(batches.next().await?, &memory);
            let more = batch.is_ok().then_some((batches, kept, Some(held)));
            Some((batch, more))
        }
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// Answers a plan on other threads. Where nobody takes rows for so long, it ends: what it reads of the table stays as it was
/// until then, and takes memory beside the table.
async fn elsewhere(
    threads: &Handle,
    database: &Database,
    plan: LogicalPlan,
    patience: Duration,
) -> Result<SendableRecordBatchStream, QueryError> {
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (sender, receiver) = mpsc::channel(AHEAD);
    let database = database.clone();
    let kept = MemoryConsumer::new("query").register(&database.memory());
    kept.try_grow(KEPT)?;
    let task = threads.spawn(async move {
        let _kept = kept;
        let batches = match database.run(plan).await {
            Ok(batches) => batches,
            Err(error) => {
                let _ = begun.send(Err(error));
                return;
            }
        };
        if begun.send(Ok(batches.schema())).is_ok() {
            forward(batches, &sender, &database.memory(), patience).await;
        }
    });
    let ends = Ends(task);
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
            // An answer that breaks off must not look like one that is complete.
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
    sender: &mpsc::Sender<Sent>,
    memory: &Arc<dyn MemoryPool>,
    patience: Duration,
) {
    while let Some(batch) = batches.next().await {
        let (batch, held) = charged(batch, memory);
        let failed = batch.is_err();
        match timeout(patience, sender.reserve()).await {
            Ok(Ok(place)) => place.send((batch, held)),
            Ok(Err(_)) => return,
            Err(_) => {
                drop((batch, batches));
                held.free();
                let why = format!(
                    "nobody asked for the next rows for {patience:.0?} (the setting `query-timeout`): ask again"
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

/// A batch with the memory that it takes until the next one is wanted.
fn charged(batch: Result<RecordBatch>, memory: &Arc<dyn MemoryPool>) -> Sent {
    let held = MemoryConsumer::new("answer").register(memory);
    let batch = batch.and_then(|batch| {
        held.try_grow(sent(&batch))?;
        Ok(batch)
    });
    (batch, held)
}

/// What a batch takes until it is sent: itself, and a few of its rows in the form of the protocol, twice.
fn sent(batch: &RecordBatch) -> usize {
    let octets = octets(batch);
    octets.saturating_add(2 * octets / batch.num_rows().max(1))
}
