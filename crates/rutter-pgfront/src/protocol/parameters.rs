//! Parameters of prepared statements.

use std::ops::ControlFlow;

use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::sqlparser::ast::{
    Expr, TableFactor, Value, Visit as _, Visitor, visit_expressions, visit_expressions_mut,
};
use datafusion::sql::parser::Statement;
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::{PgWireError, PgWireResult};
use tokio_util::bytes::Bytes;

use super::parameter_types::{self, Known};
use super::row_stream::failure;
use super::values::{self, Sent};
use crate::application::Application;
use crate::dialect::rewrite::{last, parsed};
use crate::values::kind;

/// The types of `$1`, `$2`, … as inferred from the query; otherwise text.
pub fn types(plan: &LogicalPlan, application: &Application) -> PgWireResult<Vec<Type>> {
    let known = known(plan, application)?;
    let mut count = 0;
    for name in known.names() {
        count = count.max(place(name)?);
    }
    let of = |at: usize| known.get(at).flatten();
    Ok((1..=count)
        .map(|at| of(at).map_or(Type::TEXT, kind))
        .collect())
}

fn known(plan: &LogicalPlan, application: &Application) -> PgWireResult<Known> {
    Known::of(plan, application).map_err(fail)
}

fn fail(error: DataFusionError) -> PgWireError {
    PgWireError::ApiError(Box::new(error))
}

/// The number of a parameter, from 1 to the most that the protocol can count.
fn place(name: &str) -> PgWireResult<usize> {
    let number = name.strip_prefix('$').unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(0);
    }
    let place = number.parse().ok().filter(|place| *place <= MAX_PARAMETERS);
    place.ok_or_else(|| {
        let text =
            format!("there is no parameter {name}: a statement has at most {MAX_PARAMETERS}");
        failure("54023", text)
    })
}

/// The most parameters of a statement: the protocol counts them in 16 bits.
const MAX_PARAMETERS: usize = 65_535;

