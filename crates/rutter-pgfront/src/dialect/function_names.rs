//! Numeric functions that DataFusion has under other names, or as operators.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::rewrite::parsed;
use super::system_functions::arguments;

/// Rewrites `sign`, `mod` and `div`.
pub fn said(name: &str, function: &Function) -> Option<Expr> {
    parsed(&match (name, arguments(function).as_slice()) {
        ("sign", [value]) => format!("signum({value})"),
        ("mod", [value, by]) => format!("(({value}) % ({by}))"),
        ("div", [value, by]) => format!(
            "CAST(trunc(quotient(CAST({value} AS DOUBLE PRECISION), CAST({by} AS DOUBLE PRECISION))) AS NUMERIC(38, 0))"
        ),
        _ => return None,
    })
}
