//! Halves that become whole numbers: of `float8` the even one is taken, of `numeric` the one farther from zero. The engine
//! has one type for both, so what is written tells which it is.

use datafusion::logical_expr::sqlparser::ast::{BinaryOperator, DataType, Expr, Function};

use super::casts::{is_double, is_whole};
use super::rewrite::{last, parsed};
use super::system_functions::arguments;
use crate::functions::ROUND_TO_EVEN;

/// A cast of a `float8` to a whole number.
pub fn said(expr: &Expr, to: &DataType) -> Option<Expr> {
    let fits = is_whole(to) && is_float(expr);
    fits.then(|| parsed(&format!("CAST({ROUND_TO_EVEN}({expr}) AS {to})")))?
}

/// `round(x)` of a `float8`.
pub fn called(name: &str, function: &Function) -> Option<Expr> {
    match (name, arguments(function).as_slice()) {
        ("round", [value]) if is_float(value) => parsed(&format!("{ROUND_TO_EVEN}({value})")),
        _ => None,
    }
}

/// Whether something is written as a `float8`.
fn is_float(expr: &Expr) -> bool {
    use BinaryOperator::{Divide, Minus, Multiply, Plus};
    match expr {
        Expr::Cast { data_type, .. } => is_double(data_type),
        Expr::Nested(expr) | Expr::UnaryOp { expr, .. } => is_float(expr),
        Expr::BinaryOp {
            left,
            op: Plus | Minus | Multiply | Divide,
            right,
        } => is_float(left) || is_float(right),
        Expr::Function(function) => {
            match last(&function.name)
                .unwrap_or_default()
                .to_lowercase()
                .as_str()
            {
                "percentile_cont" => true,
                "avg" | "sum" | "min" | "max" | "abs" => {
                    arguments(function).iter().any(|value| is_float(value))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_tells_what_it_is() {
        for (sql, expected) in [
            ("2.5::float8", true),
            ("-(x::real / 2)", true),
            ("avg(x::double precision)", true),
            ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", true),
            ("2.5", false),
            ("avg(x)", false),
            ("x::float8::numeric", false),
        ] {
            assert_eq!(is_float(&parsed(sql).unwrap()), expected, "{sql}");
        }
    }
}
