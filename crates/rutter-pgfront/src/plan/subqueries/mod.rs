//! Subqueries in expressions: `EXISTS (…)`, `IN (SELECT …)` and scalar subqueries.
//!
//! DataFusion turns them into joins, some only in `WHERE`, and only one of these joins handles NULL. This pass rewrites
//! them to forms with PostgreSQL's answer. Other subqueries are refused with an explanation.

mod joins;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema as _, ScalarValue, not_impl_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count_all;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable as _, FetchType, Limit, LogicalPlan, LogicalPlanBuilder, Projection,
    SkipType, Subquery, lit, when,
};

use joins::Mark;

/// Rewrites all subqueries in expressions to forms for which DataFusion's answer is PostgreSQL's.
///
/// # Errors
/// If no such form exists.
pub fn said(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !plan.exists(|node| Ok(has_queries(node)))? {
        return Ok(plan);
    }
    let marks = Cell::new(0);
    let said = plan.transform_up_with_subqueries(|part| node(part, &marks))?;
    Ok(said.data)
}

/// The error of subqueries that DataFusion could not turn into a join.
pub const NO_JOIN: &str = "a query within an expression is answered where it can become a join: compare its columns \
    with those of the query around it by = in its WHERE, or write a join";

/// The error of a subquery in a place where it is not offered.
const ELSEWHERE: &str = "a query that names columns of the query around it stands in SELECT and WHERE: write \
    SELECT … FROM (SELECT …, EXISTS (…) AS x FROM …) AS t and use x";

/// The error of a subquery that refers to the query two levels up.
const FAR: &str = "a query within an expression names columns of the query around it, and not of those around that: \
    write a join";

/// The error of a correlated subquery with LIMIT, OFFSET or windows.
const PICKED: &str = "LIMIT, OFFSET, DISTINCT ON and windows are not offered in a query that names columns of the query \
    around it: write (SELECT (array_agg(x ORDER BY y))[1] …) for the first one, or a join";

/// The error of EXISTS over an aggregate.
const COUNTED: &str = "EXISTS (…) and IN (…) take no aggregate without GROUP BY that names columns of the query around \
    it: compare with (SELECT count(…) …)";

/// The error of an aggregate with HAVING, which may drop the row of an empty group.
const FILTERED: &str = "HAVING without GROUP BY is not offered in a query that names columns of the query around it: \
    write (SELECT CASE WHEN count(*) > 1 THEN max(…) END …)";

fn is_query(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_)
    )
}

/// Returns whether a subquery is correlated.
fn is_of_rows(expr: &Expr) -> bool {
    match expr {
        Expr::InSubquery(_) => true,
        Expr::Exists(Exists { subquery, .. }) | Expr::ScalarSubquery(subquery) => {
            !subquery.outer_ref_columns.is_empty()
        }
        _ => false,
    }
}

/// Returns whether an expression of a node has a subquery.
fn has_queries(node: &LogicalPlan) -> bool {
    let mut found = false;
    // The closure does not fail.
    let _ = node.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(is_query(part)))?;
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

fn node(node: LogicalPlan, marks: &Cell<usize>) -> Result<Transformed<LogicalPlan>> {
    if !has_queries(&node) {
        return Ok(Transformed::no(node));
    }
    let node = match node {
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) => lifted(node, marks)?,
        node => node,
    };
    let place = match node {
        LogicalPlan::Filter(_) => Place::Condition,
        LogicalPlan::Projection(_) => Place::Row,
        _ => Place::Elsewhere,
    };
    let within = Within::new(merge_schema(&node.inputs()), place, marks);
    let names = NamePreserver::new(&node);
    let said = |expr: Expr| {
        let name = names.save(&expr);
        let expr = match place {
            Place::Condition => within.condition(expr)?,
            _ => within.values(expr)?,
        };
        Ok(name.restore(expr))
    };
    if let LogicalPlan::Projection(row) = node {
        let exprs: Result<Vec<Expr>> = row.expr.into_iter().map(said).collect();
        let exprs = exprs?;
        let input = within.joined(Arc::unwrap_or_clone(row.input))?;
        let row = Projection::try_new(exprs, Arc::new(input.build()?))?;
        return Ok(Transformed::yes(LogicalPlan::Projection(row)));
    }
    node.map_expressions(|expr| Ok(Transformed::yes(said(expr)?)))?
        .map_data(LogicalPlan::recompute_schema)
}

