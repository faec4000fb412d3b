//! `array_min` and `array_max`, used for `ALL (list)` and `ANY (list)`. DataFusion's fail without rows.

use datafusion::arrow::array::new_empty_array;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// Returns the least or the largest item of each list.
pub fn call(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    match args.number_rows {
        0 => Ok(ColumnarValue::Array(new_empty_array(
            args.return_field.data_type(),
        ))),
        _ => function.invoke_with_args(args),
    }
}
