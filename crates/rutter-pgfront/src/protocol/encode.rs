//! Encodes Arrow arrays as values of the protocol.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryArray, BooleanArray, Float64Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, Float64Type, Int16Type, Int32Type, Int64Type, Schema,
};
use datafusion::error::Result;
use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo};
use pgwire::error::PgWireResult;
use pgwire::messages::data::DataRow;
use pgwire::types::format::FormatOptions;

use super::row_stream::error;
use crate::dialect::shown;
use crate::values::{self, kind};

/// The description of an answer's columns.
pub fn fields(schema: &Schema, format: &Format) -> Vec<FieldInfo> {
    let field = |(at, field): (usize, &Arc<Field>)| {
        let name = shown(field.name()).to_owned();
        FieldInfo::new(
            name,
            None,
            None,
            kind(field.data_type()),
            format.format_for(at),
        )
    };
    schema.fields().iter().enumerate().map(field).collect()
}

/// A column in a form that can be sent.
enum Values {
    Flag(BooleanArray),
    Small(Int16Array),
    Medium(Int32Array),
    Large(Int64Array),
    Float(Float64Array),
    Time(Int64Array),
    Octets(BinaryArray),
    /// Values that are sent unchanged.
    Text(StringArray),
}

impl Values {
    fn of(array: &ArrayRef, format: FieldFormat) -> Result<Self> {
        use datafusion::arrow::datatypes::TimeUnit::Microsecond;
        let to = |data: DataType| cast(array, &data);
        Ok(match (kind(array.data_type()), format) {
            (Type::BOOL, _) => Self::Flag(array.as_boolean().clone()),
            (Type::INT2, _) => {
                Self::Small(to(DataType::Int16)?.as_primitive::<Int16Type>().clone())
            }
            (Type::INT4, _) => {
                Self::Medium(to(DataType::Int32)?.as_primitive::<Int32Type>().clone())
            }
            (Type::INT8, _) => {
                let numbers = values::exact(array, &DataType::Int64)?;
                Self::Large(numbers.as_primitive::<Int64Type>().clone())
            }
            (Type::FLOAT8, FieldFormat::Binary) => {
                Self::Float(to(DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            (Type::TIMESTAMPTZ, FieldFormat::Binary) => {
                let micros = to(DataType::Timestamp(Microsecond, None))?;
                let micros = cast(&micros, &DataType::Int64)?;
                Self::Time(micros.as_primitive::<Int64Type>().clone())
            }
            (Type::BYTEA, _) => Self::Octets(to(DataType::Binary)?.as_binary::<i32>().clone()),
            (Type::TEXT, _) | (_, FieldFormat::Text) => Self::Text(values::texts(array)?),
            (_, FieldFormat::Binary) => Self::Octets(values::octets(array)?),
        })
    }

    fn encode(&self, row: usize, out: &mut DataRowEncoder) -> PgWireResult<()> {
        match self {
            Self::Flag(values) => out.encode_field(&given(values, row).then(|| values.value(row))),
            Self::Small(values) => out.encode_field(&given(values, row).then(|| values.value(row))),
            Self::Medium(values) => {
                out.encode_field(&given(values, row).then(|| values.value(row)))
            }
            Self::Large(values) => out.encode_field(&given(values, row).then(|| values.value(row))),
            Self::Float(values) => out.encode_field(&given(values, row).then(|| values.value(row))),
            Self::Octets(values) => {
                out.encode_field(&given(values, row).then(|| values.value(row)))
            }
            Self::Time(values) => {
                let time = given(values, row).then(|| time(values.value(row)));
                out.encode_field(&time)
            }
            Self::Text(values) => {
                // The list is text already and must not be quoted as an item.
                let text = given(values, row).then(|| values.value(row));
                out.encode_field_with_type_and_format(
                    &text,
                    &Type::TEXT,
                    FieldFormat::Text,
                    &OPTIONS,
                )
            }
        }
    }
}

/// Strings need no options, and creating options takes longer than writing a string.
static OPTIONS: LazyLock<FormatOptions> = LazyLock::new(FormatOptions::default);

fn given(values: &dyn Array, row: usize) -> bool {
    !values.is_null(row)
}

/// Converts microseconds since 1970 to a timestamp of the protocol.
fn time(micros: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default()
}

/// Encodes the rows of a batch in the formats that the client requested.
pub fn rows(batch: &RecordBatch, fields: &Arc<Vec<FieldInfo>>) -> PgWireResult<Vec<DataRow>> {
    let columns = batch.columns().iter().zip(fields.iter());
    let columns: Result<Vec<Values>> = columns
        .map(|(column, field)| Values::of(column, field.format()))
        .collect();
    let columns = columns.map_err(|failed| error(&failed.into()))?;
    let mut encoder = DataRowEncoder::new(Arc::clone(fields));
    let mut rows = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        for column in &columns {
            column.encode(row, &mut encoder)?;
        }
        rows.push(encoder.take_row());
    }
    Ok(rows)
}
