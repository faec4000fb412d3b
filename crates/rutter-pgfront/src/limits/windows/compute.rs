//! Window functions, one partition after the other.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::scalar::ScalarValue;

use super::partitions::{Complete, joined};
use crate::limits::cooperative_yield::{PIECE, TURN};
use crate::limits::memory::{largest, octets, octets_of};

/// Computes window functions within the memory of queries.
pub(super) struct Compute {
    functions: Vec<Function>,
    /// The schema of the rows with the functions' columns.
    schema: SchemaRef,
    memory: MemoryReservation,
}

impl Compute {
    pub fn new(
        expressions: Vec<Arc<dyn WindowExpr>>,
        schema: SchemaRef,
        memory: MemoryReservation,
    ) -> Self {
        Self {
            functions: expressions.into_iter().map(Function::new).collect(),
            schema,
            memory,
        }
    }

    /// Returns the rows of partitions with the functions' columns.
    pub async fn rows(&mut self, complete: Complete) -> Result<RecordBatch> {
        let ends = complete.ends.clone();
        self.memory.try_resize(complete.copied())?;
        let rows = complete.joined()?;
        let mut columns = rows.columns().to_vec();
        columns.extend(self.values(&rows, &ends).await?);
        self.memory.free();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }

    /// Computes a column for each function.
    async fn values(&mut self, rows: &RecordBatch, ends: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut columns = vec![Vec::new(); self.functions.len()];
        let (largest, mut made, mut begin) = (largest(rows), 0, 0);
        let mut since = Instant::now();
        for end in ends {
            let partition = rows.slice(begin, end - begin);
            for (function, column) in self.functions.iter().zip(&mut columns) {
                let takes = function.takes(&partition, largest);
                self.memory.try_resize(takes.saturating_add(made))?;
                let values = function.expression.evaluate(&partition)?;
                made += values.get_array_memory_size();
                column.push(values);
                if since.elapsed() > TURN {
                    tokio::task::yield_now().await;
                    since = Instant::now();
                }
            }
            begin = *end;
        }
        // The values exist twice while all partitions become one array.
        self.memory
            .try_resize(made.saturating_mul(ends.len().min(2)))?;
        columns.into_iter().map(joined).collect()
    }
}

/// A window function and its memory.
struct Function {
    expression: Arc<dyn WindowExpr>,
    /// The bytes for each row, besides values of variable size.
    a_row: usize,
    /// The values of other rows that it holds or returns for each row.
    values: Values,
    /// All values so far.
    is_distinct: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// A value of fixed size.
    Small,
    /// One value of variable size.
    One,
    /// All values of the partition.
    All,
}

impl Function {
    fn new(expression: Arc<dyn WindowExpr>) -> Self {
        let scalar = if goes_by_row(&expression) {
            size_of::<ScalarValue>()
        } else {
            0
        };
        Self {
            a_row: NUMBER + scalar,
            values: Values::of(&expression),
            is_distinct: is_distinct(&expression),
            expression,
        }
    }

    /// The bytes that it holds while it computes rows whose largest value has this many bytes.
    fn takes(&self, rows: &RecordBatch, at_most: usize) -> usize {
        let count = rows.num_rows();
        let given = match self.values {
            Values::All => self.arguments(rows),
            Values::One if at_most.saturating_mul(count) > PIECE => largest(rows),
            Values::One => at_most,
            Values::Small => 0,
        };
        let seen = if self.is_distinct { self.seen(rows) } else { 0 };
        let a_row = given.saturating_add(self.a_row);
        count.saturating_mul(a_row).saturating_add(seen)
    }

    /// The bytes of a set of all its arguments.
    fn seen(&self, rows: &RecordBatch) -> usize {
        let values = self.expression.evaluate_args(rows).unwrap_or_default();
        let are_lists = values.iter().any(|values| values.data_type().is_nested());
        let each = if are_lists { SEEN_LIST } else { SEEN };
        let held = self.arguments(rows);
        held.saturating_add(rows.num_rows().saturating_mul(each))
    }

    /// The bytes of its arguments.
    fn arguments(&self, rows: &RecordBatch) -> usize {
        match self.expression.evaluate_args(rows) {
            Ok(values) => values.iter().map(octets_of).sum(),
            Err(_) => octets(rows),
        }
    }
}

impl Values {
    fn of(expression: &Arc<dyn WindowExpr>) -> Self {
        let name = expression.name();
        let kind = expression.field().map(|field| field.data_type().clone());
        if name.contains("array_agg") || name.contains("string_agg") {
            return Self::All;
        }
        match kind {
            Ok(kind) if kind == DataType::Boolean || kind.primitive_width().is_some() => {
                Self::Small
            }
            _ => Self::One,
        }
    }
}

/// Returns whether each row holds a value until all rows are computed.
fn goes_by_row(expression: &Arc<dyn WindowExpr>) -> bool {
    if let Some(function) = expression.as_any().downcast_ref::<StandardWindowExpr>() {
        let evaluator = function.get_standard_func_expr().create_evaluator();
        return evaluator.is_ok_and(|evaluator| evaluator.uses_window_frame());
    }
    let frame = expression.get_window_frame();
    !(frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded())
}

fn is_distinct(expression: &Arc<dyn WindowExpr>) -> bool {
    let any = expression.as_any();
    let plain = any.downcast_ref::<PlainAggregateWindowExpr>();
    let plain = plain.map(PlainAggregateWindowExpr::get_aggregate_expr);
    let sliding = any.downcast_ref::<SlidingAggregateWindowExpr>();
    let sliding = sliding.map(SlidingAggregateWindowExpr::get_aggregate_expr);
    plain.or(sliding).is_some_and(|it| it.is_distinct())
}

/// The bytes of a number in a growing array.
const NUMBER: usize = 16;
/// The bytes of a number, or of a string's header, in a growing set.
const SEEN: usize = 40;
/// The bytes of a list's header in such a set.
const SEEN_LIST: usize = 768;
