//! The values of parameters, from the two forms in which clients send them.

use std::net::IpAddr;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _};
use datafusion::arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;
use pgwire::api::Type;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::types::FromSqlText;
use pgwire::types::format::FormatOptions;

use super::answer::failure;
use super::forms::{EPOCH_DAYS, EPOCH_US};
use super::spans::Span;
use crate::literals::{items, octets};

/// A value as a client sent it.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// Its number among the parameters.
    pub number: usize,
    /// None where there is no value.
    pub octets: Option<&'a [u8]>,
    pub is_binary: bool,
}

/// The engine's type for values that are sent as one of PostgreSQL's; text for those that are not known here.
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

/// What a list is of.
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
    /// The value, of a type.
    pub fn value(self, kind: &Type) -> PgWireResult<ScalarValue> {
        let Some(octets) = self.octets else {
            let none = ScalarValue::try_from(&data(kind));
            return none.map_err(|failed| PgWireError::ApiError(failed.into()));
        };
        if let Some(item) = item(kind) {
            return self.list(octets, &item);
        }
        if self.is_binary {
            self.of_octets(octets, kind)
        } else {
            self.of_text(self.text(octets)?, kind)
        }
    }

    fn of_octets(self, octets: &[u8], kind: &Type) -> PgWireResult<ScalarValue> {
        let wrong = || self.wrong(kind);
        let whole = || match octets.len() {
            2 => octets
                .try_into()
                .ok()
                .map(i16::from_be_bytes)
                .map(i64::from),
            4 => octets
                .try_into()
                .ok()
                .map(i32::from_be_bytes)
                .map(i64::from),
            8 => octets.try_into().ok().map(i64::from_be_bytes),
            _ => None,
        };
        let whole = || whole().ok_or_else(wrong);
        Ok(match *kind {
            Type::BOOL => match octets {
                [flag] => ScalarValue::Boolean(Some(*flag != 0)),
                _ => return Err(wrong()),
            },
            Type::OID => {
                let octets = octets.try_into().map_err(|_| wrong())?;
                ScalarValue::Int64(Some(u32::from_be_bytes(octets).into()))
            }
            Type::INT2 | Type::INT4 | Type::INT8 => ScalarValue::Int64(Some(whole()?)),
            Type::FLOAT4 => {
                let octets = octets.try_into().map_err(|_| wrong())?;
                ScalarValue::Float64(Some(f32::from_be_bytes(octets).into()))
            }
            Type::FLOAT8 => {
                let octets = octets.try_into().map_err(|_| wrong())?;
                ScalarValue::Float64(Some(f64::from_be_bytes(octets)))
            }
            Type::TIMESTAMPTZ | Type::TIMESTAMP => {
                let micros = whole()?.checked_add(EPOCH_US).ok_or_else(wrong)?;
                time(micros, kind)
            }
            Type::DATE => {
                let days = i32::try_from(whole()?).ok();
                let days = days.and_then(|days| days.checked_add(EPOCH_DAYS));
                ScalarValue::Date32(Some(days.ok_or_else(wrong)?))
            }
            Type::TIME => ScalarValue::Time64Microsecond(Some(whole()?)),
            Type::INTERVAL => {
                let parts = Span::of_octets(octets).and_then(Span::parts);
                ScalarValue::IntervalMonthDayNano(Some(parts.ok_or_else(wrong)?))
            }
            Type::NUMERIC => self.of_text(&decimal(octets).ok_or_else(wrong)?, kind)?,
            Type::INET | Type::CIDR => ScalarValue::Utf8(Some(network(octets).ok_or_else(wrong)?)),
            Type::BYTEA => ScalarValue::Binary(Some(octets.to_vec())),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR => {
                self.of_text(self.text(octets)?, kind)?
            }
            Type::JSON | Type::XML | Type::UNKNOWN => self.of_text(self.text(octets)?, kind)?,
            _ => return Err(unknown(kind)),
        })
    }

    fn of_text(self, text: &str, kind: &Type) -> PgWireResult<ScalarValue> {
        let wrong = || self.wrong(kind);
        let trimmed = text.trim();
        Ok(match *kind {
            Type::BOOL => {
                let flag = truth(trimmed).ok_or_else(wrong)?;
                ScalarValue::Boolean(Some(flag))
            }
            Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
                ScalarValue::Int64(Some(trimmed.parse().map_err(|_| wrong())?))
            }
            Type::FLOAT4 | Type::FLOAT8 => {
                ScalarValue::Float64(Some(trimmed.parse().map_err(|_| wrong())?))
            }
            Type::NUMERIC => number(trimmed).ok_or_else(wrong)?,
            Type::TIMESTAMPTZ => {
                let at = parsed::<DateTime<FixedOffset>>(trimmed, kind);
                let at = at
                    .map(|at| at.timestamp_micros())
                    .or_else(|| midnight(trimmed));
                time(at.ok_or_else(wrong)?, kind)
            }
            Type::TIMESTAMP => {
                let at = parsed::<NaiveDateTime>(trimmed, kind);
                let at = at.map(|at| at.and_utc().timestamp_micros());
                time(at.or_else(|| midnight(trimmed)).ok_or_else(wrong)?, kind)
            }
            Type::DATE => {
                let date: NaiveDate = parsed(trimmed, kind).ok_or_else(wrong)?;
                let days = date.signed_duration_since(NaiveDate::default()).num_days();
                ScalarValue::Date32(Some(i32::try_from(days).map_err(|_| wrong())?))
            }
            Type::TIME => {
                let time = trimmed.parse::<NaiveTime>().map_err(|_| wrong())?;
                let seconds = i64::from(time.num_seconds_from_midnight());
                let micros = i64::from(time.nanosecond() / 1_000);
                ScalarValue::Time64Microsecond(Some(seconds * 1_000_000 + micros))
            }
            Type::INTERVAL => {
                let parts = Span::of_text(trimmed).and_then(Span::parts);
                ScalarValue::IntervalMonthDayNano(Some(parts.ok_or_else(wrong)?))
            }
            Type::BYTEA => ScalarValue::Binary(Some(octets(text).ok_or_else(wrong)?)),
            _ => ScalarValue::Utf8(Some(text.to_owned())),
        })
    }

    fn list(self, octets: &[u8], item: &Type) -> PgWireResult<ScalarValue> {
        let items: PgWireResult<Vec<ScalarValue>> = if self.is_binary {
            let items = octet_items(octets).ok_or_else(|| self.no_list())?;
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
            *value = value.cast_to(&data).map_err(|_| self.wrong(item))?;
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

    fn wrong(self, kind: &Type) -> PgWireError {
        let why = format!("parameter ${} is not of type {}", self.number, kind.name());
        failure(if self.is_binary { "22P03" } else { "22P02" }, why)
    }

    fn no_list(self) -> PgWireError {
        let why = format!("parameter ${} is not a list of one dimension", self.number);
        failure(if self.is_binary { "22P03" } else { "22P02" }, why)
    }
}

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

fn parsed<'a, T: FromSqlText<'a>>(text: &'a str, kind: &Type) -> Option<T> {
    T::from_sql_text(kind, text.as_bytes(), &FormatOptions::default()).ok()
}

/// The beginning of a day, in microseconds.
fn midnight(text: &str) -> Option<i64> {
    let time = parsed::<NaiveDate>(text, &Type::DATE)?.and_hms_opt(0, 0, 0)?;
    Some(time.and_utc().timestamp_micros())
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A decimal number with the digits that it has behind its point; a float, where the engine has not so many.
fn number(text: &str) -> Option<ScalarValue> {
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
    let float = || {
        text.parse()
            .ok()
            .map(|number| ScalarValue::Float64(Some(number)))
    };
    exact.or_else(float)
}

const MOST_DIGITS: usize = 38;

/// An address or a prefix, as a text: family, bits, whether it is a prefix, octets.
fn network(octets: &[u8]) -> Option<String> {
    let [_, bits, _, _, address @ ..] = octets else {
        return None;
    };
    let address = <[u8; 4]>::try_from(address)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(address).map(IpAddr::from));
    let address = address.ok()?;
    let full = if address.is_ipv4() { 32 } else { 128 };
    match *bits {
        bits if bits == full => Some(address.to_string()),
        bits if bits < full => Some(format!("{address}/{bits}")),
        _ => None,
    }
}

/// The text of a decimal number in its binary form.
fn decimal(octets: &[u8]) -> Option<String> {
    let mut words = octets
        .chunks_exact(2)
        .map(|word| u16::from_be_bytes([word[0], word[1]]));
    let count = usize::from(words.next()?);
    let weight = words.next()? as i16;
    let sign = match words.next()? {
        0 => "",
        0x4000 => "-",
        0xc000 => return Some("NaN".to_owned()),
        0xd000 => return Some("Infinity".to_owned()),
        0xf000 => return Some("-Infinity".to_owned()),
        _ => return None,
    };
    let scale = usize::from(words.next()?);
    let groups: Vec<u16> = words.collect();
    if groups.len() != count || groups.iter().any(|group| *group > 9_999) {
        return None;
    }
    let group = |place: i32| {
        let at = usize::try_from(i32::from(weight) - place).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or(0)
    };
    let digits = |places: &mut dyn Iterator<Item = i32>| -> String {
        places.map(|place| format!("{:04}", group(place))).collect()
    };
    let whole = digits(&mut (0..=i32::from(weight)).rev());
    let mut part = digits(&mut (1..=scale.div_ceil(4) as i32).map(|place| -place));
    part.truncate(scale);
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let point = if part.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{part}"))
}

/// The items of a list in its binary form.
fn octet_items(octets: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let word = |octets: &[u8]| Some(i32::from_be_bytes(*octets.first_chunk()?));
    let (dimensions, count) = (word(octets)?, octets.get(12..).and_then(word));
    match dimensions {
        0 => return Some(Vec::new()),
        1 => {}
        _ => return None,
    }
    let mut rest = octets.get(20..)?;
    let mut items = Vec::new();
    for _ in 0..count? {
        let length = word(rest)?;
        rest = &rest[4..];
        let Ok(length) = usize::try_from(length) else {
            items.push(None);
            continue;
        };
        items.push(Some(rest.get(..length)?));
        rest = &rest[length..];
    }
    rest.is_empty().then_some(items)
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
    fn texts_are_as_they_are() {
        for value in ["it''s", "\"a\"", "a\\b", " x "] {
            let found = text(&Type::TEXT, value).unwrap();
            assert_eq!(found, ScalarValue::Utf8(Some(value.to_owned())));
        }
    }

    #[test]
    fn lists_are_what_they_say() {
        assert!(text(&Type::INT4_ARRAY, "{1,x}").is_err());
        let longer = [
            &[0_u8; 3][..],
            &[1],
            &[0; 8],
            &[127, 255, 255, 255],
            &[0; 4],
        ]
        .concat();
        assert_eq!(octet_items(&longer), None);
    }

    #[test]
    fn decimal_numbers_are_exact() {
        for (words, expected) in [
            (&[0_i16, 0, 0, 0][..], "0"),
            (&[3, 1, 0, 3, 1, 0, 5000], "10000.500"),
            (&[1, -2, 0x4000, 5, 1000], "-0.00001"),
            (&[1, 2, 0, 0, 1], "100000000"),
        ] {
            let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(decimal(&octets).as_deref(), Some(expected));
        }
        assert_eq!(decimal(&[0, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(
            number("-1.50"),
            Some(ScalarValue::Decimal128(Some(-150), 38, 2))
        );
        assert_eq!(number("x"), None);
    }
}
