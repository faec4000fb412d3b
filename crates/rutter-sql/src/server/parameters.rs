//! Parameters of prepared statements.

use std::collections::HashMap;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::{PgWireError, PgWireResult};

use super::encode::kind;

/// The types of `$1`, `$2`, … as far as the query tells them; text where it does not.
pub fn types(plan: &LogicalPlan) -> PgWireResult<Vec<Type>> {
    let known = known(plan)?;
    let count = known
        .keys()
        .filter_map(|name| place(name))
        .max()
        .unwrap_or(0);
    let of = |at: usize| known.get(&format!("${at}")).cloned().flatten();
    Ok((1..=count)
        .map(|at| of(at).map_or(Type::TEXT, |data| kind(&data)))
        .collect())
}

fn known(plan: &LogicalPlan) -> PgWireResult<HashMap<String, Option<DataType>>> {
    plan.get_parameter_types()
        .map_err(|error| PgWireError::ApiError(Box::new(error)))
}

fn place(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok()
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
        _ => ScalarValue::Utf8(portal.parameter::<String>(at, &Type::TEXT)?),
    })
}
