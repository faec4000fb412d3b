//! Small tables whose rows are made at the begin of each query.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;

/// How a row gives the value of a column.
pub enum Value<R> {
    /// A string.
    Text(fn(&R) -> Option<String>),
    /// A number.
    Number(fn(&R) -> Option<i64>),
    /// A time in microseconds since 1970.
    Time(fn(&R) -> u64),
    /// True or false.
    Flag(fn(&R) -> bool),
}

/// A small table.
pub struct Current<R> {
    rows: Box<dyn Fn() -> Vec<R> + Send + Sync>,
    columns: Vec<(&'static str, Value<R>)>,
    schema: SchemaRef,
}

impl<R> Current<R> {
    /// A table with these columns. The first `required` strings and numbers are never NULL.
    pub fn new(
        rows: impl Fn() -> Vec<R> + Send + Sync + 'static,
        required: usize,
        columns: Vec<(&'static str, Value<R>)>,
    ) -> Self {
        let field = |(at, (name, value)): (usize, &(&'static str, Value<R>))| match value {
            Value::Text(_) => Field::new(*name, DataType::Utf8, at >= required),
            Value::Number(_) => Field::new(*name, DataType::Int64, at >= required),
            Value::Time(_) => {
                let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                Field::new(*name, time, false)
            }
            Value::Flag(_) => Field::new(*name, DataType::Boolean, false),
        };
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        Self {
            rows: Box::new(rows),
            columns,
            schema: Arc::new(Schema::new(fields)),
        }
    }

    /// The current rows, with these columns only.
    fn read(&self, columns: &[usize], held: &MemoryReservation) -> Result<RecordBatch> {
        let rows = (self.rows)();
        let arrays = columns
            .iter()
            .map(|at| self.columns[*at].1.array(&rows, held));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema.project(columns)?);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }
}

impl<R> Value<R> {
    /// The values of all rows. Their memory is reserved as it grows: many rows may share one long string.
    fn array(&self, rows: &[R], held: &MemoryReservation) -> Result<ArrayRef> {
        held.try_grow(8 * rows.len())?;
        Ok(match self {
            Self::Text(of) => {
                let mut texts = StringBuilder::new();
                for row in rows {
                    let text = of(row);
                    held.try_grow(text.as_ref().map_or(0, String::len))?;
                    texts.append_option(text);
                }
                Arc::new(texts.finish())
            }
            Self::Number(of) => Arc::new(rows.iter().map(of).collect::<Int64Array>()),
            Self::Time(of) => {
                let times = rows.iter().map(|row| of(row) as i64);
                let times = TimestampMicrosecondArray::from_iter_values(times);
                Arc::new(times.with_timezone("UTC"))
            }
            Self::Flag(of) => {
                let flags: Vec<bool> = rows.iter().map(of).collect();
                Arc::new(BooleanArray::from(flags))
            }
        })
    }
}

impl<R> fmt::Debug for Current<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<R>())
    }
}

#[async_trait]
impl<R: 'static> TableProvider for Current<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
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
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let rows = self.read(projection.unwrap_or(&all), &held)?;
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
