//! Places in lists: before the first, and behind the last, there is nothing. The engine counts from the end there.

use std::sync::Arc;

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, GetFieldAccess, ScalarUDF, lit, when};

/// Plans `list[i]` and `list[i:j]`.
#[derive(Debug)]
pub struct Indexes {
    element: Option<Arc<ScalarUDF>>,
}

impl Default for Indexes {
    fn default() -> Self {
        let mut all = SessionStateDefaults::default_scalar_functions().into_iter();
        Self {
            element: all.find(|function| function.name() == "array_element"),
        }
    }
}

impl ExprPlanner for Indexes {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { expr, field_access } = access;
        let field_access = match (field_access, &self.element) {
            (GetFieldAccess::ListIndex { key }, Some(element)) if !is_from(&key, 1) => {
                let none = lit(ScalarValue::Int64(None));
                let key = match is_number(&key) {
                    true => none,
                    false => when((*key).clone().gt(lit(0_i64)), *key).otherwise(none)?,
                };
                let call = ScalarFunction::new_udf(Arc::clone(element), vec![expr, key]);
                return Ok(PlannerResult::Planned(Expr::ScalarFunction(call)));
            }
            (
                GetFieldAccess::ListRange {
                    start,
                    stop,
                    stride,
                },
                _,
            ) => GetFieldAccess::ListRange {
                start: at_least(start, 1)?,
                stop: at_least(stop, 0)?,
                stride,
            },
            (access, _) => access,
        };
        Ok(PlannerResult::Original(RawFieldAccessExpr {
            expr,
            field_access,
        }))
    }
}

fn at_least(value: Box<Expr>, least: i64) -> Result<Box<Expr>> {
    Ok(match is_from(&value, least) {
        true => value,
        false => {
            let is_less = (*value).clone().lt(lit(least));
            Box::new(when(is_less, lit(least)).otherwise(*value)?)
        }
    })
}

/// Whether a number is written here.
fn is_number(value: &Expr) -> bool {
    matches!(value, Expr::Literal(ScalarValue::Int64(_), _))
}

/// Whether it is, and is not less than another.
fn is_from(value: &Expr, least: i64) -> bool {
    matches!(value, Expr::Literal(ScalarValue::Int64(Some(number)), _) if *number >= least)
}
