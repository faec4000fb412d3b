//! Values in the protocol's text and binary formats.

mod intervals;
mod types;

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{DateTime, NaiveTime};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryArray, BinaryBuilder, ListArray, StringArray,
    StringBuilder,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;
use pgwire::api::Type;

pub use intervals::{Span, parsed as parsed_interval, spans, words as interval_words};
pub use types::{is_text, kind};

/// Returns values in the text format.
pub fn texts(array: &ArrayRef) -> Result<StringArray> {
    let array = &unpacked(array)?;
    Ok(match kind(array.data_type()) {
        Type::BOOL => {
            let flags = array.as_boolean().iter();
            flags
                .map(|flag| flag.map(|flag| if flag { "t" } else { "f" }))
                .collect()
        }
        Type::FLOAT8 => {
            let numbers = cast(array, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>().iter();
            numbers.map(|number| number.map(float_text)).collect()
        }
        Type::INT8 => plain(&exact(array, &DataType::Int64)?)?,
        Type::TIMESTAMP => times(array, "")?,
        Type::TIMESTAMPTZ => times(array, "+00")?,
        Type::DATE => plain(&cast(array, &DataType::Date32)?)?,
        // Clients read microseconds and no finer unit.
        Type::TIME => clocks(array)?,
        Type::INTERVAL => {
            let spans = spans(array)?.into_iter();
            spans
                .map(|span| span.map(|span| span.to_string()))
                .collect()
        }
        Type::BYTEA => {
            let octets = cast(array, &DataType::Binary)?;
            let octets = octets.as_binary::<i32>().iter();
            octets.map(|octets| octets.map(hexadecimal)).collect()
        }
        _ => match array.data_type() {
            DataType::List(_) => list_texts(array.as_list())?,
            _ => plain(array)?,
        },
    })
}

/// Returns values in the binary format.
pub fn octets(array: &ArrayRef) -> Result<BinaryArray> {
    let array = &unpacked(array)?;
    let exact = |to: &DataType| exact(array, to);
    Ok(match kind(array.data_type()) {
        Type::BOOL => all(array.as_boolean().iter(), |flag| [u8::from(flag)]),
        Type::INT2 => all(
            exact(&DataType::Int16)?.as_primitive::<Int16Type>().iter(),
            i16::to_be_bytes,
        ),
        Type::INT4 => all(
            exact(&DataType::Int32)?.as_primitive::<Int32Type>().iter(),
            i32::to_be_bytes,
        ),
        Type::INT8 => all(
            exact(&DataType::Int64)?.as_primitive::<Int64Type>().iter(),
            i64::to_be_bytes,
        ),
        Type::FLOAT8 => all(
            exact(&DataType::Float64)?
                .as_primitive::<Float64Type>()
                .iter(),
            f64::to_be_bytes,
        ),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let since = |micros: i64| micros.saturating_sub(EPOCH_US).to_be_bytes();
            all(micros(array)?.as_primitive::<Int64Type>().iter(), since)
        }
        Type::DATE => {
            let days = exact(&DataType::Date32)?;
            let since = |day: i32| day.saturating_sub(EPOCH_DAYS).to_be_bytes();
            all(days.as_primitive::<Date32Type>().iter(), since)
        }
        Type::TIME => {
            let times = exact(&DataType::Time64(TimeUnit::Microsecond))?;
            let times = times.as_primitive::<Time64MicrosecondType>();
            all(times.iter(), i64::to_be_bytes)
        }
        Type::INTERVAL => all(spans(array)?, |span| span.octets()),
        Type::BYTEA => exact(&DataType::Binary)?.as_binary::<i32>().clone(),
        _ if is_list(array) => list_octets(array.as_list())?,
        _ => all(texts(array)?.iter(), str::as_bytes),
    })
}

/// The values of a dictionary.
fn unpacked(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values)?,
        _ => Arc::clone(array),
    })
}

/// Days from 1970, the epoch of DataFusion, to 2000, the epoch of PostgreSQL.
pub const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
pub const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

fn all<V, O: AsRef<[u8]>>(
    values: impl IntoIterator<Item = Option<V>>,
    octets: impl Fn(V) -> O,
) -> BinaryArray {
    let mut out = BinaryBuilder::new();
    for value in values {
        out.append_option(value.map(&octets));
    }
    out.finish()
}

/// Returns whether a column is sent as a list and not as a string.
fn is_list(array: &ArrayRef) -> bool {
    matches!(array.data_type(), DataType::List(_)) && kind(array.data_type()) != Type::TEXT
}

/// Casts values to another type. A value that does not fit is an error.
pub fn exact(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    Ok(cast_with_options(array, to, &options)?)
}

/// Returns timestamps in microseconds since 1970.
fn micros(array: &ArrayRef) -> Result<ArrayRef> {
    let zoneless = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    Ok(cast(&zoneless, &DataType::Int64)?)
}

/// Returns timestamps as strings, followed by the suffix of their zone.
fn times(array: &ArrayRef, zone: &str) -> Result<StringArray> {
    let text = |micros: i64| {
        let time = DateTime::from_timestamp_micros(micros).unwrap_or_default();
        format!("{} {}{zone}", time.date_naive(), clock(time.time()))
    };
    let micros = micros(array)?;
    let micros = micros.as_primitive::<Int64Type>().iter();
    Ok(micros.map(|micros| micros.map(text)).collect())
}

