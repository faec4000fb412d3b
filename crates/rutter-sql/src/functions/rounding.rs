//! `round` of a `float8`, as PostgreSQL has it: of halves to the even number.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray as _, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Rounds to the even number.
pub const ROUND_TO_EVEN: &str = "round_to_even";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    vec![ScalarUDF::from(ToEven { signature })]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToEven {
    signature: Signature,
}

impl ScalarUDFImpl for ToEven {
    fn name(&self) -> &str {
        ROUND_TO_EVEN
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = args.args[0].to_array(args.number_rows)?;
        let numbers = numbers.as_primitive::<Float64Type>();
        let rounded: Float64Array = numbers.unary(f64::round_ties_even);
        Ok(ColumnarValue::Array(Arc::new(rounded) as ArrayRef))
    }
}
