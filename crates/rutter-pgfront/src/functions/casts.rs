//! Casts that PostgreSQL computes differently: strings that DataFusion does not read, rounding, and values as strings.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::functions::math;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable as _, LogicalPlan, cast as cast_expr};
use datafusion::optimizer::AnalyzerRule;

use super::rewritten::rewritten;
use super::time_text::with_seconds;
use super::{intervals, text_output};
use crate::dialect::literals::{items, octets};
use crate::values::is_text;

/// Corrects casts once the types are known: from strings to times without seconds, lists (`{a,b}`) and bytes (`\x00ff`);
/// from fractions to integers; to strings. It also refuses comparisons of intervals. All in one walk of the plan.
#[derive(Debug)]
pub struct Casts;

impl AnalyzerRule for Casts {
    fn name(&self) -> &str {
        "casts_of_strings"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewritten(plan, |part, schema| match part {
            Expr::Cast(to) => match text_output::written(&to, schema)? {
                Some(text) => Ok(Transformed::yes(text)),
                None => read(to, schema),
            },
            Expr::ScalarFunction(call) => intervals::epoch(call, schema),
            part => {
                intervals::check(&part, schema)?;
                Ok(Transformed::no(part))
            }
        })
    }
}

fn read(to: Cast, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let kind = to.field.data_type();
    let text = match to.expr.as_ref() {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    };
    let value = match (kind, text) {
        (DataType::Timestamp(..) | DataType::Time64(_), Some(text)) => {
            with_seconds(text).map(text_value)
        }
        (DataType::Binary | DataType::LargeBinary | DataType::BinaryView, Some(text)) => {
            let octets = octets(text);
            if octets.is_none() && text.starts_with("\\x") {
                return plan_err!(
                    "invalid hexadecimal digits: '{text}'; octets are written \\x00ff"
                );
            }
            octets.map(|octets| Expr::Literal(ScalarValue::Binary(Some(octets)), None))
        }
        (DataType::List(_), Some(text)) => match list(text, kind) {
            Some(list) => return Ok(Transformed::yes(list?)),
            None => {
                return plan_err!("malformed array literal: '{text}'; lists are written {{a,b}}");
            }
        },
        (DataType::List(_), None) if is_text(&to.expr.get_type(schema)?) => {
            return plan_err!(
                "only a literal is cast to a list: use string_to_array(…) for other strings"
            );
        }
        _ => rounded(&to.expr, kind, schema).or_else(|| plain(&to, schema)),
    };
    Ok(match value {
        Some(value) => {
            Transformed::yes(Expr::Cast(Cast::new_from_field(Box::new(value), to.field)))
        }
        None => Transformed::no(Expr::Cast(to)),
    })
}

fn text_value(text: String) -> Expr {
    Expr::Literal(ScalarValue::Utf8(Some(text)), None)
}

/// Unpacks a dictionary that is cast to another type than a string. It may hold strings of other rows, which the cast would
/// read, too.
fn plain(to: &Cast, schema: &DFSchema) -> Option<Expr> {
    // These are never dictionaries, and asking long chains for their type takes time.
    if is_text(to.field.data_type()) || matches!(*to.expr, Expr::BinaryExpr(_)) {
        return None;
    }
    match to.expr.get_type(schema) {
        Ok(DataType::Dictionary(_, value)) if value.is_string() => {
            Some(cast_expr(to.expr.as_ref().clone(), *value))
        }
        _ => None,
    }
}

/// Rounds a number with a fraction that is cast to an integer and is not rounded yet. DataFusion truncates it.
fn rounded(value: &Expr, to: &DataType, schema: &DFSchema) -> Option<Expr> {
    let is_rounded = matches!(value, Expr::ScalarFunction(call) if call.func.name() == "round");
    if is_rounded || !to.is_integer() {
        return None;
    }
    let kind = value.get_type(schema).ok()?;
    let has_fraction = kind.is_floating() || kind.is_decimal();
    has_fraction.then(|| {
        let call = ScalarFunction::new_udf(math::round(), vec![value.clone()]);
        Expr::ScalarFunction(call)
    })
}

/// Parses a list of this type.
fn list(text: &str, kind: &DataType) -> Option<Result<Expr>> {
    let DataType::List(item) = kind else {
        return None;
    };
    let items: ArrayRef = Arc::new(StringArray::from(items(text)?));
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let list = cast_with_options(&items, item.data_type(), &options).map(|items| {
        let list = SingleRowListArrayBuilder::new(items).with_field(item);
        Expr::Literal(ScalarValue::List(Arc::new(list.build_list_array())), None)
    });
    Some(list.map_err(Into::into))
}