/// Returns times of day as strings.
fn clocks(array: &ArrayRef) -> Result<StringArray> {
    let text = |micros: i64| {
        let since = DateTime::from_timestamp_micros(micros).unwrap_or_default();
        clock(since.time())
    };
    let times = cast(array, &DataType::Time64(TimeUnit::Microsecond))?;
    let times = times.as_primitive::<Time64MicrosecondType>().iter();
    Ok(times.map(|time| time.map(text)).collect())
}

/// Writes a time of day. Its fraction has no zeros at the end.
fn clock(time: NaiveTime) -> String {
    let text = time.format("%H:%M:%S%.6f").to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn hexadecimal(octets: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * octets.len());
    text.push_str("\\x");
    for octet in octets {
        // Writing to memory cannot fail.
        let _ = write!(text, "{octet:02x}");
    }
    text
}

/// Returns any array as strings.
fn plain(array: &ArrayRef) -> Result<StringArray> {
    if let Ok(texts) = cast(array, &DataType::Utf8) {
        return Ok(texts.as_string::<i32>().clone());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let text = |row| (!array.is_null(row)).then(|| formatter.value(row).to_string());
    Ok((0..array.len()).map(text).collect())
}

/// The items of all rows' lists, with the range of each row. A sliced array holds more items than its rows have.
fn items(lists: &ListArray) -> (ArrayRef, Vec<Option<std::ops::Range<usize>>>) {
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[lists.len()] as usize);
    let row = |row: usize| {
        let range = offsets[row] as usize - first..offsets[row + 1] as usize - first;
        (!lists.is_null(row)).then_some(range)
    };
    let rows = (0..lists.len()).map(row).collect();
    (lists.values().slice(first, last - first), rows)
}

/// `{a,"b c",NULL}`
fn list_texts(lists: &ListArray) -> Result<StringArray> {
    let (items, rows) = items(lists);
    // Nested lists bring their own braces.
    let write = match items.data_type() {
        DataType::List(_) => |item: &str, out: &mut String| out.push_str(item),
        _ => quote,
    };
    let items = texts(&items)?;
    let mut out = StringBuilder::new();
    let mut text = String::new();
    for row in rows {
        let Some(row) = row else {
            out.append_null();
            continue;
        };
        text.clear();
        for at in row {
            text.push(if text.is_empty() { '{' } else { ',' });
            match items.is_null(at) {
                true => text.push_str("NULL"),
                false => write(items.value(at), &mut text),
            }
        }
        if text.is_empty() {
            text.push('{');
        }
        text.push('}');
        out.append_value(&text);
    }
    Ok(out.finish())
}

/// Writes an item, in quotes if it would be read differently without.
fn quote(item: &str, out: &mut String) {
    let is_special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_whitespace();
    if !item.is_empty() && !item.eq_ignore_ascii_case("NULL") && !item.contains(is_special) {
        out.push_str(item);
        return;
    }
    out.push('"');
    for c in item.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Writes a list: the dimensions, whether an item is NULL, the type; the length and first index; the items.
fn list_octets(lists: &ListArray) -> Result<BinaryArray> {
    let (items, rows) = items(lists);
    let item = kind(items.data_type()).oid();
    let items = octets(&items)?;
    let mut out = BinaryBuilder::new();
    let mut octets = Vec::new();
    for row in rows {
        let Some(row) = row else {
            out.append_null();
            continue;
        };
        octets.clear();
        let has_nulls = row.clone().any(|at| items.is_null(at));
        for word in [
            u32::from(!row.is_empty()),
            u32::from(has_nulls),
            item,
            row.len() as u32,
            1,
        ] {
            octets.extend(word.to_be_bytes());
        }
        if row.is_empty() {
            octets.truncate(12);
        }
        for at in row {
            if items.is_null(at) {
                octets.extend((-1_i32).to_be_bytes());
                continue;
            }
            let value = items.value(at);
            octets.extend((value.len() as u32).to_be_bytes());
            octets.extend(value);
        }
        out.append_value(&octets);
    }
    Ok(out.finish())
}

/// Writes a float with the shortest digits that are read back as the same number.
fn float_text(number: f64) -> String {
    match number {
        number if number.is_nan() => return "NaN".to_owned(),
        f64::INFINITY => return "Infinity".to_owned(),
        f64::NEG_INFINITY => return "-Infinity".to_owned(),
        _ => {}
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse().unwrap_or(0) {
        -4..15 => number.to_string(),
        exponent => format!("{digits}e{exponent:+03}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ListBuilder, StringBuilder};

    use super::*;

    #[test]
    fn floats_have_postgresql_notation() {
        for (number, expected) in [
            (2.0, "2"),
            (-0.0, "-0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (-123_456_789_012_345_680.0, "-1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float_text(number), expected);
        }
    }

    #[test]
    fn lists_and_slices_of_them_are_written() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some("a"), None, Some("null"), Some("b \"c")]);
        lists.append_value([] as [Option<&str>; 0]);
        lists.append_null();
        lists.append_value([Some("x")]);
        let lists: ArrayRef = Arc::new(lists.finish());
        let written = texts(&lists).unwrap();
        let written: Vec<Option<&str>> = written.iter().collect();
        let first = "{a,NULL,\"null\",\"b \\\"c\"}";
        assert_eq!(written, [Some(first), Some("{}"), None, Some("{x}")]);
        let piece = lists.slice(3, 1);
        assert_eq!(texts(&piece).unwrap().value(0), "{x}");
        let one = b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x01x";
        assert_eq!(octets(&piece).unwrap().value(0), one);
        let none = b"\0\0\0\0\0\0\0\0\0\0\0\x19";
        assert_eq!(octets(&lists).unwrap().value(1), none);
    }
}
