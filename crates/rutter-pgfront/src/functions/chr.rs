//! `chr`: no text has a sign of the number zero.

use datafusion::arrow::array::AsArray as _;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// The signs of numbers.
pub fn call(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    let numbers = args.args[0].to_array(args.number_rows)?;
    let numbers = numbers.as_primitive_opt::<Int64Type>();
    if numbers.is_some_and(|numbers| numbers.iter().any(|number| number == Some(0))) {
        return exec_err!("null character not permitted");
    }
    function.invoke_with_args(args)
}