/// Replaces the parameters of a query. The closure receives the number of each.
pub fn replace(statement: &mut Statement, other: impl Fn(usize, &Expr) -> Option<Expr>) {
    let Statement::Statement(statement) = statement else {
        return;
    };
    let _ = visit_expressions_mut(statement, |expr| {
        let other = number(expr).and_then(|number| other(number, expr));
        if let Some(other) = other {
            *expr = other;
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The number of a parameter, if the expression is one.
fn number(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else {
        return None;
    };
    match &value.value {
        Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok().filter(|at| *at > 0),
        _ => None,
    }
}

/// The parameters that a query casts to addresses or prefixes. They are strings here, and drivers give objects for them.
pub fn networks(statement: &Statement) -> Vec<(usize, Type)> {
    let mut found = Vec::new();
    let Statement::Statement(statement) = statement else {
        return found;
    };
    let _ = visit_expressions(statement, |part| {
        if let Expr::Cast {
            expr, data_type, ..
        } = part
            && let Some(number) = number(expr)
        {
            found.extend(match data_type.to_string().to_ascii_lowercase().as_str() {
                "inet" => Some((number, Type::INET)),
                "cidr" => Some((number, Type::CIDR)),
                "inet[]" => Some((number, Type::INET_ARRAY)),
                "cidr[]" => Some((number, Type::CIDR_ARRAY)),
                _ => None,
            });
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The numbers of the parameters in arguments of table functions.
pub fn table_arguments(statement: &Statement, functions: &[(&str, &str)]) -> Vec<usize> {
    struct Arguments<'a>(&'a [(&'a str, &'a str)], Vec<usize>);
    impl Visitor for Arguments<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
            let (TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. }) = table
            else {
                return ControlFlow::Continue(());
            };
            let name = last(name).unwrap_or_default();
            if self
                .0
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
            {
                let _ = visit_expressions(table, |expr| {
                    self.1.extend(number(expr));
                    ControlFlow::<()>::Continue(())
                });
            }
            ControlFlow::Continue(())
        }
    }
    let mut arguments = Arguments(functions, Vec::new());
    if let Statement::Statement(statement) = statement {
        let _ = statement.visit(&mut arguments);
    }
    arguments.1
}

/// Casts the parameters that are lists: comparisons do not determine their type. Parameters without a declared type become
/// text[] in `ANY($1)` and `ALL($1)`.
pub fn cast_lists(statement: &mut Statement, types: &[Option<Type>]) {
    let declared = |number: usize| {
        let declared = types.get(number - 1).cloned().flatten();
        declared.filter(|kind| *kind != Type::UNKNOWN)
    };
    replace(statement, |number, expr| {
        let item = values::item(&declared(number)?)?;
        cast(expr, &format!("{}[]", scalar(&item).unwrap_or("TEXT")))
    });
    let Statement::Statement(statement) = statement else {
        return;
    };
    let _ = visit_expressions_mut(statement, |expr| {
        if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
            && number(right).is_some_and(|number| declared(number).is_none())
            && let Some(list) = cast(right, "TEXT[]")
        {
            **right = list;
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Casts the parameters of a query to these types.
pub fn cast_scalars(statement: &mut Statement, types: &[Option<Type>]) {
    replace(statement, |number, expr| {
        cast(expr, scalar(types.get(number - 1)?.as_ref()?)?)
    });
}

fn cast(expr: &Expr, kind: &str) -> Option<Expr> {
    parsed(&format!("CAST({expr} AS {kind})"))
}

/// Finds the types of undeclared lists that are compared with another type than text.
pub fn compared(plan: &LogicalPlan, types: &mut Vec<Option<Type>>) -> PgWireResult<bool> {
    let mut any = false;
    for (name, list) in parameter_types::lists(plan).map_err(fail)? {
        let at = place(&name)?.saturating_sub(1);
        let is_declared = matches!(types.get(at), Some(Some(kind)) if *kind != Type::UNKNOWN);
        if is_declared || matches!(list, Type::TEXT | Type::TEXT_ARRAY) {
            continue;
        }
        types.resize(types.len().max(at + 1), None);
        types[at] = Some(list);
        any = true;
    }
    Ok(any)
}

/// The declared types that the query itself does not determine: its result may have one of them. A value added to a
/// timestamp is otherwise inferred as a timestamp, although it may be an interval.
pub fn undetermined(
    plan: &LogicalPlan,
    types: &[Option<Type>],
    application: &Application,
) -> PgWireResult<Vec<Option<Type>>> {
    let known = known(plan, application)?;
    let is_determined = |at: usize| known.get(at).is_none_or(|kind| kind.is_some());
    let undetermined = types.iter().enumerate().map(|(at, kind)| {
        let kind = kind.clone().filter(|kind| scalar(kind).is_some())?;
        (!is_determined(at + 1) || kind == Type::INTERVAL).then_some(kind)
    });
    Ok(undetermined.collect())
}

/// The SQL name of a type that is not a list. Types without a name here are text.
fn scalar(kind: &Type) -> Option<&'static str> {
    Some(match *kind {
        Type::BOOL => "BOOLEAN",
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => "BIGINT",
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC => "DOUBLE PRECISION",
        Type::TIMESTAMPTZ => "TIMESTAMPTZ",
        Type::TIMESTAMP => "TIMESTAMP",
        Type::DATE => "DATE",
        Type::TIME => "TIME",
        Type::INTERVAL => "INTERVAL",
        Type::BYTEA => "BYTEA",
        _ => return None,
    })
}

/// The values that a client bound.
pub fn values<S: Clone>(portal: &Portal<S>, types: &[Type]) -> PgWireResult<Vec<ScalarValue>> {
    let given = &portal.statement.parameter_types;
    let value = |(at, octets): (usize, &Option<Bytes>)| {
        let with_casts = given.get(at).cloned().flatten();
        let with_casts = with_casts.filter(|kind| *kind != Type::UNKNOWN);
        let kind = with_casts.or_else(|| types.get(at).cloned());
        let sent = Sent {
            number: at + 1,
            octets: octets.as_deref(),
            is_binary: portal.parameter_format.is_binary(at),
        };
        sent.value(&kind.unwrap_or(Type::TEXT))
    };
    portal.parameters.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::logical_expr::sqlparser::parser::Parser;

    use super::*;

    fn parse(sql: &str) -> Statement {
        let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql);
        Statement::Statement(Box::new(parser.unwrap().parse_statement().unwrap()))
    }

    #[test]
    fn parameters_are_cast_to_their_declared_types() {
        let types = [Some(Type::INT4_ARRAY), None, Some(Type::TEXT_ARRAY)];
        let mut statement =
            parse("SELECT '$1' = ANY($1) AND b = $2 AND d = ANY($3) AND e <> ALL($4)");
        cast_lists(&mut statement, &types);
        assert_eq!(
            statement.to_string(),
            "SELECT '$1' = ANY(CAST($1 AS BIGINT[])) AND b = $2 AND d = ANY(CAST($3 AS TEXT[])) \
             AND e <> ALL(CAST($4 AS TEXT[]))"
        );
        let mut statement = parse("SELECT $1, '$1', $2");
        cast_scalars(&mut statement, &[Some(Type::BOOL), None]);
        assert_eq!(
            statement.to_string(),
            "SELECT CAST($1 AS BOOLEAN), '$1', $2"
        );
    }

    #[test]
    fn parameters_of_table_functions_are_found() {
        let sql = "SELECT f($1) FROM lookup($2) JOIN public.Generate_Series(abs(1), $3) ON $4 = 'lookup(' WHERE $5";
        assert_eq!(table_arguments(&parse(sql), &[("lookup", "x")]), [2]);
    }
}
