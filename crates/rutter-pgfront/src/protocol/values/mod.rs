//! Decodes the values of parameters from both formats.

mod binary;
mod text;

use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;
use pgwire::api::Type;
use pgwire::error::{PgWireError, PgWireResult};

use super::row_stream::failure;
use crate::dialect::literals::items;
use crate::error::INVALID_TEXT;

/// A value from a client.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// The number of the parameter.
    pub number: usize,
    /// `None` is NULL.
    pub octets: Option<&'a [u8]>,
    pub is_binary: bool,
}

/// DataFusion's type for a type of PostgreSQL; text for unknown types.
pub fn data(kind: &Type) -> DataType {
    if let Some(item) = item(kind) {
        return DataType::new_list(data(&item), true);
    }
    match *kind {
        Type::BOOL => DataType::Boolean,
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => DataType::Int64,
        Type::FLOAT4 | Type::FLOAT8 => DataType::Float64,
        Type::NUMERIC => DataType::Decimal128(38, 10),
        Type::TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::DATE => DataType::Date32,
        Type::TIME => DataType::Time64(TimeUnit::Microsecond),
        Type::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        Type::BYTEA => DataType::Binary,
        _ => DataType::Utf8,
    }
}

/// The type of a list's items.
pub fn item(kind: &Type) -> Option<Type> {
    Some(match *kind {
        Type::BOOL_ARRAY => Type::BOOL,
        Type::INT2_ARRAY => Type::INT2,
        Type::INT4_ARRAY => Type::INT4,
        Type::INT8_ARRAY => Type::INT8,
        Type::OID_ARRAY => Type::OID,
        Type::FLOAT4_ARRAY => Type::FLOAT4,
        Type::FLOAT8_ARRAY => Type::FLOAT8,
        Type::NUMERIC_ARRAY => Type::NUMERIC,
        Type::TIMESTAMPTZ_ARRAY => Type::TIMESTAMPTZ,
        Type::TIMESTAMP_ARRAY => Type::TIMESTAMP,
        Type::DATE_ARRAY => Type::DATE,
        Type::TIME_ARRAY => Type::TIME,
        Type::INTERVAL_ARRAY => Type::INTERVAL,
        Type::TEXT_ARRAY => Type::TEXT,
        Type::VARCHAR_ARRAY => Type::VARCHAR,
        Type::BPCHAR_ARRAY => Type::BPCHAR,
        Type::NAME_ARRAY => Type::NAME,
        Type::INET_ARRAY => Type::INET,
        Type::CIDR_ARRAY => Type::CIDR,
        _ => return None,
    })
}

impl Sent<'_> {
    /// Decodes the value.
    pub fn value(self, kind: &Type) -> PgWireResult<ScalarValue> {
        let Some(octets) = self.octets else {
            let none = ScalarValue::try_from(&data(kind));
            return none.map_err(|failed| PgWireError::ApiError(failed.into()));
        };
        if let Some(item) = item(kind) {
            return self.list(octets, &item);
        }
        if self.is_binary && !binary::is_text(kind) {
            let read = binary::read(octets, kind).ok_or_else(|| unknown(kind))?;
            return read.ok_or_else(|| self.wrong(kind, NO_OCTETS));
        }
        let read = text::read(self.text(octets)?, kind);
        read.map_err(|state| self.wrong(kind, state))
    }

    fn list(self, octets: &[u8], item: &Type) -> PgWireResult<ScalarValue> {
        let items: PgWireResult<Vec<ScalarValue>> = if self.is_binary {
            let items = binary::items(octets).ok_or_else(|| self.no_list())?;
            items
                .into_iter()
                .map(|octets| Sent { octets, ..self }.value(item))
                .collect()
        } else {
            let items = items(self.text(octets)?).ok_or_else(|| self.no_list())?;
            let value = |text: &Option<String>| {
                let octets = text.as_deref().map(str::as_bytes);
                Sent { octets, ..self }.value(item)
            };
            items.iter().map(value).collect()
        };
        let data = data(item);
        let mut items = items?;
        for value in items.iter_mut().filter(|value| value.data_type() != data) {
            let cast = value.cast_to(&data);
            *value = cast.map_err(|_| self.wrong(item, self.unreadable()))?;
        }
        Ok(ScalarValue::List(ScalarValue::new_list_nullable(
            &items, &data,
        )))
    }

    fn text(self, octets: &[u8]) -> PgWireResult<&str> {
        let text = std::str::from_utf8(octets)
            .ok()
            .filter(|text| !text.contains('\0'));
        text.ok_or_else(|| {
            let why = format!(
                "parameter ${}: a text is UTF-8 without the octet 0",
                self.number
            );
            failure("22021", why)
        })
    }

    fn wrong(self, kind: &Type, state: &str) -> PgWireError {
        let why = format!("parameter ${} is not of type {}", self.number, kind.name());
        failure(state, why)
    }

    fn no_list(self) -> PgWireError {
        let why = format!("parameter ${} is not a list of one dimension", self.number);
        failure(self.unreadable(), why)
    }

    fn unreadable(self) -> &'static str {
        if self.is_binary {
            NO_OCTETS
        } else {
            INVALID_TEXT
        }
    }
}

/// The error of bytes that are not valid for their type.
const NO_OCTETS: &str = "22P03";

fn unknown(kind: &Type) -> PgWireError {
    let why = format!(
        "a parameter of type {} in its binary form is not known here: give it as a text",
        kind.name()
    );
    failure("0A000", why)
}

fn time(micros: i64, kind: &Type) -> ScalarValue {
    let zone = (*kind == Type::TIMESTAMPTZ).then(|| "UTC".into());
    ScalarValue::TimestampMicrosecond(Some(micros), zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: &Type, text: &str) -> PgWireResult<ScalarValue> {
        let octets = Some(text.as_bytes());
        Sent {
            number: 1,
            octets,
            is_binary: false,
        }
        .value(kind)
    }

    #[test]
    fn text_parameters_stay_unchanged() {
        for value in ["it''s", "\"a\"", "a\\b", " x "] {
            let found = text(&Type::TEXT, value).unwrap();
            assert_eq!(found, ScalarValue::Utf8(Some(value.to_owned())));
        }
    }

    #[test]
    fn list_items_of_a_wrong_type_are_refused() {
        assert!(text(&Type::INT4_ARRAY, "{1,x}").is_err());
    }
}
