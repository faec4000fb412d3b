//! IP prefixes whose bits below the length are always zero.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

macro_rules! prefix_of {
    ($name:ident, $bits:ty, $addr:ty, $max:literal, $what:literal) => {
        #[doc = concat!("An ", $what, " prefix. Ordered by address, then by length (shortest first).")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            bits: $bits,
            len: u8,
        }

        impl $name {
            /// The longest length.
            pub const MAX_LEN: u8 = $max;

            /// The prefix that covers everything.
            pub const DEFAULT: $name = $name { bits: 0, len: 0 };

            /// Creates a prefix from address bits (host order) and length. Bits below the length are cleared.
            /// `None` if the length is too large.
            pub const fn new(bits: $bits, len: u8) -> Option<Self> {
                if len > $max {
                    return None;
                }
                Some($name {
                    bits: bits & Self::mask(len),
                    len,
                })
            }

            /// Creates a prefix from an address and a length, as [`Self::new`].
            pub fn from_addr(addr: $addr, len: u8) -> Option<Self> {
                Self::new(addr.to_bits(), len)
            }

            /// Returns the netmask of a length as bits. Lengths above the maximum count as the maximum.
            pub const fn mask(len: u8) -> $bits {
                if len == 0 {
                    0
                } else if len >= $max {
                    <$bits>::MAX
                } else {
                    <$bits>::MAX << ($max - len)
                }
            }

            /// The network address as an integer in host order.
            pub const fn bits(self) -> $bits {
                self.bits
            }

            /// The last address inside, as an integer in host order.
            pub const fn last_bits(self) -> $bits {
                self.bits | !Self::mask(self.len)
            }

            /// The prefix length in bits.
            #[allow(clippy::len_without_is_empty)]
            pub const fn len(self) -> u8 {
                self.len
            }

            /// The network address.
            pub fn addr(self) -> $addr {
                <$addr>::from_bits(self.bits)
            }

            /// Returns whether `other` is this prefix or inside it.
            pub const fn covers(self, other: Self) -> bool {
                self.len <= other.len && other.bits & Self::mask(self.len) == self.bits
            }

            /// Returns whether the address is inside this prefix.
            pub fn contains(self, addr: $addr) -> bool {
                addr.to_bits() & Self::mask(self.len) == self.bits
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.addr(), self.len)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParsePrefixError;

            /// Parses `address/length`. Bits below the length must be zero.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let error = |why| ParsePrefixError {
                    text: text.to_owned(),
                    why,
                };
                let (addr, len) = text.split_once('/').ok_or_else(|| error(Why::NoLength))?;
                let addr: $addr = addr.parse().map_err(|_| error(Why::Address))?;
                let len: u8 = len.parse().map_err(|_| error(Why::Length))?;
                let prefix = Self::from_addr(addr, len).ok_or_else(|| error(Why::Length))?;
                if prefix.bits != addr.to_bits() {
                    return Err(error(Why::HostBits));
                }
                Ok(prefix)
            }
        }
    };
}

prefix_of!(Ipv4Prefix, u32, Ipv4Addr, 32, "IPv4");
prefix_of!(Ipv6Prefix, u128, Ipv6Addr, 128, "IPv6");

/// A prefix of either family; IPv4 sorts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prefix {
    /// IPv4.
    V4(Ipv4Prefix),
    /// IPv6.
    V6(Ipv6Prefix),
}

impl Prefix {
    /// Creates a prefix from an address and a length; `None` if the length is too large for the family.
    pub fn from_addr(addr: IpAddr, len: u8) -> Option<Self> {
        match addr {
            IpAddr::V4(addr) => Ipv4Prefix::from_addr(addr, len).map(Prefix::V4),
            IpAddr::V6(addr) => Ipv6Prefix::from_addr(addr, len).map(Prefix::V6),
        }
    }

    /// The prefix length in bits.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u8 {
        match self {
            Prefix::V4(p) => p.len(),
            Prefix::V6(p) => p.len(),
        }
    }

    /// The length of a host route of the family: 32 or 128.
    pub fn max_len(self) -> u8 {
        match self {
            Prefix::V4(_) => Ipv4Prefix::MAX_LEN,
            Prefix::V6(_) => Ipv6Prefix::MAX_LEN,
        }
    }

    /// The network address.
    pub fn addr(self) -> IpAddr {
        match self {
            Prefix::V4(p) => IpAddr::V4(p.addr()),
            Prefix::V6(p) => IpAddr::V6(p.addr()),
        }
    }

    /// Returns whether the address is of this family and inside the prefix.
    pub fn contains(self, addr: IpAddr) -> bool {
        match (self, addr) {
            (Prefix::V4(p), IpAddr::V4(a)) => p.contains(a),
            (Prefix::V6(p), IpAddr::V6(a)) => p.contains(a),
            _ => false,
        }
    }

    /// Returns whether `other` is this prefix or inside it. Prefixes of different families never cover each other.
    pub fn covers(self, other: Prefix) -> bool {
        match (self, other) {
            (Prefix::V4(p), Prefix::V4(o)) => p.covers(o),
            (Prefix::V6(p), Prefix::V6(o)) => p.covers(o),
            _ => false,
        }
    }

    /// Returns the address family of the prefix.
    pub fn family(self) -> crate::Family {
        match self {
            Prefix::V4(_) => crate::Family::Ipv4Unicast,
            Prefix::V6(_) => crate::Family::Ipv6Unicast,
        }
    }
}

impl From<Ipv4Prefix> for Prefix {
    fn from(p: Ipv4Prefix) -> Self {
        Prefix::V4(p)
    }
}

impl From<Ipv6Prefix> for Prefix {
    fn from(p: Ipv6Prefix) -> Self {
        Prefix::V6(p)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Prefix::V4(p) => fmt::Display::fmt(p, f),
            Prefix::V6(p) => fmt::Display::fmt(p, f),
        }
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains(':') {
            text.parse().map(Prefix::V6)
        } else {
            text.parse().map(Prefix::V4)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    NoLength,
    Address,
    Length,
    HostBits,
}

/// A string that is not a prefix; the message explains the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePrefixError {
    text: String,
    why: Why,
}

impl fmt::Display for ParsePrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::NoLength => "the length is missing, write ADDRESS/LENGTH",
            Why::Address => "the address is not an IP address",
            Why::Length => "the length is not a number in the family's range",
            Why::HostBits => "bits below the length are set",
        };
        write!(f, "`{}` is not a prefix: {why}", self.text)
    }
}

impl std::error::Error for ParsePrefixError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip_and_host_bits_are_rejected() {
        for text in [
            "0.0.0.0/0",
            "192.0.2.0/24",
            "10.1.2.3/32",
            "::/0",
            "2001:db8::/32",
        ] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
        for text in [
            "192.0.2.1/24",
            "1.2.3.4",
            "1.2.3.0/33",
            "2001:db8::1/32",
            "x/8",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn cover_and_contain() {
        let net: Ipv4Prefix = "192.0.2.0/24".parse().unwrap();
        assert!(net.covers("192.0.2.128/25".parse().unwrap()));
        assert!(net.covers(net));
        assert!(!net.covers("192.0.0.0/16".parse().unwrap()));
        assert!(net.contains(Ipv4Addr::new(192, 0, 2, 255)));
        assert!(!net.contains(Ipv4Addr::new(192, 0, 3, 0)));
        assert!(Ipv4Prefix::DEFAULT.covers(net));
        assert_eq!(Ipv6Prefix::new(1, 129), None);
    }
}
