//! `ARRAY(SELECT …)` becomes an aggregate of the query's rows, in their order.

use datafusion::logical_expr::sqlparser::ast::{
    Expr, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr,
};

use super::empty_catalogs;
use super::order_by::{columns, first, place};
use super::rewrite::{last, parsed};
use crate::functions::GATHERED;

/// Rewrites a query to a list of its rows, empty if there are none.
pub fn said(query: &mut Query) -> Option<Expr> {
    if empty_catalogs::is_reduced(query) {
        return parsed("CAST(ARRAY[] AS TEXT[])");
    }
    let is_plain = matches!(query.body.as_ref(), SetExpr::Select(select)
        if select.distinct.is_none() && !empty_catalogs::is_aggregated(select)
            && !select.projection.iter().any(makes_rows));
    let list = if is_plain && query.limit_clause.is_none() && query.with.is_none() {
        let value = value(query)?.to_string();
        let order = ordered(order(query).into_iter().map(|term| match term {
            Term::Value(options) => format!("{value}{options}"),
            Term::Other(other) => other,
        }));
        query.order_by = None;
        *self::value(query)? = parsed(&format!("array_agg({value}{order})"))?;
        query.to_string()
    } else {
        let value = format!("gathered.{}", name(query)?);
        let terms = order(query).into_iter().map(|term| match term {
            Term::Value(options) => Some(format!("{value}{options}")),
            // The outer query does not see it.
            Term::Other(_) => None,
        });
        let terms: Option<Vec<String>> = terms.collect();
        let order = ordered(terms.unwrap_or_default().into_iter());
        format!("SELECT array_agg({value}{order}) FROM ({query}) AS gathered")
    };
    parsed(&format!("{GATHERED}(({list}))"))
}

/// The order of the rows.
enum Term {
    /// The only value, and its direction.
    Value(String),
    Other(String),
}

fn order(query: &mut Query) -> Vec<Term> {
    let columns = first(&mut query.body).and_then(|select| columns(select));
    let columns = columns.unwrap_or_default();
    let Some(OrderByKind::Expressions(by)) = query.order_by.as_ref().map(|order| &order.kind)
    else {
        return Vec::new();
    };
    let term = |by: &OrderByExpr| match place(&columns, &by.expr) {
        Some(_) => Term::Value(by.options.to_string()),
        None => Term::Other(by.to_string()),
    };
    by.iter().map(term).collect()
}

fn ordered(terms: impl Iterator<Item = String>) -> String {
    let terms: Vec<String> = terms.collect();
    match terms.is_empty() {
        true => String::new(),
        false => format!(" ORDER BY {}", terms.join(", ")),
    }
}

/// Returns whether a value has a row for each item.
fn makes_rows(item: &SelectItem) -> bool {
    let (SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) = item
    else {
        return false;
    };
    matches!(value, Expr::Function(call) if last(&call.name) == Some("unnest"))
}

/// The name of a query's only column.
fn name(query: &mut Query) -> Option<String> {
    match first(&mut query.body)?.projection.as_slice() {
        [SelectItem::ExprWithAlias { alias, .. }] => Some(alias.to_string()),
        [SelectItem::UnnamedExpr(Expr::Identifier(name))] => Some(name.to_string()),
        [SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names))] => {
            Some(names.last()?.to_string())
        }
        _ => None,
    }
}

/// The only column of a query.
pub fn value(query: &mut Query) -> Option<&mut Expr> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    match select.projection.as_mut_slice() {
        [SelectItem::UnnamedExpr(value)] => Some(value),
        [SelectItem::ExprWithAlias { expr, .. }] => Some(expr),
        _ => None,
    }
}
