//! Queries that stop when they are told to: operators that make many rows of few come back to the scheduler in between.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Wraps joins and the like. The engine sees to it that scans come back; but a join of a table with itself has scanned it all
/// long before it has made its rows, and whoever counts them would never let go of the thread.
#[derive(Debug)]
pub(crate) struct Interruptible;

impl PhysicalOptimizerRule for Interruptible {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let wrapped = plan.transform_up(|plan| {
            Ok(match multiplies(plan.name()) {
                true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as _),
                false => Transformed::no(plan),
            })
        });
        wrapped.map(|wrapped| wrapped.data)
    }

    fn name(&self) -> &str {
        "interruptible"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an operator of this name can make more rows than it takes.
fn multiplies(name: &str) -> bool {
    ["Join", "Unnest", "RecursiveQuery"]
        .iter()
        .any(|part| name.contains(part))
}
