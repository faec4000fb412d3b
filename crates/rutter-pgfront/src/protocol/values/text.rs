//! Values in the text format.

use datafusion::common::ScalarValue;
use pgwire::api::Type;

use super::{binary, data};
use crate::dialect::literals::octets;
use crate::error::{INVALID_TEXT, NO_TIME, QueryError};
use crate::functions::{CIDR, INET, network_text, with_seconds};
use crate::values::parsed_interval;

/// Parses a value. An invalid string gives its SQLSTATE.
pub fn read(text: &str, kind: &Type) -> Result<ScalarValue, &'static str> {
    let trimmed = text.trim();
    let value = match *kind {
        Type::INTERVAL => {
            let interval = parsed_interval(trimmed).ok_or(NO_TIME)?;
            return Ok(ScalarValue::IntervalMonthDayNano(Some(interval)));
        }
        Type::INET if network_text(INET, trimmed).is_none() => None,
        Type::CIDR if network_text(CIDR, trimmed).is_none() => None,
        Type::BYTEA => octets(text).map(|octets| ScalarValue::Binary(Some(octets))),
        _ if binary::is_text(kind) || data(kind).is_string() => {
            Some(ScalarValue::Utf8(Some(text.to_owned())))
        }
        _ => {
            let whole = with_seconds(trimmed).unwrap_or_else(|| trimmed.to_owned());
            let cast = ScalarValue::Utf8(Some(whole)).cast_to(&data(kind));
            return cast.map_err(|why| QueryError::from(why).state());
        }
    };
    value.ok_or(INVALID_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_with_and_without_seconds() {
        let read = |text, kind: &Type| read(text, kind).map(|value| value.to_string());
        let noon = read("2024-01-31 12:00:00", &Type::TIMESTAMP).unwrap();
        for text in [
            "2024-01-31 12:00",
            "2024-01-31T12:00:00",
            "2024-01-31 12:00:00.000",
            "2024-01-31 14:00+02",
            "2024-01-31 12:00:00 UTC",
        ] {
            assert_eq!(read(text, &Type::TIMESTAMP).as_ref(), Ok(&noon), "{text}");
        }
        let noon = read("2024-01-31 12:00:00+00", &Type::TIMESTAMPTZ).unwrap();
        for text in [
            "2024-01-31 12:00",
            "2024-01-31 12:00Z",
            "2024-01-31 14:00+02",
            "2024-01-31 06:30:00.0-0530",
            "2024-01-31 17:45:00+05:45",
        ] {
            assert_eq!(read(text, &Type::TIMESTAMPTZ).as_ref(), Ok(&noon), "{text}");
        }
        for text in [
            "2024-01-31 10:00 PM",
            "2024-01-31 25:00:00",
            "2024-01-31 10",
            "2024-01-31 10:00+99",
            "2024-01-31 x",
        ] {
            for kind in [Type::TIMESTAMP, Type::TIMESTAMPTZ] {
                let read = read(text, &kind);
                assert!(read.is_err(), "{text}: {read:?}");
            }
        }
        assert!(read("2024-01-31", &Type::TIMESTAMPTZ).is_ok());
    }

    #[test]
    fn invalid_values_have_the_sqlstate_of_postgresql() {
        for (kind, text, expected) in [
            (Type::INT4, "x", "22P02"),
            (Type::INT8, "99999999999999999999", "22003"),
            (Type::DATE, "2026-02-30", "22007"),
            (Type::TIMESTAMPTZ, "soon", "22007"),
            (Type::TIME, "25:00", "22007"),
            (Type::INET, "10.0.0.256", "22P02"),
            (Type::CIDR, "10.0.0.1/8", "22P02"),
            (Type::BOOL, "perhaps", "22P02"),
        ] {
            assert_eq!(read(text, &kind), Err(expected), "{text}");
        }
    }
}
