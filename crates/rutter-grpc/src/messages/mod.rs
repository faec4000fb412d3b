//! The rows of the management protocol as messages, and messages as its requests: one file for each noun.
//!
//! Rows are taken apart field by field, so that a new field of a row does not compile until a message has it.

pub(crate) mod advertised;
pub(crate) mod change;
pub(crate) mod config;
pub(crate) mod explain;
pub(crate) mod lookup;
mod peer;
pub(crate) mod route;
mod source;
mod status;

use std::fmt::Display;
use std::str::FromStr;

use tonic::Status;

/// A value that a message has as a string.
fn string(value: impl Display) -> String {
    value.to_string()
}

/// Several values that a message has as strings.
fn strings(values: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    values.into_iter().map(string).collect()
}

/// Parses a field. The error names the field, the value and the problem.
fn parse<T: FromStr<Err: Display>>(field: &str, value: &str) -> Result<T, Status> {
    value
        .parse()
        .map_err(|why| Status::invalid_argument(format!("{field}: `{value}`: {why}")))
}

/// Parses several values of a field.
fn parse_all<T: FromStr<Err: Display>>(field: &str, values: &[String]) -> Result<Vec<T>, Status> {
    values.iter().map(|value| parse(field, value)).collect()
}

/// Refuses an empty field that a request needs.
pub(crate) fn required(field: &str, value: String) -> Result<String, Status> {
    match value.is_empty() {
        true => Err(Status::invalid_argument(format!("{field} is missing"))),
        false => Ok(value),
    }
}
