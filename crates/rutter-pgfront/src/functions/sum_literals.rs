//! Integer literals in a sum have 32 bits, as in PostgreSQL, so that the sum is a `bigint`.

use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr,
};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator};

/// Narrows the literals of `sum(CASE WHEN best THEN 1 ELSE 0 END)`, `sum(1)`, `sum(2 * family)`.
#[derive(Debug)]
pub struct Small;

impl ExprPlanner for Small {
    fn plan_aggregate(
        &self,
        mut expr: RawAggregateExpr,
    ) -> Result<PlannerResult<RawAggregateExpr>> {
        if expr.func.name() == "sum" {
            expr.args = expr.args.into_iter().map(small).collect();
        }
        Ok(PlannerResult::Original(expr))
    }

    fn plan_window(&self, mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        if expr.func_def.name() == "sum" {
            expr.args = expr.args.into_iter().map(small).collect();
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn small(value: Expr) -> Expr {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    let boxed = |value: Box<Expr>| Box::new(small(*value));
    match value {
        Expr::Literal(ScalarValue::Int64(Some(number)), metadata) => match i32::try_from(number) {
            Ok(number) => Expr::Literal(ScalarValue::Int32(Some(number)), metadata),
            Err(_) => Expr::Literal(ScalarValue::Int64(Some(number)), metadata),
        },
        Expr::Alias(Alias { expr, .. }) => small(*expr),
        Expr::Negative(value) => Expr::Negative(boxed(value)),
        Expr::Case(Case {
            expr,
            when_then_expr,
            else_expr,
        }) => {
            let cases = when_then_expr.into_iter();
            Expr::Case(Case {
                expr,
                when_then_expr: cases.map(|(when, then)| (when, boxed(then))).collect(),
                else_expr: else_expr.map(boxed),
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Plus | Minus | Multiply | Divide | Modulo) =>
        {
            Expr::BinaryExpr(BinaryExpr::new(boxed(left), op, boxed(right)))
        }
        Expr::ScalarFunction(mut call)
            if ["coalesce", "greatest", "least", "nullif", "abs"].contains(&call.func.name()) =>
        {
            call.args = call.args.into_iter().map(small).collect();
            Expr::ScalarFunction(call)
        }
        value => value,
    }
}
