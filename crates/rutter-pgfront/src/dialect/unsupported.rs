//! Refuses SQL that DataFusion would answer differently from PostgreSQL.

use datafusion::logical_expr::sqlparser::ast::{
    BinaryOperator, DataType, ExactNumberInfo, Expr, Function, JoinConstraint, JoinOperator,
    NamedWindowDefinition, NamedWindowExpr, Select, SetExpr, SetOperator, SetQuantifier,
    TableFactor, TableWithJoins, WindowType,
};

use super::inet::is_to_network;
use super::rewrite::last;
use super::row_comparison;
use super::system_functions::arguments;

/// Returns why an expression is refused.
pub fn expression(expr: &Expr) -> Option<String> {
    let why = match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            return is_open(right).then(|| {
                "x IS DISTINCT FROM y is read together with AND and OR behind it: write (x IS DISTINCT FROM y)".to_owned()
            });
        }
        Expr::Function(function) if is_extreme(function) => {
            "min and max of inet are not offered: write (array_agg(prefix ORDER BY prefix_key(prefix)))[1]"
        }
        Expr::Function(Function {
            over: Some(WindowType::WindowSpec(window)),
            ..
        }) if window.window_name.is_some() => NAMED_WINDOW,
        Expr::Function(function) if is_of_no_row(function) => {
            "argument of nth_value must be greater than zero"
        }
        Expr::Cast {
            data_type: DataType::Numeric(size) | DataType::Decimal(size) | DataType::Dec(size),
            ..
        } if matches!(size, ExactNumberInfo::PrecisionAndScale(_, ..0)) => {
            "numeric with a negative scale is not offered: write round(x, -2)"
        }
        _ => return row_comparison::refused(expr),
    };
    Some(why.to_owned())
}

/// DataFusion ignores clauses after a window's name.
const NAMED_WINDOW: &str = "OVER (w …) is not offered: write OVER w, or write the whole window out";

/// Returns the reason why a named window that extends another one is refused.
pub fn window(select: &Select) -> Option<String> {
    let extends = |NamedWindowDefinition(_, of): &NamedWindowDefinition| match of {
        NamedWindowExpr::NamedWindow(_) => true,
        NamedWindowExpr::WindowSpec(window) => window.window_name.is_some(),
    };
    let mut windows = select.named_window.iter();
    windows.any(extends).then(|| NAMED_WINDOW.to_owned())
}

/// `nth_value(x, 0)`.
fn is_of_no_row(function: &Function) -> bool {
    let name = last(&function.name).unwrap_or_default();
    let row = arguments(function).get(1).map(ToString::to_string);
    let is_none = |row: String| row == "0" || row.starts_with('-');
    name.eq_ignore_ascii_case("nth_value") && row.is_some_and(is_none)
}

/// Returns whether an expression is an `AND` or `OR` without parentheses.
fn is_open(expr: &Expr) -> bool {
    use BinaryOperator::{And, Or};
    matches!(expr, Expr::BinaryOp { op: And | Or, .. })
}

/// `min(prefix::inet)`.
fn is_extreme(function: &Function) -> bool {
    let name = last(&function.name).unwrap_or_default();
    let is_extreme = ["min", "max"]
        .iter()
        .any(|of| of.eq_ignore_ascii_case(name));
    is_extreme && arguments(function).iter().any(|value| is_to_network(value))
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
