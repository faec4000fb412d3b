//! The operators that people know from `inet` and ip4r.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Expr, ExprSchemable as _, ScalarUDF, cast};

use super::bounded::Bounded;
use super::prefixes::{CONTAINS, CONTAINS_OR_EQUAL, OVERLAPS, WITHIN, WITHIN_OR_EQUAL};
use super::scalar::{Body, function};

/// Plans `<<=`, `>>=`, `<<`, `>>` and `&&` between texts as functions on prefixes, `&&`, `@>` and `<@` between lists as
/// functions on those, and `||` as one that asks for its memory.
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
        let own = super::all().into_iter().chain([join]);
        let mut functions = SessionStateDefaults::default_scalar_functions();
        functions.retain(|function| [HAS_ANY, HAS_ALL].contains(&function.name()));
        functions.extend(own.map(Arc::new));
        Self { functions }
    }
}

/// Whether lists have an item in common, and whether one has all of another.
const HAS_ANY: &str = "array_has_any";
const HAS_ALL: &str = "array_has_all";

impl PrefixOperators {
    /// A list of another type than the other, such as a parameter that nobody told of, becomes one of the same.
    fn between_lists(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> PlannerResult<RawBinaryExpr> {
        let list = |side: &Expr| {
            let kind = side.get_type(schema).ok()?;
            matches!(kind, DataType::List(_)).then_some(kind)
        };
        let (name, is_turned) = match &expr.op {
            BinaryOperator::PGOverlap => (HAS_ANY, false),
            BinaryOperator::AtArrow => (HAS_ALL, false),
            BinaryOperator::ArrowAt => (HAS_ALL, true),
            _ => return PlannerResult::Original(expr),
        };
        let mut functions = self.functions.iter();
        let function = functions.find(|function| function.name() == name);
        let (Some(function), Some(kind)) = (function, list(&expr.left).or(list(&expr.right)))
        else {
            return PlannerResult::Original(expr);
        };
        let same = |side: Expr| match list(&side) {
            Some(known) if known == kind => side,
            _ => cast(side, kind.clone()),
        };
        let mut args = vec![same(expr.left), same(expr.right)];
        if is_turned {
            args.reverse();
        }
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        PlannerResult::Planned(Expr::ScalarFunction(call))
    }
}

impl ExprPlanner for PrefixOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let expr = match self.between_lists(expr, schema) {
            PlannerResult::Original(expr) => expr,
            planned => return Ok(planned),
        };
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
            if is_join(side) {
                return true;
            }
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
        let is_list = |side: &Expr| {
            !is_join(side) && side.get_type(schema).is_ok_and(|kind| kind.is_nested())
        };
        let fits = match name {
            JOIN => (left || right) && !is_list(&expr.left) && !is_list(&expr.right),
            _ => left && right,
        };
        let Some(function) = function.filter(|_| fits) else {
            return Ok(PlannerResult::Original(expr));
        };
        // `a || b || c` is one call: to plan calls within each other takes long.
        let mut args = match expr.left {
            Expr::ScalarFunction(join) if name == JOIN && join.func.name() == JOIN => join.args,
            left => vec![left],
        };
        args.push(expr.right);
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// Whether something is texts that are joined, as is known without looking at them.
fn is_join(side: &Expr) -> bool {
    matches!(side, Expr::ScalarFunction(call) if call.func.name() == JOIN)
}
