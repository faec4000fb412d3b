//! Functions of lists as PostgreSQL defines them.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::rewrite::parsed;
use super::system_functions::arguments;

/// Rewrites functions of lists: of equal items, DataFusion's `array_remove` removes only one.
pub fn rewritten_form(name: &str, function: &Function) -> Option<Expr> {
    parsed(&match (name, arguments(function).as_slice()) {
        // A table function takes literals only.
        ("array_upper", [Expr::Array(list), _]) => list.elem.len().to_string(),
        ("array_upper", [list, dimension]) => format!("array_length({list}, {dimension})"),
        ("array_lower", [list, dimension]) => {
            format!("CASE WHEN array_length({list}, {dimension}) > 0 THEN 1 END")
        }
        ("array_remove", [list, item]) => format!("array_remove_all({list}, {item})"),
        _ => return None,
    })
}
