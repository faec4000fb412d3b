//! Casts to `inet` and `cidr` are normalised strings. `ORDER BY` orders them by their numbers; other comparisons of order
//! are refused.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArgumentClause, FunctionArguments,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, WindowType,
};

use super::casts::{literal, name};
use super::column_names::folded;
use super::rewrite::{last, parsed};
use super::system_functions::arguments;
use crate::functions::{CIDR, INET, KEY, TEXT};

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

/// Orders the rows of a query by the keys of such casts, also by their place or their name. Returns why an order is
/// refused.
pub fn order_rows(query: &mut Query) -> Option<String> {
    let order = query.order_by.as_mut()?;
    let SetExpr::Select(select) = query.body.as_ref() else {
        let has_network = first(&query.body)?
            .projection
            .iter()
            .any(|item| match item {
                SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } => {
                    is_to_network(value)
                }
                _ => false,
            });
        return has_network.then(|| {
            "inet and cidr are not ordered behind UNION and the like: write SELECT … FROM (… UNION …) AS t \
             ORDER BY prefix_key(prefix)"
                .to_owned()
        });
    };
    let OrderByKind::Expressions(by) = &mut order.kind else {
        return None;
    };
    for by in by {
        let place = by.expr.to_string().parse::<usize>().ok();
        let place = place.and_then(|place| place.checked_sub(1));
        let item = match (&by.expr, place) {
            (_, Some(place)) => select.projection.get(place),
            (Expr::Identifier(name), None) => {
                let name = folded(name);
                let is_it = |item: &&SelectItem| matches!(item, SelectItem::ExprWithAlias { alias, .. } if folded(alias) == name);
                select.projection.iter().find(is_it)
            }
            _ => None,
        };
        if let Some(SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) =
            item
            && is_to_network(value)
        {
            by.expr = value.clone();
        }
        key(&mut by.expr);
    }
    None
}

/// The query that names the columns.
fn first(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first(left),
        SetExpr::Query(query) => first(&query.body),
        _ => None,
    }
}

/// Returns why a comparison by order is refused: strings compare in another order than addresses.
pub fn refused(expr: &Expr) -> Option<String> {
    use BinaryOperator::{Gt, GtEq, Lt, LtEq};
    let is_wrong = match expr {
        Expr::BinaryOp {
            left,
            op: Lt | LtEq | Gt | GtEq,
            right,
        } => is_to_network(left) || is_to_network(right),
        Expr::Between {
            expr, low, high, ..
        } => [expr, low, high]
            .into_iter()
            .any(|side| is_to_network(side)),
        Expr::Function(function) => {
            let name = last(&function.name).unwrap_or_default().to_lowercase();
            ["min", "max"].contains(&name.as_str())
                && arguments(function).iter().any(|value| is_to_network(value))
        }
        _ => false,
    };
    is_wrong.then(|| {
        "inet and cidr are not compared by order: write prefix_key(prefix) < prefix_key('10.0.0.0/8'), and \
         (array_agg(prefix ORDER BY prefix_key(prefix)))[1] for the least"
            .to_owned()
    })
}

/// Rewrites equality with a column of prefixes, which always have their length, and the order of windows and aggregates.
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
        Expr::Function(function) => order_function(function),
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

fn order_function(function: &mut Function) {
    let all = |by: &mut Vec<OrderByExpr>| by.iter_mut().for_each(|by| key(&mut by.expr));
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
    if let FunctionArguments::List(list) = &mut function.args {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(by) = clause {
                all(by);
            }
        }
    }
}

/// Replaces a cast by the key of its string.
fn key(expr: &mut Expr) {
    let is_network = is_to_network(expr);
    match expr {
        Expr::Nested(inner) => key(inner),
        Expr::Cast { expr: text, .. } if is_network => {
            if let Some(key) = parsed(&format!("{KEY}({text})")) {
                *expr = key;
            }
        }
        _ => {}
    }
}
