//! Intervals of months, days and microseconds, in PostgreSQL's text and binary formats.

use std::fmt;

use datafusion::arrow::array::{ArrayRef, AsArray as _};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::cast_utils::{
    IntervalParseConfig, IntervalUnit as ArrowUnit, parse_interval_month_day_nano_config,
};
use datafusion::arrow::datatypes::{
    DataType, DurationMicrosecondType, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, TimeUnit,
};
use datafusion::error::Result;

/// An interval. Its parts stay apart: months differ in days, and days in hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    months: i32,
    days: i32,
    micros: i64,
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Reads a column of intervals or durations. A duration has whole days, as in PostgreSQL.
pub fn spans(array: &ArrayRef) -> Result<Vec<Option<Span>>> {
    if matches!(array.data_type(), DataType::Duration(_)) {
        let micros = cast(array, &DataType::Duration(TimeUnit::Microsecond))?;
        let micros = micros.as_primitive::<DurationMicrosecondType>().iter();
        let span = |micros: i64| Span {
            months: 0,
            days: (micros / DAY) as i32,
            micros: micros % DAY,
        };
        return Ok(micros.map(|micros| micros.map(span)).collect());
    }
    let parts = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let parts = parts.as_primitive::<IntervalMonthDayNanoType>().iter();
    Ok(parts.map(|parts| parts.map(Span::from)).collect())
}

impl From<IntervalMonthDayNano> for Span {
    fn from(parts: IntervalMonthDayNano) -> Self {
        Self {
            months: parts.months,
            days: parts.days,
            micros: (parts.nanoseconds as f64 / 1_000.0).round_ties_even() as i64,
        }
    }
}

impl Span {
    /// Encodes the interval in the binary format.
    pub fn octets(self) -> [u8; 16] {
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&self.micros.to_be_bytes());
        octets[8..12].copy_from_slice(&self.days.to_be_bytes());
        octets[12..].copy_from_slice(&self.months.to_be_bytes());
        octets
    }

    /// Decodes the binary format.
    pub fn of_octets(octets: &[u8]) -> Option<Self> {
        let octets: &[u8; 16] = octets.try_into().ok()?;
        let (micros, rest) = octets.split_first_chunk()?;
        let (days, months) = rest.split_first_chunk()?;
        Some(Self {
            months: i32::from_be_bytes(months.try_into().ok()?),
            days: i32::from_be_bytes(*days),
            micros: i64::from_be_bytes(*micros),
        })
    }

    /// Returns the interval as DataFusion's type, if it fits.
    pub fn parts(self) -> Option<IntervalMonthDayNano> {
        let nanoseconds = self.micros.checked_mul(1_000)?;
        Some(IntervalMonthDayNano::new(
            self.months,
            self.days,
            nanoseconds,
        ))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut is_first, mut was_negative) = (true, false);
        let units = [
            (self.months / 12, "year"),
            (self.months % 12, "mon"),
            (self.days, "day"),
        ];
        for (value, unit) in units.into_iter().filter(|(value, _)| *value != 0) {
            let space = if is_first { "" } else { " " };
            let plus = if was_negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            write!(f, "{space}{plus}{value} {unit}{plural}")?;
            (is_first, was_negative) = (false, value < 0);
        }
        if self.micros == 0 && !is_first {
            return Ok(());
        }
        let space = if is_first { "" } else { " " };
        let sign = match self.micros < 0 {
            true => "-",
            false if was_negative => "+",
            false => "",
        };
        let micros = self.micros.unsigned_abs();
        let of = |unit: i64| micros / unit.unsigned_abs();
        let (hours, minutes, seconds) = (of(HOUR), of(MINUTE) % 60, of(SECOND) % 60);
        write!(f, "{space}{sign}{hours:02}:{minutes:02}:{seconds:02}")?;
        match micros % SECOND.unsigned_abs() {
            0 => Ok(()),
            part => write!(f, ".{}", format!("{part:06}").trim_end_matches('0')),
        }
    }
}

/// Parses an interval in the forms that drivers write: `1 day, 2:03:04.5`, `2 hours 30 mins`, `-1 days +23:59:55`.
pub fn parsed(text: &str) -> Option<IntervalMonthDayNano> {
    // A number without a unit means seconds.
    let config = IntervalParseConfig::new(ArrowUnit::Second);
    parse_interval_month_day_nano_config(&words(text)?, config).ok()
}

/// Writes an interval for DataFusion, which does not read `hours:minutes` in every form.
pub fn words(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase().replace(',', " ");
    let words = text.split_whitespace();
    let words: Option<Vec<String>> = words
        .map(|word| match word.contains(':') {
            true => clock(word),
            false => Some(word.trim_start_matches('+').to_owned()),
        })
        .collect();
    words
        .filter(|words| !words.is_empty())
        .map(|words| words.join(" "))
}

/// Rewrites `[-]H:MM[:SS[.f]]` to `H hours MM minutes SS.f seconds`.
fn clock(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<&str> = digits.split(':').collect();
    let is_number = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return None;
    }
    let units = ["hours", "minutes", "seconds"];
    let words = parts.iter().zip(units);
    let words = words.map(|(part, unit)| format!("{sign}{part} {unit}"));
    Some(words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn span(months: i32, days: i32, micros: i64) -> Span {
        Span {
            months,
            days,
            micros,
        }
    }

    fn read(text: &str) -> Option<Span> {
        parsed(text).map(Span::from)
    }

    #[test]
    fn intervals_have_postgresql_notation() {
        for (span, expected) in [
            (span(0, 0, 0), "00:00:00"),
            (
                span(14, 2, 3 * HOUR + 4),
                "1 year 2 mons 2 days 03:00:00.000004",
            ),
            (span(0, 1, 0), "1 day"),
            (span(-14, 2, -HOUR), "-1 years -2 mons +2 days -01:00:00"),
            (span(0, -1, HOUR), "-1 days +01:00:00"),
            (span(0, 0, 100 * HOUR + SECOND / 2), "100:00:00.5"),
        ] {
            assert_eq!(span.to_string(), expected);
            assert_eq!(read(expected), Some(span), "{expected}");
            assert_eq!(Span::of_octets(&span.octets()), Some(span));
        }
    }

    #[test]
    fn intervals_are_read_as_drivers_write_them() {
        for (text, expected) in [
            (
                "1 day, 2:03:04.5",
                span(0, 1, 2 * HOUR + 3 * MINUTE + 4_500_000),
            ),
            ("-1 day, 23:59:55", span(0, -1, 24 * HOUR - 5 * SECOND)),
            (
                "0 years 1 mons 0 days 1 hours -2 mins 3.5 secs",
                span(1, 0, HOUR - 2 * MINUTE + 3_500_000),
            ),
            ("3600", span(0, 0, HOUR)),
            ("1.5 days", span(0, 1, 12 * HOUR)),
            ("0.5 microseconds", span(0, 0, 0)),
            ("1.6 us", span(0, 0, 2)),
            ("-0.0000017 seconds", span(0, 0, -2)),
            ("00:00:01.0000015", span(0, 0, SECOND + 2)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for wrong in [
            "",
            "x",
            "1 fortnight",
            "1:2:3:4",
            "P1D",
            "nan s",
            "1e300 years",
            "1:-2",
            "ä",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
