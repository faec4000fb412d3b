//! One validated ROA payload.

use std::fmt;

use rutter_net::Prefix;

/// A validated ROA payload: the AS may announce the prefix and its subnets up to a length (RFC 6811 §2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vrp {
    /// The prefix of the ROA.
    pub prefix: Prefix,
    /// The longest prefix length that the AS may announce.
    pub max_len: u8,
    /// The origin AS. AS 0 states that no AS may announce the prefix (RFC 6483 §4).
    pub asn: u32,
}

impl Vrp {
    /// Checks that the maximum length is not shorter than the prefix and fits the family (RFC 9582 §4.3.2.2).
    pub fn check(self) -> Result<Self, InvalidVrp> {
        if (self.prefix.len()..=self.prefix.max_len()).contains(&self.max_len) {
            Ok(self)
        } else {
            Err(InvalidVrp(self))
        }
    }

    /// Returns whether the VRP matches a route whose prefix it covers: the length is allowed, and the origin is the same.
    #[inline]
    pub fn matches(self, len: u8, origin: Option<u32>) -> bool {
        len <= self.max_len && self.asn != 0 && origin == Some(self.asn)
    }
}

impl fmt::Display for Vrp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{} AS{}", self.prefix, self.max_len, self.asn)
    }
}

/// A VRP whose maximum length is shorter than its prefix, or longer than an address of the family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidVrp(pub Vrp);

impl fmt::Display for InvalidVrp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Vrp {
            prefix, max_len, ..
        } = self.0;
        let (from, to) = (prefix.len(), prefix.max_len());
        write!(
            f,
            "the maximum length of {prefix} is {max_len}, but must be {from} to {to}"
        )
    }
}

impl std::error::Error for InvalidVrp {}
