//! `AT TIME ZONE`: as in PostgreSQL, a timestamp with a zone becomes one without, and the reverse.

use std::sync::Arc;

use datafusion::arrow::array::AsArray as _;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::dialect::time_zone::{UTC, check_name};

/// `time AT TIME ZONE zone`.
pub const TIMEZONE: &str = "timezone";

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    vec![ScalarUDF::from(Timezone { signature })]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Timezone {
    signature: Signature,
}

impl ScalarUDFImpl for Timezone {
    fn name(&self) -> &str {
        TIMEZONE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(match arguments.get(1) {
            Some(DataType::Timestamp(unit, None)) => DataType::Timestamp(*unit, Some(UTC.into())),
            Some(DataType::Timestamp(unit, Some(_))) => DataType::Timestamp(*unit, None),
            Some(kind) if kind.is_null() || kind.is_string() => micros(),
            Some(DataType::Date32 | DataType::Date64) => micros(),
            _ => return plan_err!("AT TIME ZONE takes a time"),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zones = cast(&args.args[0].to_array(args.number_rows)?, &DataType::Utf8)?;
        let mut zones = zones.as_string::<i32>().iter().flatten();
        zones.try_for_each(check_name)?;
        let times = args.args[1].to_array(args.number_rows)?;
        let times = cast(&times, args.return_field.data_type())?;
        Ok(ColumnarValue::Array(Arc::clone(&times)))
    }
}

/// The result for a string or a date, which count as timestamps with a zone.
fn micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}
