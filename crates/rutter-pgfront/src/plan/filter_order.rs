//! Conditions that may fail are evaluated last, for the rows that passed the others: `med <> 0 AND 100 / med > 1`.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Literal};
use datafusion::physical_expr::{ScalarFunctionExpr, conjunction, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};

use crate::functions::may_fail;
use crate::values::is_text;

/// Splits a filter, so that conditions that may fail are evaluated behind the others. DataFusion computes all
/// conditions of a filter for all rows.
#[derive(Debug)]
pub(crate) struct Guarded;

impl PhysicalOptimizerRule for Guarded {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let guarded = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<FilterExec>() {
                Some(filter) => match split(filter)? {
                    Some(split) => Transformed::yes(split),
                    None => Transformed::no(plan),
                },
                None => Transformed::no(plan),
            })
        })?;
        Ok(guarded.data)
    }

    fn name(&self) -> &str {
        "guarded"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn split(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let conditions = split_conjunction(filter.predicate());
    if conditions.len() < 2 {
        return Ok(None);
    }
    let schema = filter.input().schema();
    let (mut plain, mut daring) = (Vec::new(), Vec::new());
    for condition in conditions {
        match dares(condition, &schema)? {
            true => daring.push(Arc::clone(condition)),
            false => plain.push(Arc::clone(condition)),
        }
    }
    let Some(last) = daring.pop() else {
        return Ok(None);
    };
    let first = (!plain.is_empty()).then(|| conjunction(plain));
    let mut input = Arc::clone(filter.input());
    for condition in first.into_iter().chain(daring) {
        let before = FilterExecBuilder::new(condition, input)
            .with_default_selectivity(filter.default_selectivity())
            .with_batch_size(filter.batch_size());
        input = Arc::new(before.build()?);
    }
    let after = FilterExecBuilder::from(filter)
        .with_input(input)
        .with_predicate(last);
    Ok(Some(Arc::new(after.build()?)))
}

/// Returns whether a condition may fail for some values.
fn dares(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    let mut found = false;
    condition.apply(|part| {
        if let Some(of) = part.downcast_ref::<BinaryExpr>() {
            let divides = matches!(of.op(), Operator::Divide | Operator::Modulo);
            found |= divides && !is_written(of.right());
        } else if let Some(cast) = part.downcast_ref::<CastExpr>() {
            found |= may_not_fit(&cast.expr().data_type(schema)?, cast.cast_type());
        } else if let Some(call) = part.downcast_ref::<ScalarFunctionExpr>() {
            found |= may_fail(call.name());
        }
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// Returns whether a divisor is a literal other than zero.
fn is_written(divisor: &Arc<dyn PhysicalExpr>) -> bool {
    let literal = divisor.downcast_ref::<Literal>().map(Literal::value);
    literal.is_some_and(|value| {
        ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| *value != zero)
    })
}

/// Returns whether a type has values that another type lacks.
fn may_not_fit(from: &DataType, to: &DataType) -> bool {
    match is_text(from) {
        true => !is_text(to),
        false => to.is_integer() && (from.is_floating() || from.is_decimal() || is_wider(from, to)),
    }
}

fn is_wider(from: &DataType, to: &DataType) -> bool {
    from.is_integer() && from.primitive_width() > to.primitive_width()
}
