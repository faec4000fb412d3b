//! Queries over catalogues that are always empty. Their answer has no rows, independent of the functions that they call.

use std::ops::ControlFlow;

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, JoinOperator, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, Value, Visit as _, visit_expressions,
};

use super::rewrite::{last, parsed};
use crate::catalog::is_empty;

/// Replaces a query over empty catalogues by one without tables and rows. Aggregates stay: they give a row.
pub fn reduce(select: &mut Select) {
    let wild = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    let nothing = select.from.iter().any(is_empty_source);
    if !nothing || select.projection.iter().any(wild) || is_aggregated(select) {
        return;
    }
    let mut never = "false".to_owned();
    for parameter in parameters(select) {
        never += &format!(" AND {parameter} IS NULL");
    }
    select.selection = parsed(&never);
    select.from.clear();
    select.distinct = None;
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    select.having = None;
    for item in &mut select.projection {
        let alias = match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.clone(),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => {
                names.last().cloned().unwrap_or_else(|| Ident::new(""))
            }
            _ => Ident::new("?column?"),
        };
        let expr = Expr::Value(Value::Null.into());
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// Returns whether a query was replaced.
pub fn is_reduced(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let never = select.selection.as_ref().map(ToString::to_string);
    select.from.is_empty() && never.is_some_and(|never| never.starts_with("false"))
}

/// Returns whether a query reads catalogues only.
pub fn reads_only_catalogues(select: &Select) -> bool {
    let is_one = |table: &TableFactor| match table {
        TableFactor::Table { name, .. } => {
            let schema = name.0.first().map(ToString::to_string);
            matches!(schema.as_deref(), Some("pg_catalog" | "information_schema"))
        }
        _ => false,
    };
    let all = |tables: &TableWithJoins| {
        is_one(&tables.relation) && tables.joins.iter().all(|join| is_one(&join.relation))
    };
    !select.from.is_empty() && select.from.iter().all(all)
}

/// Returns whether a condition selects domains, composite or other types: all types here are base types.
pub fn is_always_false(condition: &Expr) -> bool {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = condition
    else {
        return false;
    };
    let column = match left.as_ref() {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(names) => names.last(),
        _ => None,
    };
    let is_kind = column.is_some_and(|name| name.value.eq_ignore_ascii_case("typtype"));
    let other = match right.as_ref() {
        Expr::Value(value) => {
            matches!(&value.value, Value::SingleQuotedString(kind) if kind != "b")
        }
        _ => false,
    };
    is_kind && other
}

/// Returns whether a query aggregates.
pub fn is_aggregated(select: &Select) -> bool {
    let by = match &select.group_by {
        GroupByExpr::Expressions(by, _) => !by.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let found = select.projection.visit(&mut Aggregates::default());
    by || found.is_break()
}

/// Finds aggregates outside subqueries.
#[derive(Default)]
struct Aggregates {
    within: usize,
}

impl datafusion::logical_expr::sqlparser::ast::Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.within += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.within -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Function(function) if self.within == 0 => {
                last(&function.name).unwrap_or_default().to_lowercase()
            }
            _ => return ControlFlow::Continue(()),
        };
        match AGGREGATES.contains(&name.as_str()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The aggregates in the catalogue queries of tools.
const AGGREGATES: [&str; 9] = [
    "count",
    "max",
    "min",
    "sum",
    "array_agg",
    "string_agg",
    "bool_or",
    "bool_and",
    "avg",
];

/// Returns whether a table, or a table of its inner joins, is always empty.
fn is_empty_source(tables: &TableWithJoins) -> bool {
    let joined = tables.joins.iter().any(|join| {
        use JoinOperator::{CrossJoin, Inner, Join};
        matches!(join.join_operator, Join(_) | Inner(_) | CrossJoin(_))
            && is_empty_table(&join.relation)
    });
    let outer = tables.joins.iter().any(|join| {
        use JoinOperator::{FullOuter, Right, RightOuter};
        matches!(join.join_operator, Right(_) | RightOuter(_) | FullOuter(_))
    });
    joined || !outer && is_empty_table(&tables.relation)
}

fn is_empty_table(table: &TableFactor) -> bool {
    match table {
        TableFactor::Table { name, .. } => {
            let schema = name.0.first().map(ToString::to_string);
            let system = matches!(schema.as_deref(), Some("pg_catalog" | "information_schema"));
            let is_empty_source = |name: &str| name == "unnest" || is_empty(name);
            system && name.0.len() == 2 && last(name).is_some_and(is_empty_source)
        }
        TableFactor::Derived { subquery, .. } => is_reduced(subquery),
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => is_empty_source(table_with_joins),
        _ => false,
    }
}

/// The parameters of a query: a client binds them even if they have no effect.
fn parameters(select: &Select) -> Vec<String> {
    let mut found = Vec::new();
    let _ = visit_expressions(select, |expr| {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && !found.contains(name)
        {
            found.push(name.clone());
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
