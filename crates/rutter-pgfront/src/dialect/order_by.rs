//! The columns by which a query is ordered.

use datafusion::logical_expr::sqlparser::ast::{
    Distinct, Expr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::parser::Parser;

use super::column_names;
use super::rewrite::parsed;

/// A column of a query.
pub struct Column {
    name: String,
    /// Its expression.
    pub value: Expr,
}

/// The columns of a query; `None` if it has a `*`.
pub fn columns(select: &Select) -> Option<Vec<Column>> {
    let column = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(value) => Some(Column {
            name: column_names::of(value),
            value: value.clone(),
        }),
        SelectItem::ExprWithAlias { expr, alias } => Some(Column {
            name: column_names::folded(alias),
            value: expr.clone(),
        }),
        _ => None,
    };
    select.projection.iter().map(column).collect()
}

/// Finds the column of an `ORDER BY` expression: by number, by name or by expression.
pub fn place(columns: &[Column], by: &Expr) -> Option<usize> {
    match by {
        Expr::Value(value) => {
            let Value::Number(number, _) = &value.value else {
                return None;
            };
            let place = number.parse::<usize>().ok()?.checked_sub(1)?;
            (place < columns.len()).then_some(place)
        }
        Expr::Identifier(name) => {
            let name = column_names::folded(name);
            let named = columns.iter().position(|column| column.name == name);
            named.or_else(|| columns.iter().position(|column| column.value == *by))
        }
        Expr::Nested(by) => place(columns, by),
        by => columns.iter().position(|column| column.value == *by),
    }
}

/// Resolves numbers and names of columns in `DISTINCT ON`, as in `ORDER BY`. DataFusion requires the expressions.
pub fn distinct(select: &mut Select) {
    let Some(columns) = columns(select) else {
        return;
    };
    if let Some(Distinct::On(of)) = &mut select.distinct {
        for by in of {
            if let Some(place) = place(&columns, by) {
                *by = columns[place].value.clone();
            }
        }
    }
}

/// Removes repeated expressions of `ORDER BY`. They have no effect, but DataFusion counts them for `DISTINCT ON`.
pub fn once(query: &mut Query) {
    let columns = match query.body.as_ref() {
        SetExpr::Select(select) => columns(select).unwrap_or_default(),
        _ => Vec::new(),
    };
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(by) = &mut order.kind
    {
        let mut said = Vec::new();
        by.retain(|by| {
            let value = match place(&columns, &by.expr) {
                Some(place) => &columns[place].value,
                None => &by.expr,
            };
            let is_new = !said.contains(value);
            said.push(value.clone());
            is_new
        });
    }
}

/// Orders the rows in an outer query if a column of the order needs it, by an expression
/// of the column.
pub fn around(query: &mut Query, is_made: impl Fn(&Column) -> bool, made: impl Fn(&str) -> String) {
    let Some(order) = &mut query.order_by else {
        return;
    };
    let OrderByKind::Expressions(by) = &mut order.kind else {
        return;
    };
    let Some((columns, places)) = first(&mut query.body).and_then(|select| {
        let written = columns(select)?;
        let places = by.iter().map(|by| place(&written, &by.expr));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        if !places.iter().any(|place| is_made(&written[*place])) {
            return None;
        }
        // The outer query needs unique names.
        column_names::give(select);
        Some((columns(select)?, places))
    }) else {
        return;
    };
    let Some(mut outer) = outside() else {
        return;
    };
    for (by, place) in by.iter_mut().zip(places) {
        let column = &columns[place];
        let name = format!("{ROWS}.\"{}\"", column.name.replace('"', "\"\""));
        let name = if is_made(column) { made(&name) } else { name };
        if let Some(expr) = parsed(&name) {
            by.expr = expr;
        }
    }
    if let Some(inner) = within(&mut outer) {
        std::mem::swap(&mut inner.body, &mut query.body);
        query.body = outer.body;
    }
}

/// The query that names the columns.
pub fn first(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first(left),
        SetExpr::Query(query) => first(&mut query.body),
        _ => None,
    }
}

const ROWS: &str = "ordered_rows";

/// An outer query with a placeholder.
fn outside() -> Option<Query> {
    let sql = format!("SELECT * FROM (SELECT 1) AS {ROWS}");
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&sql);
    parser.ok()?.parse_query().ok().map(|query| *query)
}

fn within(query: &mut Query) -> Option<&mut Query> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    match &mut select.from.first_mut()?.relation {
        TableFactor::Derived { subquery, .. } => Some(subquery),
        _ => None,
    }
}
