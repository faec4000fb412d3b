//! Results of functions over dictionaries: plain values unless they are strings, as the announced types say.

use std::sync::Arc;

use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// The value type of a dictionary, unless it holds strings.
pub fn kind(kind: DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, value) if !value.is_string() => *value,
        kind => kind,
    }
}

/// Calls a function and unpacks its dictionary.
pub fn call(function: &ScalarUDF, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    let given: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
    let made = function.return_type(&given)?;
    args.return_field = Arc::new(args.return_field.as_ref().clone().with_data_type(made));
    Ok(match function.invoke_with_args(args)? {
        ColumnarValue::Scalar(ScalarValue::Dictionary(_, value))
            if !value.data_type().is_string() =>
        {
            ColumnarValue::Scalar(*value)
        }
        ColumnarValue::Array(array) => {
            let plain = kind(array.data_type().clone());
            ColumnarValue::Array(cast(&array, &plain)?)
        }
        value => value,
    })
}
