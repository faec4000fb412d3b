//! Queries within expressions: `EXISTS (…)`, `IN (SELECT …)`, and those that give one value.
//!
//! The engine makes joins of them, of some only in `WHERE`, and knows no NULL but in one of these joins. So they are said
//! in the words for which its answer is PostgreSQL's; for what has none there are words for its author.

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

/// Says all queries within expressions so that the engine's answer is PostgreSQL's.
///
/// # Errors
/// Where it would be another, or none.
pub fn said(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !plan.exists(|node| Ok(has_queries(node)))? {
        return Ok(plan);
    }
    let marks = Cell::new(0);
    let said = plan.transform_up_with_subqueries(|part| node(part, &marks))?;
    Ok(said.data)
}

/// Why there is no answer to what the engine could not make a join of.
pub const NO_JOIN: &str = "a query within an expression is answered where it can become a join: compare its columns \
    with those of the query around it by = in its WHERE, or write a join";

/// Why one is not offered where it stands.
const ELSEWHERE: &str = "a query that names columns of the query around it stands in SELECT and WHERE: write \
    SELECT … FROM (SELECT …, EXISTS (…) AS x FROM …) AS t and use x";

/// Why one is not offered over two queries around it.
const FAR: &str = "a query within an expression names columns of the query around it, and not of those around that: \
    write a join";

/// Why one is not offered that picks some of the rows that it finds.
const PICKED: &str = "LIMIT, OFFSET, DISTINCT ON and windows are not offered in a query that names columns of the query \
    around it: write (SELECT (array_agg(x ORDER BY y))[1] …) for the first one, or a join";

/// Why one is not offered whose row comes of no rows.
const COUNTED: &str = "EXISTS (…) and IN (…) take no aggregate without GROUP BY that names columns of the query around \
    it: compare with (SELECT count(…) …)";

/// Why one is not offered whose row may be none, though it comes of no rows.
const FILTERED: &str = "HAVING without GROUP BY is not offered in a query that names columns of the query around it: \
    write (SELECT CASE WHEN count(*) > 1 THEN max(…) END …)";

fn is_query(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_)
    )
}

/// Whether a query has another answer for each row.
fn is_of_rows(expr: &Expr) -> bool {
    match expr {
        Expr::InSubquery(_) => true,
        Expr::Exists(Exists { subquery, .. }) | Expr::ScalarSubquery(subquery) => {
            !subquery.outer_ref_columns.is_empty()
        }
        _ => false,
    }
}

/// Whether an expression of a node has a query in it.
fn has_queries(node: &LogicalPlan) -> bool {
    let mut found = false;
    // Looking cannot fail.
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

/// Groups and windows whose queries are columns of what they read.
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

/// Where a query stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In what must be true of a row.
    Condition,
    /// In what makes a row.
    Row,
    Elsewhere,
}

/// The expressions of a node.
struct Within<'a> {
    /// The columns of the query around.
    schema: DFSchema,
    place: Place,
    /// What tells which rows queries have something for.
    marks: RefCell<Vec<Mark>>,
    /// How many there are in all of the plan.
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

    /// The rows that the expressions read.
    fn joined(&self, rows: LogicalPlan) -> Result<LogicalPlanBuilder> {
        let marks = self.marks.borrow();
        let mut rows = LogicalPlanBuilder::from(rows);
        for mark in marks.iter() {
            rows = mark.join(rows)?;
        }
        Ok(rows)
    }

    /// A condition of which only matters whether it is true.
    fn condition(&self, expr: Expr) -> Result<Expr> {
        let parts = split_conjunction_owned(expr).into_iter();
        let parts: Result<Vec<Expr>> = parts.map(|part| self.part(part)).collect();
        Ok(conjunction(parts?).unwrap_or_else(|| lit(true)))
    }

    /// What the engine makes a join of that keeps or drops rows stays; of its joins one knows NULL: that for `NOT IN` where
    /// two columns are compared and nothing else.
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

    /// Everything else, of which it also matters whether it is NULL.
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

    /// `x IN (SELECT y …)`: NULL where x is not found, but it or one of those found is NULL.
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

    /// Whether x, and whether y, may be NULL.
    fn nullable(&self, of: &InSubquery) -> Result<(bool, bool)> {
        let given = of.subquery.subquery.schema().field(0).is_nullable();
        Ok((of.expr.nullable(&self.schema)?, given))
    }

    /// `x = y`, within the query that gives y.
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

    /// Refuses what the engine makes no join of, or another one than is asked.
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

/// The only column of a query.
fn column(subquery: &Subquery) -> Expr {
    Expr::Column(Column::from(subquery.subquery.schema().qualified_field(0)))
}

/// A query that says what its only column is: `VALUES` alone does not.
fn projected(subquery: Subquery) -> Result<Subquery> {
    if subquery.subquery.head_output_expr()?.is_some() {
        return Ok(subquery);
    }
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery));
    made(plan.project([column(&subquery)])?.build()?, &subquery)
}

/// A query whose rows must fulfil something more.
fn filtered(subquery: &Subquery, condition: Expr) -> Result<Subquery> {
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery));
    made(plan.filter(condition)?.build()?, subquery)
}

/// How many rows a query gives that gives the same for all, one at most.
fn counted(subquery: &Subquery) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).limit(0, Some(1))?;
    let plan = plan.aggregate(Vec::<Expr>::new(), [count_all()])?.build()?;
    Ok(Expr::ScalarSubquery(made(plan, subquery)?))
}

/// A query of which only matters whether it gives a row, without what does not matter for that.
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

/// Whether the first row is among those that are left.
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
