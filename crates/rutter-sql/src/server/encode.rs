//! Arrow arrays to the values of the protocol.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryArray, BooleanArray, Float64Array, Int16Array, Int32Array,
    Int64Array, ListArray, RecordBatch, StringArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Field, Float64Type, Int16Type, Int32Type, Int64Type, Schema,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::{DataFusionError, Result};
use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::data::DataRow;

use super::floats;
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
        DataType::List(item) => match kind(item.data_type()) {
            Type::BOOL => Type::BOOL_ARRAY,
            Type::INT2 | Type::INT4 | Type::INT8 => Type::INT8_ARRAY,
            Type::FLOAT8 => Type::FLOAT8_ARRAY,
            Type::TEXT if is_text(item.data_type()) => Type::TEXT_ARRAY,
            _ => Type::TEXT,
        },
        DataType::Timestamp(_, _) => Type::TIMESTAMPTZ,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::BYTEA,
        DataType::FixedSizeBinary(_) => Type::BYTEA,
        _ => Type::TEXT,
    }
}

fn is_text(data: &DataType) -> bool {
    match data {
        DataType::Dictionary(_, values) => is_text(values),
        data => matches!(
            data,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
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
    Texts(ListArray),
    Flags(ListArray),
    Numbers(ListArray),
    Floats(ListArray),
    Time(Int64Array),
    Octets(BinaryArray),
    Text(StringArray),
}

impl Values {
    fn of(array: &ArrayRef, format: FieldFormat) -> Result<Self> {
        let to = |data: DataType| cast(array, &data);
        let kind = kind(array.data_type());
        Ok(if kind == Type::BOOL {
            Self::Flag(array.as_boolean().clone())
        } else if kind == Type::INT2 {
            Self::Small(to(DataType::Int16)?.as_primitive::<Int16Type>().clone())
        } else if kind == Type::INT4 {
            Self::Medium(to(DataType::Int32)?.as_primitive::<Int32Type>().clone())
        } else if kind == Type::INT8 {
            Self::Large(whole(array)?)
        } else if kind == Type::FLOAT8 {
            let numbers = to(DataType::Float64)?.as_primitive::<Float64Type>().clone();
            match format {
                FieldFormat::Text => Self::Text(float_texts(&numbers)),
                FieldFormat::Binary => Self::Float(numbers),
            }
        } else if kind == Type::TEXT_ARRAY {
            Self::Texts(array.as_list::<i32>().clone())
        } else if kind == Type::BOOL_ARRAY {
            Self::Flags(array.as_list::<i32>().clone())
        } else if kind == Type::INT8_ARRAY {
            Self::Numbers(array.as_list::<i32>().clone())
        } else if kind == Type::FLOAT8_ARRAY {
            let lists = array.as_list::<i32>();
            match format {
                FieldFormat::Text => Self::Texts(float_lists(lists)?),
                FieldFormat::Binary => Self::Floats(lists.clone()),
            }
        } else if kind == Type::TIMESTAMPTZ {
            use datafusion::arrow::datatypes::TimeUnit::Microsecond;
            let micros = cast(
                &to(DataType::Timestamp(Microsecond, None))?,
                &DataType::Int64,
            )?;
            Self::Time(micros.as_primitive::<Int64Type>().clone())
        } else if kind == Type::BYTEA {
            Self::Octets(to(DataType::Binary)?.as_binary::<i32>().clone())
        } else {
            Self::Text(texts(array)?)
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
            Self::Text(values) => out.encode_field(&given(values, row).then(|| values.value(row))),
            Self::Octets(values) => {
                out.encode_field(&given(values, row).then(|| values.value(row)))
            }
            Self::Time(values) => {
                let time = given(values, row).then(|| time(values.value(row)));
                out.encode_field(&time)
            }
            Self::Texts(values) => {
                let list = list(values, row, &DataType::Utf8)?;
                let list = list.as_ref().map(|items| items.as_string::<i32>());
                let owned = |text: Option<&str>| text.map(str::to_owned);
                out.encode_field(&list.map(|items| items.iter().map(owned).collect::<Vec<_>>()))
            }
            Self::Flags(values) => {
                let list = list(values, row, &DataType::Boolean)?;
                let list = list.as_ref().map(|items| items.as_boolean());
                out.encode_field(&list.map(|items| items.iter().collect::<Vec<_>>()))
            }
            Self::Numbers(values) => {
                let list = list(values, row, &DataType::Int64)?;
                let list = list.as_ref().map(|items| items.as_primitive::<Int64Type>());
                out.encode_field(&list.map(|items| items.iter().collect::<Vec<_>>()))
            }
            Self::Floats(values) => {
                let list = list(values, row, &DataType::Float64)?;
                let list = list
                    .as_ref()
                    .map(|items| items.as_primitive::<Float64Type>());
                out.encode_field(&list.map(|items| items.iter().collect::<Vec<_>>()))
            }
        }
    }
}

fn given(values: &dyn Array, row: usize) -> bool {
    !values.is_null(row)
}

/// Microseconds since 1970 as a time of the protocol.
fn time(micros: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default()
}

/// The items of a row's list in the form that is sent.
fn list(values: &ListArray, row: usize, to: &DataType) -> PgWireResult<Option<ArrayRef>> {
    let items = given(values, row).then(|| exact(&values.value(row), to));
    let fail = |error: DataFusionError| PgWireError::ApiError(error.into());
    items.transpose().map_err(fail)
}

/// Numbers that PostgreSQL's `bigint` can hold; others are an error, never another number.
fn whole(array: &ArrayRef) -> Result<Int64Array> {
    let numbers = exact(array, &DataType::Int64)?;
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

fn exact(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    Ok(cast_with_options(array, to, &options)?)
}

fn float_texts(numbers: &Float64Array) -> StringArray {
    let texts = numbers.iter().map(|number| number.map(floats::text));
    texts.collect()
}

/// Lists of numbers as lists of their texts.
fn float_lists(lists: &ListArray) -> Result<ListArray> {
    let numbers = cast(lists.values(), &DataType::Float64)?;
    let texts = float_texts(numbers.as_primitive::<Float64Type>());
    let field = Arc::new(Field::new_list_field(DataType::Utf8, true));
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    Ok(ListArray::try_new(field, offsets, Arc::new(texts), nulls)?)
}

/// Any array as texts.
fn texts(array: &ArrayRef) -> Result<StringArray> {
    if let Ok(texts) = cast(array, &DataType::Utf8) {
        return Ok(texts.as_string::<i32>().clone());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let text = |row| given(array.as_ref(), row).then(|| formatter.value(row).to_string());
    Ok((0..array.len()).map(text).collect())
}

/// The rows of a batch, in the formats that the client asked for.
pub fn rows(batch: &RecordBatch, fields: &Arc<Vec<FieldInfo>>) -> PgWireResult<Vec<DataRow>> {
    let columns = batch.columns().iter().zip(fields.iter());
    let columns: Result<Vec<Values>> = columns
        .map(|(column, field)| Values::of(column, field.format()))
        .collect();
    let columns = columns.map_err(|error: DataFusionError| PgWireError::ApiError(error.into()))?;
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
