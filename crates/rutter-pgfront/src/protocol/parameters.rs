//! Parameters of prepared statements.

use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::{PgWireError, PgWireResult};
use tokio_util::bytes::Bytes;

use super::parameter_types::{self, Known};
use super::row_stream::failure;
use super::values::{self, Sent};
use crate::application::Application;
use crate::dialect::lexer::{Kind, pieces};
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

/// Casts the parameters that are lists: comparisons do not determine their type. Declared types are known. Parameters
/// without a declared type become text[] in `ANY($1)` and `ALL($1)`.
pub fn typed(sql: &str, types: &[Option<Type>]) -> String {
    replaced(sql, |number, before, behind| {
        list_type(number, (before, behind), types).map(|kind| cast(number, &kind))
    })
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

/// Casts the parameters of a query to these types.
pub fn with_casts(sql: &str, types: &[Option<Type>]) -> String {
    replaced(sql, |number, _, _| {
        let at: usize = number.parse().ok()?;
        let kind = scalar(types.get(at.checked_sub(1)?)?.as_ref()?)?;
        Some(cast(number, kind))
    })
}

fn cast(number: &str, kind: &str) -> String {
    format!("CAST(${number} AS {kind})")
}

/// Replaces the parameters of a query. The closure receives the number, and the text before and after it, up to the
/// next parameter.
pub fn replaced(sql: &str, other: impl Fn(&str, &str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(sql.len());
    for (kind, text) in pieces(sql) {
        if kind != Kind::Code {
            out.push_str(text);
            continue;
        }
        let mut parts = text.split('$');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_digit());
            let (number, rest) = part.split_at(end.unwrap_or(part.len()));
            match other(number, &out, rest) {
                Some(other) => out.extend([&other, rest]),
                None => out.extend(["$", part]),
            }
        }
    }
    out
}

/// The parameters that a query casts to a type that DataFusion lacks: addresses and prefixes, `$1::inet`, are strings
/// there.
pub fn renamed(sql: &str) -> Vec<(usize, Type)> {
    let mut found = Vec::new();
    for (kind, text) in pieces(sql) {
        let places = text.split('$').skip(1).filter(|_| kind == Kind::Code);
        for place in places {
            let end = place.find(|c: char| !c.is_ascii_digit());
            let (number, rest) = place.split_at(end.unwrap_or(place.len()));
            let Some(name) = rest.trim_start().strip_prefix("::") else {
                continue;
            };
            let name = name.trim_start();
            let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '[' | ']');
            let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
            let kind = match name[..end].to_ascii_lowercase().as_str() {
                "inet" => Type::INET,
                "cidr" => Type::CIDR,
                "inet[]" => Type::INET_ARRAY,
                "cidr[]" => Type::CIDR_ARRAY,
                "oid" => Type::OID,
                "oid[]" => Type::OID_ARRAY,
                _ => continue,
            };
            found.extend(
                number
                    .parse()
                    .ok()
                    .filter(|number| *number > 0)
                    .map(|number| (number, kind)),
            );
        }
    }
    found
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
        Type::FLOAT4 | Type::FLOAT8 => "DOUBLE PRECISION",
        Type::NUMERIC => "NUMERIC(38, 10)",
        Type::TIMESTAMPTZ => "TIMESTAMPTZ",
        Type::TIMESTAMP => "TIMESTAMP",
        Type::DATE => "DATE",
        Type::TIME => "TIME",
        Type::INTERVAL => "INTERVAL",
        Type::BYTEA => "BYTEA",
        _ => return None,
    })
}

/// The list type of a parameter, by its declared type or else by the text around it.
fn list_type(
    number: &str,
    (before, behind): (&str, &str),
    types: &[Option<Type>],
) -> Option<String> {
    let at: usize = number.parse().ok()?;
    let declared = types.get(at.checked_sub(1)?).cloned().flatten();
    match declared.filter(|kind| *kind != Type::UNKNOWN) {
        Some(kind) => {
            let item = values::item(&kind)?;
            Some(format!("{}[]", scalar(&item).unwrap_or("TEXT")))
        }
        None => {
            let before = before.trim_end().strip_suffix('(')?.trim_end();
            let word = before.get(before.len().checked_sub("ANY".len())?..)?;
            let is_list = ["ANY", "ALL"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known));
            let is_alone = behind.trim_start().starts_with(')');
            (is_list && is_alone).then(|| "TEXT[]".to_owned())
        }
    }
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
    use super::*;

    #[test]
    fn lists_are_cast_outside_of_quotes() {
        let types = [Some(Type::INT4_ARRAY), None, Some(Type::TEXT_ARRAY)];
        assert_eq!(
            typed(
                "a = ANY($1) AND b = $2 AND c = '$1' AND d = ANY($3)",
                &types
            ),
            "a = ANY(CAST($1 AS BIGINT[])) AND b = $2 AND c = '$1' AND d = ANY(CAST($3 AS TEXT[]))"
        );
        assert_eq!(
            with_casts("SELECT $1, '$1', $2", &[Some(Type::BOOL), None]),
            "SELECT CAST($1 AS BOOLEAN), '$1', $2"
        );
        assert_eq!(typed("'$3' = $10", &types), "'$3' = $10");
        assert_eq!(typed("/* ' */ $1", &types), "/* ' */ CAST($1 AS BIGINT[])");
        assert_eq!(typed("\"$1\" -- $1", &types), "\"$1\" -- $1");
        assert_eq!(
            renamed("$1::inet >> $2 :: CIDR AND '$3::inet' = $4::inetx AND $5::cidr[]"),
            [(1, Type::INET), (2, Type::CIDR), (5, Type::CIDR_ARRAY)]
        );
        assert_eq!(typed("a = any ($1)", &[]), "a = any (CAST($1 AS TEXT[]))");
    }
}
