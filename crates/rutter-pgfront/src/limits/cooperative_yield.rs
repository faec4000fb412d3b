//! The one operator of this crate: it passes rows on unchanged, in pieces, and yields to other tasks between them. It can
//! also declare in which order the rows are.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::Stream;

use crate::limits::memory::{largest, octets};
use crate::plan::sort_order::guaranteed;

/// How an operator's rows are handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YieldMode {
    /// Unchanged: only the declared order of the rows is another.
    Declared,
    /// As the operator makes them. Other tasks run between batches. A batch is charged until the next one is requested.
    Turns,
    /// To an operator, in pieces that it processes in a moment and with little output.
    Pieces,
    /// The same, to an operator that keeps all rows until it has the last one.
    Kept,
    /// The same, to an operator that gives each row the values of all others.
    Gathered,
}

/// The bytes that an operator produces per row, if known.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowSize(Arc<AtomicUsize>);

/// An operator that passes its rows on unchanged, in pieces.
#[derive(Debug)]
pub(crate) struct CooperativeYield {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    mode: YieldMode,
    row_size: RowSize,
}

impl CooperativeYield {
    /// Wraps an operator. The wrappers before and after an operator share the size of its output.
    pub fn wrap(
        input: Arc<dyn ExecutionPlan>,
        mode: YieldMode,
        row_size: &RowSize,
    ) -> Arc<dyn ExecutionPlan> {
        let properties = PlanProperties::clone(input.properties());
        Arc::new(Self {
            properties: Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative)),
            input,
            mode,
            row_size: row_size.clone(),
        })
    }

    /// Declares that rows have these orders and no other.
    pub fn declaring(
        input: Arc<dyn ExecutionPlan>,
        orders: Vec<LexOrdering>,
    ) -> Arc<dyn ExecutionPlan> {
        let orders = EquivalenceProperties::new_with_orderings(input.schema(), orders);
        let properties = PlanProperties::clone(input.properties());
        Arc::new(Self {
            properties: Arc::new(properties.with_eq_properties(orders)),
            input,
            mode: YieldMode::Declared,
            row_size: RowSize::default(),
        })
    }
}

impl DisplayAs for CooperativeYield {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Paced: {:?}", self.mode)
    }
}

impl ExecutionPlan for CooperativeYield {
    fn name(&self) -> &str {
        "Paced"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.mode != YieldMode::Declared]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(match children.pop() {
            Some(input) if self.mode == YieldMode::Declared => {
                let orders = guaranteed(&input).unwrap_or_else(|| {
                    let known = self.properties.equivalence_properties();
                    known.oeq_class().to_vec()
                });
                Self::declaring(input, orders)
            }
            Some(input) => Self::wrap(input, self.mode, &self.row_size),
            None => self,
        })
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let name = match self.mode {
            YieldMode::Declared => return Ok(input),
            YieldMode::Turns => "batch",
            _ => "Window",
        };
        Ok(Box::pin(PieceStream {
            input,
            mode: self.mode,
            row_size: self.row_size.clone(),
            charged: MemoryConsumer::new(name).register(context.memory_pool()),
            totals: Totals::default(),
            rest: None,
            rows: 1,
            sent_at: None,
            yielded: None,
        }))
    }
}

/// The stream of one partition.
struct PieceStream {
    input: SendableRecordBatchStream,
    mode: YieldMode,
    row_size: RowSize,
    /// The memory of the last piece, or of all kept rows.
    charged: MemoryReservation,
    totals: Totals,
    /// The rows that are not handed on yet.
    rest: Option<RecordBatch>,
    /// The number of rows of the next piece.
    rows: usize,
    /// The time when the last piece was handed on.
    sent_at: Option<Instant>,
    /// The time of the last known yield.
    yielded: Option<Instant>,
}

/// The rows so far.
#[derive(Default)]
struct Totals {
    rows: usize,
    octets: usize,
    /// The bytes of the largest value.
    largest: usize,
}

