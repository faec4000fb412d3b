//! Arithmetic and comparison of intervals. As in PostgreSQL, a date plus an interval is a timestamp, and comparisons
//! count a month as 30 days and a day as 24 hours. DataFusion drops the hours in sums with dates, and compares part by
//! part.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray as _, Decimal128Array, Float64Array, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, TimeUnit,
};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable as _, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast as cast_to,
};

use crate::values::{Span, spans};

/// Casts dates beside intervals to timestamps, and strings beside intervals to intervals. The difference of
/// two dates is an int4.
#[derive(Debug)]
pub struct Dates;

impl ExprPlanner for Dates {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, Minus, NotEq, Plus};
        let kind = |side: &Expr| side.get_type(schema).unwrap_or(DataType::Null);
        if matches!(expr.op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
            if let Some(span) = span_of(&expr.left)
                && is_span(&kind(&expr.right))
            {
                expr.left = span;
            } else if let Some(span) = span_of(&expr.right)
                && is_span(&kind(&expr.left))
            {
                expr.right = span;
            }
            return Ok(PlannerResult::Original(expr));
        }
        if matches!(expr.op, Minus) && is_date(&kind(&expr.left)) {
            if let Some(day) = day_of(&expr.right) {
                expr.right = day;
            }
            if is_date(&kind(&expr.right)) {
                let days =
                    BinaryExpr::new(Box::new(expr.left), Operator::Minus, Box::new(expr.right));
                let days = cast_to(Expr::BinaryExpr(days), DataType::Int32);
                return Ok(PlannerResult::Planned(days));
            }
        }
        let side = match (&expr.op, kind(&expr.right)) {
            (Plus | Minus, span) if is_span(&span) => &mut expr.left,
            (Plus, date) if is_date(&date) && is_span(&kind(&expr.left)) => &mut expr.right,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        if is_date(&kind(side)) {
            let time = DataType::Timestamp(TimeUnit::Microsecond, None);
            *side = cast_to(std::mem::take(side), time);
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// Parses a string as an interval: `now() - time > '1 day'`.
fn span_of(text: &Expr) -> Option<Expr> {
    let Expr::Literal(text, _) = text else {
        return None;
    };
    let span = Span::of_text(text.try_as_str()??)?.parts()?;
    let span = ScalarValue::IntervalMonthDayNano(Some(span));
    Some(Expr::Literal(span, None))
}

/// Casts a string to a date if the other operand is a date: `current_date - '2026-01-01'`.
fn day_of(text: &Expr) -> Option<Expr> {
    match text {
        Expr::Literal(value, _) => value.try_as_str()??,
        _ => return None,
    };
    Some(cast_to(text.clone(), DataType::Date32))
}

fn is_date(kind: &DataType) -> bool {
    matches!(kind, DataType::Date32 | DataType::Date64)
}

fn is_span(kind: &DataType) -> bool {
    matches!(kind, DataType::Interval(_) | DataType::Duration(_))
}

/// Compares intervals by their lengths, once the types are known: both sides are intervals then.
pub fn compared(part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    Ok(match part {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_comparison(op) && (is_interval(&left, schema) || is_interval(&right, schema)) =>
        {
            let (left, right) = (boxed(*left), boxed(*right));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::Between(of) if is_interval(&of.expr, schema) => {
            let of = Between::new(boxed(*of.expr), of.negated, boxed(*of.low), boxed(*of.high));
            Transformed::yes(Expr::Between(of))
        }
        Expr::InList(of) if is_interval(&of.expr, schema) => {
            let list = of.list.into_iter().map(key);
            let of = InList::new(boxed(*of.expr), list.collect(), of.negated);
            Transformed::yes(Expr::InList(of))
        }
        part => Transformed::no(part),
    })
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

/// `date_part` of an interval or a duration: DataFusion knows neither its days nor its fractions.
///
/// # Errors
/// Any other call, unchanged.
pub fn part(of: ScalarFunction, schema: &DFSchema) -> std::result::Result<Expr, ScalarFunction> {
    let [Expr::Literal(part, _), value] = of.args.as_slice() else {
        return Err(of);
    };
    let part = part
        .try_as_str()
        .flatten()
        .filter(|_| of.func.name() == "date_part");
    let part = part.and_then(|part| PARTS.iter().find(|known| part.eq_ignore_ascii_case(known)));
    match (part, value.get_type(schema)) {
        // DataFusion's result for nanoseconds is too small a type.
        (Some(&EPOCH), Ok(DataType::Timestamp(TimeUnit::Nanosecond, zone))) => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone);
            let args = vec![of.args[0].clone(), cast_to(value.clone(), micros)];
            Ok(Expr::ScalarFunction(ScalarFunction::new_udf(of.func, args)))
        }
        (Some(part), Ok(kind)) if is_span(&kind) => {
            let signature = Signature::any(1, Volatility::Immutable);
            let function = Arc::new(ScalarUDF::from(Part { part, signature }));
            let call = ScalarFunction::new_udf(function, vec![value.clone()]);
            Ok(Expr::ScalarFunction(call))
        }
        _ => Err(of),
    }
}

/// The parts of intervals, with seconds in microseconds; `epoch` is the whole in seconds.
const PARTS: [&str; 7] = [
    "year",
    "month",
    "day",
    "hour",
    "minute",
    "microsecond",
    EPOCH,
];
const EPOCH: &str = "epoch";

/// A part of an interval.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Part {
    part: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Part {
    fn name(&self) -> &str {
        "interval_part"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The result has the same type as for a part of a timestamp.
    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.part {
            EPOCH => DataType::Float64,
            _ => DataType::Int32,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let spans = spans(&args.args[0].to_array(args.number_rows)?)?.into_iter();
        let parts: ArrayRef = match self.part {
            EPOCH => Arc::new(
                spans
                    .map(|span| Some(span?.seconds()))
                    .collect::<Float64Array>(),
            ),
            part => Arc::new(spans.map(|span| span?.part(part)).collect::<Int32Array>()),
        };
        Ok(ColumnarValue::Array(parts))
    }
}

/// Orders rows by the lengths of intervals.
pub fn ordered(node: LogicalPlan) -> LogicalPlan {
    let LogicalPlan::Sort(mut sort) = node else {
        return node;
    };
    for by in &mut sort.expr {
        if is_interval(&by.expr, sort.input.schema()) {
            by.expr = key(std::mem::take(&mut by.expr));
        }
    }
    LogicalPlan::Sort(sort)
}

/// The function by whose result intervals are compared.
pub const LENGTH: &str = "interval_length";

/// Replaces an interval by its length.
fn key(value: Expr) -> Expr {
    static KEY: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::from(Length::default())));
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&KEY), vec![value]))
}

