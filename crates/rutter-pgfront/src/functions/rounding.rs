//! Numbers that are rounded otherwise than by the engine's `round`: those of a `float8`, of halves to the even number, and all
//! of a list.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, ListArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type};
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

/// Rounds the items of lists, halves away from zero.
pub const ROUND_ITEMS: &str = "round_items";

/// The function of that name.
pub fn items() -> Arc<ScalarUDF> {
    static ITEMS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Items { signature }))
    });
    Arc::clone(&ITEMS)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Items {
    signature: Signature,
}

impl ScalarUDFImpl for Items {
    fn name(&self) -> &str {
        ROUND_ITEMS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Float64, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        let numbers = cast(lists.values(), &DataType::Float64)?;
        let rounded: Float64Array = numbers.as_primitive::<Float64Type>().unary(f64::round);
        let lists = ListArray::try_new(
            Arc::new(Field::new_list_field(DataType::Float64, true)),
            lists.offsets().clone(),
            Arc::new(rounded),
            lists.nulls().cloned(),
        )?;
        Ok(ColumnarValue::Array(Arc::new(lists) as ArrayRef))
    }
}
