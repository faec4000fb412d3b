//! Values in the text format.

use std::num::{IntErrorKind, ParseIntError};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _, Utc};
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;
use datafusion::common::ScalarValue;
use pgwire::api::Type;
use pgwire::types::FromSqlText;
use pgwire::types::format::FormatOptions;

use super::time;
use crate::dialect::literals::octets;
use crate::error::{INVALID_TEXT, NO_TIME, TOO_LARGE};
use crate::functions::{CIDR, INET, network_text, with_seconds};
use crate::values::Span;

/// Parses a value. An invalid string gives its SQLSTATE.
pub fn read(text: &str, kind: &Type) -> Result<ScalarValue, &'static str> {
    let trimmed = text.trim();
    let value = match *kind {
        Type::BOOL => truth(trimmed).map(|flag| ScalarValue::Boolean(Some(flag))),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            let number = trimmed
                .parse()
                .map_err(|why: ParseIntError| match why.kind() {
                    IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => TOO_LARGE,
                    _ => INVALID_TEXT,
                })?;
            Some(ScalarValue::Int64(Some(number)))
        }
        Type::FLOAT4 | Type::FLOAT8 => float(trimmed),
        Type::NUMERIC => number(trimmed),
        Type::TIMESTAMPTZ | Type::TIMESTAMP | Type::DATE | Type::TIME | Type::INTERVAL => {
            return temporal(trimmed, kind).ok_or(NO_TIME);
        }
        Type::INET if network_text(INET, trimmed).is_none() => None,
        Type::CIDR if network_text(CIDR, trimmed).is_none() => None,
        Type::BYTEA => octets(text).map(|octets| ScalarValue::Binary(Some(octets))),
        _ => Some(ScalarValue::Utf8(Some(text.to_owned()))),
    };
    value.ok_or(INVALID_TEXT)
}

fn temporal(text: &str, kind: &Type) -> Option<ScalarValue> {
    Some(match *kind {
        Type::TIMESTAMPTZ => {
            let at = parsed::<DateTime<FixedOffset>>(text, kind);
            let at = at.map(|at| at.timestamp_micros());
            time(at.or_else(|| moment(text))?, kind)
        }
        Type::TIMESTAMP => {
            let at = parsed::<NaiveDateTime>(text, kind);
            let at = at.map(|at| at.and_utc().timestamp_micros());
            time(at.or_else(|| moment(text))?, kind)
        }
        Type::DATE => {
            let date: NaiveDate = parsed(text, kind)?;
            let days = date.signed_duration_since(NaiveDate::default()).num_days();
            ScalarValue::Date32(Some(i32::try_from(days).ok()?))
        }
        Type::TIME => {
            let time = text.parse::<NaiveTime>().ok()?;
            let seconds = i64::from(time.num_seconds_from_midnight());
            let micros = i64::from(time.nanosecond() / 1_000);
            ScalarValue::Time64Microsecond(Some(seconds * 1_000_000 + micros))
        }
        _ => ScalarValue::IntervalMonthDayNano(Some(Span::of_text(text)?.parts()?)),
    })
}

fn parsed<'a, T: FromSqlText<'a>>(text: &'a str, kind: &Type) -> Option<T> {
    T::from_sql_text(kind, text.as_bytes(), &FormatOptions::default()).ok()
}

/// Parses a time to microseconds, as in queries.
fn moment(text: &str) -> Option<i64> {
    let whole = with_seconds(text);
    let at = string_to_datetime(&Utc, whole.as_deref().unwrap_or(text)).ok()?;
    Some(at.timestamp_micros())
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn float(text: &str) -> Option<ScalarValue> {
    let number = text.parse().ok()?;
    Some(ScalarValue::Float64(Some(number)))
}

/// Parses a decimal with its scale. It becomes a float if it has too many digits.
pub fn number(text: &str) -> Option<ScalarValue> {
    let digits = text.trim_start_matches(['-', '+']);
    let part = digits.split_once('.').map_or(0, |(_, part)| part.len());
    let is_plain = digits
        .bytes()
        .all(|digit| digit.is_ascii_digit() || digit == b'.');
    let scale = i8::try_from(part)
        .ok()
        .filter(|_| is_plain && digits.len() <= MOST_DIGITS);
    let exact = scale.and_then(|scale| {
        let value = text.replacen('.', "", 1).parse().ok()?;
        Some(ScalarValue::Decimal128(Some(value), 38, scale))
    });
    exact.or_else(|| float(text))
}

const MOST_DIGITS: usize = 38;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_strings_keep_their_scale() {
        assert_eq!(
            number("-1.50"),
            Some(ScalarValue::Decimal128(Some(-150), 38, 2))
        );
        assert_eq!(number("x"), None);
    }

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
