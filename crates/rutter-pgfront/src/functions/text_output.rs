//! Casts of values to strings, as PostgreSQL writes them. DataFusion writes times, lists and some others
//! differently, so that comparisons with PostgreSQL's strings would fail.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, ListArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable as _, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use crate::values::texts;

/// Rewrites a cast to strings, or lists of strings, of a type that DataFusion writes differently.
///
/// # Errors
/// If an expression has no type.
pub fn said(to: &Cast, schema: &DFSchema) -> Result<Option<Expr>> {
    let target = to.field.data_type();
    let item = match target {
        DataType::List(item) => Some(item.data_type()),
        _ => None,
    };
    if !item.unwrap_or(target).is_string() {
        return Ok(None);
    }
    let function = match (item, to.expr.get_type(schema)?) {
        (Some(_), DataType::List(from)) if is_other(from.data_type()) => &ITEMS,
        (None, from) if is_other(&from) => &WHOLE,
        _ => return Ok(None),
    };
    let text = call(function, to.expr.as_ref().clone());
    // There are several string types.
    Ok(Some(match item.unwrap_or(target) {
        DataType::Utf8 => text,
        _ => Expr::Cast(Cast::new_from_field(Box::new(text), Arc::clone(&to.field))),
    }))
}

/// Rewrites a call that joins strings: values of other types are written as for a client.
///
/// # Errors
/// If an expression has no type.
pub fn joined(mut of: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let joins = ["concat", "concat_ws"].contains(&of.func.name());
    if of.func.name() == "array_to_string"
        && let Some(list) = of.args.first_mut()
        && let DataType::List(item) = list.get_type(schema)?
        && (is_other(item.data_type()) || *item.data_type() == DataType::Boolean)
    {
        *list = call(&ITEMS, std::mem::take(list));
    } else if joins && of.args.iter().any(|value| is_flag(value, schema)) {
        for value in of.args.iter_mut().filter(|value| is_flag(value, schema)) {
            if let Expr::Cast(to) = std::mem::take(value) {
                *value = call(&WHOLE, *to.expr);
            }
        }
    } else {
        return Ok(Transformed::no(Expr::ScalarFunction(of)));
    }
    Ok(Transformed::yes(Expr::ScalarFunction(of)))
}

/// Returns whether an expression is a boolean cast to a string.
fn is_flag(value: &Expr, schema: &DFSchema) -> bool {
    match value {
        Expr::Cast(to) => matches!(to.expr.get_type(schema), Ok(DataType::Boolean)),
        _ => false,
    }
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

static WHOLE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Written::function("text_of", false));
static ITEMS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Written::function("texts_of", true));

fn call(function: &LazyLock<Arc<ScalarUDF>>, value: Expr) -> Expr {
    let function = Arc::clone(LazyLock::force(function));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![value]))
}

/// The string of a value, or the strings of a list's items.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Written {
    name: &'static str,
    items: bool,
    signature: Signature,
}

impl Written {
    fn function(name: &'static str, items: bool) -> Arc<ScalarUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Self {
            name,
            items,
            signature,
        }))
    }
}

impl ScalarUDFImpl for Written {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.items {
            true => DataType::new_list(DataType::Utf8, true),
            false => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(match values.as_list_opt::<i32>() {
            Some(lists) if self.items => Arc::new(items(lists)?) as ArrayRef,
            _ => Arc::new(texts(&values)?),
        }))
    }
}

fn items(lists: &ListArray) -> Result<ListArray> {
    Ok(ListArray::try_new(
        Arc::new(Field::new_list_field(DataType::Utf8, true)),
        lists.offsets().clone(),
        Arc::new(texts(lists.values())?),
        lists.nulls().cloned(),
    )?)
}
