//! `= ANY (SELECT …)` and its relatives, and lists written as strings.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, Expr};

use super::casts::literal;
use super::literals::items;
use super::rewrite::parsed;

/// Rewrites `= ANY (SELECT …)` to `IN (SELECT …)`, and `<> ALL (SELECT …)` to `NOT IN`.
pub fn rewritten_form(expr: &mut Expr) -> Option<Expr> {
    let (left, right, negated) = match expr {
        Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            ..
        } => (left, right, false),
        Expr::AllOp {
            left,
            compare_op: BinaryOperator::NotEq,
            right,
        } => (left, right, true),
        _ => return None,
    };
    if let Expr::Subquery(subquery) = right.as_ref() {
        return Some(Expr::InSubquery {
            expr: left.clone(),
            subquery: subquery.clone(),
            negated,
        });
    }
    if let Some(list) = literal(right).and_then(listed) {
        **right = parsed(&list)?;
    }
    None
}

/// Rewrites `{a,"b c"}` to an array expression.
fn listed(text: &str) -> Option<String> {
    let items = items(text)?;
    let written = items.iter().map(|item| match item {
        None => "NULL".to_owned(),
        Some(item) => format!("'{}'", item.replace('\'', "''")),
    });
    Some(format!("ARRAY[{}]", written.collect::<Vec<_>>().join(", ")))
}

/// Returns why another comparison with the items of a list or the rows of a query is refused: DataFusion breaks the NULL
/// rules there.
pub fn refused(expr: &Expr) -> Option<String> {
    use BinaryOperator::{Eq, NotEq};
    match expr {
        Expr::AnyOp { compare_op: Eq, .. } => None,
        Expr::AllOp {
            compare_op: NotEq, ..
        } => None,
        Expr::AnyOp { compare_op, .. } | Expr::AllOp { compare_op, .. } => Some(format!(
            "{compare_op} beside ANY or ALL is not offered: write = ANY (…), <> ALL (…), or compare with (SELECT min(…) …) \
             or (SELECT max(…) …)"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_and_all_become_in() {
        for (sql, expected) in [
            ("x = ANY (SELECT y FROM t)", Some("x IN (SELECT y FROM t)")),
            ("x = SOME (SELECT y FROM t)", Some("x IN (SELECT y FROM t)")),
            (
                "x <> ALL (SELECT y FROM t)",
                Some("x NOT IN (SELECT y FROM t)"),
            ),
            ("x = ANY('{a,b}')", Some("x = ANY(ARRAY['a', 'b'])")),
            ("x = ANY(y)", Some("x = ANY(y)")),
            ("x < ANY(y)", None),
            ("x > ALL (SELECT y FROM t)", None),
            ("x <> ANY (SELECT y FROM t)", None),
        ] {
            let mut expr = parsed(sql).unwrap();
            let expr = rewritten_form(&mut expr).unwrap_or(expr);
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
