//! Rewrites PostgreSQL's statements to those of DataFusion.

use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArguments, LimitClause, ObjectName, ObjectNamePart,
    Query, Select, SetExpr, Statement as Parsed, TableFactor, VisitMut as _, VisitorMut,
    visit_expressions,
};
use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
use datafusion::logical_expr::sqlparser::parser::Parser;
use datafusion::sql::parser::Statement;

use super::{
    any_all, array_subquery, casts, column_names, empty_catalogs, inet, lists, system_functions,
    unsupported,
};
use crate::application::Application;
use crate::catalog::SCHEMA;

/// Rewrites a statement.
///
/// # Errors
/// If DataFusion would answer differently from PostgreSQL.
pub fn adapt(statement: &mut Statement, application: &Application) -> Result<()> {
    let Statement::Statement(parsed) = statement else {
        return Ok(());
    };
    let parsed: &mut Parsed = parsed;
    match parsed.visit(&mut DialectVisitor { application }) {
        ControlFlow::Break(why) => Err(why),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Parses an expression.
pub fn parsed(sql: &str) -> Option<Expr> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql);
    parser.ok()?.parse_expr().ok()
}

struct DialectVisitor<'a> {
    application: &'a Application,
}

impl VisitorMut for DialectVisitor<'_> {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        refused_if(unsupported::table(table))?;
        match table {
            // Lists in catalogues are empty. Other lists do not use this name.
            TableFactor::Table { name, args, .. } if args.is_some() && is_unnest(name) => {}
            TableFactor::Table { name, args, .. } if args.is_some() => {
                without_schema(name);
                if let Some(known) = last(name).and_then(system_functions::rows) {
                    *table = known;
                }
            }
            TableFactor::Table { name, .. } => with_schema(name),
            TableFactor::Function { name, .. } => without_schema(name),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => return refused_if(unsupported::join(table_with_joins)),
            TableFactor::UNNEST { array_exprs, .. } if array_exprs.iter().any(is_of_rows) => {
                return refused_if(Some(
                    "unnest(…) of each row's own list is not offered in FROM: write (SELECT unnest(communities) AS c, … \
                     FROM routes) in its place"
                        .to_owned(),
                ));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        refused_if(inet::order_rows(query))?;
        refused_if(unsupported::query(&query.body))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        refused_if(unsupported::expression(expr))?;
        inet::compare(expr, &self.application.prefix_columns);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        refused_if(unsupported::distinct(select))?;
        refused_if(select.from.iter().find_map(unsupported::join))?;
        column_names::give(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        empty_catalogs::reduce(select);
        refused_if(unsupported::window(select))?;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        if empty_catalogs::is_reduced(query) {
            (query.order_by, query.limit_clause) = (None, None);
        }
        limit(query);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        if let Some(other) = rewritten_form(expr, self.application) {
            *expr = other;
        }
        refused_if(any_all::refused(expr).or_else(|| unsupported::list(expr)))
    }
}

fn refused_if(why: Option<String>) -> ControlFlow<DataFusionError> {
    match why {
        Some(why) => ControlFlow::Break(DataFusionError::NotImplemented(why)),
        None => ControlFlow::Continue(()),
    }
}

/// `FETCH FIRST 5 ROWS ONLY` is `LIMIT 5`.
fn limit(query: &mut Query) {
    let rows = match &query.fetch {
        Some(fetch) if !fetch.with_ties && !fetch.percent => {
            fetch.quantity.clone().or_else(|| parsed("1"))
        }
        _ => return,
    };
    match &mut query.limit_clause {
        Some(LimitClause::LimitOffset { limit, .. }) => *limit = rows,
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: rows,
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(_) => return,
    }
    query.fetch = None;
}

/// Rewrites an expression, if needed.
fn rewritten_form(expr: &mut Expr, application: &Application) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { op, .. } => {
            if let Some(known) = operator(op) {
                *op = known;
            }
            None
        }
        // Strings always compare byte by byte.
        Expr::Collate { expr, .. } => Some((**expr).clone()),
        Expr::Cast { .. } => casts::rewritten_form(expr),
        Expr::AnyOp { .. } | Expr::AllOp { .. } => any_all::rewritten_form(expr),
        Expr::Interval(interval) => {
            casts::interval(interval);
            None
        }
        Expr::Function(function) => called(function, application),
        Expr::Case {
            operand: None,
            conditions,
            else_result,
            ..
        } if conditions
            .iter()
            .all(|case| empty_catalogs::is_always_false(&case.condition)) =>
        {
            let other = else_result.as_ref().map(|other| other.as_ref().clone());
            other.or_else(|| parsed("NULL"))
        }
        Expr::Subquery(query) if empty_catalogs::is_reduced(query) => parsed("NULL"),
        Expr::Subquery(query) => {
            single(query);
            None
        }
        Expr::Exists { subquery, negated } if empty_catalogs::is_reduced(subquery) => {
            parsed(if *negated { "true" } else { "false" })
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => among(expr, subquery, *negated),
        _ => None,
    }
}

