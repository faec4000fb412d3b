//! `lag` and `lead` by nothing: the engine takes the row itself, or the next.

use datafusion::logical_expr::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use super::rewrite::parsed;

/// What a call comes to whose offset is NULL: NULL, of the type that it would have.
pub fn said(name: &str, function: &Function) -> Option<Expr> {
    let mut function = function.clone();
    let FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(offset))) = list.args.get_mut(1) else {
        return None;
    };
    if !["lag", "lead"].contains(&name) || !is_null(offset) {
        return None;
    }
    *offset = parsed("1")?;
    parsed(&format!("CASE WHEN false THEN {function} END"))
}

fn is_null(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => value.value == Value::Null,
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_null(expr),
        _ => false,
    }
}
