//! Parts of times: seconds have what stands behind their point, which the engine cuts off.

use datafusion::logical_expr::sqlparser::ast::{Expr, Function};

use super::adapt::parsed;
use super::casts::literal;
use super::constants::arguments;

/// `date_part('second', time)` in the engine's words.
pub fn called(name: &str, function: &Function) -> Option<Expr> {
    match (name, arguments(function).as_slice()) {
        ("date_part", [part, value]) => of(literal(part)?, value),
        _ => None,
    }
}

/// `extract(second FROM time)`.
pub fn of(part: &str, value: &Expr) -> Option<Expr> {
    let micros = match part.to_lowercase().as_str() {
        "second" | "seconds" | "sec" | "secs" | "s" => 1_000_000,
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => 1_000,
        _ => return None,
    };
    parsed(&format!(
        "CAST(date_part('microsecond', {value}) AS DOUBLE PRECISION) / {micros}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_counted_in_millionths() {
        let time = parsed("a.time").unwrap();
        let said = |part| of(part, &time).map(|said| said.to_string());
        assert_eq!(
            said("SECOND").as_deref(),
            Some("CAST(date_part('microsecond', a.time) AS DOUBLE PRECISION) / 1000000")
        );
        assert!(said("msecs").unwrap().ends_with(" / 1000"));
        for whole in ["microsecond", "minute", "epoch"] {
            assert_eq!(said(whole), None, "{whole}");
        }
    }
}