/// `OPERATOR(pg_catalog.~)` is `~`.
fn operator(op: &BinaryOperator) -> Option<BinaryOperator> {
    let BinaryOperator::PGCustomBinaryOperator(parts) = op else {
        return None;
    };
    let sql = format!("a {} b", parts.last()?);
    match parsed(&sql)? {
        Expr::BinaryOp { op, .. } => Some(op),
        _ => None,
    }
}

fn called(function: &mut Function, application: &Application) -> Option<Expr> {
    without_schema(&mut function.name);
    let name = last(&function.name)?.to_lowercase();
    match &mut function.args {
        FunctionArguments::Subquery(query) if name == "array" => {
            array_subquery::rewritten_form(query)
        }
        _ => lists::rewritten_form(&name, function)
            .or_else(|| system_functions::rewritten_form(&name, function, application)),
    }
}

/// Adds `max` to a scalar subquery over catalogues. It has one row, but DataFusion requires proof.
fn single(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    if !empty_catalogs::reads_only_catalogues(select) || empty_catalogs::is_aggregated(select) {
        return;
    }
    if let Some(value) = array_subquery::value(query)
        && let Some(only) = parsed(&format!("max({value})"))
    {
        *value = only;
        (query.order_by, query.limit_clause) = (None, None);
    }
}

/// Replaces `IN (SELECT …)` with a known answer.
fn among(expr: &Expr, query: &Query, negated: bool) -> Option<Expr> {
    if empty_catalogs::is_reduced(query) {
        return parsed(if negated { "true" } else { "false" });
    }
    // Grafana splits the search path.
    let list = query.to_string();
    let is_path =
        list.contains("current_setting('search_path')") && list.contains("generate_series");
    let not = if negated { "NOT " } else { "" };
    is_path.then(|| parsed(&format!("{expr} {not}IN ('{SCHEMA}')")))?
}

/// Removes `pg_catalog.` from a function.
fn without_schema(name: &mut ObjectName) {
    if name.0.len() == 2 && is(&name.0[0], "pg_catalog") {
        name.0.remove(0);
    }
}

/// Adds the schema to a catalogue.
fn with_schema(name: &mut ObjectName) {
    if let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
        && table.value.starts_with("pg_")
    {
        name.0
            .insert(0, ObjectNamePart::Identifier("pg_catalog".into()));
    }
}

/// `pg_catalog.unnest`.
fn is_unnest(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [schema, name] if is(schema, "pg_catalog") && is(name, "unnest"))
}

fn is(part: &ObjectNamePart, name: &str) -> bool {
    part.as_ident()
        .is_some_and(|part| part.value.eq_ignore_ascii_case(name))
}

/// Returns whether a value depends on the row.
fn is_of_rows(value: &Expr) -> bool {
    let is_name = |part: &Expr| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(value, is_name).is_break()
}

/// The last part of a name.
pub fn last(name: &ObjectName) -> Option<&str> {
    let part = name.0.last()?.as_ident()?;
    Some(part.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(sql: &str) -> String {
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql);
        let parsed = parser.unwrap().parse_statement().unwrap();
        let mut statement = Statement::Statement(Box::new(parsed));
        adapt(&mut statement, &Application::default()).unwrap();
        statement.to_string().replace('"', "")
    }

    #[test]
    fn the_dialect_of_tools_is_rewritten_for_datafusion() {
        for (sql, expected) in [
            (
                "SELECT c.oid FROM pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(a)$' COLLATE pg_catalog.default \
                 AND pg_catalog.pg_table_is_visible(c.oid)",
                "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname ~ '^(a)$' AND true",
            ),
            (
                "SELECT upper('pg_catalog.x OPERATOR(pg_catalog.~)')",
                "SELECT upper('pg_catalog.x OPERATOR(pg_catalog.~)') AS upper",
            ),
            (
                "SELECT ARRAY(SELECT rolname FROM pg_roles ORDER BY 1)",
                "SELECT gathered((SELECT array_agg(rolname ORDER BY rolname) FROM pg_catalog.pg_roles)) AS array",
            ),
            (
                "SELECT (SELECT relname FROM pg_class c WHERE c.oid = d.oid) FROM pg_database d",
                "SELECT (SELECT max(relname) FROM pg_catalog.pg_class c WHERE c.oid = d.oid) AS relname \
                 FROM pg_catalog.pg_database d",
            ),
            (
                "SELECT (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d), ARRAY(SELECT 1 FROM pg_trigger) AS b",
                "SELECT NULL AS pg_get_expr, CAST(ARRAY[] AS TEXT[]) AS b",
            ),
        ] {
            assert_eq!(adapted(sql), expected, "{sql}");
        }
    }
}
