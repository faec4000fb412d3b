//! `ARRAY(SELECT …)` becomes an aggregate of the query's rows, in their order.

use datafusion::logical_expr::sqlparser::ast::{Expr, OrderByKind, Query, SelectItem, SetExpr};

use super::empty_catalogs;
use super::rewrite::parsed;
use crate::functions::GATHERED;

/// Rewrites a query to a list of its rows, empty if there are none.
pub fn rewritten_form(query: &mut Query) -> Option<Expr> {
    if empty_catalogs::is_reduced(query) {
        return parsed("CAST(ARRAY[] AS TEXT[])");
    }
    let is_plain = matches!(query.body.as_ref(), SetExpr::Select(select)
        if select.distinct.is_none() && !empty_catalogs::is_aggregated(select));
    let has_limit = query.limit_clause.is_some() || query.fetch.is_some();
    if !is_plain || has_limit || query.with.is_some() {
        return None;
    }
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(by)) => by.clone(),
        _ => Vec::new(),
    };
    let value = value(query)?;
    let order = order.iter().map(|by| match by.expr.to_string().as_str() {
        "1" => format!("{value}{}", by.options),
        _ => by.to_string(),
    });
    let order = order.collect::<Vec<_>>().join(", ");
    let by = if order.is_empty() { "" } else { " ORDER BY " };
    *value = parsed(&format!("array_agg({value}{by}{order})"))?;
    query.order_by = None;
    parsed(&format!("{GATHERED}(({query}))"))
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
