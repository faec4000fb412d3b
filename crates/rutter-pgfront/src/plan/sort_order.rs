//! Corrects the order of rows that DataFusion assumes.
//!
//! DataFusion assumes that a function over a moving window (`count(*) OVER (PARTITION BY x ROWS 1 PRECEDING)`) orders
//! all rows. It also assumes that a constant of one part of a union is constant in the whole. Then it removes sorts
//! that are needed.
//! An operator around windows and unions declares only the order that they guarantee.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use crate::limits::cooperative_yield::CooperativeYield;

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
            Ok(match guaranteed(&plan) {
                Some(orders) => Transformed::yes(CooperativeYield::declaring(plan, orders)),
                None => Transformed::no(plan),
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

/// The guaranteed order of an operator's rows; none if its operator is wrapped.
pub fn guaranteed(input: &Arc<dyn ExecutionPlan>) -> Option<Vec<LexOrdering>> {
    match input.children().as_slice() {
        // Windows append their columns and keep the order of their input.
        [rows] if is_window(input) => Some(rows.equivalence_properties().oeq_class().to_vec()),
        _ => input.is::<UnionExec>().then(Vec::new),
    }
}
