//! Parameters of prepared statements.

use std::collections::HashMap;
use std::net::IpAddr;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::{PgWireError, PgWireResult};

use super::answer::failure;
use super::encode::kind;
use crate::pieces::{Kind, pieces};

/// The types of `$1`, `$2`, … as far as the query tells them; text where it does not.
pub fn types(plan: &LogicalPlan) -> PgWireResult<Vec<Type>> {
    let known = known(plan)?;
    let mut count = 0;
    for name in known.keys() {
        count = count.max(place(name)?);
    }
    let of = |at: usize| known.get(&format!("${at}")).cloned().flatten();
    Ok((1..=count)
        .map(|at| of(at).map_or(Type::TEXT, |data| kind(&data)))
        .collect())
}

fn known(plan: &LogicalPlan) -> PgWireResult<HashMap<String, Option<DataType>>> {
    let fail = |error| PgWireError::ApiError(Box::new(error));
    let mut known = plan.get_parameter_types().map_err(fail)?;
    // A cast tells what a parameter is, too.
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::Cast(cast) = part
                    && let Expr::Placeholder(placeholder) = cast.expr.as_ref()
                {
                    let kind = cast.field.data_type().clone();
                    known.insert(placeholder.id.clone(), Some(kind));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(fail)?;
    Ok(known)
}

/// The number of a parameter; none has the number 0. A client cannot bind more than the protocol can count.
fn place(name: &str) -> PgWireResult<usize> {
    let number = name.strip_prefix('$').unwrap_or_default();
    if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return Ok(0);
    }
    let place = number.parse().ok().filter(|place| *place <= MOST);
    place.ok_or_else(|| {
        let text = format!("there is no parameter {name}: a statement has at most {MOST}");
        failure("54023", text)
    })
}

/// Parameters of a statement: they are counted in 16 bits.
const MOST: usize = 65_535;

/// A query in which the parameters that are lists are cast to lists: what they are compared with does not tell. Those
/// that a client declares are known; of the others, those in `ANY($1)` are lists of texts.
pub fn typed(sql: &str, types: &[Option<Type>]) -> String {
    replaced(sql, |number, before| {
        list_type(number, before, types).map(|kind| cast(number, kind))
    })
}

/// A query in which the parameters of these types are cast to them.
pub fn told(sql: &str, types: &[Option<Type>]) -> String {
    replaced(sql, |number, _| {
        let at: usize = number.parse().ok()?;
        let kind = scalar(types.get(at.checked_sub(1)?)?.as_ref()?)?;
        Some(cast(number, kind))
    })
}

fn cast(number: &str, kind: &str) -> String {
    format!("CAST(${number} AS {kind})")
}

/// A query with something else in the places of its parameters, each by its number and what is written before it.
pub fn replaced(sql: &str, other: impl Fn(&str, &str) -> Option<String>) -> String {
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
            match other(number, &out) {
                Some(other) => out.extend([&other, rest]),
                None => out.extend(["$", part]),
            }
        }
    }
    out
}

/// Of the types that a client declares, those that a query does not tell itself: its answer may be one of them.
pub fn untold(plan: &LogicalPlan, types: &[Option<Type>]) -> PgWireResult<Vec<Option<Type>>> {
    let known = known(plan)?;
    let is_told = |at: usize| known.get(&format!("${at}")).is_none_or(Option::is_some);
    let untold = types.iter().enumerate().map(|(at, kind)| {
        let kind = kind.clone().filter(|kind| scalar(kind).is_some())?;
        (!is_told(at + 1)).then_some(kind)
    });
    Ok(untold.collect())
}

fn scalar(kind: &Type) -> Option<&'static str> {
    Some(match *kind {
        Type::BOOL => "BOOLEAN",
        Type::INT2 | Type::INT4 | Type::INT8 => "BIGINT",
        Type::FLOAT4 | Type::FLOAT8 => "DOUBLE PRECISION",
        Type::TIMESTAMP | Type::TIMESTAMPTZ | Type::DATE => "TIMESTAMPTZ",
        _ => return None,
    })
}

/// The list that a parameter is, by its declared type or else by what is written before it.
fn list_type(number: &str, before: &str, types: &[Option<Type>]) -> Option<&'static str> {
    let at: usize = number.parse().ok()?;
    let declared = types.get(at.checked_sub(1)?).cloned().flatten();
    match declared.filter(|kind| *kind != Type::UNKNOWN) {
        Some(Type::TEXT_ARRAY | Type::VARCHAR_ARRAY) => Some("TEXT[]"),
        Some(Type::INT2_ARRAY | Type::INT4_ARRAY | Type::INT8_ARRAY) => Some("BIGINT[]"),
        Some(_) => None,
        None => {
            let before = before.trim_end().strip_suffix('(')?.trim_end();
            let word = before.len().checked_sub("ANY".len())?;
            let any = before.get(word..)?.eq_ignore_ascii_case("ANY");
            any.then_some("TEXT[]")
        }
    }
}

/// The values that a client bound.
pub fn values<S: Clone>(portal: &Portal<S>, types: &[Type]) -> PgWireResult<Vec<ScalarValue>> {
    let given = &portal.statement.parameter_types;
    (0..portal.parameter_len())
        .map(|at| {
            let told = given.get(at).cloned().flatten();
            let kind = told.filter(|kind| *kind != Type::UNKNOWN);
            let kind = kind
                .or_else(|| types.get(at).cloned())
                .unwrap_or(Type::TEXT);
            value(portal, at, &kind)
        })
        .collect()
}

