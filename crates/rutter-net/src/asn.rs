//! AS numbers (RFC 6793, RFC 5396 text form).

use std::fmt;
use std::str::FromStr;

/// A four-octet autonomous system number, written in the asplain form of RFC 5396.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Asn(pub u32);

impl Asn {
    /// AS_TRANS (RFC 6793 §9), which represents a four-octet number in a two-octet field.
    pub const TRANS: Asn = Asn(23456);

    /// Returns whether the number fits into two octets.
    pub fn is_two_octet(self) -> bool {
        self.0 <= 0xffff
    }

    /// Returns whether the number must not appear in a public AS_PATH. These are 0 (RFC 7607), AS_TRANS, documentation
    /// (RFC 5398), private use (RFC 6996) and the last numbers of both ranges (RFC 7300).
    pub fn is_bogon(self) -> bool {
        matches!(
            self.0,
            0 | 23456
                | 64496..=64511
                | 64512..=65534
                | 65535
                | 65536..=65551
                | 65552..=131_071
                | 4_200_000_000..=u32::MAX
        )
    }
}

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AS{}", self.0)
    }
}

/// A string that is neither asplain (`4200000001`, `AS65000`) nor asdot (`1.10`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseAsnError(String);

impl fmt::Display for ParseAsnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not an AS number: write 64500, AS64500 or 1.10",
            self.0
        )
    }
}

impl std::error::Error for ParseAsnError {}

impl FromStr for Asn {
    type Err = ParseAsnError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text
            .strip_prefix("AS")
            .or_else(|| text.strip_prefix("as"))
            .unwrap_or(text);
        let error = || ParseAsnError(text.to_owned());
        if let Some((high, low)) = bare.split_once('.') {
            let high: u16 = high.parse().map_err(|_| error())?;
            let low: u16 = low.parse().map_err(|_| error())?;
            return Ok(Asn(u32::from(high) << 16 | u32::from(low)));
        }
        bare.parse().map(Asn).map_err(|_| error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_text_form() {
        assert_eq!("64500".parse(), Ok(Asn(64500)));
        assert_eq!("AS64500".parse(), Ok(Asn(64500)));
        assert_eq!("1.10".parse(), Ok(Asn(65546)));
        assert!("1.70000".parse::<Asn>().is_err());
        assert!("4294967296".parse::<Asn>().is_err());
    }

    #[test]
    fn reserved_numbers_are_bogons() {
        for asn in [
            0,
            23456,
            64496,
            64512,
            65535,
            65551,
            131_071,
            4_200_000_000,
            u32::MAX,
        ] {
            assert!(Asn(asn).is_bogon(), "{asn}");
        }
        for asn in [1, 3356, 64495, 131_072, 4_199_999_999] {
            assert!(!Asn(asn).is_bogon(), "{asn}");
        }
    }
}
