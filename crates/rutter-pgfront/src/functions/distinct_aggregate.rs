//! `count(DISTINCT x)` becomes `count(x)` of groups, but not beside `sum`: sums of sums would have another type.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

/// The optimizer rules of DataFusion, with this one in place of DataFusion's.
pub fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    for rule in &mut rules {
        if rule.name() == SingleDistinctToGroupBy::new().name() {
            *rule = Arc::new(Singles::default());
        }
    }
    rules
}

#[derive(Debug, Default)]
struct Singles(SingleDistinctToGroupBy);

impl OptimizerRule for Singles {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(ref of) if of.aggr_expr.iter().any(is_sum) => {
                Ok(Transformed::no(plan))
            }
            plan => self.0.rewrite(plan, config),
        }
    }
}

fn is_sum(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(named) => is_sum(&named.expr),
        Expr::AggregateFunction(of) => of.func.name() == "sum",
        _ => false,
    }
}
