//! The types of parameters, inferred from the expressions around them.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable as _, LogicalPlan};
use pgwire::api::Type;

use crate::application::Application;
use crate::values::kind;

/// The parameters by name (`$1`), with the first inferred type of each.
#[derive(Default)]
pub struct Known(BTreeMap<String, Option<DataType>>);

impl Known {
    /// Infers the types from a plan.
    pub fn of(plan: &LogicalPlan, application: &Application) -> Result<Self> {
        let mut known = Self::default();
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Limit(limit) = node {
                for count in [&limit.skip, &limit.fetch].into_iter().flatten() {
                    known.note(count, Some(DataType::Int64));
                }
            }
            let schema = merge_schema(&node.inputs());
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    known.read(part, &schema, application);
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(known)
    }

    /// The names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the type of a parameter. The outer `None`: no such parameter; the inner: no type inferred.
    pub fn get(&self, number: usize) -> Option<Option<&DataType>> {
        self.0.get(&format!("${number}")).map(Option::as_ref)
    }

    fn note(&mut self, parameter: &Expr, with_casts: Option<DataType>) {
        if let Expr::Placeholder(Placeholder { id, .. }) = parameter {
            let known = self.0.entry(id.clone()).or_default();
            // NULL has no type.
            let with_casts = with_casts.filter(|with_casts| !with_casts.is_null());
            *known = known.take().or(with_casts);
        }
    }

    fn read(&mut self, part: &Expr, schema: &DFSchema, application: &Application) {
        let of = |expr: &Expr| expr.get_type(schema).ok();
        match part {
            Expr::Placeholder(Placeholder { field, .. }) => {
                self.note(part, field.as_ref().map(|field| field.data_type().clone()));
            }
            Expr::Cast(cast) => self.note(&cast.expr, Some(cast.field.data_type().clone())),
            Expr::ScalarFunction(ScalarFunction { func, args }) => {
                match (func.name(), args.as_slice()) {
                    ("array_has", [list, item]) => {
                        self.note(item, of(list).and_then(|list| item_of(&list)));
                    }
                    ("coalesce" | "nullif" | "nvl" | "greatest" | "least", args) => {
                        let known = args.iter().find_map(|value| match value {
                            Expr::Placeholder(_) => None,
                            value => of(value).filter(|kind| !kind.is_null()),
                        });
                        for value in args {
                            self.note(value, known.clone());
                        }
                    }
                    (name, args) => {
                        for (at, value) in args.iter().enumerate() {
                            self.note(value, taken(application, name, at));
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Finds parameters of type text[] that are compared with items of another type, and the list type that fits.
pub fn lists(plan: &LogicalPlan) -> Result<BTreeMap<String, Type>> {
    let mut found = BTreeMap::new();
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                for (list, item) in compared(part) {
                    if let Expr::Cast(cast) = list
                        && let Expr::Placeholder(Placeholder { id, .. }) = cast.expr.as_ref()
                        && *cast.field.data_type() == list_of(DataType::Utf8)
                        && let Ok(item) = item.get_type(&schema)
                        && !item.is_null()
                    {
                        found.insert(id.clone(), kind(&list_of(item)));
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// Returns the list and the item of `item = ANY (list)`, `item < ALL (list)` and the like, as the planner writes them.
fn compared(part: &Expr) -> Vec<(&Expr, &Expr)> {
    match part {
        Expr::ScalarFunction(ScalarFunction { func, args }) => match args.as_slice() {
            [list, item] if func.name() == "array_has" => vec![(list, item)],
            _ => Vec::new(),
        },
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            let sides = [(left, right), (right, left)].into_iter();
            let bounds = sides.filter_map(|(list, item)| match list.as_ref() {
                Expr::ScalarFunction(ScalarFunction { func, args }) => {
                    let is_bound = matches!(func.name(), "array_min" | "array_max");
                    let list = args.first().filter(|_| is_bound)?;
                    Some((list, item.as_ref()))
                }
                _ => None,
            });
            bounds.collect()
        }
        _ => Vec::new(),
    }
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

fn item_of(list: &DataType) -> Option<DataType> {
    match list {
        DataType::List(item) => Some(item.data_type().clone()),
        _ => None,
    }
}

/// The type of a function's argument.
fn taken(application: &Application, function: &str, at: usize) -> Option<DataType> {
    match (function, at) {
        ("date_bin", 0) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        ("left" | "right" | "repeat" | "round" | "trunc", 1) => Some(DataType::Int64),
        ("substr" | "lpad" | "rpad", 1) | ("substr" | "split_part", 2) => Some(DataType::Int64),
        _ => match application.argument_type(function, at)? {
            "bigint" => Some(DataType::Int64),
            "text[]" => Some(list_of(DataType::Utf8)),
            _ => Some(DataType::Utf8),
        },
    }
}
