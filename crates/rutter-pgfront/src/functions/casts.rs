//! Casts that PostgreSQL computes differently: strings that DataFusion does not read, and rounding.

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
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::sqlparser::ast::BinaryOperator;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable as _, LogicalPlan, cast as cast_expr};
use datafusion::optimizer::AnalyzerRule;

use super::rewritten::rewritten;
use super::{inet, intervals, text_output, timestamp_text};
use crate::dialect::literals::{items, octets};
use crate::values::is_text;

/// Corrects casts once the types are known: from strings to times without seconds, lists (`{a,b}`) and bytes (`\x00ff`);
/// from fractions to integers; to strings. It also compares intervals by length. All in one walk of the plan.
#[derive(Debug)]
pub struct Texts;

impl AnalyzerRule for Texts {
    fn name(&self) -> &str {
        "casts_of_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewritten(plan, |part, schema| match part {
            Expr::Cast(to) => match text_output::said(&to, schema)? {
                Some(text) => Ok(Transformed::yes(text)),
                None => read(to, schema),
            },
            Expr::ScalarFunction(of) => {
                match inet::keyed(of).or_else(|of| intervals::part(of, schema)) {
                    Ok(part) => Ok(Transformed::yes(part)),
                    Err(of) => text_output::joined(of, schema),
                }
            }
            part => intervals::compared(part, schema),
        })
    }
}

fn read(to: Cast, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let kind = to.field.data_type();
    if let Some(value) =
        rounded(&to.expr, kind, schema).or_else(|| timestamp_text::read(&to.expr, kind, schema))
    {
        let value = Box::new(value);
        return Ok(Transformed::yes(Expr::Cast(Cast::new_from_field(
            value, to.field,
        ))));
    }
    let text = match to.expr.as_ref() {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    };
    let value = match (kind, text) {
        (DataType::Binary | DataType::LargeBinary | DataType::BinaryView, Some(text)) => {
            let octets = octets(text);
            if octets.is_none() && text.starts_with("\\x") {
                return plan_err!(
                    "invalid hexadecimal digits: '{text}'; octets are written \\x00ff"
                );
            }
            octets.map(|octets| ScalarValue::Binary(Some(octets)))
        }
        (DataType::List(_), Some(text)) => match list(text, kind) {
            Some(list) => return Ok(Transformed::yes(list?)),
            None => {
                return plan_err!("malformed array literal: '{text}'; lists are written {{a,b}}");
            }
        },
        (DataType::List(_), None) if is_text(&to.expr.get_type(schema)?) => {
            return plan_err!(
                "a text that is not written here is not cast to a list: use string_to_array(…)"
            );
        }
        _ => None,
    };
    Ok(match value {
        Some(value) => {
            let value = Box::new(Expr::Literal(value, None));
            Transformed::yes(Expr::Cast(Cast::new_from_field(value, to.field)))
        }
        None => match dictionary(&to, schema) {
            Some(value) => {
                let plain = Box::new(cast_expr(*to.expr, value));
                Transformed::yes(Expr::Cast(Cast::new_from_field(plain, to.field)))
            }
            None => Transformed::no(Expr::Cast(to)),
        },
    })
}

/// The string type of a dictionary that is cast to another type. A dictionary may hold strings of other rows, which the
/// cast would read, too.
fn dictionary(to: &Cast, schema: &DFSchema) -> Option<DataType> {
    // These are never dictionaries, and asking long chains for their type takes time.
    if is_text(to.field.data_type()) || matches!(*to.expr, Expr::BinaryExpr(_)) {
        return None;
    }
    match to.expr.get_type(schema) {
        Ok(DataType::Dictionary(_, value)) if value.is_string() => Some(*value),
        _ => None,
    }
}

/// A number with a fraction that is cast to an integer and is not rounded yet.
fn rounded(value: &Expr, to: &DataType, schema: &DFSchema) -> Option<Expr> {
    let is_fraction = |kind: &DataType| kind.is_floating() || kind.is_decimal();
    let name = match value {
        Expr::ScalarFunction(call) => call.func.name(),
        _ => "",
    };
    let function = match to {
        to if to.is_integer() && name != "round" => {
            is_fraction(&value.get_type(schema).ok()?).then(math::round)
        }
        _ => None,
    }?;
    let call = ScalarFunction::new_udf(function, vec![value.clone()]);
    Some(Expr::ScalarFunction(call))
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

fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_))
}

/// Casts a string to a list if the other operand is a list: `communities = '{}'`.
#[derive(Debug)]
pub struct Lists;

impl ExprPlanner for Lists {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let kind = |side: &Expr| side.get_type(schema).unwrap_or(DataType::Null);
        let (left, right) = (kind(&expr.left), kind(&expr.right));
        if matches!(expr.op, BinaryOperator::StringConcat) {
            // Untyped NULL beside a list is an empty list.
            match (&expr.left, &expr.right) {
                (_, Expr::Literal(ScalarValue::Null, _)) if is_list(&left) => {
                    return Ok(PlannerResult::Planned(expr.left));
                }
                (Expr::Literal(ScalarValue::Null, _), _) if is_list(&right) => {
                    return Ok(PlannerResult::Planned(expr.right));
                }
                _ => {}
            }
        }
        for (side, other) in [(&mut expr.right, left), (&mut expr.left, right)] {
            if let Expr::Literal(text, _) = side
                && let Some(Some(text)) = text.try_as_str()
                && let Some(list) = list(text, &other)
            {
                *side = list?;
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}
