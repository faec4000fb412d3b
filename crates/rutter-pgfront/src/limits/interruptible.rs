//! Queries that can be cancelled: every operator returns to the scheduler soon.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::limits::cooperative_yield::{CooperativeYield, RowSize, YieldMode};

/// Wraps operators that may compute for long, so that they yield.
///
/// A join of a table with itself reads all rows long before it has compared them. If none match, it produces nothing and
/// would never leave the thread. So it receives its rows in small pieces. Between two pieces other tasks run, and a
/// cancelled query ends.
#[derive(Debug)]
pub(crate) struct Interruptible;

impl PhysicalOptimizerRule for Interruptible {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let wrapped = plan.transform_up(|plan| wrap(plan).map(Transformed::yes));
        wrapped.map(|wrapped| wrapped.data)
    }

    fn name(&self) -> &str {
        "interruptible"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn wrap(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let row_size = RowSize::default();
    let plan = match mode(&plan)? {
        Some(mode) => before(plan, mode, &row_size)?,
        None => plan,
    };
    Ok(CooperativeYield::wrap(plan, YieldMode::Turns, &row_size))
}

/// How an operator receives its rows, if not as they come.
fn mode(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<YieldMode>> {
    let name = plan.name();
    if plan.children().is_empty() {
        return Ok(None);
    }
    if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        return Ok(Some(match gathers(window.window_expr()) {
            true => YieldMode::Gathered,
            false => YieldMode::Pieces,
        }));
    }
    if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
        return Ok(Some(match gathers(window.window_expr()) {
            true => YieldMode::Gathered,
            false => YieldMode::Kept,
        }));
    }
    let joins = ["Join", "Unnest", "RecursiveQuery"];
    let joins = joins.iter().any(|part| name.contains(part));
    Ok((joins || calls(plan)?).then_some(YieldMode::Pieces))
}

/// Returns whether a window gives each row a list or a string of other rows' values.
fn gathers(window: &[Arc<dyn WindowExpr>]) -> bool {
    let gathers = |expression: &Arc<dyn WindowExpr>| {
        let name = expression.name();
        name.contains("array_agg") || name.contains("string_agg")
    };
    window.iter().any(gathers)
}

/// Wraps the last input of an operator. In a join, this input is compared with the rows of the other, which are held.
fn before(
    plan: Arc<dyn ExecutionPlan>,
    mode: YieldMode,
    row_size: &RowSize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut children: Vec<_> = plan.children().into_iter().cloned().collect();
    if let Some(last) = children.pop() {
        children.push(CooperativeYield::wrap(last, mode, row_size));
    }
    let same = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    plan.replace_children(children, same)
}

/// Returns whether an operator calls functions or copies a large value for every row: a batch may take long and much memory.
fn calls(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(&mut |expression: &Arc<dyn PhysicalExpr>| {
        expression.apply(|part| {
            let value = part.downcast_ref::<Literal>().map(Literal::value);
            let is_large = value.is_some_and(|value| value.size() > LARGE);
            // The value of a subquery is not known yet.
            let is_found = part.is::<ScalarSubqueryExpr>();
            found |= is_large || is_found || part.is::<ScalarFunctionExpr>();
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })
    })?;
    Ok(found)
}

/// From this many bytes on, copies of a value matter.
const LARGE: usize = 1024;
