//! Floating-point numbers as PostgreSQL writes them: the shortest digits that are read back as the same number.

use std::fmt::Write as _;

/// Writes a number.
pub fn text(number: f64) -> String {
    match special(number) {
        Some(word) => word.to_owned(),
        None => digits(&format!("{number:e}"), number.to_string(), MAX_EXPONENT),
    }
}

/// Writes a number of 32 bits.
pub fn short(number: f32) -> String {
    match special(number.into()) {
        Some(word) => word.to_owned(),
        None => digits(
            &format!("{number:e}"),
            number.to_string(),
            MAX_EXPONENT_FLOAT4,
        ),
    }
}

fn special(number: f64) -> Option<&'static str> {
    match number {
        number if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    }
}

/// Writes a number with an exponent if the exponent is large.
fn digits(scientific: &str, plain: String, most: i32) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (MIN_EXPONENT..most).contains(&exponent) {
        return plain;
    }
    let mut out = digits.to_owned();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to memory cannot fail.
    let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    out
}

/// Powers of ten that are written without an exponent.
const MIN_EXPONENT: i32 = -4;
const MAX_EXPONENT: i32 = 15;
const MAX_EXPONENT_FLOAT4: i32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_postgresql_notation() {
        for (number, expected) in [
            (2.0, "2"),
            (-0.0, "-0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (-123_456_789_012_345_680.0, "-1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(number), expected);
        }
        for (number, expected) in [(1.1, "1.1"), (16_777_216.0, "1.6777216e+07")] {
            assert_eq!(short(number), expected);
        }
    }
}
