//! Lists as PostgreSQL writes and measures them.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::adapt::parsed;
use super::constants::arguments;
use crate::literals::items;

/// What measures and changes lists, in the engine's words: its numbers have no sign, its empty lists a length, and of
/// equal items it changes one.
pub fn said(name: &str, function: &Function) -> Option<Expr> {
    let value = match (name, arguments(function).as_slice()) {
        ("array_upper", [Expr::Array(list), _]) => list.elem.len().to_string(),
        ("array_upper" | "array_length", [list, dimension]) => {
            format!("CAST(NULLIF(array_length({list}, {dimension}), 0) AS INT)")
        }
        ("array_dims", [list]) => {
            format!("'[1:' || CAST(NULLIF(array_length({list}, 1), 0) AS TEXT) || ']'")
        }
        ("cardinality", [list]) => format!("CAST(cardinality({list}) AS INT)"),
        ("array_remove", [list, item]) => format!("array_remove_all({list}, {item})"),
        ("array_replace", [list, item, by]) => format!("array_replace_all({list}, {item}, {by})"),
        ("array_lower", [_, _]) => "1".to_owned(),
        _ => return None,
    };
    parsed(&value)
}

/// `{a,"b c"}` as an expression.
pub fn listed(text: &str) -> Option<String> {
    let items = items(text)?;
    let written = items.iter().map(|item| match item {
        None => "NULL".to_owned(),
        Some(item) => format!("'{}'", item.replace('\'', "''")),
    });
    Some(format!("ARRAY[{}]", written.collect::<Vec<_>>().join(", ")))
}
