//! `= ANY (SELECT …)` and its kin, and lists that are written as texts.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, Expr};

use super::adapt::parsed;
use super::casts::literal;
use super::lists::listed;

/// What is the same in the engine's words: `= ANY (SELECT …)` is `IN (SELECT …)`, `<> ALL (SELECT …)` is `NOT IN`.
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
        other => {
            let list = listed(literal(other)?)?;
            **right = parsed(&list)?;
            None
        }
    }
}

/// Why a comparison with the rows of a query is not offered: the engine takes NULL for an answer in others than
/// those above.
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
