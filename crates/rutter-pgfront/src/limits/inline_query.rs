//! Recognises queries that take no longer than waking another thread: small look-ups.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, TableScan};

use crate::application::IsSmallLookup;

/// Returns whether a query is a small look-up with cheap expressions. Everything not known to be cheap is not inline.
pub fn is_inline(plan: &LogicalPlan, is_small_lookup: IsSmallLookup) -> bool {
    Inline(is_small_lookup).is_inline_below(plan, false)
}

struct Inline(IsSmallLookup);

impl Inline {
    /// The same for a part of a query, which may lie below a computing projection. Two such layers are not inline: DataFusion
    /// inlines expressions, which could double their size with each layer.
    fn is_inline_below(&self, plan: &LogicalPlan, is_computed: bool) -> bool {
        match plan {
            LogicalPlan::Projection(projection) => {
                let computes = !projection.expr.iter().all(is_column);
                projection.expr.iter().all(is_cheap)
                    && !(computes && is_computed)
                    && self.is_inline_below(&projection.input, computes || is_computed)
            }
            LogicalPlan::SubqueryAlias(alias) => self.is_inline_below(&alias.input, is_computed),
            LogicalPlan::Limit(limit) => {
                let mut numbers = limit.skip.iter().chain(&limit.fetch);
                numbers.all(|number| is_cheap(number))
                    && self.is_inline_below(&limit.input, is_computed)
            }
            LogicalPlan::Sort(sort) => {
                sort.expr.iter().all(|by| is_cheap(&by.expr))
                    && self.is_inline_below(&sort.input, is_computed)
            }
            LogicalPlan::Filter(filter) => {
                let conditions = split_conjunction(&filter.predicate);
                is_cheap(&filter.predicate)
                    && (self.is_inline_below(&filter.input, is_computed)
                        || self.looks_up(&filter.input, &conditions))
            }
            LogicalPlan::TableScan(_) => self.looks_up(plan, &[]),
            _ => false,
        }
    }

    /// Returns whether a plan is a table of which these conditions select a few rows.
    fn looks_up(&self, plan: &LogicalPlan, conditions: &[&Expr]) -> bool {
        let LogicalPlan::TableScan(TableScan { source, .. }) = plan else {
            return false;
        };
        let Ok(table) = source_as_provider(source) else {
            return false;
        };
        (self.0)(table.as_ref(), conditions)
    }
}

fn is_column(value: &Expr) -> bool {
    match value {
        Expr::Alias(alias) => is_column(&alias.expr),
        value => matches!(value, Expr::Column(_)),
    }
}

/// Returns whether an expression is a column, a small literal or a comparison.
fn is_cheap(value: &Expr) -> bool {
    let mut cheap = true;
    let walked = value.apply(|part| {
        cheap &= match part {
            Expr::Column(_)
            | Expr::Alias(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_) => true,
            Expr::Literal(value, _) => value.size() <= SMALL,
            Expr::BinaryExpr(BinaryExpr { op, .. }) => COMPARISONS.contains(op),
            _ => false,
        };
        Ok(match cheap {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    walked.is_ok() && cheap
}

const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::And,
    Operator::Or,
];
/// The most bytes of a literal.
const SMALL: usize = 1024;
