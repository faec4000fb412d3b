//! Bounds on the output and the time of calls.

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::exec_err;
use datafusion::error::Result;

use super::like::{ESCAPED, ILIKE, LIKE};
use super::regex_cost;
use crate::limits::memory::octets_of;

/// Estimates the bytes of a call's result. An error if it would compute for too long.
pub type Bound = fn(&[ArrayRef]) -> Result<usize>;

/// The functions that are bounded.
pub const BOUNDED: [(&str, Bound); 46] = [
    (LIKE, liked),
    (ILIKE, liked),
    (ESCAPED, doubled),
    ("repeat", repeated),
    ("array_repeat", repeated),
    ("array_resize", resized),
    ("replace", replaced),
    ("concat", joined),
    ("concat_ws", separated),
    ("overlay", joined),
    ("lpad", padded),
    ("rpad", padded),
    ("translate", translated),
    ("levenshtein", compared),
    ("encode", doubled),
    ("quote_ident", doubled),
    ("quote_literal", doubled),
    ("parse_ident", cut),
    ("string_to_array", cut),
    ("to_char", formatted),
    ("to_date", formatted),
    ("to_timestamp", formatted),
    ("struct", joined),
    ("named_struct", joined),
    ("make_array", joined),
    ("array_append", joined),
    ("array_prepend", joined),
    ("array_concat", joined),
    ("array_union", joined),
    ("array_intersect", joined),
    ("array_except", joined),
    ("arrays_zip", joined),
    ("array_positions", doubled),
    ("array_has_all", crossed),
    ("array_has_any", crossed),
    ("array_to_string", separated_items),
    ("array_replace", replaced_items),
    ("array_replace_n", replaced_items),
    ("array_replace_all", replaced_items),
    ("range", counted),
    ("generate_series", counted),
    ("regexp_like", regex_cost::matched),
    ("regexp_match", regex_cost::matched),
    ("regexp_count", regex_cost::found),
    ("regexp_instr", regex_cost::found),
    ("regexp_replace", regex_cost::replaced),
];

/// The most steps of one call, of about a nanosecond each.
const STEPS: usize = 1 << 28;

/// Refuses a call with too many steps.
pub fn check_steps(steps: usize, what: &str) -> Result<()> {
    match steps <= STEPS {
        true => Ok(()),
        false => {
            exec_err!("{what} of so many and so long values takes too long: give it shorter ones")
        }
    }
}

/// Repeated values.
fn repeated(args: &[ArrayRef]) -> Result<usize> {
    let [values, counts, ..] = args else {
        return Ok(0);
    };
    let sizes = sizes(values)?;
    Ok(sum(numbers(counts)?.iter().zip(sizes).map(
        |(count, size)| size.max(1).saturating_mul(natural(count)),
    )))
}

/// Lists of a given length.
fn resized(args: &[ArrayRef]) -> Result<usize> {
    let [_, counts, rest @ ..] = args else {
        return Ok(0);
    };
    let item = rest.first().map_or(Ok(ITEM), |item| {
        Ok::<_, datafusion::error::DataFusionError>(sizes(item)?.into_iter().max().unwrap_or(0))
    })?;
    let counts = numbers(counts)?;
    let items = counts.iter().map(natural);
    Ok(sum(items.map(|count| count.saturating_mul(item.max(ITEM)))))
}

/// Strings with each occurrence of a string replaced.
fn replaced(args: &[ArrayRef]) -> Result<usize> {
    let [texts, from, to, ..] = args else {
        return Ok(0);
    };
    let (texts, from, to) = (sizes(texts)?, sizes(from)?, sizes(to)?);
    Ok(sum(texts.iter().zip(from).zip(to).map(
        |((text, from), to)| {
            let occurrences = text / from.max(1) + 1;
            text.saturating_add(occurrences.saturating_mul(to))
        },
    )))
}

