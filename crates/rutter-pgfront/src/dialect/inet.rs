//! Casts to `inet` and `cidr` are normalised strings. Where order matters they are ordered by their numbers.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, DataType, Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, OrderByKind, Query, Select, SetExpr, WindowType,
};

use super::casts::{literal, name};
use super::order_by::{self, Column};
use super::rewrite::{last, parsed};
use crate::application::NetworkColumn;
use crate::functions::{CIDR, INET, KEY, TEXT, network_text};

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
pub fn is_to_network(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { data_type, .. } => matches!(name(data_type).as_deref(), Some("inet" | "cidr")),
        Expr::Nested(inner) => is_to_network(inner),
        _ => false,
    }
}

/// Orders the rows of a query. DISTINCT rows and unions are ordered in an outer query, because they
/// have no columns besides their output.
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
        let columns = order_by::columns(select);
        for by in by {
            let column = columns.as_ref().and_then(|columns| {
                let place = order_by::place(columns, &by.expr)?;
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
    order_by::around(query, is_network, |column| format!("{KEY}({column})"));
}

/// Rewrites `DISTINCT ON (prefix::inet)` like the order of the query.
pub fn order_distinct(select: &mut Select) {
    if let Some(Distinct::On(of)) = &mut select.distinct {
        of.iter_mut().for_each(order_by);
    }
}

/// Rewrites comparisons, and the order of windows and aggregates.
pub fn order_within(expr: &mut Expr, known: &[NetworkColumn]) {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            use BinaryOperator::{Gt, GtEq, Lt, LtEq};
            let compares = matches!(op, Lt | LtEq | Gt | GtEq);
            if compares && (is_to_network(left) || is_to_network(right)) {
                key(left);
                key(right);
            }
            let equals = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
            if equals && (is_to_network(left) || is_to_network(right)) {
                let written = Written::beside(left, known).or(Written::beside(right, known));
                written
                    .unwrap_or(Written::Inet)
                    .give([left.as_mut(), right.as_mut()], known);
            }
        }
        Expr::InList { expr, list, .. }
            if [&**expr].into_iter().chain(&*list).any(is_to_network) =>
        {
            let written = Written::beside(expr, known).unwrap_or(Written::Inet);
            written.give([&mut **expr].into_iter().chain(list), known);
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

/// The notation in which strings are compared.
#[derive(Clone, Copy)]
enum Written {
    Inet,
    /// The notation of an address column, which stays unchanged so that the table can look it up.
    Address,
    Prefix,
}

impl Written {
    fn beside(expr: &Expr, known: &[NetworkColumn]) -> Option<Self> {
        let column = match expr {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(names) => names.last()?,
            _ => return None,
        };
        known.iter().find_map(|known| match known {
            NetworkColumn::Prefix(name) if *name == column.value => Some(Self::Prefix),
            NetworkColumn::Address(name) if *name == column.value => Some(Self::Address),
            _ => None,
        })
    }

    fn give<'a>(self, sides: impl IntoIterator<Item = &'a mut Expr>, known: &[NetworkColumn]) {
        for side in sides {
            // An explicit cast to a string is compared as a string.
            let is_other = matches!(side, Expr::Cast { .. }) && !is_to_network(side);
            let stays =
                is_other || !matches!(self, Self::Inet) && Self::beside(side, known).is_some();
            let function = if matches!(self, Self::Prefix) {
                TEXT
            } else {
                INET
            };
            // A list may be long: normalise literals now.
            let given = match literal(side).and_then(|text| network_text(function, text)) {
                Some(text) => format!("'{text}'"),
                None => format!("{function}(CAST({side} AS TEXT))"),
            };
            if !stays && let Some(given) = parsed(&given) {
                *side = given;
            }
        }
    }
}

fn order_function(function: &mut Function) {
    let all = |by: &mut Vec<OrderByExpr>| by.iter_mut().for_each(|by| order_by(&mut by.expr));
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        // DataFusion's window frames accept strings, but not bytes.
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
