//! What clients ask about the server and its catalogues.

use datafusion::logical_expr::ScalarUDF;

use super::scalar::{Body, function};
use crate::catalog::{DATABASE, SCHEMA};
use crate::server::setting;

/// The functions of this file.
pub fn functions() -> Vec<ScalarUDF> {
    vec![
        function(
            "current_setting",
            Body::Text(|name| Some(setting(name).to_owned())),
        ),
        function("quote_ident", Body::Text(|name| Some(quoted(name)))),
        function("parse_ident", Body::Texts(parts)),
        function("pg_table_is_visible", Body::Flag(|_| Some(true))),
        function("pg_get_userbyid", Body::Text(|_| Some(DATABASE.to_owned()))),
        function("format_type", Body::TextOfTwo(|kind, _| type_name(kind))),
        function("obj_description", Body::TextOfTwo(|_, _| None)),
        function("col_description", Body::TextOfTwo(|_, _| None)),
        function(
            "pg_encoding_to_char",
            Body::Text(|_| Some("UTF8".to_owned())),
        ),
        function(
            "version",
            Body::Constant(|| format!("PostgreSQL {}", setting("server_version"))),
        ),
        function("current_schema", Body::Constant(|| SCHEMA.to_owned())),
        function("current_database", Body::Constant(|| DATABASE.to_owned())),
        function("current_user", Body::Constant(|| DATABASE.to_owned())),
        function("session_user", Body::Constant(|| DATABASE.to_owned())),
        function("pg_backend_pid", Body::Constant(|| "0".to_owned())),
    ]
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

/// The parts of a name with its schema.
fn parts(name: &str) -> Vec<String> {
    name.split('.')
        .map(|part| part.trim_matches('"').to_owned())
        .collect()
}

/// The name of a type by its number.
fn type_name(number: &str) -> Option<String> {
    let kind = pgwire::api::Type::from_oid(number.parse().ok()?)?;
    let name = match kind.name() {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float8" => "double precision",
        "timestamptz" => "timestamp with time zone",
        "_text" => "text[]",
        name => name,
    };
    Some(name.to_owned())
}
