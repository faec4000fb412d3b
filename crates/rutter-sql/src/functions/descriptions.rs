//! The functions as `\df` lists them.

use rutter_pgfront::FunctionDescription;

const fn function(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
) -> FunctionDescription {
    FunctionDescription {
        name,
        arguments,
        result,
    }
}

/// All functions; `docs/sql-reference.md` describes them.
pub const DESCRIPTIONS: [FunctionDescription; 16] = [
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