fn boxed(value: Expr) -> Box<Expr> {
    Box::new(key(value))
}

/// The length of an interval in nanoseconds, which may exceed 64 bits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

impl Default for Length {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        LENGTH
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let spans = args.args[0].to_array(args.number_rows)?;
        let spans = cast(&spans, &DataType::Interval(IntervalUnit::MonthDayNano))?;
        let spans = spans.as_primitive::<IntervalMonthDayNanoType>().iter();
        let lengths: Decimal128Array = spans.map(|span| span.map(nanoseconds)).collect();
        let lengths = lengths.with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)?;
        Ok(ColumnarValue::Array(Arc::new(lengths) as ArrayRef))
    }
}

fn nanoseconds(span: IntervalMonthDayNano) -> i128 {
    let days = i128::from(span.months) * 30 + i128::from(span.days);
    days * DAY + i128::from(span.nanoseconds)
}

/// The nanoseconds of a day.
const DAY: i128 = 86_400 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_thirty_days_and_days_their_hours() {
        let length = |months, days, hours: i64| {
            let nanos = hours * 3_600_000_000_000;
            nanoseconds(IntervalMonthDayNano::new(months, days, nanos))
        };
        assert_eq!(length(0, 1, 0), length(0, 0, 24));
        assert_eq!(length(1, 0, 0), length(0, 29, 24));
        assert!(length(1, 0, -1) < length(0, 30, 0));
        assert!(length(i32::MAX, i32::MAX, 0) > length(i32::MAX, 0, 1));
    }
}
