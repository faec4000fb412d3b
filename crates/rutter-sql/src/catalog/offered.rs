//! The functions that only this server has, as `\df` lists them.

use super::relations::FIRST_FUNCTION;

/// A function for its readers.
pub struct Function {
    pub name: &'static str,
    pub arguments: &'static str,
    pub result: &'static str,
}

const fn function(name: &'static str, arguments: &'static str, result: &'static str) -> Function {
    Function {
        name,
        arguments,
        result,
    }
}

/// All of them; the page on SQL says what they do.
pub const FUNCTIONS: [Function; 16] = [
    function("family", "prefix text", "bigint"),
    function(
        "has_community",
        "communities text[], community text",
        "boolean",
    ),
    function("lookup", "prefix text", "TABLE"),
    function("masklen", "prefix text", "bigint"),
    function("network", "prefix text", "text"),
    function("origin_as", "as_path text", "bigint"),
    function("path_contains", "as_path text, asn bigint", "boolean"),
    function("path_first", "as_path text", "bigint"),
    function("path_len", "as_path text", "bigint"),
    function("path_prepends", "as_path text", "bigint"),
    function("prefix_contains", "a text, b text", "boolean"),
    function("prefix_contains_or_equal", "a text, b text", "boolean"),
    function("prefix_key", "prefix text", "bytea"),
    function("prefix_overlaps", "a text, b text", "boolean"),
    function("prefix_within", "a text, b text", "boolean"),
    function("prefix_within_or_equal", "a text, b text", "boolean"),
];

/// One by its number in `pg_proc`.
pub fn numbered(number: &str) -> Option<&'static Function> {
    let at = number.parse::<i64>().ok()? - FIRST_FUNCTION;
    FUNCTIONS.get(usize::try_from(at).ok()?)
}

/// The type of a function's argument, in PostgreSQL's words.
pub fn argument(function: &str, at: usize) -> Option<&'static str> {
    let found = FUNCTIONS.iter().find(|known| known.name == function)?;
    let (_, kind) = found.arguments.split(", ").nth(at)?.split_once(' ')?;
    Some(kind)
}
