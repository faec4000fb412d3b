//! Casts to `inet` and `cidr`, which are texts, where their order matters: there they are ordered by their numbers.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, OrderByKind, Query, Select, SetExpr, WindowType,
};

use super::adapt::parsed;
use super::casts::is_to_network;
use super::ordered::{self, Column};
use crate::functions::KEY;

/// The order of a query. Rows that are made one of equal ones, or come of several queries, are ordered in a query around
/// it: they have nothing else than what they show.
pub fn order_rows(query: &mut Query) {
    let Some(by) = &mut query.order_by else {
        return;
    };
    let OrderByKind::Expressions(by) = &mut by.kind else {
        return;
    };
    if let SetExpr::Select(select) = query.body.as_ref()
        && !matches!(select.distinct, Some(Distinct::Distinct))
    {
        let columns = ordered::columns(select);
        for by in by {
            let column = columns.as_ref().and_then(|columns| {
                let place = ordered::place(columns, &by.expr)?;
                Some(columns[place].value.clone())
            });
            if let Some(column) = column.filter(is_to_network) {
                by.expr = column;
            }
            order_by(&mut by.expr);
        }
        return;
    }
    let is_network = |column: &Column| is_to_network(&column.value);
    ordered::around(query, is_network, |column| format!("{KEY}({column})"));
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
            if compares && (is_to_network(left) || is_to_network(right)) {
                key(left);
                key(right);
            }
        }
        Expr::Between {
            expr, low, high, ..
        } if [&*expr, &*low, &*high]
            .into_iter()
            .any(|side| is_to_network(side)) =>
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
            if is_to_network(&by.expr)
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
    if is_to_network(expr) {
        key(expr);
    }
}

fn key(expr: &mut Expr) {
    if let Some(key) = parsed(&format!("{KEY}({expr})")) {
        *expr = key;
    }
}
