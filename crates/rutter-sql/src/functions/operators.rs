//! The operators of `inet` and ip4r between strings: `<<=`, `>>=`, `<<`, `>>` and `&&`.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Expr, ScalarUDF};
use rutter_pgfront::is_text;

use super::prefixes::{self, CONTAINS, CONTAINS_OR_EQUAL, OVERLAPS, WITHIN, WITHIN_OR_EQUAL};

/// Plans the operators as calls of the functions of prefixes.
#[derive(Debug)]
pub struct PrefixOperators {
    functions: Vec<Arc<ScalarUDF>>,
}

impl Default for PrefixOperators {
    fn default() -> Self {
        let functions = prefixes::functions().into_iter().map(Arc::new);
        Self {
            functions: functions.collect(),
        }
    }
}

impl ExprPlanner for PrefixOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match &expr.op {
            BinaryOperator::PGBitwiseShiftLeft => WITHIN,
            BinaryOperator::PGBitwiseShiftRight => CONTAINS,
            BinaryOperator::PGOverlap => OVERLAPS,
            BinaryOperator::Custom(operator) if operator == "<<=" => WITHIN_OR_EQUAL,
            BinaryOperator::Custom(operator) if operator == ">>=" => CONTAINS_OR_EQUAL,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let fits = is_text(&expr.left, schema) && is_text(&expr.right, schema);
        let mut functions = self.functions.iter();
        let function = functions.find(|function| function.name() == name);
        let Some(function) = function.filter(|_| fits) else {
            return Ok(PlannerResult::Original(expr));
        };
        let call = ScalarFunction::new_udf(Arc::clone(function), vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}
