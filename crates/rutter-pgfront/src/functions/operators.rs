//! Operators between strings and between lists.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Expr, ExprSchemable as _, ScalarUDF, cast, when};

use super::bounded::Bounded;
use super::text_function::{Body, function};

/// Plans `&&`, `@>` and `<@` between lists as functions on lists, and `||` as a function that reserves its memory.
#[derive(Debug)]
pub struct Operators {
    functions: Vec<Arc<ScalarUDF>>,
}

/// `a || b` of strings.
pub const JOIN: &str = "text_join";

impl Operators {
    /// The operators; strings are joined within the memory of a pool.
    pub fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        let join = Bounded::join(function(JOIN, Body::Joined), pool);
        let mut functions = SessionStateDefaults::default_scalar_functions();
        functions.retain(|function| [HAS_ANY, HAS_ALL].contains(&function.name()));
        functions.push(Arc::new(join));
        Self { functions }
    }
}

/// The functions of `&&`, and of `@>` and `<@`.
const HAS_ANY: &str = "array_has_any";
const HAS_ALL: &str = "array_has_all";

impl Operators {
    /// Casts one list to the type of the other, for example an untyped parameter.
    fn between_lists(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let list = |side: &Expr| {
            let kind = side.get_type(schema).ok()?;
            matches!(kind, DataType::List(_)).then_some(kind)
        };
        let (name, is_turned) = match &expr.op {
            BinaryOperator::PGOverlap => (HAS_ANY, false),
            BinaryOperator::AtArrow => (HAS_ALL, false),
            BinaryOperator::ArrowAt => (HAS_ALL, true),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let mut functions = self.functions.iter();
        let function = functions.find(|function| function.name() == name);
        let (Some(function), Some(kind)) = (function, list(&expr.left).or(list(&expr.right)))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        let same = |side: Expr| match list(&side) {
            Some(known) if known == kind => side,
            _ => cast(side, kind.clone()),
        };
        let mut args = vec![same(expr.left), same(expr.right)];
        if is_turned {
            args.reverse();
        }
        // DataFusion finds every item of a list that is NULL.
        let unknown = args[0].clone().is_null().or(args[1].clone().is_null());
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        let planned = when(unknown, null).otherwise(Expr::ScalarFunction(call))?;
        Ok(PlannerResult::Planned(planned))
    }
}

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let expr = match self.between_lists(expr, schema)? {
            PlannerResult::Original(expr) => expr,
            planned => return Ok(planned),
        };
        if !matches!(expr.op, BinaryOperator::StringConcat) {
            return Ok(PlannerResult::Original(expr));
        }
        let mut functions = self.functions.iter();
        let function = functions.find(|function| function.name() == JOIN);
        let has_text = is_text(&expr.left, schema) || is_text(&expr.right, schema);
        // A number next to a string is its text, a list is not.
        let is_list = |side: &Expr| {
            !is_join(side) && side.get_type(schema).is_ok_and(|kind| kind.is_nested())
        };
        let fits = has_text && !is_list(&expr.left) && !is_list(&expr.right);
        let Some(function) = function.filter(|_| fits) else {
            return Ok(PlannerResult::Original(expr));
        };
        // `a || b || c` is one call: planning nested calls takes long.
        let mut args = match expr.left {
            Expr::ScalarFunction(join) if join.func.name() == JOIN => join.args,
            left => vec![left],
        };
        args.push(expr.right);
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// Returns whether an expression is a string, or NULL.
pub fn is_text(side: &Expr, schema: &DFSchema) -> bool {
    if is_join(side) {
        return true;
    }
    let kind = side.get_type(schema).unwrap_or(DataType::Null);
    matches!(
        kind,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    ) || matches!(kind, DataType::Null | DataType::Dictionary(_, _))
}

/// Returns whether an expression is a join of strings, without computing its type.
fn is_join(side: &Expr) -> bool {
    matches!(side, Expr::ScalarFunction(call) if call.func.name() == JOIN)
}