/// Moves subqueries of groups and windows to columns of their input.
fn lifted(node: LogicalPlan, marks: &Cell<usize>) -> Result<LogicalPlan> {
    let [input] = node.inputs()[..] else {
        return Ok(node);
    };
    let within = Within::new(DFSchema::clone(input.schema()), Place::Row, marks);
    let mut columns: Vec<Expr> = input
        .schema()
        .columns()
        .into_iter()
        .map(Expr::from)
        .collect();
    let read = columns.len();
    let names = NamePreserver::new(&node);
    let lift = |expr: Expr| {
        let name = names.save(&expr);
        let expr = expr.transform_down(|part| {
            if !is_of_rows(&part) {
                return Ok(Transformed::no(part));
            }
            let name = format!("__within_{}", columns.len());
            columns.push(within.values(part)?.alias(&name));
            let column = Expr::Column(Column::new_unqualified(name));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        })?;
        Ok(name.restore(expr.data))
    };
    let exprs = node.expressions().into_iter().map(lift);
    let exprs: Vec<Expr> = exprs.collect::<Result<_>>()?;
    if columns.len() == read {
        return Ok(node);
    }
    let input = within.joined(input.clone())?.project(columns)?;
    node.with_new_exprs(exprs, vec![input.build()?])
}

/// The place of a subquery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a condition.
    Condition,
    /// In a column.
    Row,
    Elsewhere,
}

/// The expressions of a node.
struct Within<'a> {
    /// The columns of the outer query.
    schema: DFSchema,
    place: Place,
    /// The flags of rows for which a subquery has rows.
    marks: RefCell<Vec<Mark>>,
    /// The number of flags in the whole plan.
    count: &'a Cell<usize>,
}

impl<'a> Within<'a> {
    fn new(schema: DFSchema, place: Place, count: &'a Cell<usize>) -> Self {
        Self {
            schema,
            place,
            marks: RefCell::default(),
            count,
        }
    }

    /// The input of the expressions.
    fn joined(&self, rows: LogicalPlan) -> Result<LogicalPlanBuilder> {
        let marks = self.marks.borrow();
        let mut rows = LogicalPlanBuilder::from(rows);
        for mark in marks.iter() {
            rows = mark.join(rows)?;
        }
        Ok(rows)
    }

    /// Rewrites a condition of a filter, where false and NULL are the same.
    fn condition(&self, expr: Expr) -> Result<Expr> {
        let parts = split_conjunction_owned(expr).into_iter();
        let parts: Result<Vec<Expr>> = parts.map(|part| self.part(part)).collect();
        Ok(conjunction(parts?).unwrap_or_else(|| lit(true)))
    }

    /// Subqueries stay if DataFusion turns them into joins that keep or drop rows. Only its join for `NOT IN` of two columns
    /// handles NULL.
    fn part(&self, part: Expr) -> Result<Expr> {
        match part {
            Expr::Not(inner) if is_query(&inner) => match *inner {
                Expr::Exists(Exists { subquery, negated }) => self.exists(&subquery, !negated),
                Expr::InSubquery(of) => self.part(Expr::InSubquery(InSubquery {
                    negated: !of.negated,
                    ..of
                })),
                other => self.values(!other),
            },
            Expr::InSubquery(of) => {
                let is_alone = of.subquery.outer_ref_columns.is_empty();
                if is_alone && !of.expr.column_refs().is_empty() {
                    let subquery = projected(of.subquery)?;
                    return Ok(Expr::InSubquery(InSubquery { subquery, ..of }));
                }
                let mut same = self.same(&of)?;
                if of.negated && self.nullable(&of)? != (false, false) {
                    same = same.clone().or(same.is_null());
                }
                self.exists(&filtered(&of.subquery, same)?, of.negated)
            }
            part => self.values(part),
        }
    }

    /// Rewrites any other expression, where NULL differs from false.
    fn values(&self, expr: Expr) -> Result<Expr> {
        let said = expr.transform_up(|part| {
            Ok(match part {
                Expr::Exists(Exists { subquery, negated }) => {
                    Transformed::yes(self.exists(&subquery, negated)?)
                }
                Expr::InSubquery(of) => Transformed::yes(self.among(&of)?),
                Expr::ScalarSubquery(subquery) => {
                    self.check(&subquery, false)?;
                    if self.place == Place::Elsewhere && !subquery.outer_ref_columns.is_empty() {
                        return not_impl_err!("{ELSEWHERE}");
                    }
                    Transformed::no(Expr::ScalarSubquery(subquery))
                }
                part => Transformed::no(part),
            })
        });
        Ok(said?.data)
    }

    /// `EXISTS (…)`.
    fn exists(&self, subquery: &Subquery, negated: bool) -> Result<Expr> {
        if subquery.outer_ref_columns.is_empty() {
            let (rows, none) = (counted(subquery)?, lit(0_i64));
            return Ok(match negated {
                true => rows.eq(none),
                false => rows.gt(none),
            });
        }
        let subquery = unordered(subquery)?;
        self.check(&subquery, true)?;
        match self.place {
            Place::Condition => Ok(Expr::Exists(Exists::new(subquery, negated))),
            Place::Row => {
                let number = self.count.replace(self.count.get() + 1);
                let mark = Mark::new(format!("__sought_{number}"), subquery);
                let flag = mark.flag();
                self.marks.borrow_mut().push(mark);
                Ok(if negated { !flag } else { flag })
            }
            Place::Elsewhere => not_impl_err!("{ELSEWHERE}"),
        }
    }

