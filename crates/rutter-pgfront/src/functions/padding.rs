//! `lpad` and `rpad`: a negative length is zero. DataFusion would reserve it as an unsigned size.

use std::sync::Arc;

use datafusion::arrow::array::AsArray as _;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// Calls a function with lengths of at least zero.
pub fn call(function: &ScalarUDF, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    if let Some(length) = args.args.get_mut(1) {
        match length {
            ColumnarValue::Scalar(ScalarValue::Int64(Some(signs))) => *signs = (*signs).max(0),
            ColumnarValue::Array(signs) => {
                if let Some(given) = signs.as_primitive_opt::<Int64Type>() {
                    let natural = given.unary::<_, Int64Type>(|signs| signs.max(0));
                    *signs = Arc::new(natural);
                }
            }
            ColumnarValue::Scalar(_) => {}
        }
    }
    function.invoke_with_args(args)
}
