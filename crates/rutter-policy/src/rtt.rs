//! Round-trip times of clients.

use std::fmt;
use std::str::FromStr;

/// The round-trip time to a client, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rtt(u32);

/// The longest round-trip time: a minute.
const MAX_MS: u32 = 60_000;

impl Rtt {
    /// Creates a round-trip time; `None` above a minute.
    pub fn from_micros(micros: u32) -> Option<Self> {
        (micros <= MAX_MS * 1_000).then_some(Rtt(micros))
    }

    /// The time in microseconds.
    pub fn as_micros(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, micros) = (self.0 / 1_000, self.0 % 1_000);
        let fraction = format!("{micros:03}");
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{ms}"),
            fraction => write!(f, "{ms}.{fraction}"),
        }
    }
}

/// A string that is not a round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseRttError;

impl fmt::Display for ParseRttError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a time from 0 to {MAX_MS} milliseconds")
    }
}

impl std::error::Error for ParseRttError {}

impl FromStr for Rtt {
    type Err = ParseRttError;

    /// Reads milliseconds: `12`, `12.5` or `12.5ms`. More than three digits after the point are rounded up, so that a
    /// time above a threshold stays above it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.strip_suffix("ms").unwrap_or(text).trim();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return Err(ParseRttError);
        }
        let (thousandths, rest) = fraction.split_at(fraction.len().min(3));
        let scale = 10_u32.pow(3 - thousandths.len() as u32);
        let micros = thousandths.parse::<u32>().map_err(|_| ParseRttError)? * scale;
        let beyond = u32::from(rest.bytes().any(|digit| digit != b'0'));
        let ms: u32 = whole.parse().map_err(|_| ParseRttError)?;
        let total = ms.checked_mul(1_000).ok_or(ParseRttError)?;
        let total = total.checked_add(micros + beyond).ok_or(ParseRttError)?;
        Rtt::from_micros(total).ok_or(ParseRttError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_read_exactly() {
        for (text, micros) in [
            ("0", 0),
            ("12", 12_000),
            ("12.5", 12_500),
            ("12.5ms", 12_500),
            ("0.250 ms", 250),
            ("5.0001", 5_001),
            ("5.0000", 5_000),
            ("60000", 60_000_000),
        ] {
            let rtt: Rtt = text.parse().unwrap();
            assert_eq!(rtt.as_micros(), micros, "{text}");
            assert_eq!(rtt.to_string().parse(), Ok(rtt));
        }
        assert_eq!("12.50".parse::<Rtt>().unwrap().to_string(), "12.5");
    }

    #[test]
    fn other_strings_are_refused() {
        let wrong = [
            "",
            "-1",
            "+1",
            "1,5",
            "1e3",
            "NaN",
            "inf",
            "1.",
            ".5",
            "5s",
            "60000.001",
            "60001",
            "99999999999999999999",
            "1.2.3",
            "١",
        ];
        for text in wrong {
            assert_eq!(text.parse::<Rtt>(), Err(ParseRttError), "{text}");
        }
    }
}
