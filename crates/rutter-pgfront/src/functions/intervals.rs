//! Intervals beside dates and times. DataFusion compares intervals part by part, so that 25 hours are less than a day:
//! such comparisons are refused. It drops the hours of an interval that is added to a date: the date becomes a timestamp.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::Float64Array;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, not_impl_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable as _, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast as cast_to,
};

use crate::values::spans;

/// Casts dates beside intervals to timestamps.
#[derive(Debug)]
pub struct Dates;

impl ExprPlanner for Dates {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let kind = |side: &Expr| side.get_type(schema).unwrap_or(DataType::Null);
        let (left, right) = (kind(&expr.left), kind(&expr.right));
        let side = match expr.op {
            BinaryOperator::Plus | BinaryOperator::Minus if is_span(&right) => &mut expr.left,
            BinaryOperator::Plus if is_span(&left) => &mut expr.right,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        if matches!(kind(side), DataType::Date32 | DataType::Date64) {
            let time = DataType::Timestamp(TimeUnit::Microsecond, None);
            *side = cast_to(std::mem::take(side), time);
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn is_span(kind: &DataType) -> bool {
    matches!(kind, DataType::Interval(_) | DataType::Duration(_))
}

/// Refuses comparisons of intervals, once the types are known.
///
/// # Errors
/// For such a comparison.
pub fn check(part: &Expr, schema: &DFSchema) -> Result<()> {
    let is_compared = match part {
        Expr::BinaryExpr(of) if is_comparison(of.op) => {
            is_interval(&of.left, schema) || is_interval(&of.right, schema)
        }
        Expr::Between(of) => is_interval(&of.expr, schema),
        Expr::InList(of) => is_interval(&of.expr, schema),
        _ => false,
    };
    match is_compared {
        true => not_impl_err!(
            "intervals are not compared: write time < now() - interval '1 day', or compare extract(epoch FROM …)"
        ),
        false => Ok(()),
    }
}

/// Refuses an order by intervals.
///
/// # Errors
/// If the expression is an interval.
pub fn check_order(by: &Expr, schema: &DFSchema) -> Result<()> {
    match is_interval(by, schema) {
        true => {
            not_impl_err!("rows are not ordered by intervals: write ORDER BY extract(epoch FROM …)")
        }
        false => Ok(()),
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// Returns whether an expression is an interval. In long chains only the operator decides.
fn is_interval(value: &Expr, schema: &DFSchema) -> bool {
    match value {
        Expr::BinaryExpr(of) if is_comparison(of.op) || of.op.is_logic_operator() => false,
        Expr::Literal(value, _) => matches!(value.data_type(), DataType::Interval(_)),
        Expr::Cast(to) => matches!(to.field.data_type(), DataType::Interval(_)),
        value => matches!(value.get_type(schema), Ok(DataType::Interval(_))),
    }
}

/// `extract(epoch FROM …)` of an interval or a difference of times: seconds. Other parts of these are refused.
///
/// # Errors
/// For another part of an interval.
pub fn epoch(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    static EPOCH: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Epoch { signature }))
    });
    let (part, value) = match call.args.as_slice() {
        [Expr::Literal(part, _), value] if call.func.name() == "date_part" => {
            (part.try_as_str().flatten().unwrap_or_default(), value)
        }
        _ => return Ok(Transformed::no(Expr::ScalarFunction(call))),
    };
    match (part.eq_ignore_ascii_case("epoch"), value.get_type(schema)?) {
        (true, kind) if is_span(&kind) => {
            let seconds = ScalarFunction::new_udf(Arc::clone(&EPOCH), vec![value.clone()]);
            Ok(Transformed::yes(Expr::ScalarFunction(seconds)))
        }
        (false, kind) if is_span(&kind) => {
            not_impl_err!(
                "extract({part} FROM an interval) is not offered: write extract(epoch FROM …)"
            )
        }
        // DataFusion's result for nanoseconds is too small a type.
        (true, DataType::Timestamp(TimeUnit::Nanosecond, zone)) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone);
            let args = vec![call.args[0].clone(), cast_to(value.clone(), micros)];
            let call = ScalarFunction::new_udf(call.func, args);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        _ => Ok(Transformed::no(Expr::ScalarFunction(call))),
    }
}

/// The seconds of an interval.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Epoch {
    signature: Signature,
}

impl ScalarUDFImpl for Epoch {
    fn name(&self) -> &str {
        "interval_epoch"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let spans = spans(&args.args[0].to_array(args.number_rows)?)?.into_iter();
        let seconds = spans.map(|span| span.map(|span| span.seconds()));
        Ok(ColumnarValue::Array(Arc::new(
            seconds.collect::<Float64Array>(),
        )))
    }
}
