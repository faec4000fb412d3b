//! `a OR b` and `a AND b` within expressions, and `CASE` of conditions, where a part may fail: it is computed only for the rows
//! for which the others do not decide. The engine computes it for all, and makes `AND` and `OR` of `CASE`.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, disjunction, merge_schema};
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable as _, LogicalPlan, Operator, cast, lit,
};
use datafusion::optimizer::AnalyzerRule;

use super::arithmetic::fails_alone;
use crate::values::is_text;

/// Puts what may fail behind what guards it. The conditions of a filter that stand beside each other are left to it.
#[derive(Debug)]
pub struct Guards;

impl AnalyzerRule for Guards {
    fn name(&self) -> &str {
        "guards"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let guarded = plan.transform_up_with_subqueries(|node| {
            let mut found = false;
            node.apply_expressions(|expr| {
                found |= dares(expr, None);
                Ok(match found {
                    true => TreeNodeRecursion::Stop,
                    false => TreeNodeRecursion::Continue,
                })
            })?;
            if !found {
                return Ok(Transformed::no(node));
            }
            let guard = match node {
                LogicalPlan::Filter(_) => conjuncts,
                LogicalPlan::Join(_) => joined,
                _ => within,
            };
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let guarded = guard(expr, &schema)?;
                Ok(guarded.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(guarded.data)
    }
}

/// The conditions of a filter, each by itself.
fn conjuncts(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let parts = flat(expr, Operator::And);
    let parts = parts.into_iter().map(|part| within(part, schema));
    let parts: Vec<Transformed<Expr>> = parts.collect::<Result<_>>()?;
    let is_changed = parts.iter().any(|part| part.transformed);
    let whole = conjunction(parts.into_iter().map(|part| part.data));
    let whole = whole.unwrap_or_else(|| lit(true));
    Ok(match is_changed {
        true => Transformed::yes(whole),
        false => Transformed::no(whole),
    })
}

/// The conditions of a join, which the engine computes for all pairs: what may fail is guarded by the others, which stay for
/// themselves, because rows are found by them.
fn joined(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if !matches!(&expr, Expr::BinaryExpr(of) if of.op == Operator::And) {
        return within(expr, schema);
    }
    let parts = flat(expr.clone(), Operator::And);
    let (daring, plain): (Vec<Expr>, Vec<Expr>) = parts
        .into_iter()
        .partition(|part| dares(part, Some(schema)));
    if daring.is_empty() || plain.is_empty() {
        return conjuncts(expr, schema);
    }
    let all = plain.iter().cloned().chain(daring).collect();
    let case = guarded(all, Operator::And, schema)?.data;
    let whole = conjunction(plain.into_iter().chain([case]));
    Ok(Transformed::yes(whole.unwrap_or_else(|| lit(true))))
}

fn within(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_down(|part| {
        let changed = match part {
            Expr::BinaryExpr(BinaryExpr { op, .. })
                if matches!(op, Operator::And | Operator::Or) && dares(&part, Some(schema)) =>
            {
                guarded(flat(part, op), op, schema)?
            }
            Expr::Case(case) if decides(&case, schema) => Transformed::yes(kept(case, schema)?),
            part => return Ok(Transformed::no(part)),
        };
        Ok(Transformed::new(
            changed.data,
            changed.transformed,
            TreeNodeRecursion::Jump,
        ))
    })
}

fn guarded(parts: Vec<Expr>, op: Operator, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let all = |parts: Vec<Expr>| match op {
        Operator::And => conjunction(parts),
        _ => disjunction(parts),
    };
    let mut changed = false;
    let (mut plain, mut daring) = (Vec::new(), Vec::new());
    for part in parts {
        if dares(&part, Some(schema)) {
            let part = within(part, schema)?;
            changed |= part.transformed;
            daring.push(part.data);
        } else {
            plain.push(part);
        }
    }
    let Some(guard) = all(plain.clone()) else {
        let whole = all(daring).unwrap_or_else(|| lit(true));
        return Ok(Transformed::new(
            whole,
            changed,
            TreeNodeRecursion::Continue,
        ));
    };
    plain.append(&mut daring);
    let whole = all(plain).unwrap_or_else(|| lit(true));
    let (guard, decided) = match op {
        Operator::And => (!guard, 0_i8),
        _ => (guard, 1),
    };
    let case = Case {
        expr: None,
        when_then_expr: vec![(Box::new(guard), Box::new(lit(decided)))],
        else_expr: Some(Box::new(cast(whole, DataType::Int8))),
    };
    Ok(Transformed::yes(cast(Expr::Case(case), DataType::Boolean)))
}

/// Whether a `CASE` is a condition of which a part may fail.
fn decides(case: &Case, schema: &DFSchema) -> bool {
    let results = case.when_then_expr.iter().map(|(_, then)| then);
    let mut results = results.chain(&case.else_expr);
    let is_condition = results
        .clone()
        .any(|then| matches!(then.get_type(schema), Ok(DataType::Boolean)));
    is_condition && results.any(|then| dares(then, Some(schema)))
}

/// The same as numbers: it stays as it is.
fn kept(mut case: Case, schema: &DFSchema) -> Result<Expr> {
    let number = |then: Box<Expr>| -> Result<Box<Expr>> {
        let then = within(*then, schema)?.data;
        Ok(Box::new(cast(then, DataType::Int8)))
    };
    let cases = case.when_then_expr.into_iter();
    let cases = cases.map(|(when, then)| Ok((when, number(then)?)));
    case.when_then_expr = cases.collect::<Result<_>>()?;
    case.else_expr = case.else_expr.map(number).transpose()?;
    Ok(cast(Expr::Case(case), DataType::Boolean))
}

/// What one operator stands between.
fn flat(expr: Expr, op: Operator) -> Vec<Expr> {
    let (mut parts, mut left) = (Vec::new(), vec![expr]);
    while let Some(part) = left.pop() {
        match part {
            Expr::BinaryExpr(of) if of.op == op => left.extend([*of.right, *of.left]),
            part => parts.push(part),
        }
    }
    parts
}

/// Whether a number is written here, that is not zero: to divide by it is no danger.
fn is_written(divisor: &Expr) -> bool {
    match divisor {
        Expr::Cast(to) => is_written(&to.expr),
        Expr::Literal(value, _) => {
            let zero = ScalarValue::new_zero(&value.data_type());
            zero.is_ok_and(|zero| *value != zero)
        }
        _ => false,
    }
}

/// Whether something may fail for some values; without a schema, whether that is possible.
fn dares(expr: &Expr, schema: Option<&DFSchema>) -> bool {
    let found = expr.exists(|part| {
        Ok(match part {
            Expr::BinaryExpr(of) => {
                matches!(of.op, Operator::Divide | Operator::Modulo) && !is_written(&of.right)
            }
            Expr::ScalarFunction(call) => fails_alone(call.func.name()),
            Expr::Cast(to) if is_text(to.field.data_type()) => false,
            Expr::Cast(to) if matches!(*to.expr, Expr::Literal(..)) => false,
            Expr::Cast(to) => schema.is_none_or(|schema| {
                let from = to.expr.get_type(schema);
                from.is_ok_and(|from| is_text(&from))
            }),
            _ => false,
        })
    });
    found.unwrap_or(false)
}
