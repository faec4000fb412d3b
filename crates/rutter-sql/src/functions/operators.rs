//! The operators that people know from `inet` and ip4r.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Expr, ExprSchemable as _, ScalarUDF};

use super::prefixes::{CONTAINS, CONTAINS_OR_EQUAL, OVERLAPS, WITHIN, WITHIN_OR_EQUAL};

/// Plans `<<=`, `>>=`, `<<`, `>>` and `&&` between texts as functions on prefixes.
#[derive(Debug)]
pub struct PrefixOperators {
    functions: Vec<Arc<ScalarUDF>>,
}

impl PrefixOperators {
    /// With the functions of this crate.
    pub fn new() -> Self {
        Self {
            functions: super::all().into_iter().map(Arc::new).collect(),
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
        let is_text = |side: &Expr| {
            let kind = side.get_type(schema).unwrap_or(DataType::Null);
            matches!(
                kind,
                DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
            ) || matches!(kind, DataType::Null | DataType::Dictionary(_, _))
        };
        let function = self
            .functions
            .iter()
            .find(|function| function.name() == name);
        let Some(function) = function.filter(|_| is_text(&expr.left) && is_text(&expr.right))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        let call = ScalarFunction::new_udf(Arc::clone(function), vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}
