//! Windows, a few partitions at a time.
//!
//! DataFusion's operator collects all rows and computes all partitions at once. It cannot be cancelled, and its memory
//! for millions of partitions is not counted. This operator computes the same for a batch of partitions at a time, and
//! yields between batches. One function over one partition cannot be divided.

mod compute;
mod partitions;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt as _, stream};

use compute::Compute;
use partitions::Partitions;

/// A window operator of DataFusion, computed by partitions.
#[derive(Debug)]
pub(crate) struct Windows {
    whole: Arc<dyn ExecutionPlan>,
}

impl Windows {
    /// Replaces DataFusion's operator. Other operators stay unchanged.
    pub fn instead_of(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        match divisible(&plan) {
            true => Arc::new(Self { whole: plan }),
            false => plan,
        }
    }

    fn operator(&self) -> &WindowAggExec {
        let operator = self.whole.downcast_ref::<WindowAggExec>();
        operator.expect("nothing else is put in here")
    }
}

/// Returns whether the rows of a partition are consecutive.
fn divisible(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<WindowAggExec>().is_some_and(|window| {
        let keys = window.window_expr()[0].partition_by().len();
        let sorted = window.partition_by_sort_keys();
        sorted.is_ok_and(|sorted| sorted.len() == keys)
    })
}

impl DisplayAs for Windows {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("By partition: ")?;
        self.whole.fmt_as(kind, f)
    }
}

impl ExecutionPlan for Windows {
    fn name(&self) -> &str {
        "Windows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.whole.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.whole.children()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.whole.apply_expressions(visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let whole = Arc::clone(&self.whole).replace_children(children, options)?;
        Ok(Self::instead_of(whole))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, anew)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let operator = self.operator();
        let expressions = operator.window_expr().to_vec();
        let input = operator.input().execute(partition, Arc::clone(&context))?;
        let memory = MemoryConsumer::new("Windows").register(context.memory_pool());
        let rows = Rows {
            partitions: Partitions::new(expressions[0].partition_by().to_vec(), input.schema()),
            compute: Compute::new(expressions, self.schema(), memory.new_empty()),
            input: Some(input),
            held: memory,
        };
        let batches = stream::try_unfold(rows, |mut rows| async move {
            let batch = rows.next().await?;
            Ok(batch.map(|batch| (batch, rows)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }
}

/// The rows of one stream.
struct Rows {
    /// The input, until it has ended.
    input: Option<SendableRecordBatchStream>,
    partitions: Partitions,
    /// The memory of the partitions.
    held: MemoryReservation,
    compute: Compute,
}

impl Rows {
    /// Returns the rows of the next complete partitions.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(input) = &mut self.input {
            match input.next().await.transpose()? {
                Some(batch) => self.partitions.push(batch)?,
                None => self.end(),
            }
            // The result stays charged until it is handed on.
            self.held.try_resize(self.partitions.octets())?;
            if let Some(complete) = self.partitions.take() {
                let rows = self.compute.rows(complete).await?;
                self.held.try_resize(self.partitions.octets())?;
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// Ends the input: no rows follow the held ones. The operators before this one are dropped.
    fn end(&mut self) {
        self.input = None;
        self.partitions.end();
    }
}
