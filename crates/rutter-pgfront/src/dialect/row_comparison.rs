//! Compares rows value by value, with PostgreSQL's NULL rules.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, Expr, Function, UnaryOperator};

use super::rewrite::last;
use super::system_functions::arguments;

/// The most rows in `IN`: each becomes a comparison.
const MOST: usize = 256;

/// Rewrites `(a, b) = (x, y)` to `a = x AND b = y`.
pub fn said(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (row(left)?, row(right)?);
            compared(&left, op, &right)
        }
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            let left = row(expr)?;
            let among = list.iter().map(|item| {
                let right = row(item)?;
                compared(&left, &BinaryOperator::Eq, &right)
            });
            let among = any(among.collect::<Option<Vec<Expr>>>()?)?;
            Some(if *negated { not(among) } else { among })
        }
        // A row of NULL and other values fulfils neither.
        Expr::IsNull(of) => all(row(of)?, |value| Expr::IsNull(Box::new(value))),
        Expr::IsNotNull(of) => all(row(of)?, |value| Expr::IsNotNull(Box::new(value))),
        _ => None,
    }
}

/// Returns why a comparison of rows is refused.
pub fn refused(expr: &Expr) -> Option<String> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (row(left), row(right));
            let are_compared = match (&left, &right) {
                (None, None) => true,
                (Some(left), Some(right)) => compared(left, op, right).is_some(),
                _ => false,
            };
            (!are_compared).then(|| {
                format!(
                    "a row beside {op}: rows are compared with rows of as many values, by =, <>, <, <=, >, >= and IN"
                )
            })
        }
        Expr::InList { expr, list, .. } if row(expr).is_some() && list.len() > MOST => {
            Some(format!(
                "(a, b) IN (…) takes at most {MOST} rows: write EXISTS (SELECT 1 FROM (VALUES …) AS v(x, y) WHERE a = x AND b = y), \
                 or join with them"
            ))
        }
        _ => None,
    }
}

fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Option<Expr> {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    if left.len() != right.len() {
        return None;
    }
    let mut pairs = left.iter().zip(right).rev();
    let of = |(a, b): (&Expr, &Expr), op: BinaryOperator| binary(a.clone(), op, b.clone());
    // The first unequal value decides.
    let strict = match op {
        Eq | NotEq => None,
        Lt | LtEq => Some(Lt),
        Gt | GtEq => Some(Gt),
        _ => return None,
    };
    let last = of(pairs.next()?, op.clone());
    Some(nested(pairs.fold(last, |rest, pair| match &strict {
        None if *op == Eq => binary(of(pair, Eq), And, rest),
        None => binary(of(pair, NotEq), Or, rest),
        Some(strict) => {
            let further = binary(of(pair, Eq), And, rest);
            nested(binary(of(pair, strict.clone()), Or, nested(further)))
        }
    })))
}

/// Applies a condition to all values.
fn all(row: Vec<Expr>, is_so: impl Fn(Expr) -> Expr) -> Option<Expr> {
    let values = row.into_iter().map(is_so);
    let all = values.reduce(|all, next| binary(all, BinaryOperator::And, next));
    all.map(nested)
}

/// Joins conditions by OR as a balanced tree: deep nesting takes long.
fn any(mut of: Vec<Expr>) -> Option<Expr> {
    while of.len() > 1 {
        let mut pairs = of.into_iter();
        let mut half = Vec::new();
        while let Some(first) = pairs.next() {
            half.push(match pairs.next() {
                Some(second) => nested(binary(first, BinaryOperator::Or, second)),
                None => first,
            });
        }
        of = half;
    }
    of.pop()
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(expr),
    }
}

/// The values of a row.
fn row(expr: &Expr) -> Option<Vec<Expr>> {
    let values: Vec<&Expr> = match expr {
        Expr::Tuple(values) => values.iter().collect(),
        Expr::Nested(inner) => return row(inner),
        Expr::Function(call) if is_row(call) => arguments(call),
        _ => return None,
    };
    Some(values.into_iter().map(closed).collect())
}

/// Adds parentheses, unless a value needs none as an operand.
fn closed(value: &Expr) -> Expr {
    match value {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Function(_) => {
            value.clone()
        }
        value => nested(value.clone()),
    }
}

/// `ROW(a, b)`.
fn is_row(call: &Function) -> bool {
    last(&call.name).is_some_and(|name| name.eq_ignore_ascii_case("row"))
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::parsed;
    use super::*;

    #[test]
    fn rows_are_compared_value_by_value() {
        for (sql, expected) in [
            ("(a, b) = (x, y)", Some("(a = x AND b = y)")),
            ("ROW(a, b) <> (x, y)", Some("(a <> x OR b <> y)")),
            (
                "(a, b, c) <= (x, y, z)",
                Some("((a < x OR (a = x AND (b < y OR (b = y AND c <= z)))))"),
            ),
            (
                "(a, b) NOT IN ((1, 2), (3, 4), (5, 6))",
                Some("NOT (((a = 1 AND b = 2) OR (a = 3 AND b = 4)) OR (a = 5 AND b = 6))"),
            ),
            ("(a, b) = x", None),
            ("(a, b) = (x, y, z)", None),
            ("a IN (1, 2)", None),
        ] {
            let said = said(&parsed(sql).unwrap()).map(|said| said.to_string());
            assert_eq!(said.as_deref(), expected, "{sql}");
        }
    }
}
