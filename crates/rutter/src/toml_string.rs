//! Strings of TOML.

use std::fmt::Display;

/// Quotes a value as a string of TOML. A string of JSON is one of TOML too.
pub(crate) fn toml_string(value: impl Display) -> String {
    serde_json::Value::from(value.to_string()).to_string()
}

/// Writes an array of strings.
pub(crate) fn toml_strings(values: &[impl Display]) -> String {
    let values: Vec<String> = values.iter().map(toml_string).collect();
    format!("[{}]", values.join(", "))
}