    /// Rewrites `x IN (SELECT y …)`. It is NULL if x is not found and x or a y is NULL.
    fn among(&self, of: &InSubquery) -> Result<Expr> {
        let same = self.same(of)?;
        let found = |negated| self.exists(&filtered(&of.subquery, same.clone())?, negated);
        let (sought, given) = self.nullable(of)?;
        let mut unknown = Vec::new();
        if sought {
            let any = self.exists(&of.subquery, false)?;
            unknown.push(of.expr.clone().is_null().and(any));
        }
        if given {
            let none = filtered(&of.subquery, column(&of.subquery).is_null())?;
            unknown.push(self.exists(&none, false)?);
        }
        let Some(unknown) = unknown.into_iter().reduce(Expr::or) else {
            return found(of.negated);
        };
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        when(found(false)?, lit(!of.negated))
            .when(unknown, null)
            .otherwise(lit(of.negated))
    }

    /// Returns whether x, and whether y, may be NULL.
    fn nullable(&self, of: &InSubquery) -> Result<(bool, bool)> {
        let given = of.subquery.subquery.schema().field(0).is_nullable();
        Ok((of.expr.nullable(&self.schema)?, given))
    }

    /// Builds `x = y` inside the subquery.
    fn same(&self, of: &InSubquery) -> Result<Expr> {
        if of.expr.contains_outer() {
            return not_impl_err!("{FAR}");
        }
        if of.expr.exists(|part| Ok(is_query(part)))? {
            return not_impl_err!("{NO_JOIN}");
        }
        let outer = of.expr.as_ref().clone().transform_up(|part| match part {
            Expr::Column(column) => {
                let field = Arc::clone(self.schema.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            part => Ok(Transformed::no(part)),
        })?;
        Ok(outer.data.eq(column(&of.subquery)))
    }

    /// Refuses subqueries that DataFusion cannot join, or joins wrongly.
    fn check(&self, subquery: &Subquery, is_sought: bool) -> Result<()> {
        for outer in &subquery.outer_ref_columns {
            if let Expr::OuterReferenceColumn(_, column) = outer
                && !self.schema.has_column(column)
            {
                return not_impl_err!("{FAR}");
            }
        }
        joins::check(subquery, is_sought)
    }
}

/// The only column of a subquery.
fn column(subquery: &Subquery) -> Expr {
    Expr::Column(Column::from(subquery.subquery.schema().qualified_field(0)))
}

/// Wraps a subquery in a projection that names its only column: `VALUES` has none.
fn projected(subquery: Subquery) -> Result<Subquery> {
    if subquery.subquery.head_output_expr()?.is_some() {
        return Ok(subquery);
    }
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery));
    made(plan.project([column(&subquery)])?.build()?, &subquery)
}

/// Adds a condition to a subquery.
fn filtered(subquery: &Subquery, condition: Expr) -> Result<Subquery> {
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery));
    made(plan.filter(condition)?.build()?, subquery)
}

/// Counts the rows of an uncorrelated subquery, up to one.
fn counted(subquery: &Subquery) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).limit(0, Some(1))?;
    let plan = plan.aggregate(Vec::<Expr>::new(), [count_all()])?.build()?;
    Ok(Expr::ScalarSubquery(made(plan, subquery)?))
}

/// Removes parts of an EXISTS subquery that do not decide whether it has a row.
fn unordered(subquery: &Subquery) -> Result<Subquery> {
    let mut plan = &subquery.subquery;
    loop {
        plan = match plan.as_ref() {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
            LogicalPlan::Projection(row) => &row.input,
            LogicalPlan::Limit(limit) if has_first(limit)? => &limit.input,
            _ => return made(plan.as_ref().clone(), subquery),
        }
    }
}

/// Returns whether LIMIT and OFFSET keep the first row.
fn has_first(limit: &Limit) -> Result<bool> {
    let skips = !matches!(limit.get_skip_type()?, SkipType::Literal(0));
    let takes = match limit.get_fetch_type()? {
        FetchType::Literal(most) => most != Some(0),
        FetchType::UnsupportedExpr => false,
    };
    Ok(takes && !skips)
}

fn made(plan: LogicalPlan, of: &Subquery) -> Result<Subquery> {
    Ok(Subquery {
        outer_ref_columns: plan.all_out_ref_exprs(),
        subquery: Arc::new(plan),
        spans: of.spans.clone(),
    })
}
