//! Casts of values to strings, as PostgreSQL writes them. DataFusion writes times, lists and some others
//! differently, so that comparisons with PostgreSQL's strings would fail.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray as _, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable as _, ScalarUDF};

use super::text_function::{Body, function};
use crate::values::texts;

/// Rewrites a cast to a string of a type that DataFusion writes differently.
///
/// # Errors
/// If an expression has no type.
pub fn written(to: &Cast, schema: &DFSchema) -> Result<Option<Expr>> {
    static TEXT_OF: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(function(
            "text_of",
            Body::Text(|text| Some(text.to_owned())),
        ))
    });
    let target = to.field.data_type();
    if !target.is_string() || !is_other(&to.expr.get_type(schema)?) {
        return Ok(None);
    }
    let call = ScalarFunction::new_udf(Arc::clone(&TEXT_OF), vec![to.expr.as_ref().clone()]);
    let text = Expr::ScalarFunction(call);
    // There are several string types.
    Ok(Some(match target {
        DataType::Utf8 => text,
        _ => Expr::Cast(Cast::new_from_field(Box::new(text), Arc::clone(&to.field))),
    }))
}

/// Casts values to strings. PostgreSQL sends booleans as `t`, but casts them to `true`.
///
/// # Errors
/// Not with DataFusion's types.
pub fn cast_texts(values: &ArrayRef) -> Result<StringArray> {
    match values.data_type() {
        DataType::Boolean => Ok(cast(values, &DataType::Utf8)?.as_string::<i32>().clone()),
        _ => texts(values),
    }
}

/// Returns whether DataFusion writes this type differently.
fn is_other(kind: &DataType) -> bool {
    let is_plain = kind.is_integer() || kind.is_decimal() || kind.is_string() || kind.is_null();
    !is_plain && !matches!(kind, DataType::Boolean | DataType::Dictionary(_, _))
}
