//! Refuses SQL that DataFusion would answer differently from PostgreSQL.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArguments, JoinConstraint, JoinOperator,
    NamedWindowDefinition, NamedWindowExpr, Select, SetExpr, SetOperator, SetQuantifier,
    TableFactor, TableWithJoins, Value, WindowType,
};

use super::inet;

/// Returns why an expression is refused.
pub fn expression(expr: &Expr) -> Option<String> {
    let why = match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            return is_open(right).then(|| {
                "x IS DISTINCT FROM y is read together with AND and OR behind it: write (x IS DISTINCT FROM y)".to_owned()
            });
        }
        Expr::Function(Function {
            over: Some(WindowType::WindowSpec(window)),
            ..
        }) if window.window_name.is_some() => NAMED_WINDOW,
        // DataFusion negates the months only.
        Expr::UnaryOp { expr, .. } if matches!(**expr, Expr::Interval(_)) => {
            "a sign before an interval is not offered: write interval '-1 day'"
        }
        Expr::Tuple(_) => "rows of values are not compared: write a = x AND b = y",
        _ => return inet::refused(expr),
    };
    Some(why.to_owned())
}

/// Returns why `ARRAY(SELECT …)` is refused, if it was not rewritten.
pub fn list(expr: &Expr) -> Option<String> {
    let is_list = matches!(
        expr,
        Expr::Function(Function {
            args: FunctionArguments::Subquery(_),
            ..
        })
    );
    is_list.then(|| {
        "ARRAY(SELECT …) takes one column, and no DISTINCT, GROUP BY, LIMIT or UNION: write ARRAY(SELECT x FROM (…) AS t)"
            .to_owned()
    })
}

/// DataFusion ignores clauses after a window's name.
const NAMED_WINDOW: &str = "OVER (w …) is not offered: write OVER w, or write the whole window out";

/// Returns why `DISTINCT ON (1)` is refused: DataFusion takes the number as a constant.
pub fn distinct(select: &Select) -> Option<String> {
    let Some(Distinct::On(by)) = &select.distinct else {
        return None;
    };
    let is_place =
        |by: &Expr| matches!(by, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    by.iter()
        .any(is_place)
        .then(|| "DISTINCT ON takes expressions, not their places".to_owned())
}

/// Returns the reason why a named window that extends another one is refused.
pub fn window(select: &Select) -> Option<String> {
    let extends = |NamedWindowDefinition(_, of): &NamedWindowDefinition| match of {
        NamedWindowExpr::NamedWindow(_) => true,
        NamedWindowExpr::WindowSpec(window) => window.window_name.is_some(),
    };
    let mut windows = select.named_window.iter();
    windows.any(extends).then(|| NAMED_WINDOW.to_owned())
}

/// Returns whether an expression is an `AND` or `OR` without parentheses.
fn is_open(expr: &Expr) -> bool {
    use BinaryOperator::{And, Or};
    matches!(expr, Expr::BinaryOp { op: And | Or, .. })
}

/// Returns why a query is refused.
pub fn query(body: &SetExpr) -> Option<String> {
    let SetExpr::SetOperation {
        op,
        set_quantifier,
        left,
        right,
    } = body
    else {
        return None;
    };
    let counts = matches!(set_quantifier, SetQuantifier::All)
        && matches!(
            op,
            SetOperator::Except | SetOperator::Intersect | SetOperator::Minus
        );
    match counts {
        true => Some(format!(
            "{op} ALL is not offered: write {op}, or count with GROUP BY"
        )),
        false => query(left).or_else(|| query(right)),
    }
}

/// Returns why a table is refused.
pub fn table(table: &TableFactor) -> Option<String> {
    let (TableFactor::Table {
        with_ordinality, ..
    }
    | TableFactor::Function {
        with_ordinality, ..
    }
    | TableFactor::UNNEST {
        with_ordinality, ..
    }) = table
    else {
        return None;
    };
    with_ordinality.then(|| {
        "WITH ORDINALITY is not offered: write (SELECT *, row_number() OVER () FROM …)".to_owned()
    })
}

/// Returns why a join is refused: DataFusion takes the left side's value for a common column.
pub fn join(table: &TableWithJoins) -> Option<String> {
    let wrong = table.joins.iter().any(|join| {
        use JoinOperator::{FullOuter, Right, RightOuter};
        let (Right(on) | RightOuter(on) | FullOuter(on)) = &join.join_operator else {
            return false;
        };
        matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural)
    });
    wrong.then(|| {
        "RIGHT and FULL JOIN take ON here, not USING or NATURAL: write ON a.x = b.x, and coalesce(a.x, b.x) for the column"
            .to_owned()
    })
}
