//! Errors of queries: a message for the author, and PostgreSQL's SQLSTATE for programs.

use std::fmt;

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::plan::subqueries::NO_JOIN;

/// An error of a query.
#[derive(Debug)]
pub struct QueryError(DataFusionError);

impl From<DataFusionError> for QueryError {
    fn from(error: DataFusionError) -> Self {
        Self(error)
    }
}

impl std::error::Error for QueryError {}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.find_root() {
            DataFusionError::ResourcesExhausted(_) => f.write_str(
                "the query needs more memory than queries may have (the setting `memory`): ask for fewer rows at once",
            ),
            DataFusionError::Plan(text) if text.contains(CHANGES) => {
                write!(f, "this is read-only: {text}")
            }
            DataFusionError::Plan(text) if is_unjoined(text) => f.write_str(NO_JOIN),
            DataFusionError::NotImplemented(text) if is_unjoined(text) => f.write_str(NO_JOIN),
            DataFusionError::NotImplemented(text) => f.write_str(text),
            DataFusionError::Execution(text) if text.contains(MORE_ROWS) => f.write_str(
                "a query within an expression gave more than one row: write max(…), LIMIT 1, or IN (SELECT …)",
            ),
            DataFusionError::ArrowError(why, _) => match why.as_ref() {
                ArrowError::CastError(text) | ArrowError::ParseError(text) => f.write_str(text),
                why => why.fmt(f),
            },
            root => f.write_str(&root.strip_backtrace()),
        }
    }
}

/// DataFusion's message for statements that would change something.
const CHANGES: &str = "not supported: ";
/// DataFusion's message for a scalar subquery with several rows.
const MORE_ROWS: &str = "subquery returned more than one row";

/// Returns whether DataFusion could not turn a subquery into a join.
fn is_unjoined(text: &str) -> bool {
    const WORDS: [&str; 5] = [
        "Physical plan does not support logical expression",
        "Correlated scalar subquery",
        "scalar correlated subquery",
        "SetComparison subquery can only be used",
        "Accessing outer reference columns",
    ];
    WORDS.iter().any(|words| text.contains(words))
}

impl QueryError {
    /// The SQLSTATE: programs decide by it.
    pub fn state(&self) -> &'static str {
        match self.0.find_root() {
            DataFusionError::ResourcesExhausted(_) => "53200",
            DataFusionError::SQL(..) => "42601",
            DataFusionError::SchemaError(why, _) => match why.as_ref() {
                SchemaError::AmbiguousReference { .. } => "42702",
                _ => "42703",
            },
            DataFusionError::ArrowError(why, _) => computed(why),
            DataFusionError::Plan(text) => said(text).unwrap_or(OTHER),
            DataFusionError::Execution(text) if text.contains("parsing timestamp") => cast(text),
            DataFusionError::Execution(text) => said(text).unwrap_or(OTHER),
            DataFusionError::NotImplemented(text) => said(text).unwrap_or(NOT_OFFERED),
            _ => OTHER,
        }
    }
}

/// The SQLSTATE of errors without one of their own.
const OTHER: &str = "42000";
/// The SQLSTATE of features that are not offered.
const NOT_OFFERED: &str = "0A000";

/// Finds the SQLSTATE for a message of DataFusion.
fn said(text: &str) -> Option<&'static str> {
    const SAID: [(&str, &str); 19] = [
        (CHANGES, "25006"),
        (MORE_ROWS, "21000"),
        ("table '", "42P01"),
        ("Invalid function", "42883"),
        ("No function matches", "42883"),
        ("Cannot coerce arithmetic", "42883"),
        ("must be in GROUP BY", "42803"),
        ("different number of columns", "42601"),
        ("Unsupported CAST", "42846"),
        ("malformed array literal", UNREADABLE),
        ("invalid hexadecimal", "22023"),
        ("argument of nth_value", "22016"),
        ("null character not permitted", "54000"),
        ("Month value", OUTSIDE_TIME),
        ("Day value", OUTSIDE_TIME),
        ("Unable to parse date", OUTSIDE_TIME),
        ("Hour value", OUTSIDE_TIME),
        ("Minute value", OUTSIDE_TIME),
        ("Second value", OUTSIDE_TIME),
    ];
    if is_unjoined(text) {
        return Some(NOT_OFFERED);
    }
    let found = SAID.iter().find(|(words, _)| text.contains(words));
    found.map(|(_, state)| *state)
}

