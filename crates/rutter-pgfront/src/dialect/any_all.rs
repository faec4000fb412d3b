//! `= ANY (SELECT …)` and its relatives, and lists written as strings.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::casts::literal;
use super::lists::listed;
use super::rewrite::parsed;

/// Rewrites `= ANY (SELECT …)` to `IN (SELECT …)`, and `<> ALL (SELECT …)` to `NOT IN`.
pub fn said(expr: &mut Expr) -> Option<Expr> {
    let (left, op, right, wanted, negated) = match expr {
        Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => (left, compare_op, right, BinaryOperator::Eq, false),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => (left, compare_op, right, BinaryOperator::NotEq, true),
        _ => return None,
    };
    match right.as_ref() {
        Expr::Subquery(subquery) if *op == wanted => Some(Expr::InSubquery {
            expr: left.clone(),
            subquery: subquery.clone(),
            negated,
        }),
        Expr::Subquery(_) => None,
        other => {
            if let Some(list) = literal(other).and_then(listed) {
                **right = parsed(&list)?;
            }
            turned(expr)
        }
    }
}

/// Rewrites `x < ANY (list)` to `NOT x >= ALL (list)`: DataFusion follows the NULL rules only in the
/// second.
fn turned(expr: &Expr) -> Option<Expr> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let Expr::AnyOp {
        left,
        compare_op,
        right,
        ..
    } = expr
    else {
        return None;
    };
    let compare_op = match compare_op {
        NotEq => Eq,
        Lt => GtEq,
        LtEq => Gt,
        Gt => LtEq,
        GtEq => Lt,
        _ => return None,
    };
    let all = Expr::AllOp {
        left: left.clone(),
        compare_op,
        right: right.clone(),
    };
    Some(Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(Expr::Nested(Box::new(all))),
    })
}

/// Returns why a comparison with a subquery's rows is refused: DataFusion breaks the NULL rules in all but
/// the forms above.
pub fn refused(expr: &Expr) -> Option<String> {
    let (op, right, which) = match expr {
        Expr::AnyOp {
            compare_op, right, ..
        } => (compare_op, right, "ANY"),
        Expr::AllOp {
            compare_op, right, ..
        } => (compare_op, right, "ALL"),
        _ => return None,
    };
    matches!(right.as_ref(), Expr::Subquery(_)).then(|| {
        format!(
            "{op} {which} (SELECT …) is not offered: write IN (SELECT …), NOT IN (SELECT …), or compare with \
             (SELECT min(…) …) or (SELECT max(…) …)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_queries_are_looked_among() {
        for (sql, expected) in [
            ("x = ANY (SELECT y FROM t)", Some("x IN (SELECT y FROM t)")),
            ("x = SOME (SELECT y FROM t)", Some("x IN (SELECT y FROM t)")),
            (
                "x <> ALL (SELECT y FROM t)",
                Some("x NOT IN (SELECT y FROM t)"),
            ),
            ("x = ANY('{a,b}')", Some("x = ANY(ARRAY['a', 'b'])")),
            ("x = ANY(y)", Some("x = ANY(y)")),
            ("x < ANY(y)", Some("NOT (x >= ALL(y))")),
            ("x <> ANY('{a}')", Some("NOT (x = ALL(ARRAY['a']))")),
            ("x > ALL (SELECT y FROM t)", None),
            ("x <> ANY (SELECT y FROM t)", None),
        ] {
            let mut expr = parsed(sql).unwrap();
            let expr = said(&mut expr).unwrap_or(expr);
            match expected {
                Some(expected) => {
                    assert_eq!(refused(&expr), None, "{sql}");
                    assert_eq!(expr.to_string(), expected, "{sql}");
                }
                None => assert!(refused(&expr).is_some(), "{sql}"),
            }
        }
    }
}
