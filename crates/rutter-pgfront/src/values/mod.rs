//! Values in the protocol's text and binary formats, for types that its library lacks:
//! intervals, dates, times of day, decimals, and lists of any type.

mod floats;
mod intervals;
mod types;

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::{Datelike as _, NaiveDate};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryArray, BinaryBuilder, ListArray, StringArray,
    StringBuilder,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;
use pgwire::api::Type;

pub use intervals::{Span, spans};
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
        Type::FLOAT8 if *array.data_type() == DataType::Float32 => {
            let numbers = array.as_primitive::<Float32Type>().iter();
            numbers.map(|number| number.map(floats::short)).collect()
        }
        Type::FLOAT8 => {
            let numbers = cast(array, &DataType::Float64)?;
            let numbers = numbers.as_primitive::<Float64Type>().iter();
            numbers.map(|number| number.map(floats::text)).collect()
        }
        Type::INT8 => plain(&exact(array, &DataType::Int64)?)?,
        Type::TIMESTAMP => times(array, "")?,
        Type::TIMESTAMPTZ => times(array, "+00")?,
        Type::DATE => days(array)?,
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
        Type::NUMERIC => all(plain(array)?.iter(), numeric),
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
        let time = chrono::DateTime::from_timestamp_micros(micros).unwrap_or_default();
        let mut clock = time.format(" %H:%M:%S").to_string();
        fraction(micros.rem_euclid(1_000_000), &mut clock);
        dated(time.date_naive(), &(clock + zone))
    };
    let micros = micros(array)?;
    let micros = micros.as_primitive::<Int64Type>().iter();
    Ok(micros.map(|micros| micros.map(text)).collect())
}

/// Returns times of day as strings.
fn clocks(array: &ArrayRef) -> Result<StringArray> {
    let text = |micros: i64| {
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        let mut clock = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
        fraction(micros % 1_000_000, &mut clock);
        clock
    };
    let times = cast(array, &DataType::Time64(TimeUnit::Microsecond))?;
    let times = times.as_primitive::<Time64MicrosecondType>().iter();
    Ok(times.map(|time| time.map(text)).collect())
}

/// Writes the microseconds, if they are not zero.
fn fraction(micros: i64, clock: &mut String) {
    if micros > 0 {
        // Writing to memory cannot fail.
        let _ = write!(clock, ".{micros:06}");
        clock.truncate(clock.trim_end_matches('0').len());
    }
}

fn days(array: &ArrayRef) -> Result<StringArray> {
    let text = |day: i32| {
        let date = NaiveDate::from_epoch_days(day).unwrap_or_default();
        dated(date, "")
    };
    let days = exact(array, &DataType::Date32)?;
    let days = days.as_primitive::<Date32Type>().iter();
    Ok(days.map(|day| day.map(text)).collect())
}

/// Writes a date and its time of day. There is no year 0.
fn dated(date: NaiveDate, clock: &str) -> String {
    let (is_common, year) = date.year_ce();
    let era = if is_common { "" } else { " BC" };
    let (month, day) = (date.month(), date.day());
    format!("{year:04}-{month:02}-{day:02}{clock}{era}")
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

/// Encodes a decimal from its string: groups of four digits, the weight of the first, the sign, the scale.
fn numeric(text: &str) -> Vec<u8> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (0x4000_u16, digits),
        None => (0, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let before = whole.len().next_multiple_of(4);
    let padded = format!(
        "{whole:0>before$}{part:0<after$}",
        after = part.len().next_multiple_of(4)
    );
    let group = |group: &[u8]| {
        let digits = group.iter().map(|digit| i16::from(digit - b'0'));
        digits.fold(0, |number, digit| 10 * number + digit)
    };
    let groups: Vec<i16> = padded.as_bytes().chunks(4).map(group).collect();
    let first = groups.iter().position(|group| *group != 0);
    let last = groups.iter().rposition(|group| *group != 0);
    let (first, given) = match (first, last) {
        (Some(first), Some(last)) => (first, &groups[first..=last]),
        _ => (0, &groups[..0]),
    };
    let weight = if given.is_empty() {
        0
    } else {
        (before / 4) as i16 - 1 - first as i16
    };
    let sign = if given.is_empty() { 0 } else { sign };
    let mut out = Vec::new();
    out.extend((given.len() as u16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(sign.to_be_bytes());
    out.extend((part.len() as u16).to_be_bytes());
    out.extend(given.iter().flat_map(|group| group.to_be_bytes()));
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ListBuilder, StringBuilder};

    use super::*;

    #[test]
    fn decimal_numbers_are_groups_of_digits() {
        for (text, expected) in [
            ("0", &[0_i16, 0, 0, 0][..]),
            ("-0.00", &[0, 0, 0, 2]),
            ("1", &[1, 0, 0, 0, 1]),
            ("10000.500", &[3, 1, 0, 3, 1, 0, 5000]),
            ("-0.00001", &[1, -2, 0x4000, 5, 1000]),
            ("123456.7", &[3, 1, 0, 1, 12, 3456, 7000]),
            ("100000000", &[1, 2, 0, 0, 1]),
        ] {
            let expected: Vec<u8> = expected
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect();
            assert_eq!(numeric(text), expected, "{text}");
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