impl PieceStream {
    /// Sets the size of the next piece by the time and the output of the last one.
    fn adapt(&mut self, elapsed: Duration) {
        if elapsed > MOMENT {
            let shorter = MOMENT.as_secs_f64() / elapsed.as_secs_f64();
            self.rows = ((self.rows as f64 * shorter) as usize).max(1);
        } else if elapsed < MOMENT / 2 {
            self.rows = (self.rows * 2).min(MAX_ROWS);
        }
        let row_bytes = self.row_size.0.load(Relaxed).max(self.totals.largest);
        self.rows = self.rows.min(PIECE_OUTPUT / row_bytes.max(1)).max(1);
    }

    fn next_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        if self.mode == YieldMode::Turns {
            self.charged.free();
        }
        let polled = Stream::poll_next(self.input.as_mut(), context);
        if polled.is_pending() {
            self.yielded = None;
        }
        let batch = match ready!(polled) {
            Some(Ok(batch)) => batch,
            other => return Poll::Ready(other),
        };
        self.count(&batch)?;
        Poll::Ready(Some(Ok(batch)))
    }

    /// Reserves the memory of a batch, here or in its receiver.
    fn count(&mut self, batch: &RecordBatch) -> Result<()> {
        let octets = octets(batch);
        let totals = &mut self.totals;
        totals.rows += batch.num_rows();
        totals.octets = totals.octets.saturating_add(octets);
        match self.mode {
            YieldMode::Turns => {
                self.row_size
                    .0
                    .store(octets / batch.num_rows().max(1), Relaxed);
                self.charged.try_resize(octets)
            }
            // The largest value is not larger than the batch.
            _ if octets > totals.largest => {
                totals.largest = totals.largest.max(largest(batch));
                self.reserve()
            }
            _ => self.reserve(),
        }
    }

    fn reserve(&self) -> Result<()> {
        let Totals {
            rows,
            octets,
            largest,
        } = self.totals;
        let row_size = match self.mode {
            YieldMode::Declared | YieldMode::Turns | YieldMode::Pieces => return Ok(()),
            YieldMode::Kept => {
                octets.saturating_add(rows.saturating_mul(WINDOW_ROW_BYTES + largest))
            }
            YieldMode::Gathered => rows.saturating_mul(octets),
        };
        self.charged.try_resize(octets.saturating_add(row_size))
    }

    fn split_off_piece(&mut self, batch: RecordBatch) -> RecordBatch {
        if self.mode == YieldMode::Turns || batch.num_rows() <= self.rows {
            return batch;
        }
        let piece = batch.slice(0, self.rows);
        self.rest = Some(batch.slice(self.rows, batch.num_rows() - self.rows));
        piece
    }
}

impl Stream for PieceStream {
    type Item = Result<RecordBatch>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        let this = self.get_mut();
        let now = Instant::now();
        if let Some(sent_at) = this.sent_at.take() {
            this.adapt(now - sent_at);
        }
        let since = *this.yielded.get_or_insert(now);
        if now - since > MAX_TURN {
            this.yielded = None;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let batch = match this.rest.take() {
            Some(rest) => rest,
            None => match ready!(this.next_batch(context)) {
                Some(Ok(batch)) => batch,
                other => return Poll::Ready(other),
            },
        };
        this.sent_at = Some(Instant::now());
        Poll::Ready(Some(Ok(this.split_off_piece(batch))))
    }
}

impl RecordBatchStream for PieceStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// The longest time that a piece should take.
const MOMENT: Duration = Duration::from_millis(20);
/// The longest time between two yields.
const MAX_TURN: Duration = Duration::from_millis(10);
/// The rows of a piece.
const MAX_ROWS: usize = 1 << 20;
/// The bytes that a window function needs for a row, besides values of variable size.
const WINDOW_ROW_BYTES: usize = 256;
/// The bytes that an operator should make of a piece.
const PIECE_OUTPUT: usize = 4 << 20;
