//! Checks which subqueries can become joins, and builds the join that flags rows for which a subquery has rows.

use std::collections::{BTreeSet, HashMap};

use datafusion::common::tree_node::{TransformedResult as _, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Column, not_impl_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::replace_col;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Distinct, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Subquery, lit,
};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

use super::{COUNTED, FILTERED, NO_JOIN, PICKED};

/// A correlated subquery, and the flag of outer rows for which it has rows.
pub struct Mark {
    name: String,
    subquery: Subquery,
}

impl Mark {
    /// Gives the flag a unique name.
    pub fn new(name: String, subquery: Subquery) -> Self {
        Self { name, subquery }
    }

    /// The flag.
    pub fn flag(&self) -> Expr {
        Expr::Column(Column::new(Some(self.name.clone()), "mark"))
    }

    /// Rows with their flags.
    pub fn join(&self, rows: LogicalPlanBuilder) -> Result<LogicalPlanBuilder> {
        let (query, on) = pulled(&self.subquery, &self.name, true)?;
        rows.join_on(query, JoinType::LeftMark, [on])
    }
}

/// Refuses a subquery that DataFusion cannot turn into a join, or would turn into a wrong one.
pub fn check(subquery: &Subquery, is_sought: bool) -> Result<()> {
    if subquery.outer_ref_columns.is_empty() {
        return Ok(());
    }
    check_rows(&subquery.subquery, is_sought)?;
    pulled(subquery, "__checked", is_sought)?;
    Ok(())
}

/// Refuses operators whose result over all rows differs from the result per outer row.
fn check_rows(plan: &LogicalPlan, is_sought: bool) -> Result<()> {
    plan.apply(|node| {
        let picks = match node {
            LogicalPlan::Window(_) | LogicalPlan::Limit(_) => Some(PICKED),
            LogicalPlan::Distinct(Distinct::On(_)) => Some(PICKED),
            LogicalPlan::Aggregate(of) if is_sought && of.group_expr.is_empty() => Some(COUNTED),
            LogicalPlan::Filter(of) if !is_sought => match of.input.as_ref() {
                LogicalPlan::Aggregate(of) if of.group_expr.is_empty() => Some(FILTERED),
                _ => None,
            },
            _ => None,
        };
        let is_bound = |input: &&LogicalPlan| !input.all_out_ref_exprs().is_empty();
        match picks {
            Some(why) if node.inputs().iter().any(is_bound) => not_impl_err!("{why}"),
            _ => Ok(TreeNodeRecursion::Continue),
        }
    })?;
    Ok(())
}

/// The subquery over all outer rows, and the conditions that join it to them.
fn pulled(subquery: &Subquery, name: &str, is_sought: bool) -> Result<(LogicalPlan, Expr)> {
    let mut pull_up = PullUpCorrelatedExpr::new()
        .with_exists_sub_query(is_sought)
        .with_need_handle_count_bug(!is_sought);
    let plan = subquery.subquery.as_ref().clone();
    let made = plan.rewrite(&mut pull_up).data().and_then(|plan| {
        let plan = LogicalPlanBuilder::from(plan).alias(name)?.build()?;
        let columns = pull_up.correlated_subquery_cols_map.values().flatten();
        let columns: BTreeSet<&Column> = columns.collect();
        let renamed = |column: &&Column| Column::new(Some(name), &column.name);
        let others: Vec<Column> = columns.iter().map(renamed).collect();
        let names: HashMap<&Column, &Column> = columns.into_iter().zip(&others).collect();
        let on = conjunction(pull_up.join_filters.clone()).unwrap_or_else(|| lit(true));
        Ok((plan, replace_col(on, &names)?))
    });
    match made {
        Ok(made) if pull_up.can_pull_up => Ok(made),
        _ => not_impl_err!("{NO_JOIN}"),
    }
}
