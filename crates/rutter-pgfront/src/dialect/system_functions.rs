//! Functions about the server and its catalogues with a constant answer.

use datafusion::logical_expr::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TableFactor,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::parser::Parser;

use super::rewrite::parsed;
use crate::application::Application;
use crate::catalog::SCHEMA;

/// A NULL string.
const NONE: &str = "CAST(NULL AS TEXT)";

/// The functions and their results: no object has a default, a comment, a constraint or a size.
const ALWAYS: [(&[&str], &str); 8] = [
    (
        &[
            "pg_get_expr",
            "pg_get_constraintdef",
            "pg_get_indexdef",
            "pg_get_viewdef",
            "pg_get_ruledef",
            "pg_get_triggerdef",
            "pg_get_partkeydef",
            "pg_get_functiondef",
            "pg_get_function_sqlbody",
            "pg_get_serial_sequence",
            "pg_get_statisticsobjdef",
            "pg_get_statisticsobjdef_columns",
            "pg_tablespace_location",
            "pg_size_pretty",
            "obj_description",
            "col_description",
            "shobj_description",
            "inet_server_addr",
            "inet_client_addr",
            "pg_advisory_unlock_all",
        ],
        NONE,
    ),
    (
        &[
            "pg_is_in_recovery",
            "pg_is_other_temp_schema",
            "pg_relation_is_publishable",
            "row_security_active",
        ],
        "false",
    ),
    (&["pg_has_role"], "true"),
    (
        &[
            "pg_database_size",
            "pg_table_size",
            "pg_relation_size",
            "pg_total_relation_size",
            "pg_indexes_size",
            "pg_my_temp_schema",
            "pg_relation_is_updatable",
            "pg_backend_pid",
            "txid_current",
        ],
        "CAST(0 AS BIGINT)",
    ),
    (&["pg_char_to_encoding"], "6"),
    (
        &[
            "pg_encoding_to_char",
            "getdatabaseencoding",
            "pg_client_encoding",
        ],
        "'UTF8'",
    ),
    (&["pg_postmaster_start_time", "pg_conf_load_time"], "now()"),
    (&["pg_relation_filepath"], NONE),
];

/// Replaces a call by its constant result.
pub fn rewritten_form(name: &str, function: &Function, application: &Application) -> Option<Expr> {
    let database = application.database;
    let arguments = arguments(function);
    let value = match (name, arguments.as_slice()) {
        ("version", []) => {
            format!(
                "'PostgreSQL {}'",
                application.setting("server_version").unwrap_or_default()
            )
        }
        ("current_schema", []) => format!("'{SCHEMA}'"),
        ("current_database" | "current_catalog", []) => format!("'{database}'"),
        ("current_user" | "session_user" | "user" | "current_role", []) => format!("'{database}'"),
        ("clock_timestamp" | "statement_timestamp" | "transaction_timestamp", []) => {
            "now()".to_owned()
        }
        ("pg_get_userbyid", [_]) => format!("'{database}'"),
        ("current_schemas", [system]) => {
            let system = system.to_string().eq_ignore_ascii_case("true");
            let system = if system { "'pg_catalog', " } else { "" };
            format!("ARRAY[{system}'{SCHEMA}']")
        }
        ("current_setting", [name, _]) => format!("current_setting({name})"),
        ("to_regclass", [name]) => format!("relation_number({name})"),
        ("to_regtype", [name]) => format!("type_number({name})"),
        ("to_regnamespace", [name]) => format!("schema_number({name})"),
        // Nothing can be set: return the given value.
        ("set_config", [_, value, _]) => value.to_string(),
        _ if is_right(name) => "true".to_owned(),
        _ => {
            let found = ALWAYS.iter().find(|(names, _)| names.contains(&name));
            found.map(|(_, value)| (*value).to_owned())?
        }
    };
    parsed(&with_parameters(value, &arguments))
}

/// The rows of a table function of the system.
pub fn rows(name: &str) -> Option<TableFactor> {
    // Some of PostgreSQL's keywords that have a meaning here.
    let words = "(SELECT word, 'U' AS catcode, 'unreserved' AS catdesc \
        FROM (VALUES ('copy'), ('ilike'), ('limit'), ('offset'), ('show')) AS words (word)) AS pg_get_keywords";
    if !name.eq_ignore_ascii_case("pg_get_keywords") {
        return None;
    }
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(words);
    parser.ok()?.parse_table_factor().ok()
}

/// Keeps the parameters of a replaced call: a client binds them even if they have no effect.
fn with_parameters(value: String, arguments: &[&Expr]) -> String {
    let texts = arguments.iter().map(ToString::to_string);
    texts.fold(value, |value, text| {
        match text.starts_with('$') && !value.contains(&text) {
            true => format!("CASE WHEN {text} IS NULL THEN {value} ELSE {value} END"),
            false => value,
        }
    })
}

/// Returns whether a function checks a privilege or visibility.
fn is_right(name: &str) -> bool {
    let visible = name.starts_with("pg_") && name.ends_with("_is_visible");
    visible || name.starts_with("has_") && name.ends_with("_privilege")
}

/// The arguments of a call, without their names.
pub fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let value = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref value)) => Some(value),
        _ => None,
    };
    list.args.iter().filter_map(value).collect()
}
