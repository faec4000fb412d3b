//! Intervals of months, days and microseconds, in PostgreSQL's text and binary formats.

use std::fmt;

use datafusion::arrow::array::{ArrayRef, AsArray as _};
use datafusion::arrow::compute::cast;
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
    let span = |parts: IntervalMonthDayNano| Span {
        months: parts.months,
        days: parts.days,
        micros: parts.nanoseconds / 1_000,
    };
    Ok(parts.map(|parts| parts.map(span)).collect())
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

    /// Parses the forms that drivers write: `1 day, 2:03:04.5`, `2 hours 30 mins`, `-1 days +23:59:55`.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut parts = Parts::default();
        let text = text.to_ascii_lowercase().replace(',', " ");
        let mut words = text.split_whitespace().peekable();
        words.peek()?;
        while let Some(word) = words.next() {
            if word.contains(':') {
                parts.add(clock(word)?, Unit::Micros(1));
                continue;
            }
            // A number without a unit means seconds.
            let unit = words.next().unwrap_or("s");
            parts.add(word.parse().ok()?, unit_of(unit)?);
        }
        parts.span()
    }

    /// Writes the interval for DataFusion, which does not read `hours:minutes`.
    pub fn words(self) -> String {
        let Self {
            months,
            days,
            micros,
        } = self;
        format!("{months} months {days} days {micros} microseconds")
    }

    /// Returns the whole interval in seconds. A year has 365.25 days, a remaining month 30.
    pub fn seconds(self) -> f64 {
        let (years, months) = (f64::from(self.months / 12), f64::from(self.months % 12));
        let days = years * 365.25 + months * 30.0 + f64::from(self.days);
        let micros = self.micros as f64 / SECOND as f64;
        days * (DAY / SECOND) as f64 + micros
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

/// A unit of an interval, and its size in the part that counts it.
#[derive(Clone, Copy)]
enum Unit {
    Months(i32),
    Days(i32),
    Micros(i64),
}

/// An interval while it is parsed.
#[derive(Default)]
struct Parts {
    months: f64,
    days: f64,
    micros: f64,
}

impl Parts {
    fn add(&mut self, value: f64, unit: Unit) {
        match unit {
            Unit::Months(of) => self.months += value * f64::from(of),
            Unit::Days(of) => self.days += value * f64::from(of),
            Unit::Micros(of) => self.micros += value * of as f64,
        }
    }

    /// Adds a number of units. Fractions of a month become days, fractions of a day become hours.
    fn span(self) -> Option<Span> {
        let months = self.months;
        let days = self.days + months.fract() * 30.0;
        let micros = (self.micros + days.fract() * DAY as f64).round_ties_even();
        let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
        let all_fit = fits(months, f64::from(i32::MAX))
            && fits(days, f64::from(i32::MAX))
            && fits(micros, MOST_MICROS);
        all_fit.then_some(Span {
            months: months as i32,
            days: days as i32,
            micros: micros as i64,
        })
    }
}

/// The largest interval of DataFusion in microseconds: it counts nanoseconds.
const MOST_MICROS: f64 = 9.2e15;

fn unit_of(name: &str) -> Option<Unit> {
    Some(match name {
        "year" | "years" | "yr" | "yrs" | "y" => Unit::Months(12),
        "month" | "months" | "mon" | "mons" => Unit::Months(1),
        "week" | "weeks" | "w" => Unit::Days(7),
        "day" | "days" | "d" => Unit::Days(1),
        "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Micros(HOUR),
        "minute" | "minutes" | "min" | "mins" | "m" => Unit::Micros(MINUTE),
        "second" | "seconds" | "sec" | "secs" | "s" => Unit::Micros(SECOND),
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Unit::Micros(1_000),
        "microsecond" | "microseconds" | "usec" | "usecs" | "us" => Unit::Micros(1),
        _ => return None,
    })
}

/// Parses `[-]H:MM[:SS[.f]]` to microseconds.
fn clock(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split(':');
    let mut micros = 0.0;
    for unit in [HOUR, MINUTE, SECOND] {
        let Some(part) = parts.next() else { break };
        if !part.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        micros += part.parse::<f64>().ok()? * unit as f64;
    }
    parts.next().is_none().then_some(sign * micros)
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
            assert_eq!(Span::of_text(expected), Some(span), "{expected}");
            assert_eq!(Span::of_octets(&span.octets()), Some(span));
        }
    }

    #[test]
    fn intervals_convert_to_seconds() {
        assert_eq!(span(13, 1, SECOND / 2).seconds(), 34_236_000.5);
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
            assert_eq!(Span::of_text(text), Some(expected), "{text}");
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
            assert_eq!(Span::of_text(wrong), None, "{wrong}");
        }
    }
}
