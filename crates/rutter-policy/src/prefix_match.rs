//! Prefixes with length ranges, and the special-purpose address space.

use std::fmt;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

/// A prefix with a range of lengths: it matches subnets of these lengths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PrefixMatch {
    /// The covering prefix.
    pub prefix: Prefix,
    /// The shortest length that matches.
    pub min_len: u8,
    /// The longest length that matches.
    pub max_len: u8,
}

impl PrefixMatch {
    /// Matches the prefix alone.
    pub fn exact(prefix: Prefix) -> Self {
        PrefixMatch {
            prefix,
            min_len: prefix.len(),
            max_len: prefix.len(),
        }
    }

    /// Matches the prefix and all its subnets.
    pub fn or_longer(prefix: Prefix) -> Self {
        let max_len = match prefix {
            Prefix::V4(_) => Ipv4Prefix::MAX_LEN,
            Prefix::V6(_) => Ipv6Prefix::MAX_LEN,
        };
        PrefixMatch {
            prefix,
            min_len: prefix.len(),
            max_len,
        }
    }

    /// Returns whether the prefix is inside and its length in the range.
    pub fn matches(&self, prefix: Prefix) -> bool {
        self.min_len <= prefix.len() && prefix.len() <= self.max_len && self.prefix.covers(prefix)
    }
}

impl fmt::Display for PrefixMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.prefix)?;
        if *self != PrefixMatch::exact(self.prefix) {
            write!(f, " {}-{}", self.min_len, self.max_len)?;
        }
        Ok(())
    }
}

const fn v4(a: u8, b: u8, c: u8, len: u8) -> Ipv4Prefix {
    match Ipv4Prefix::new(u32::from_be_bytes([a, b, c, 0]), len) {
        Some(prefix) => prefix,
        None => panic!("length"),
    }
}

const fn v6(first: u16, second: u16, len: u8) -> Ipv6Prefix {
    match Ipv6Prefix::new((first as u128) << 112 | (second as u128) << 96, len) {
        Some(prefix) => prefix,
        None => panic!("length"),
    }
}

/// Special-purpose IPv4 prefixes (RFC 6890 and its registry) that must not be announced, with all their subnets.
pub const BOGONS_V4: &[Ipv4Prefix] = &[
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// Special-purpose IPv6 prefixes (RFC 6890 and its registry) that must not be announced, with all their subnets.
pub const BOGONS_V6: &[Ipv6Prefix] = &[
    v6(0, 0, 8),
    v6(0x0100, 0, 64),
    v6(0x2001, 0x0002, 48),
    v6(0x2001, 0x0010, 28),
    v6(0x2001, 0x0db8, 32),
    v6(0x2002, 0, 16),
    v6(0x3ffe, 0, 16),
    v6(0x3fff, 0, 20),
    v6(0x5f00, 0, 16),
    v6(0xfc00, 0, 7),
    v6(0xfe80, 0, 10),
    v6(0xfec0, 0, 10),
    v6(0xff00, 0, 8),
];

/// IPv4 prefixes that are never routable: "this network", loopback, multicast, class E.
pub(crate) const MARTIANS_V4: &[Ipv4Prefix] = &[
    v4(0, 0, 0, 8),
    v4(127, 0, 0, 8),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// IPv6 prefixes that are never routable: unspecified and loopback, link-local, multicast.
pub(crate) const MARTIANS_V6: &[Ipv6Prefix] = &[v6(0, 0, 127), v6(0xfe80, 0, 10), v6(0xff00, 0, 8)];

/// The global unicast space (RFC 4291 §2.4 and its registry).
pub(crate) const GLOBAL_UNICAST: Ipv6Prefix = v6(0x2000, 0, 3);
