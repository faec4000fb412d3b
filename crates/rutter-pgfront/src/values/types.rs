//! The PostgreSQL types of DataFusion's columns.

use datafusion::arrow::datatypes::DataType;
use pgwire::api::Type;

/// The type that clients receive. Numbers that PostgreSQL lacks become the next larger type; everything else
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
        DataType::Dictionary(_, values) => kind(values),
        _ => Type::TEXT,
    }
}

/// The type of lists of a type.
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
        Type::TEXT if is_text(item) || item.is_null() => Type::TEXT_ARRAY,
        _ => Type::TEXT,
    }
}

/// Returns whether a column holds strings, also in a dictionary.
pub fn is_text(data: &DataType) -> bool {
    match data {
        DataType::Dictionary(_, values) => is_text(values),
        data => data.is_string(),
    }
}
