//! Functions over partitions, one after the other.

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

/// Computes functions, and asks for the memory that they take.
pub(super) struct Compute {
    functions: Vec<Function>,
    /// Of the rows, with what the functions give.
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

    /// The rows of partitions with what the functions give.
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

    /// A column for each function.
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
        // There are two copies while the values of all partitions become one array.
        self.memory
            .try_resize(made.saturating_mul(ends.len().min(2)))?;
        columns.into_iter().map(joined).collect()
    }
}

/// A function over a window, and what it takes.
struct Function {
    expression: Arc<dyn WindowExpr>,
    /// Octets for each row, beside values that have no size of their own.
    a_row: usize,
    /// Values of other rows that it holds or gives for each row.
    values: Values,
    /// It holds every value that it has seen.
    is_distinct: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Numbers and the like.
    Small,
    /// One that is as large as it happens to be.
    One,
    /// All of the partition.
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

    /// Octets that are held while it is computed, of rows of which the largest value has no more than so many octets.
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

    /// Octets of a set of all that it is given.
    fn seen(&self, rows: &RecordBatch) -> usize {
        let values = self.expression.evaluate_args(rows).unwrap_or_default();
        let are_lists = values.iter().any(|values| values.data_type().is_nested());
        let each = if are_lists { SEEN_LIST } else { SEEN };
        let held = self.arguments(rows);
        held.saturating_add(rows.num_rows().saturating_mul(each))
    }

    /// Octets of what it is given.
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

/// Whether each row has a value of its own, that is held until all are found.
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

/// Octets of a value that is a number, in an array that grows.
const NUMBER: usize = 16;
/// Octets of a number, or of what holds a text, in a set that grows.
const SEEN: usize = 40;
/// Octets of what holds a list in such a set.
const SEEN_LIST: usize = 768;