fn value<S: Clone>(portal: &Portal<S>, at: usize, kind: &Type) -> PgWireResult<ScalarValue> {
    let is_binary = portal.parameter_format.is_binary(at);
    Ok(match *kind {
        Type::BOOL => ScalarValue::Boolean(portal.parameter::<bool>(at, kind)?),
        Type::INT2 => {
            let value = portal.parameter::<i16>(at, kind)?;
            ScalarValue::Int64(value.map(i64::from))
        }
        Type::INT4 => {
            let value = portal.parameter::<i32>(at, kind)?;
            ScalarValue::Int64(value.map(i64::from))
        }
        Type::INT8 => ScalarValue::Int64(portal.parameter::<i64>(at, kind)?),
        Type::FLOAT4 => {
            let value = portal.parameter::<f32>(at, kind)?;
            ScalarValue::Float64(value.map(f64::from))
        }
        Type::FLOAT8 => ScalarValue::Float64(portal.parameter::<f64>(at, kind)?),
        Type::TIMESTAMPTZ => {
            let time = portal.parameter::<DateTime<FixedOffset>>(at, kind)?;
            let micros = time.map(|time| time.timestamp_micros());
            ScalarValue::TimestampMicrosecond(micros, Some("UTC".into()))
        }
        Type::TIMESTAMP => {
            let time = portal.parameter::<NaiveDateTime>(at, kind)?;
            let micros = time.map(|time| time.and_utc().timestamp_micros());
            ScalarValue::TimestampMicrosecond(micros, Some("UTC".into()))
        }
        Type::DATE => {
            let date = portal.parameter::<NaiveDate>(at, kind)?;
            let midnight = date.and_then(|date| date.and_hms_opt(0, 0, 0));
            let micros = midnight.map(|time| time.and_utc().timestamp_micros());
            ScalarValue::TimestampMicrosecond(micros, Some("UTC".into()))
        }
        Type::TEXT_ARRAY | Type::VARCHAR_ARRAY => {
            let texts = portal.parameter::<Vec<Option<String>>>(at, kind)?;
            let texts = texts.unwrap_or_default().into_iter().map(ScalarValue::Utf8);
            list(texts.collect(), &DataType::Utf8)
        }
        Type::INT2_ARRAY => {
            let numbers = portal.parameter::<Vec<Option<i16>>>(at, kind)?;
            integers(numbers, i64::from)
        }
        Type::INT4_ARRAY => {
            let numbers = portal.parameter::<Vec<Option<i32>>>(at, kind)?;
            integers(numbers, i64::from)
        }
        Type::INT8_ARRAY => {
            let numbers = portal.parameter::<Vec<Option<i64>>>(at, kind)?;
            integers(numbers, |number| number)
        }
        Type::INET | Type::CIDR if is_binary => ScalarValue::Utf8(network(portal, at)?),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::CHAR => text(portal, at)?,
        Type::JSON | Type::XML => text(portal, at)?,
        _ if is_binary => return Err(unknown(kind)),
        _ => text(portal, at)?,
    })
}

fn unknown(kind: &Type) -> PgWireError {
    let why = format!(
        "a parameter of type {} in its binary form is not known here: give it as a text",
        kind.name()
    );
    failure("0A000", why)
}

fn text<S: Clone>(portal: &Portal<S>, at: usize) -> PgWireResult<ScalarValue> {
    let text = portal.parameter::<String>(at, &Type::TEXT)?;
    if text.as_ref().is_some_and(|text| text.contains('\0')) {
        let why = format!("parameter ${}: a text has no octet 0", at + 1);
        return Err(failure("22021", why));
    }
    Ok(ScalarValue::Utf8(text))
}

/// An address or a prefix, as a text: family, bits, whether it is a prefix, octets.
fn network<S: Clone>(portal: &Portal<S>, at: usize) -> PgWireResult<Option<String>> {
    let Some(octets) = portal.parameters.get(at).and_then(Option::as_ref) else {
        return Ok(None);
    };
    let wrong = || {
        let why = format!("parameter ${} is no address", at + 1);
        failure("22P03", why)
    };
    let [_, bits, _, _, address @ ..] = octets.as_ref() else {
        return Err(wrong());
    };
    let address = <[u8; 4]>::try_from(address)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(address).map(IpAddr::from));
    let address = address.map_err(|_| wrong())?;
    let full = if address.is_ipv4() { 32 } else { 128 };
    Ok(Some(match *bits {
        bits if bits == full => address.to_string(),
        bits if bits < full => format!("{address}/{bits}"),
        _ => return Err(wrong()),
    }))
}

fn integers<N>(numbers: Option<Vec<Option<N>>>, wide: fn(N) -> i64) -> ScalarValue {
    let numbers = numbers.unwrap_or_default().into_iter();
    let numbers = numbers.map(|number| ScalarValue::Int64(number.map(wide)));
    list(numbers.collect(), &DataType::Int64)
}

fn list(values: Vec<ScalarValue>, kind: &DataType) -> ScalarValue {
    ScalarValue::List(ScalarValue::new_list_nullable(&values, kind))
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
            told("SELECT $1, '$1', $2", &[Some(Type::BOOL), None]),
            "SELECT CAST($1 AS BOOLEAN), '$1', $2"
        );
        assert_eq!(typed("'$3' = $10", &types), "'$3' = $10");
        assert_eq!(typed("/* ' */ $1", &types), "/* ' */ CAST($1 AS BIGINT[])");
        assert_eq!(typed("\"$1\" -- $1", &types), "\"$1\" -- $1");
        assert_eq!(typed("a = any ($1)", &[]), "a = any (CAST($1 AS TEXT[]))");
    }
}
