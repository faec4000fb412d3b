//! Strings of times as PostgreSQL reads them: with or without seconds, rounded to microseconds, and with a zone that is
//! ignored for types without one.

use std::sync::{Arc, LazyLock};

use chrono::{NaiveDateTime, TimeDelta};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable as _, ScalarUDF, cast};

use super::text_function::{Body, function};
use crate::values::is_text;

/// Rewrites the string that is cast to a time for DataFusion; `None`: it needs no change.
pub fn read(value: &Expr, to: &DataType, schema: &DFSchema) -> Option<Expr> {
    let keeps_zone = match to {
        DataType::Timestamp(_, zone) => zone.is_some(),
        DataType::Time32(_) | DataType::Time64(_) | DataType::Date32 => false,
        _ => return None,
    };
    let function = if keeps_zone { &ZONED } else { &PLAIN };
    match value {
        Expr::Literal(text, _) => {
            let text = spelled_out(text.try_as_str()??, keeps_zone)?;
            Some(Expr::Literal(ScalarValue::Utf8(Some(text)), None))
        }
        Expr::ScalarFunction(call) if call.func.name() == function.name() => None,
        value if is_text(&value.get_type(schema).ok()?) => {
            let function = Arc::clone(LazyLock::force(function));
            let text = cast(value.clone(), DataType::Utf8);
            Some(Expr::ScalarFunction(ScalarFunction::new_udf(
                function,
                vec![text],
            )))
        }
        _ => None,
    }
}

static ZONED: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let body = Body::Text(|text| Some(spelled_out(text, true).unwrap_or_else(|| text.to_owned())));
    Arc::new(function("time_with_zone", body))
});

static PLAIN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let body = Body::Text(|text| Some(spelled_out(text, false).unwrap_or_else(|| text.to_owned())));
    Arc::new(function("time_without_zone", body))
});

/// Completes `2026-11-20 12:00+02` with seconds, rounds it to microseconds, and drops a zone that is not kept. `None`: it
/// is no time of a day, or needs nothing.
pub fn spelled_out(text: &str, keeps_zone: bool) -> Option<String> {
    let text = text.trim();
    let (day, clock) = match shaped(text, b"dddd-dd-dd ") {
        Some((day, clock)) => (day, clock),
        None if keeps_zone => return None,
        None => ("", text),
    };
    let (minutes, rest) = shaped(clock, b"dd:dd")?;
    let (seconds, rest) = match shaped(rest, b":dd") {
        Some(found) => found,
        None if rest.starts_with(':') => return None,
        None => (":00", rest),
    };
    let digits = rest.strip_prefix('.').unwrap_or_default();
    let digits = digits
        .find(|c: char| !c.is_ascii_digit())
        .map_or(digits, |end| &digits[..end]);
    let rest = if digits.is_empty() {
        rest
    } else {
        &rest[1 + digits.len()..]
    };
    let zone = match rest.trim_start() {
        zone if is_zone(zone) && !keeps_zone => "",
        zone if is_utc(zone) => "Z",
        _ => rest,
    };
    let time = format!("{day}{minutes}{seconds}");
    Some(match digits.len() {
        0 => format!("{time}{zone}"),
        1..=6 => format!("{time}.{digits}{zone}"),
        _ => format!("{}{zone}", rounded(&time, digits)?),
    })
}

/// Splits a string whose first bytes match a shape of digits and other characters.
fn shaped<'a>(text: &'a str, shape: &[u8]) -> Option<(&'a str, &'a str)> {
    let (head, rest) = text.split_at_checked(shape.len())?;
    let fits = head.bytes().zip(shape).all(|(octet, shape)| match shape {
        b'd' => octet.is_ascii_digit(),
        b' ' => matches!(octet, b' ' | b'T' | b't'),
        sign => octet == *sign,
    });
    fits.then_some((head, rest))
}

/// `+02`, `-02:30`, `Z`, `UTC`.
fn is_zone(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or_default();
    let digits = digits.replace(':', "");
    let is_number = matches!(digits.len(), 2 | 4 | 6) && digits.bytes().all(|c| c.is_ascii_digit());
    is_utc(text) || is_number && &digits[..2] < "16"
}

fn is_utc(text: &str) -> bool {
    let names = ["z", "utc", "gmt"];
    names.iter().any(|name| text.eq_ignore_ascii_case(name))
}

/// Rounds a time to six digits of a second.
fn rounded(time: &str, digits: &str) -> Option<String> {
    let micros = (format!("0.{digits}").parse::<f64>().ok()? * 1e6).round_ties_even();
    if micros < 1e6 {
        return Some(format!("{time}.{micros:06}"));
    }
    let (form, time) = match time.len() {
        8 => ("%H:%M:%S", format!("1970-01-01 {time}")),
        _ => ("%Y-%m-%d %H:%M:%S", time.replace(['T', 't'], " ")),
    };
    let time = NaiveDateTime::parse_from_str(&time, "%Y-%m-%d %H:%M:%S").ok()?;
    let next = time.checked_add_signed(TimeDelta::seconds(1))?;
    Some(next.format(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_postgresql_does() {
        for (text, plain, zoned) in [
            (
                "2026-11-20 12:00",
                "2026-11-20 12:00:00",
                "2026-11-20 12:00:00",
            ),
            (
                "2026-11-20T12:00Z",
                "2026-11-20T12:00:00",
                "2026-11-20T12:00:00Z",
            ),
            (
                " 2026-11-20 12:00+02:00 ",
                "2026-11-20 12:00:00",
                "2026-11-20 12:00:00+02:00",
            ),
            (
                "2026-11-20 12:00:01.5 -0230",
                "2026-11-20 12:00:01.5",
                "2026-11-20 12:00:01.5 -0230",
            ),
            (
                "2026-11-20 12:00:01.1234567+02",
                "2026-11-20 12:00:01.123457",
                "2026-11-20 12:00:01.123457+02",
            ),
            (
                "2026-12-31 23:59:59.9999995",
                "2027-01-01 00:00:00",
                "2027-01-01 00:00:00",
            ),
            (
                "2026-11-20 12:00:01 PM",
                "2026-11-20 12:00:01 PM",
                "2026-11-20 12:00:01 PM",
            ),
        ] {
            assert_eq!(spelled_out(text, false).as_deref(), Some(plain), "{text}");
            assert_eq!(spelled_out(text, true).as_deref(), Some(zoned), "{text}");
        }
        assert_eq!(
            spelled_out("10:20:30.9999999", false).as_deref(),
            Some("10:20:31")
        );
        for other in ["2026-11-20", "2026-11-20 1é:00", "12:00:1", "now", ""] {
            assert_eq!(spelled_out(other, false), None, "{other}");
        }
    }
}
