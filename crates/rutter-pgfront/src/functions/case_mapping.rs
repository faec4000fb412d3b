//! `upper` and `lower`, sign by sign as in PostgreSQL: a text stays as long as it is. Of the engine `ß` becomes `SS`.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, AsArray as _, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

/// Texts in large letters.
pub fn upper(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    each(function, args, |sign| {
        let mut large = sign.to_uppercase();
        match (large.next(), large.next()) {
            (Some(large), None) => large,
            _ => sign,
        }
    })
}

/// Texts in small letters.
pub fn lower(function: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    each(function, args, |sign| {
        sign.to_lowercase().next().unwrap_or(sign)
    })
}

fn each(
    function: &ScalarUDF,
    args: ScalarFunctionArgs,
    of: fn(char) -> char,
) -> Result<ColumnarValue> {
    let (values, is_one) = match &args.args[0] {
        ColumnarValue::Scalar(value) => (value.to_array()?, true),
        ColumnarValue::Array(values) => (Arc::clone(values), false),
    };
    let texts = cast(&values, &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    if texts.is_ascii() {
        return function.invoke_with_args(args);
    }
    let texts = texts
        .iter()
        .map(|text| Some(text?.chars().map(of).collect::<String>()));
    let texts = cast(
        &texts.collect::<StringArray>(),
        args.return_field.data_type(),
    )?;
    debug_assert_eq!(texts.len(), values.len());
    Ok(match is_one {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?),
        false => ColumnarValue::Array(texts),
    })
}
