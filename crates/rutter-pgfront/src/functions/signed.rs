//! Arithmetic of unsigned integers, which PostgreSQL lacks: their difference may be negative.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{ExprSchemable as _, cast};

/// Casts unsigned integers in arithmetic to `bigint`.
#[derive(Debug)]
pub struct Signed;

impl ExprPlanner for Signed {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        if matches!(expr.op, Plus | Minus | Multiply | Divide | Modulo) {
            for side in [&mut expr.left, &mut expr.right] {
                let kind = side.get_type(schema);
                if kind.is_ok_and(|kind| kind.is_unsigned_integer()) {
                    *side = cast(std::mem::take(side), DataType::Int64);
                }
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}