fn computed(why: &ArrowError) -> &'static str {
    match why {
        ArrowError::ArithmeticOverflow(_) => TOO_LARGE,
        ArrowError::DivideByZero => "22012",
        ArrowError::CastError(text)
        | ArrowError::ParseError(text)
        | ArrowError::InvalidArgumentError(text) => cast(text),
        _ => OTHER,
    }
}

/// SQLSTATE: a number does not fit its type.
pub const TOO_LARGE: &str = "22003";
/// A string that is not valid for its type.
pub const UNREADABLE: &str = "22P02";

/// A string that is not valid for its type.
pub fn unreadable(why: String) -> DataFusionError {
    DataFusionError::ArrowError(Box::new(ArrowError::ParseError(why)), None)
}

/// Finds the SQLSTATE of a failed cast from DataFusion's message.
fn cast(text: &str) -> &'static str {
    let is = |words: &[&str]| words.iter().any(|words| text.contains(words));
    let value = text.split('\'').nth(1).unwrap_or_default();
    let to = text.rsplit("to value of ").next().unwrap_or_default();
    if text.starts_with(INVALID) {
        UNREADABLE
    } else if is(&["not supported"]) {
        "42846"
    } else if is(&["nterval"]) || is(&["timestamp from"]) || is(&["datetime"]) {
        of_time(value)
    } else if is(&["Overflow converting"]) {
        OUTSIDE_TIME
    } else if is(&[
        "an't cast value",
        "verflow",
        "out of range",
        "too large to",
        "too small to",
    ]) {
        TOO_LARGE
    } else if to.starts_with("Date") || to.starts_with("Time") {
        of_time(value)
    } else if to.starts_with("Int") || to.starts_with("UInt") {
        of_whole(value)
    } else {
        UNREADABLE
    }
}

/// How this crate's own messages of failed casts begin.
pub const INVALID: &str = "invalid input syntax for type";

/// SQLSTATE: a date or time that does not exist.
const OUTSIDE_TIME: &str = "22008";

/// Finds the SQLSTATE for a string that is no time: it has the form of one, or not.
pub fn of_time(text: &str) -> &'static str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    let has_form = |word: &str| {
        let clock = word.split(['+', 'Z', 'z']).next().unwrap_or_default();
        let clock = clock.split(['.', '-']).next().unwrap_or_default();
        let day: Vec<&str> = word.split('-').collect();
        let clock: Vec<&str> = clock.split(':').collect();
        day.len() == 3 && day.into_iter().all(is_number)
            || clock.len() > 1 && clock.into_iter().all(is_number)
    };
    let mut words = text
        .split([' ', 'T', 't'])
        .filter(|word| !word.is_empty())
        .peekable();
    match words.peek().is_some() && words.all(has_form) {
        true => OUTSIDE_TIME,
        false => "22007",
    }
}

/// Finds the SQLSTATE for a string that is no integer: it is too large, or no number.
pub fn of_whole(text: &str) -> &'static str {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    match !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) {
        true => TOO_LARGE,
        false => UNREADABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_times_have_two_numbers() {
        for (text, expected) in [
            ("2026-13-45", "22008"),
            ("2026-02-30 12:00", "22008"),
            ("2026-01-01T25:00:00.5+02", "22008"),
            ("25:00", "22008"),
            ("x", "22007"),
            ("2026", "22007"),
            ("2026-01-01 noon", "22007"),
            ("", "22007"),
        ] {
            assert_eq!(of_time(text), expected, "{text}");
        }
    }

    #[test]
    fn failed_casts_have_postgresqls_numbers() {
        for (text, expected) in [
            ("Cannot cast string 'x' to value of Int32 type", "22P02"),
            (
                "Cannot cast string '99999999999' to value of Int32 type",
                "22003",
            ),
            ("Can't cast value 70000 to type Int16", "22003"),
            ("Cannot cast value 'x' to value of Boolean type", "22P02"),
            (
                "Cannot cast string '2026-02-30' to value of Date32 type",
                "22008",
            ),
            (
                "Cannot cast string 'x' to value of Time64(ns) type",
                "22007",
            ),
            (
                "Error parsing timestamp from 'x': error parsing date",
                "22007",
            ),
            ("Casting from Boolean to Date32 not supported", "42846"),
        ] {
            assert_eq!(cast(text), expected, "{text}");
        }
    }
}
