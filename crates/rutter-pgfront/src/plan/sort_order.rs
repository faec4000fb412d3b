//! Corrects the order of rows that DataFusion assumes.
//!
//! DataFusion assumes that a function over a moving window (`count(*) OVER (PARTITION BY x ROWS 1 PRECEDING)`) orders
//! all rows. It also assumes that a constant of one part of a union is constant in the whole. Then it removes sorts
//! that are needed.
//! This operator around windows and unions declares only the order that they guarantee.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, PhysicalExpr,
    PlanProperties,
};

/// Wraps unions and windows before DataFusion removes sorts.
#[derive(Debug)]
pub(crate) struct Unordered;

impl PhysicalOptimizerRule for Unordered {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let changed = plan.transform_up(|plan| {
            Ok(match is_window(&plan) || plan.is::<UnionExec>() {
                true => Transformed::yes(Arc::new(Rows::of(plan)) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(plan),
            })
        })?;
        Ok(changed.data)
    }

    fn name(&self) -> &str {
        "unordered"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_window(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>()
}

/// Passes the rows of an operator on unchanged.
#[derive(Debug)]
struct Rows {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Rows {
    fn of(input: Arc<dyn ExecutionPlan>) -> Self {
        let orders = orders(&input).unwrap_or_default();
        Self::in_order(input, orders)
    }

    fn in_order(input: Arc<dyn ExecutionPlan>, orders: Vec<LexOrdering>) -> Self {
        let orders = EquivalenceProperties::new_with_orderings(input.schema(), orders);
        let properties = PlanProperties::clone(input.properties());
        Self {
            properties: Arc::new(properties.with_eq_properties(orders)),
            input,
        }
    }
}

/// The guaranteed order of an operator's rows; none if its operator is wrapped.
fn orders(input: &Arc<dyn ExecutionPlan>) -> Option<Vec<LexOrdering>> {
    match input.children().as_slice() {
        // Windows append their columns and keep the order of their input.
        [rows] if is_window(input) => Some(rows.equivalence_properties().oeq_class().to_vec()),
        _ => input.is::<UnionExec>().then(Vec::new),
    }
}

impl DisplayAs for Rows {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

impl ExecutionPlan for Rows {
    fn name(&self) -> &str {
        "Rows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
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
            Some(input) => {
                let known = || {
                    self.properties
                        .equivalence_properties()
                        .oeq_class()
                        .to_vec()
                };
                let orders = orders(&input).unwrap_or_else(known);
                Arc::new(Self::in_order(input, orders))
            }
            None => self,
        })
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
