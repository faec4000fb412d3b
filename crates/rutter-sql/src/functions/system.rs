//! What clients ask about the server and its catalogues.

use datafusion::logical_expr::ScalarUDF;

use super::scalar::{Body, function};
use crate::catalog;
use crate::server::setting;

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(
            "current_setting",
            Body::Text(|name| Some(setting(name)?.to_owned())),
        ),
        function("quote_ident", Body::Text(|name| Some(quoted(name)))),
        function("quote_literal", Body::Text(|text| Some(literal(text)))),
        function("parse_ident", Body::Texts(parts)),
        function("format_type", Body::TextOfTwo(|kind, _| type_name(kind))),
        function("relation_number", Body::Number(catalog::of_relation)),
        function("relation_name", Body::Text(catalog::relation_of)),
        function("type_number", Body::Number(catalog::of_type)),
        function("schema_number", Body::Number(catalog::of_schema)),
        function("schema_name", Body::Text(catalog::schema_of)),
        function(
            "pg_get_function_result",
            Body::Text(|number| Some(catalog::numbered(number)?.result.to_owned())),
        ),
        function("pg_get_function_arguments", Body::Text(arguments)),
        function("pg_get_function_identity_arguments", Body::Text(arguments)),
    ]
}

/// The arguments of a function by its number.
fn arguments(number: &str) -> Option<String> {
    Some(catalog::numbered(number)?.arguments.to_owned())
}

/// A name as it is written in queries.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let first = name.chars().next();
    if name.chars().all(plain) && first.is_some_and(|c| !c.is_ascii_digit()) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// A text as it is written in queries.
fn literal(text: &str) -> String {
    let escapes = if text.contains('\\') { "E" } else { "" };
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    format!("{escapes}'{text}'")
}

/// The parts of a name with its schema.
fn parts(name: &str) -> Vec<String> {
    name.split('.')
        .map(|part| part.trim_matches('"').to_owned())
        .collect()
}

/// The name of a type by its number, as it is written in queries.
pub fn type_name(number: &str) -> Option<String> {
    let kind = pgwire::api::Type::from_oid(number.parse().ok()?)?;
    let name = match kind.name() {
        name if name.starts_with('_') && name != "_text" => {
            let item = catalog::of_type(&name[1..])?;
            return Some(format!("{}[]", type_name(&item.to_string())?));
        }
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "varchar" => "character varying",
        "time" => "time without time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "_text" => "text[]",
        name => name,
    };
    Some(name.to_owned())
}
