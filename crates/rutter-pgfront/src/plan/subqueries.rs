//! Subqueries in expressions: `EXISTS (…)`, `IN (SELECT …)` and scalar subqueries.
//!
//! DataFusion turns them into joins, and its answer is PostgreSQL's only in some places. All others are refused.

use datafusion::common::not_impl_err;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable as _, LogicalPlan, Operator, Subquery,
};

/// The error of subqueries that DataFusion could not turn into a join.
pub const NO_JOIN: &str = "a query within an expression is answered where it can become a join: compare its columns \
    with those of the query around it by = in its WHERE, or write a join";

/// The error of a subquery in a place where it is not offered.
const UNSUPPORTED_PLACE: &str = "EXISTS and IN (SELECT …) stand in WHERE, joined by AND or OR, and NOT IN (SELECT …) by AND: write \
    a LEFT JOIN, or (SELECT count(*) …) > 0";

/// The error of a correlated subquery with LIMIT, OFFSET or windows.
const UNSUPPORTED_LIMIT: &str = "LIMIT, OFFSET, DISTINCT ON and windows are not offered in a query that names columns of the query \
    around it: write (SELECT (array_agg(x ORDER BY y))[1] …) for the first one, or a join";

/// The error of EXISTS over an aggregate.
const COUNTED: &str = "EXISTS (…) and IN (…) take no aggregate without GROUP BY that names columns of the query around \
    it: compare with (SELECT count(…) …)";

/// The error of an aggregate with HAVING, which may drop the row of an empty group.
const FILTERED: &str = "HAVING without GROUP BY is not offered in a query that names columns of the query around it: \
    write (SELECT CASE WHEN count(*) > 1 THEN max(…) END …)";

/// Refuses subqueries that DataFusion would answer differently from PostgreSQL.
///
/// # Errors
/// For such a subquery.
pub fn check(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Filter(filter) = node {
            condition(&filter.predicate, node, true)?;
            return Ok(TreeNodeRecursion::Continue);
        }
        let is_row = matches!(node, LogicalPlan::Projection(_));
        node.apply_expressions(|expr| {
            value(expr, is_row)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(plan)
}

/// Checks a condition of WHERE, where false and NULL are the same. `is_alone`: it is joined to others by AND only.
fn condition(expr: &Expr, node: &LogicalPlan, is_alone: bool) -> Result<()> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::And | Operator::Or),
            right,
        }) => {
            let is_alone = is_alone && *op == Operator::And;
            condition(left, node, is_alone)?;
            condition(right, node, is_alone)
        }
        Expr::Exists(Exists { subquery, .. }) => rows(subquery, true),
        Expr::InSubquery(of) => check_in(of, of.negated, node, is_alone),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::Exists(Exists { subquery, .. }) => rows(subquery, true),
            Expr::InSubquery(of) => check_in(of, !of.negated, node, is_alone),
            _ => value(expr, true),
        },
        _ => value(expr, true),
    }
}

/// Checks `x IN (SELECT y …)`. DataFusion handles NULL in `NOT IN` only where it becomes a join of its own.
fn check_in(of: &InSubquery, negated: bool, node: &LogicalPlan, is_alone: bool) -> Result<()> {
    value(&of.expr, true)?;
    let may_be_null = || -> Result<bool> {
        let schema = merge_schema(&node.inputs());
        let given = of.subquery.subquery.schema().field(0).is_nullable();
        Ok(given || of.expr.nullable(&schema)?)
    };
    let is_bound = !of.subquery.outer_ref_columns.is_empty();
    let has_join = is_alone && !is_bound && !of.expr.column_refs().is_empty();
    if negated && !has_join && may_be_null()? {
        return not_impl_err!("{UNSUPPORTED_PLACE}");
    }
    rows(&of.subquery, true)
}

/// Checks another expression. `is_row`: a scalar subquery may be correlated there.
fn value(expr: &Expr, is_row: bool) -> Result<()> {
    expr.apply(|part| {
        match part {
            Expr::Exists(_) | Expr::InSubquery(_) => return not_impl_err!("{UNSUPPORTED_PLACE}"),
            Expr::ScalarSubquery(subquery) => {
                if !is_row && !subquery.outer_ref_columns.is_empty() {
                    return not_impl_err!("{NO_JOIN}");
                }
                rows(subquery, false)?;
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Refuses operators whose result over all rows differs from the result per outer row. `is_sought`: the subquery is
/// asked for any row.
fn rows(subquery: &Subquery, is_sought: bool) -> Result<()> {
    subquery.subquery.apply(|node| {
        let picks = match node {
            LogicalPlan::Window(_) | LogicalPlan::Limit(_) => Some(UNSUPPORTED_LIMIT),
            LogicalPlan::Distinct(Distinct::On(_)) => Some(UNSUPPORTED_LIMIT),
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
