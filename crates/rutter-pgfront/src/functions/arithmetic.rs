//! Integer overflow is an error, as in PostgreSQL. DataFusion's own operators wrap around.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array as _, ArrayRef, AsArray as _, Datum, Float64Array, Int64Array,
};
use datafusion::arrow::compute::cast as arrow_cast;
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::compute::kernels::numeric::{add, div, mul, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable as _, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

use super::rewritten::rewritten;

/// Casts unsigned integers, which PostgreSQL lacks, to `bigint` in arithmetic: their
/// difference may be negative.
///
/// Divides sums as 64-bit floats, so that quotients have a fraction. The same holds for operations on a `real` and
/// an integer.
#[derive(Debug)]
pub struct Signed {
    quotient: Arc<ScalarUDF>,
}

impl Default for Signed {
    fn default() -> Self {
        Self {
            quotient: Arc::new(quotient()),
        }
    }
}

impl ExprPlanner for Signed {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
        if !matches!(expr.op, Plus | Minus | Multiply | Divide | Modulo) {
            return Ok(PlannerResult::Original(expr));
        }
        let kind = |side: &Expr| side.get_type(schema).unwrap_or(DataType::Null);
        let kinds = [kind(&expr.left), kind(&expr.right)];
        if matches!(expr.op, Divide) && is_of_sums(&kinds) {
            let sides = [expr.left, expr.right].map(|side| cast(side, DataType::Float64));
            let call = ScalarFunction::new_udf(Arc::clone(&self.quotient), sides.into());
            return Ok(PlannerResult::Planned(Expr::ScalarFunction(call)));
        }
        if let [DataType::Float32, other] | [other, DataType::Float32] = &kinds
            && other.is_integer()
        {
            let sides = [&mut expr.left, &mut expr.right].into_iter().zip(&kinds);
            for (side, _) in sides.filter(|(_, kind)| kind.is_floating()) {
                *side = cast(std::mem::take(side), DataType::Float64);
            }
            return Ok(PlannerResult::Original(expr));
        }
        if kinds.iter().all(DataType::is_integer) {
            for (side, kind) in [&mut expr.left, &mut expr.right].into_iter().zip(kinds) {
                let signed = match kind {
                    DataType::UInt8 => DataType::Int16,
                    DataType::UInt16 => DataType::Int32,
                    kind if kind.is_unsigned_integer() => DataType::Int64,
                    _ => continue,
                };
                *side = cast(std::mem::take(side), signed);
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// Returns whether a sum, or a `numeric` without decimals, is divided by a number or divides one. NULL may be a
/// parameter, which is then a number.
fn is_of_sums(kinds: &[DataType; 2]) -> bool {
    let is_sum = |kind: &DataType| matches!(kind, DataType::Decimal128(_, 0));
    let is_number = |kind: &DataType| kind.is_decimal() || kind.is_integer() || kind.is_null();
    kinds.iter().any(is_sum) && kinds.iter().all(is_number)
}

/// Divides 64-bit floats. Division by zero is an error.
pub fn quotient() -> ScalarUDF {
    Arithmetic::function(QUOTIENT, |left, right| {
        let (dividends, is_one) = left.get();
        let zeros = eq(right, &Float64Array::new_scalar(0.0))?;
        let mut rows = zeros.iter().enumerate();
        let divides = |row| !dividends.is_null(if is_one { 0 } else { row });
        match rows.any(|(row, is_zero)| is_zero == Some(true) && divides(row)) {
            true => Err(ArrowError::DivideByZero),
            false => div(left, right),
        }
    })
}

/// Replaces operators between integers by checked functions, once the types are known.
#[derive(Debug)]
pub struct Checked {
    functions: [(Operator, Arc<ScalarUDF>); 4],
}

impl Default for Checked {
    fn default() -> Self {
        let function = |operator, name, of| (operator, Arc::new(Arithmetic::function(name, of)));
        Self {
            functions: [
                function(Operator::Plus, "checked_add", add as Kernel),
                function(Operator::Minus, "checked_subtract", sub),
                function(Operator::Multiply, "checked_multiply", mul),
                // DataFusion's `x # x` is 0 if x is NULL.
                function(Operator::BitwiseXor, "checked_xor", xor),
            ],
        }
    }
}

impl AnalyzerRule for Checked {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewritten(plan, |part, schema| Ok(self.check(part, schema)))
    }
}

impl Checked {
    fn check(&self, part: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let (left, op, right) = match part {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => (left, op, right),
            Expr::Negative(value) if is_whole(&value, schema) => {
                let kind = value.get_type(schema);
                match kind.and_then(|kind| ScalarValue::new_zero(&kind)) {
                    Ok(zero) => (Box::new(Expr::Literal(zero, None)), Operator::Minus, value),
                    Err(_) => return Transformed::no(Expr::Negative(value)),
                }
            }
            part => return Transformed::no(part),
        };
        let found = self.functions.iter().find(|(operator, _)| *operator == op);
        match found {
            Some((_, function)) if is_whole(&left, schema) && is_whole(&right, schema) => {
                let call = ScalarFunction::new_udf(Arc::clone(function), vec![*left, *right]);
                Transformed::yes(Expr::ScalarFunction(call))
            }
            _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        }
    }
}

/// `a # b` of integers of one type.
fn xor(left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let wide = |side: &dyn Datum| -> Result<(Int64Array, bool), ArrowError> {
        let (array, is_one) = side.get();
        let wide = arrow_cast(array, &DataType::Int64)?;
        Ok((wide.as_primitive::<Int64Type>().clone(), is_one))
    };
    let kind = left.get().0.data_type().clone();
    let ((left, left_is_one), (right, right_is_one)) = (wide(left)?, wide(right)?);
    let at = |array: &Int64Array, is_one: bool, row: usize| {
        let row = if is_one { 0 } else { row };
        array.is_valid(row).then(|| array.value(row))
    };
    let rows = if left_is_one { right.len() } else { left.len() };
    let bits =
        (0..rows).map(|row| Some(at(&left, left_is_one, row)? ^ at(&right, right_is_one, row)?));
    arrow_cast(&bits.collect::<Int64Array>(), &kind)
}

/// Returns whether an expression is an integer. In long chains only the operator decides: computing the
/// type of each part would take quadratic time.
fn is_whole(value: &Expr, schema: &DFSchema) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    match value {
        Expr::ScalarFunction(call) if call.func.name().starts_with(CHECKED) => true,
        Expr::BinaryExpr(of) if matches!(of.op, Plus | Minus | Multiply) => false,
        Expr::BinaryExpr(of) if matches!(of.op, Divide | Modulo) => {
            is_whole(&of.left, schema) && is_whole(&of.right, schema)
        }
        Expr::Cast(to) => to.field.data_type().is_integer(),
        value => value.get_type(schema).is_ok_and(|kind| kind.is_integer()),
    }
}

/// Returns whether a function fails for some values.
pub fn may_fail(name: &str) -> bool {
    name.starts_with(CHECKED) || fails_alone(name)
}

/// The same, without functions that fail only for very large numbers.
pub fn fails_alone(name: &str) -> bool {
    let daring = [
        QUOTIENT,
        "chr",
        "decode",
        "factorial",
        "make_date",
        "make_time",
        "power",
        "to_date",
        "to_timestamp",
    ];
    daring.contains(&name)
}

/// The prefix of the functions' names.
const CHECKED: &str = "checked_";
const QUOTIENT: &str = "quotient";

type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

/// An operator that reports overflow.
#[derive(Debug)]
struct Arithmetic {
    name: &'static str,
    of: Kernel,
    signature: Signature,
}

impl Arithmetic {
    fn function(name: &'static str, of: Kernel) -> ScalarUDF {
        ScalarUDF::from(Self {
            name,
            of,
            signature: Signature::any(2, Volatility::Immutable),
        })
    }
}

impl PartialEq for Arithmetic {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Arithmetic {}

impl std::hash::Hash for Arithmetic {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Both sides have one type by then.
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [kind, ..] => Ok(kind.clone()),
            [] => exec_err!("{} without arguments", self.name),
        }
    }

    /// The result is nullable if an argument is, as of the replaced operator.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let kinds = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone());
        let kind = self.return_type(&kinds.collect::<Vec<_>>())?;
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name, kind, is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [left, right] => apply(left, right, self.of),
            _ => exec_err!("{} takes two arguments", self.name),
        }
    }
}
