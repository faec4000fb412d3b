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
            DataFusionError::Plan(text) => sqlstate_of(text).unwrap_or(OTHER),
            DataFusionError::Execution(text) if text.contains("parsing timestamp") => cast(text),
            DataFusionError::Execution(text) => sqlstate_of(text).unwrap_or(OTHER),
            DataFusionError::NotImplemented(text) => sqlstate_of(text).unwrap_or(NOT_OFFERED),
            _ => OTHER,
        }
    }
}

/// The SQLSTATE of errors without one of their own.
const OTHER: &str = "42000";
/// The SQLSTATE of features that are not offered.
const NOT_OFFERED: &str = "0A000";

/// Finds the SQLSTATE for a message of DataFusion.
fn sqlstate_of(text: &str) -> Option<&'static str> {
    const MESSAGES: [(&str, &str); 10] = [
        (CHANGES, "25006"),
        (MORE_ROWS, "21000"),
        ("table '", "42P01"),
        ("Invalid function", "42883"),
        ("No function matches", "42883"),
        ("Cannot coerce arithmetic", "42883"),
        ("must be in GROUP BY", "42803"),
        ("Unsupported CAST", "42846"),
        ("malformed array literal", INVALID_TEXT),
        ("invalid hexadecimal", "22023"),
    ];
    if is_unjoined(text) {
        return Some(NOT_OFFERED);
    }
    let found = MESSAGES.iter().find(|(words, _)| text.contains(words));
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
pub const INVALID_TEXT: &str = "22P02";

/// A string that is not valid for its type.
pub fn unreadable(why: String) -> DataFusionError {
    DataFusionError::ArrowError(Box::new(ArrowError::ParseError(why)), None)
}

/// Finds the SQLSTATE of a failed cast from DataFusion's message.
fn cast(text: &str) -> &'static str {
    let is = |words: &[&str]| words.iter().any(|words| text.contains(words));
    let to = text.rsplit("to value of ").next().unwrap_or_default();
    let value = text.split('\'').nth(1).unwrap_or_default();
    if text.starts_with(INVALID) {
        INVALID_TEXT
    } else if is(&["not supported"]) {
        "42846"
    } else if is(&["nterval", "timestamp from", "datetime", "Date", "Time"]) {
        NO_TIME
    } else if is(&["an't cast value", "verflow", "out of range", "too large to"])
        || to.starts_with("Int") && !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit())
    {
        TOO_LARGE
    } else {
        INVALID_TEXT
    }
}

/// How this crate's own messages of failed casts begin.
pub const INVALID: &str = "invalid input syntax for type";

/// SQLSTATE: a string that is no date or time.
pub const NO_TIME: &str = "22007";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_casts_have_postgresql_sqlstates() {
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
                "22007",
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
