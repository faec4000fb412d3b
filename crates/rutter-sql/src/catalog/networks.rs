//! Casts to `inet` and `cidr`, which are texts, where their order matters: there they are ordered by their numbers.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, OrderByKind, Query, Select, WindowType,
};

use super::adapt::parsed;
use super::casts;
use crate::functions::KEY;

/// Whether something is cast to an address or a prefix.
pub fn is_network(expr: &Expr) -> bool {
    casts::is_to_network(expr)
}

/// The order of a query.
pub fn order_rows(query: &mut Query) {
    if let Some(by) = &mut query.order_by
        && let OrderByKind::Expressions(by) = &mut by.kind
    {
        by.iter_mut().for_each(|by| order_by(&mut by.expr));
    }
}

/// `DISTINCT ON (prefix::inet)`, as the query is ordered.
pub fn order_distinct(select: &mut Select) {
    if let Some(Distinct::On(of)) = &mut select.distinct {
        of.iter_mut().for_each(order_by);
    }
}

/// What is compared, and the order of rows for windows and aggregates.
pub fn order_within(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            use BinaryOperator::{Gt, GtEq, Lt, LtEq};
            let compares = matches!(op, Lt | LtEq | Gt | GtEq);
            if compares && (is_network(left) || is_network(right)) {
                key(left);
                key(right);
            }
        }
        Expr::Between {
            expr, low, high, ..
        } if [&*expr, &*low, &*high]
            .into_iter()
            .any(|side| is_network(side)) =>
        {
            [expr, low, high].into_iter().for_each(|side| key(side));
        }
        Expr::Function(function) => order_function(function),
        _ => {}
    }
}

fn order_function(function: &mut Function) {
    let all = |by: &mut Vec<OrderByExpr>| by.iter_mut().for_each(|by| order_by(&mut by.expr));
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        // Of the engine's frames octets are no bounds, but texts are.
        for by in &mut window.order_by {
            if is_network(&by.expr)
                && let Some(key) = parsed(&format!("encode({KEY}({}), 'hex')", by.expr))
            {
                by.expr = key;
            }
        }
    }
    all(&mut function.within_group);
    if let FunctionArguments::List(list) = &mut function.args {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(by) = clause {
                all(by);
            }
        }
    }
}

fn order_by(expr: &mut Expr) {
    if is_network(expr) {
        key(expr);
    }
}

fn key(expr: &mut Expr) {
    if let Some(key) = parsed(&format!("{KEY}({expr})")) {
        *expr = key;
    }
}