/// All arguments joined.
pub fn joined(args: &[ArrayRef]) -> Result<usize> {
    Ok(sum(args.iter().map(octets_of)))
}

/// All arguments joined, with the first between them.
fn separated(args: &[ArrayRef]) -> Result<usize> {
    let between = args.first().map_or(Ok(0), |arg| sizes(arg).map(sum))?;
    Ok(joined(args)?.saturating_add(between.saturating_mul(args.len())))
}

/// The items of lists joined, with a separator.
fn separated_items(args: &[ArrayRef]) -> Result<usize> {
    let [lists, between, ..] = args else {
        return Ok(0);
    };
    let between = sizes(between)?;
    let items = lengths(lists).into_iter().zip(between);
    let between = sum(items.map(|(items, between)| items.saturating_mul(between)));
    // Numbers become strings.
    Ok(between.saturating_add(lists.get_array_memory_size().saturating_mul(3)))
}

/// Lists with replaced items.
fn replaced_items(args: &[ArrayRef]) -> Result<usize> {
    let [lists, _, to, ..] = args else {
        return Ok(0);
    };
    let items = lengths(lists).into_iter().zip(sizes(to)?);
    let new = sum(items.map(|(items, to)| items.saturating_mul(to)));
    Ok(new.saturating_add(lists.get_array_memory_size()))
}

/// The integers of a range.
fn counted(args: &[ArrayRef]) -> Result<usize> {
    let (start, stop) = match args {
        [stop] => (None, stop),
        [start, stop, ..] => (Some(start), stop),
        [] => return Ok(0),
    };
    if !stop.data_type().is_integer() {
        return moments(args);
    }
    let stops = numbers(stop)?;
    let starts = start.map_or_else(|| Ok(Int64Array::from(vec![0; stops.len()])), numbers)?;
    let steps = args
        .get(2)
        .map_or_else(|| Ok(Int64Array::from(vec![1; stops.len()])), numbers)?;
    let counts = (0..stops.len()).map(|row| {
        let far =
            stops.value(row).abs_diff(starts.value(row)) / steps.value(row).unsigned_abs().max(1);
        usize::try_from(far)
            .unwrap_or(usize::MAX)
            .saturating_mul(ITEM)
    });
    Ok(sum(counts))
}

/// The bytes of a number in a list.
const ITEM: usize = 8;

pub fn sum(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().fold(0, usize::saturating_add)
}

fn natural(count: Option<i64>) -> usize {
    usize::try_from(count.unwrap_or(0)).unwrap_or(0)
}

fn numbers(array: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(array, &DataType::Int64)?
        .as_primitive::<Int64Type>()
        .clone())
}

/// The bytes of each value.
pub fn sizes(array: &ArrayRef) -> Result<Vec<usize>> {
    let texts = |texts: &StringArray| texts.iter().map(|text| text.map_or(0, str::len)).collect();
    if let Some(held) = array.as_string_opt::<i32>() {
        return Ok(texts(held));
    }
    if let Some(lists) = array.as_list_opt::<i32>() {
        let of = |row: Option<ArrayRef>| row.map_or(0, |row| row.get_array_memory_size());
        return Ok(lists.iter().map(of).collect());
    }
    match cast(array, &DataType::Utf8) {
        Ok(held) => Ok(texts(held.as_string::<i32>())),
        Err(_) => Ok(vec![array.get_array_memory_size(); array.len()]),
    }
}

fn lengths(array: &ArrayRef) -> Vec<usize> {
    match array.as_list_opt::<i32>() {
        Some(lists) => lists
            .iter()
            .map(|row| row.map_or(0, |row| row.len()))
            .collect(),
        None => vec![0; array.len()],
    }
}

