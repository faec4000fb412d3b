//! Functions about the server and its catalogues.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use super::text_function::{Body, function};
use crate::application::Application;
use crate::catalog;

/// The functions of this file.
pub fn functions(application: &Arc<Application>) -> Vec<ScalarUDF> {
    // A closure that knows the application.
    let text = |of: fn(&Application, &str) -> Option<String>| {
        let application = Arc::clone(application);
        Body::TextOf(Arc::new(move |argument| of(&application, argument)))
    };
    let of_relation = {
        let application = Arc::clone(application);
        move |name: &str| catalog::of_relation(&application, name)
    };
    let arguments =
        |known: &Application, oid: &str| Some(known.function_by_oid(oid)?.arguments.to_owned());
    let result =
        |known: &Application, oid: &str| Some(known.function_by_oid(oid)?.result.to_owned());
    vec![
        function("current_setting", text(Application::setting)),
        function("quote_ident", Body::Text(|name| Some(quoted(name)))),
        function("quote_literal", Body::Text(|text| Some(literal(text)))),
        function("parse_ident", Body::Texts(parts)),
        function("format_type", Body::TextOfTwo(|kind, _| type_name(kind))),
        function("relation_number", Body::NumberOf(Arc::new(of_relation))),
        function("relation_name", text(catalog::relation_of)),
        function("type_number", Body::Number(catalog::of_type)),
        function("schema_number", Body::Number(catalog::of_schema)),
        function("schema_name", Body::Text(catalog::schema_of)),
        function("pg_get_function_result", text(result)),
        function("pg_get_function_arguments", text(arguments)),
        function("pg_get_function_identity_arguments", text(arguments)),
    ]
}

/// Quotes a name for SQL.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let first = name.chars().next();
    if name.chars().all(plain) && first.is_some_and(|c| !c.is_ascii_digit()) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Quotes a string for SQL.
fn literal(text: &str) -> String {
    let escapes = if text.contains('\\') { "E" } else { "" };
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    format!("{escapes}'{text}'")
}

/// Splits a name with its schema.
fn parts(name: &str) -> Vec<String> {
    name.split('.')
        .map(|part| part.trim_matches('"').to_owned())
        .collect()
}

/// The SQL name of a type by its OID.
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
