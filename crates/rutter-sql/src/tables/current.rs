//! Small tables whose rows are made at the begin of each query.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;
use rutter_pgfront::batch_bytes;

/// The source of a small table's rows.
pub trait Rows: Send + Sync + 'static {
    /// The schema.
    fn schema(&self) -> &SchemaRef;

    /// The current rows.
    fn rows(&self) -> Result<RecordBatch>;

    /// The current rows, with these columns only.
    fn some(&self, columns: &[usize]) -> Result<RecordBatch> {
        Ok(self.rows()?.project(columns)?)
    }

    /// The expected bytes of these columns, if known before they are made.
    fn expected(&self, _columns: &[usize]) -> usize {
        0
    }
}

/// A table over such a source.
pub struct Current<R>(pub R);

impl<R> fmt::Debug for Current<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<R>())
    }
}

#[async_trait]
impl<R: Rows> TableProvider for Current<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let held = MemoryConsumer::new("table").register(&state.runtime_env().memory_pool);
        let all: Vec<usize> = (0..self.0.schema().fields().len()).collect();
        let columns = projection.unwrap_or(&all);
        held.try_grow(self.0.expected(columns))?;
        let rows = self.0.some(columns)?;
        held.try_resize(batch_bytes(&rows))?;
        let schema = rows.schema();
        let reading = Arc::new(Reading(Arc::new((rows, held))));
        let plan = StreamingTableExec::try_new(schema, vec![reading], None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The rows, with their memory reservation while a query may read them.
struct Reading(Arc<(RecordBatch, MemoryReservation)>);

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.0.0.num_rows())
    }
}

impl PartitionStream for Reading {
    fn schema(&self) -> &SchemaRef {
        self.0.0.schema_ref()
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let held = Arc::clone(&self.0);
        let starts = (0..held.0.num_rows()).step_by(BATCH);
        let batches = starts.map(move |start| {
            let rows = &held.0;
            Ok(rows.slice(start, BATCH.min(rows.num_rows() - start)))
        });
        let schema = Arc::clone(self.schema());
        Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches)))
    }
}

/// The rows of a batch.
const BATCH: usize = 8192;
