//! Parts of times as fractions: seconds have decimals. DataFusion's are integers.
//!
//! `date_part` gives a `float8`, `extract` a `numeric`: they are rounded differently.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::casts::literal;
use super::rewrite::parsed;
use super::system_functions::arguments;

/// Rewrites `date_part('second', time)`.
pub fn called(name: &str, function: &Function) -> Option<Expr> {
    let arguments = arguments(function);
    let ("date_part", [part, value]) = (name, arguments.as_slice()) else {
        return None;
    };
    parsed(&match of_second(literal(part).unwrap_or_default()) {
        Some(micros) => {
            format!("(CAST(date_part('microsecond', {value}) AS DOUBLE PRECISION) / {micros})")
        }
        None => format!("CAST({function} AS DOUBLE PRECISION)"),
    })
}

/// Rewrites `extract(second FROM time)`.
pub fn of(part: &str, value: &Expr) -> Option<Expr> {
    let part = part.trim_matches('\'');
    parsed(&match of_second(part) {
        Some(micros) => format!("(date_part('microsecond', {value}) / {micros}.0)"),
        None => format!("(date_part('{part}', {value}) * 1.0)"),
    })
}

/// The microseconds in a unit of a part, for parts with decimals.
fn of_second(part: &str) -> Option<u32> {
    match part.to_lowercase().as_str() {
        "second" | "seconds" | "sec" | "secs" | "s" => Some(1_000_000),
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbers_with_a_point() {
        let time = parsed("a.time").unwrap();
        let said = |part| of(part, &time).unwrap().to_string();
        let seconds = "(date_part('microsecond', a.time) / 1000000.0)";
        assert_eq!(said("SECOND"), seconds);
        assert!(said("msecs").ends_with(" / 1000.0)"));
        assert_eq!(said("'HOUR'"), "(date_part('HOUR', a.time) * 1.0)");
        let call = |sql| match parsed(sql).unwrap() {
            Expr::Function(function) => called("date_part", &function).unwrap().to_string(),
            other => panic!("{other}"),
        };
        assert_eq!(
            call("date_part('hour', t)"),
            "CAST(date_part('hour', t) AS DOUBLE PRECISION)"
        );
        assert_eq!(
            call("date_part('secs', t)"),
            "(CAST(date_part('microsecond', t) AS DOUBLE PRECISION) / 1000000)"
        );
    }
}
