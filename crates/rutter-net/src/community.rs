//! Standard (RFC 1997), extended (RFC 4360) and large (RFC 8092) communities.

use std::fmt;
use std::str::FromStr;

/// A standard community: four octets, written `high:low`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Community(pub u32);

impl Community {
    /// NO_EXPORT (RFC 1997).
    pub const NO_EXPORT: Community = Community(0xffff_ff01);
    /// NO_ADVERTISE (RFC 1997).
    pub const NO_ADVERTISE: Community = Community(0xffff_ff02);
    /// NO_EXPORT_SUBCONFED (RFC 1997).
    pub const NO_EXPORT_SUBCONFED: Community = Community(0xffff_ff03);
    /// GRACEFUL_SHUTDOWN (RFC 8326).
    pub const GRACEFUL_SHUTDOWN: Community = Community(0xffff_0000);
    /// LLGR_STALE (RFC 9494).
    pub const LLGR_STALE: Community = Community(0xffff_0006);
    /// NO_LLGR (RFC 9494).
    pub const NO_LLGR: Community = Community(0xffff_0007);
    /// BLACKHOLE (RFC 7999).
    pub const BLACKHOLE: Community = Community(0xffff_029a);

    /// Creates a community from its two halves.
    pub fn new(high: u16, low: u16) -> Self {
        Community(u32::from(high) << 16 | u32::from(low))
    }

    /// The upper half, by convention an AS number.
    pub fn high(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The lower half.
    pub fn low(self) -> u16 {
        self.0 as u16
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.high(), self.low())
    }
}

impl fmt::Debug for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An extended community: eight octets, type first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtendedCommunity(pub [u8; 8]);

impl ExtendedCommunity {
    /// Creates a transitive two-octet AS specific community (RFC 4360 §3.1).
    pub fn two_octet_as(subtype: u8, asn: u16, value: u32) -> Self {
        let (a, v) = (asn.to_be_bytes(), value.to_be_bytes());
        ExtendedCommunity([0x00, subtype, a[0], a[1], v[0], v[1], v[2], v[3]])
    }

    /// Creates a transitive four-octet AS specific community (RFC 5668).
    pub fn four_octet_as(subtype: u8, asn: u32, value: u16) -> Self {
        let (a, v) = (asn.to_be_bytes(), value.to_be_bytes());
        ExtendedCommunity([0x02, subtype, a[0], a[1], a[2], a[3], v[0], v[1]])
    }

    /// Returns whether the community is transitive: the T bit is clear (RFC 4360 §2).
    pub fn is_transitive(self) -> bool {
        self.0[0] & 0x40 == 0
    }

    fn name(self) -> Option<&'static str> {
        match self.0[1] {
            0x02 => Some("rt"),
            0x03 => Some("ro"),
            _ => None,
        }
    }
}

impl fmt::Display for ExtendedCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        match (b[0], self.name()) {
            (0x00, Some(name)) => write!(
                f,
                "{name}:{}:{}",
                u16::from_be_bytes([b[2], b[3]]),
                u32::from_be_bytes([b[4], b[5], b[6], b[7]])
            ),
            (0x02, Some(name)) => write!(
                f,
                "{name}:{}:{}",
                u32::from_be_bytes([b[2], b[3], b[4], b[5]]),
                u16::from_be_bytes([b[6], b[7]])
            ),
            _ => {
                f.write_str("0x")?;
                b.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        }
    }
}

impl fmt::Debug for ExtendedCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A large community: three four-octet parts, written `global:local1:local2`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LargeCommunity {
    /// Global Administrator, an AS number.
    pub global: u32,
    /// Local Data Part 1.
    pub local1: u32,
    /// Local Data Part 2.
    pub local2: u32,
}

impl LargeCommunity {
    /// Creates a community from its three parts.
    pub fn new(global: u32, local1: u32, local2: u32) -> Self {
        LargeCommunity {
            global,
            local1,
            local2,
        }
    }
}

impl fmt::Display for LargeCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.global, self.local1, self.local2)
    }
}

impl fmt::Debug for LargeCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A string that is not a community.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseCommunityError(String);

impl fmt::Display for ParseCommunityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a community: write 64500:1 (standard) or 64500:1:2 (large)",
            self.0
        )
    }
}

impl std::error::Error for ParseCommunityError {}

fn parts<const N: usize, T: FromStr + Copy + Default>(
    text: &str,
) -> Result<[T; N], ParseCommunityError> {
    let error = || ParseCommunityError(text.to_owned());
    let mut out = [T::default(); N];
    let mut given = text.split(':');
    for slot in &mut out {
        *slot = given
            .next()
            .ok_or_else(error)?
            .parse()
            .map_err(|_| error())?;
    }
    match given.next() {
        None => Ok(out),
        Some(_) => Err(error()),
    }
}

impl FromStr for Community {
    type Err = ParseCommunityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parts::<2, u16>(text).map(|[high, low]| Community::new(high, low))
    }
}

impl FromStr for LargeCommunity {
    type Err = ParseCommunityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parts::<3, u32>(text).map(|[g, a, b]| LargeCommunity::new(g, a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_round_trip() {
        assert_eq!("65535:65281".parse(), Ok(Community::NO_EXPORT));
        assert_eq!(Community::BLACKHOLE.to_string(), "65535:666");
        let large: LargeCommunity = "64500:1:4200000000".parse().unwrap();
        assert_eq!(large.to_string(), "64500:1:4200000000");
        assert!("1:2:3:4".parse::<LargeCommunity>().is_err());
        assert!("65536:1".parse::<Community>().is_err());
        assert_eq!(
            ExtendedCommunity::two_octet_as(2, 64500, 7).to_string(),
            "rt:64500:7"
        );
        assert_eq!(
            ExtendedCommunity::four_octet_as(2, 4_200_000_000, 7).to_string(),
            "rt:4200000000:7"
        );
    }
}
