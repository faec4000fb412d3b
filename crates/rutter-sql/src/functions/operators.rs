//! The operators that people know from `inet` and ip4r.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Expr, ExprSchemable as _, ScalarUDF};

use super::bounded::Bounded;
use super::prefixes::{CONTAINS, CONTAINS_OR_EQUAL, OVERLAPS, WITHIN, WITHIN_OR_EQUAL};
use super::scalar::{Body, function};

/// Plans `<<=`, `>>=`, `<<`, `>>` and `&&` between texts as functions on prefixes, and `||` as one that asks for its
/// memory.
#[derive(Debug)]
pub struct PrefixOperators {
    functions: Vec<Arc<ScalarUDF>>,
}

/// `a || b` of texts.
pub const JOIN: &str = "text_join";

impl PrefixOperators {
    /// With the functions of this crate; texts are joined within the memory of a pool.
    pub fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        let join = Bounded::join(function(JOIN, Body::Joined), pool);
        let functions = super::all().into_iter().chain([join]);
        Self {
            functions: functions.map(Arc::new).collect(),
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
            BinaryOperator::StringConcat => JOIN,
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
        let (left, right) = (is_text(&expr.left), is_text(&expr.right));
        // A number next to a text is its text, a list is not.
        let is_list = |side: &Expr| side.get_type(schema).is_ok_and(|kind| kind.is_nested());
        let fits = match name {
            JOIN => (left || right) && !is_list(&expr.left) && !is_list(&expr.right),
            _ => left && right,
        };
        let Some(function) = function.filter(|_| fits) else {
            return Ok(PlannerResult::Original(expr));
        };
        let call = ScalarFunction::new_udf(Arc::clone(function), vec![expr.left, expr.right]);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}
