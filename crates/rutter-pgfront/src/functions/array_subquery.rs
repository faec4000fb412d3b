//! `ARRAY(SELECT …)` is an empty list if the query has no rows.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, ListArray, UInt64Array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the function.
pub const GATHERED: &str = "gathered";

/// The function of this file.
pub fn function() -> ScalarUDF {
    ScalarUDF::from(Gathered {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Gathered {
    signature: Signature,
}

impl ScalarUDFImpl for Gathered {
    fn name(&self) -> &str {
        GATHERED
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match &arguments[0] {
            DataType::Null => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
            kind => kind.clone(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].cast_to(args.return_field.data_type(), None)?;
        let lists = lists.into_array(args.number_rows)?;
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return exec_err!("{GATHERED}: not a list");
        };
        Ok(ColumnarValue::Array(filled(lists)?))
    }
}

/// Replaces NULL by empty lists.
fn filled(lists: &ListArray) -> Result<ArrayRef> {
    let DataType::List(item) = lists.data_type() else {
        return exec_err!("{GATHERED}: not a list");
    };
    let offsets = lists.value_offsets();
    let row = |row: usize| match lists.is_null(row) {
        true => 0..0,
        false => offsets[row] as u64..offsets[row + 1] as u64,
    };
    let items: UInt64Array = (0..lists.len()).flat_map(row).collect();
    let lengths = (0..lists.len()).map(|at| row(at).count());
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(item),
        OffsetBuffer::from_lengths(lengths),
        take(lists.values(), &items, None)?,
        None,
    )?))
}
