//! Casts to `inet` and `cidr` are normalised strings. `functions/inet.rs` orders them by their numbers.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, DataType, Expr};

use super::casts::{literal, name};
use super::rewrite::{last, parsed};
use crate::functions::{CIDR, INET, TEXT};

/// Rewrites a cast to `inet` or `cidr`, or from them to a string.
pub fn cast(expr: &Expr, to: &DataType) -> Option<Expr> {
    let is_network = matches!(expr, Expr::Function(function)
        if last(&function.name).is_some_and(|name| [INET, CIDR].contains(&name)));
    let function = match name(to).as_deref() {
        Some("inet") => INET,
        Some("cidr") => CIDR,
        Some("text" | "varchar") if is_network => TEXT,
        None if matches!(to, DataType::Text | DataType::Varchar(_)) && is_network => TEXT,
        _ => return None,
    };
    parsed(&format!("{function}(CAST({expr} AS TEXT))"))
}

/// Returns whether an expression is a cast to `inet` or `cidr`.
fn is_to_network(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { data_type, .. } => matches!(name(data_type).as_deref(), Some("inet" | "cidr")),
        Expr::Nested(inner) => is_to_network(inner),
        _ => false,
    }
}

/// Rewrites equality with a column of prefixes, which always have their length.
pub fn compare(expr: &mut Expr, prefixes: &[&str]) {
    match expr {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq | BinaryOperator::NotEq,
            right,
        } => {
            adapt(left, right, prefixes);
            adapt(right, left, prefixes);
        }
        Expr::InList { expr, list, .. } => {
            list.iter_mut().for_each(|item| adapt(expr, item, prefixes));
        }
        _ => {}
    }
}

/// Writes an address or prefix as the other side of a comparison does: beside a column of prefixes with its length, and
/// a literal beside a cast as the cast.
fn adapt(beside: &Expr, value: &mut Expr, prefixes: &[&str]) {
    let column = match beside {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    };
    let is_prefix = column.is_some_and(|name| prefixes.contains(&name.value.as_str()));
    let function = match beside {
        _ if is_prefix && is_to_network(value) => TEXT,
        Expr::Cast { data_type, .. } if literal(value).is_some() => {
            match name(data_type).as_deref() {
                Some("inet") => INET,
                Some("cidr") => TEXT,
                _ => return,
            }
        }
        _ => return,
    };
    if let Some(text) = parsed(&format!("{function}({value})")) {
        *value = text;
    }
}