/// Strings of a given number of characters.
fn padded(args: &[ArrayRef]) -> Result<usize> {
    let [texts, signs, rest @ ..] = args else {
        return Ok(0);
    };
    let (texts, signs) = (sizes(texts)?, numbers(signs)?);
    let with = rest.first().map(sizes).transpose()?;
    let rows = texts.iter().zip(signs.iter()).enumerate();
    Ok(sum(rows.map(|(row, (text, signs))| {
        // A character may have several bytes.
        let sign = with.as_ref().map_or(1, |with| with[row].max(1));
        let added = natural(signs).saturating_mul(sign);
        text.saturating_mul(17).saturating_add(added)
    })))
}

/// Strings with each character replaced by one of up to four bytes.
fn translated(args: &[ArrayRef]) -> Result<usize> {
    let [texts, _, to, ..] = args else {
        return Ok(0);
    };
    let rows = sizes(texts)?.into_iter().zip(sizes(to)?);
    Ok(sum(rows.map(|(text, to)| text.saturating_mul(to.max(1)))))
}

/// Each character of one string with each of another.
fn compared(args: &[ArrayRef]) -> Result<usize> {
    let [left, right, ..] = args else {
        return Ok(0);
    };
    let rows = sizes(left)?.into_iter().zip(sizes(right)?);
    let steps = sum(rows.map(|(left, right)| left.saturating_mul(right)));
    check_steps(steps, "levenshtein")?;
    Ok(joined(args)?.saturating_mul(8))
}

/// Each character of a string with each of a pattern, both in lower case.
fn liked(args: &[ArrayRef]) -> Result<usize> {
    let [texts, patterns, ..] = args else {
        return Ok(0);
    };
    let rows = sizes(texts)?.into_iter().zip(sizes(patterns)?);
    let steps = sum(rows.map(|(text, pattern)| text.saturating_mul(pattern)));
    check_steps(steps, "LIKE")?;
    Ok(joined(args)?.saturating_mul(4))
}

/// Each item of one list with each of another.
fn crossed(args: &[ArrayRef]) -> Result<usize> {
    let [left, right, ..] = args else {
        return Ok(0);
    };
    let rows = lengths(left).into_iter().zip(lengths(right));
    let steps = sum(rows.map(|(left, right)| left.saturating_mul(right).saturating_mul(ITEM)));
    check_steps(steps, "a comparison of lists")?;
    joined(args)
}

/// At most two bytes, or a number, for each byte.
fn doubled(args: &[ArrayRef]) -> Result<usize> {
    Ok(joined(args)?.saturating_mul(ITEM))
}

/// Strings split into the shortest pieces.
fn cut(args: &[ArrayRef]) -> Result<usize> {
    Ok(joined(args)?.saturating_mul(32))
}

/// Formatted times: each letter of the pattern becomes a few.
fn formatted(args: &[ArrayRef]) -> Result<usize> {
    let formats = args.get(1).map_or(0, octets_of);
    Ok(formats.saturating_mul(16))
}

/// The times of a range.
fn moments(args: &[ArrayRef]) -> Result<usize> {
    let [start, stop, step] = args else {
        return exec_err!("a range of times needs a start, an end and a step");
    };
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let micros = |times: &ArrayRef| numbers(&cast(times, &time)?);
    let (starts, stops) = (micros(start)?, micros(stop)?);
    let steps = cast(step, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let steps = steps.as_primitive::<IntervalMonthDayNanoType>();
    let counts = (0..stops.len()).map(|row| {
        let step = steps.value(row);
        let months = u64::from(step.months.unsigned_abs()) * 28;
        let days = (months + u64::from(step.days.unsigned_abs())).saturating_mul(DAY);
        let micros = days
            .abs_diff(step.nanoseconds.unsigned_abs() / 1_000)
            .max(1);
        let far = stops.value(row).abs_diff(starts.value(row)) / micros;
        usize::try_from(far)
            .unwrap_or(usize::MAX)
            .saturating_mul(2 * ITEM)
    });
    Ok(sum(counts))
}

/// The microseconds of a day, less an hour.
const DAY: u64 = 23 * 3_600 * 1_000_000;
