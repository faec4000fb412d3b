//! Values that are sent as texts.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _};
use datafusion::common::ScalarValue;
use pgwire::api::Type;
use pgwire::types::FromSqlText;
use pgwire::types::format::FormatOptions;

use super::time;
use crate::error::{UNREADABLE, of_time, of_whole};
use crate::forms::Span;
use crate::functions::{CIDR, INET, network_text};
use crate::literals::octets;

/// The value of a type that a text says; of one that says none, PostgreSQL's number for it.
pub fn read(text: &str, kind: &Type) -> Result<ScalarValue, &'static str> {
    let trimmed = text.trim();
    let value = match *kind {
        Type::BOOL => truth(trimmed).map(|flag| ScalarValue::Boolean(Some(flag))),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            let number = trimmed.parse().map_err(|_| of_whole(trimmed))?;
            Some(ScalarValue::Int64(Some(number)))
        }
        Type::FLOAT4 | Type::FLOAT8 => float(trimmed),
        Type::NUMERIC => number(trimmed),
        Type::TIMESTAMPTZ | Type::TIMESTAMP | Type::DATE | Type::TIME | Type::INTERVAL => {
            return temporal(trimmed, kind).ok_or_else(|| of_time(trimmed));
        }
        Type::INET if network_text(INET, trimmed).is_none() => None,
        Type::CIDR if network_text(CIDR, trimmed).is_none() => None,
        Type::BYTEA => octets(text).map(|octets| ScalarValue::Binary(Some(octets))),
        _ => Some(ScalarValue::Utf8(Some(text.to_owned()))),
    };
    value.ok_or(UNREADABLE)
}

fn temporal(text: &str, kind: &Type) -> Option<ScalarValue> {
    Some(match *kind {
        Type::TIMESTAMPTZ => {
            let at = parsed::<DateTime<FixedOffset>>(text, kind);
            let at = at.map(|at| at.timestamp_micros());
            let zoned = || zoned(text).map(|(local, ahead)| local - ahead);
            time(at.or_else(zoned).or_else(|| midnight(text))?, kind)
        }
        Type::TIMESTAMP => {
            let at = parsed::<NaiveDateTime>(text, kind);
            let at = at.map(|at| at.and_utc().timestamp_micros());
            // Its zone says nothing.
            let at = at.or_else(|| zoned(text).map(|(local, _)| local));
            time(at.or_else(|| midnight(text))?, kind)
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

/// A time without a zone, in microseconds.
fn local(text: &str) -> Option<i64> {
    let forms = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
    let short = ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"];
    let mut forms = forms.iter().chain(&short);
    let time = forms.find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
    Some(time.and_utc().timestamp_micros())
}

/// A time as it is written, and what its zone is ahead of UTC, both in microseconds.
fn zoned(text: &str) -> Option<(i64, i64)> {
    let is_zone =
        |(at, c): (usize, char)| at > DATE && !matches!(c, '0'..='9' | ':' | '.' | ' ' | 'T');
    let zone = text.char_indices().find(|found| is_zone(*found));
    let (plain, zone) = text.split_at(zone.map_or(text.len(), |(at, _)| at));
    Some((local(plain.trim_end())?, ahead(zone)?))
}

/// What a zone is ahead of UTC.
fn ahead(zone: &str) -> Option<i64> {
    if ["", "Z", "UTC", "GMT"]
        .iter()
        .any(|utc| zone.eq_ignore_ascii_case(utc))
    {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    let is_zone = hours < 16 && minutes < 60;
    let seconds = i64::from(hours) * 3_600 + i64::from(minutes) * 60;
    is_zone.then_some(sign * seconds * 1_000_000)
}

/// Octets of `2026-11-20`.
const DATE: usize = 10;

/// The beginning of a day, in microseconds.
fn midnight(text: &str) -> Option<i64> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let time = day.and_hms_opt(0, 0, 0)?;
    Some(time.and_utc().timestamp_micros())
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

/// A decimal number with the digits that it has behind its point; a float, where the engine has not so many.
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
    fn decimal_numbers_have_their_digits() {
        assert_eq!(
            number("-1.50"),
            Some(ScalarValue::Decimal128(Some(-150), 38, 2))
        );
        assert_eq!(number("x"), None);
    }

    #[test]
    fn times_need_no_seconds_and_say_all_that_they_are() {
        let read = |text, kind: &Type| read(text, kind).map(|value| value.to_string());
        let noon = read("2024-01-31 12:00:00", &Type::TIMESTAMP).unwrap();
        for text in [
            "2024-01-31 12:00",
            "2024-01-31T12:00:00",
            "2024-01-31 12:00:00.000",
            "2024-01-31 12:00+05",
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
            "2024-01-31T12:00:00 utc",
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
    fn what_is_no_value_has_postgresqls_number() {
        for (kind, text, expected) in [
            (Type::INT4, "x", "22P02"),
            (Type::INT8, "99999999999999999999", "22003"),
            (Type::DATE, "2026-02-30", "22008"),
            (Type::TIMESTAMPTZ, "soon", "22007"),
            (Type::TIME, "25:00", "22008"),
            (Type::INET, "10.0.0.256", "22P02"),
            (Type::CIDR, "10.0.0.1/8", "22P02"),
            (Type::BOOL, "perhaps", "22P02"),
        ] {
            assert_eq!(read(text, &kind), Err(expected), "{text}");
        }
    }
}
