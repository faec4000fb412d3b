//! Arrow arrays to the values of the protocol.

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

use super::answer::error;
use super::forms;
use crate::catalog::shown;

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

/// The type that a client is told. Numbers that PostgreSQL does not have are the next larger one; everything else
/// is text.
pub fn kind(data: &DataType) -> Type {
    match data {
        DataType::Boolean => Type::BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => Type::INT2,
        DataType::Int32 | DataType::UInt16 => Type::INT4,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => Type::INT8,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Type::FLOAT8,
        DataType::Decimal32(..) | DataType::Decimal64(..) => Type::NUMERIC,
        DataType::Decimal128(..) | DataType::Decimal256(..) => Type::NUMERIC,
        DataType::List(item) => list(item.data_type()),
        DataType::Timestamp(_, None) => Type::TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => Type::TIMESTAMPTZ,
        DataType::Date32 | DataType::Date64 => Type::DATE,
        DataType::Time32(_) | DataType::Time64(_) => Type::TIME,
        DataType::Interval(_) | DataType::Duration(_) => Type::INTERVAL,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::BYTEA,
        DataType::FixedSizeBinary(_) => Type::BYTEA,
        _ => Type::TEXT,
    }
}

/// The type of lists of something.
fn list(item: &DataType) -> Type {
    match kind(item) {
        Type::BOOL => Type::BOOL_ARRAY,
        Type::INT2 => Type::INT2_ARRAY,
        Type::INT4 => Type::INT4_ARRAY,
        Type::INT8 => Type::INT8_ARRAY,
        Type::FLOAT8 => Type::FLOAT8_ARRAY,
        Type::NUMERIC => Type::NUMERIC_ARRAY,
        Type::TIMESTAMP => Type::TIMESTAMP_ARRAY,
        Type::TIMESTAMPTZ => Type::TIMESTAMPTZ_ARRAY,
        Type::DATE => Type::DATE_ARRAY,
        Type::TIME => Type::TIME_ARRAY,
        Type::INTERVAL => Type::INTERVAL_ARRAY,
        Type::BYTEA => Type::BYTEA_ARRAY,
        Type::TEXT if is_text(item) => Type::TEXT_ARRAY,
        _ => Type::TEXT,
    }
}

fn is_text(data: &DataType) -> bool {
    match data {
        DataType::Dictionary(_, values) => is_text(values),
        data => matches!(
            data,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null
        ),
    }
}

/// A column in one of the forms that can be sent.
enum Values {
    Flag(BooleanArray),
    Small(Int16Array),
    Medium(Int32Array),
    Large(Int64Array),
    Float(Float64Array),
    Time(Int64Array),
    Octets(BinaryArray),
    /// As they are.
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
                let numbers = forms::exact(array, &DataType::Int64)?;
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
            (Type::TEXT, _) | (_, FieldFormat::Text) => Self::Text(forms::texts(array)?),
            (_, FieldFormat::Binary) => Self::Octets(forms::octets(array)?),
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
                // A list has been written already, and is not to be quoted as an item of one.
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

/// Texts have none, and making some takes longer than writing a text.
static OPTIONS: LazyLock<FormatOptions> = LazyLock::new(FormatOptions::default);

fn given(values: &dyn Array, row: usize) -> bool {
    !values.is_null(row)
}

/// Microseconds since 1970 as a time of the protocol.
fn time(micros: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default()
}

/// The rows of a batch, in the formats that the client asked for.
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
