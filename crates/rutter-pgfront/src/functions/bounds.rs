//! ConnectionBounds on the output and the time of calls.

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;

use super::like::{ILIKE, LIKE};
use super::regex_cost;
use crate::limits::memory::octets_of;

/// Estimates the bytes of a call's result. An error if it would compute for too long.
pub type Bound = fn(&[ArrayRef]) -> Result<usize>;

/// The functions that are bounded.
pub const BOUNDED: [(&str, Bound); 23] = [
    (LIKE, liked),
    (ILIKE, liked),
    ("repeat", repeated),
    ("replace", product),
    ("concat", joined),
    ("concat_ws", product),
    ("lpad", padded),
    ("rpad", padded),
    ("encode", doubled),
    ("quote_ident", doubled),
    ("quote_literal", doubled),
    ("parse_ident", cut),
    ("string_to_array", cut),
    ("make_array", joined),
    ("array_append", joined),
    ("array_prepend", joined),
    ("array_concat", joined),
    ("array_has_all", crossed),
    ("array_has_any", crossed),
    ("array_to_string", product),
    ("regexp_like", regex_cost::matched),
    ("regexp_match", regex_cost::matched),
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

/// The first argument, with the others between any two of its characters or items: strings with each occurrence of a
/// string replaced, and items joined with a separator.
fn product(args: &[ArrayRef]) -> Result<usize> {
    let [first, others @ ..] = args else {
        return Ok(0);
    };
    let mut all = vec![1_usize; first.len()];
    for other in others {
        let sizes = sizes(other)?.into_iter();
        all.iter_mut()
            .zip(sizes)
            .for_each(|(all, size)| *all = all.saturating_add(size));
    }
    let rows = sizes(first)?.into_iter().zip(all);
    Ok(sum(
        rows.map(|(first, others)| (first + 1).saturating_mul(others))
    ))
}

/// All arguments joined.
pub fn joined(args: &[ArrayRef]) -> Result<usize> {
    Ok(sum(args.iter().map(octets_of)))
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
    if signs.iter().flatten().any(|signs| signs < 0) {
        // DataFusion would reserve it as an unsigned size.
        return exec_err!("lpad and rpad take a length of at least zero");
    }
    let with = rest.first().map(sizes).transpose()?;
    let rows = texts.iter().zip(signs.iter()).enumerate();
    Ok(sum(rows.map(|(row, (text, signs))| {
        // A character may have several bytes.
        let sign = with.as_ref().map_or(1, |with| with[row].max(1));
        let added = natural(signs).saturating_mul(sign);
        text.saturating_mul(17).saturating_add(added)
    })))
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
