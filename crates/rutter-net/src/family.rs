//! Address families (RFC 4760).

use std::fmt;

/// An AFI and SAFI, as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AfiSafi {
    /// Address Family Identifier: 1 IPv4, 2 IPv6, 25 L2VPN, …
    pub afi: u16,
    /// Subsequent Address Family Identifier: 1 unicast, 2 multicast, 128 VPN, …
    pub safi: u8,
}

impl AfiSafi {
    /// IPv4 unicast.
    pub const IPV4_UNICAST: AfiSafi = AfiSafi { afi: 1, safi: 1 };
    /// IPv6 unicast.
    pub const IPV6_UNICAST: AfiSafi = AfiSafi { afi: 2, safi: 1 };

    /// Returns the supported family, or `None` for others.
    pub fn family(self) -> Option<Family> {
        Family::ALL.into_iter().find(|f| f.afi_safi() == self)
    }
}

impl fmt::Display for AfiSafi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family() {
            Some(family) => family.fmt(f),
            None => match self.other_name() {
                Some(name) => f.pad(name),
                None => write!(f, "afi {} safi {}", self.afi, self.safi),
            },
        }
    }
}

impl AfiSafi {
    /// The names of families that routers often have beside the supported ones.
    fn other_name(self) -> Option<&'static str> {
        Some(match (self.afi, self.safi) {
            (1, 2) => "ipv4-multicast",
            (2, 2) => "ipv6-multicast",
            (1, 4) => "ipv4-labeled",
            (2, 4) => "ipv6-labeled",
            (1, 128) => "ipv4-vpn",
            (2, 128) => "ipv6-vpn",
            (1, 132) => "route-target",
            (1, 133) => "ipv4-flowspec",
            (2, 133) => "ipv6-flowspec",
            (25, 65) => "vpls",
            (25, 70) => "evpn",
            (16_388, 71) => "bgp-ls",
            _ => return None,
        })
    }
}

impl fmt::Debug for AfiSafi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A supported address family. Use it as the index of a [`crate::PerFamily`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Family {
    /// AFI 1, SAFI 1.
    Ipv4Unicast = 0,
    /// AFI 2, SAFI 1.
    Ipv6Unicast = 1,
}

impl Family {
    /// All families, in index order.
    pub const ALL: [Family; 2] = [Family::Ipv4Unicast, Family::Ipv6Unicast];

    /// Returns AFI and SAFI.
    pub fn afi_safi(self) -> AfiSafi {
        match self {
            Family::Ipv4Unicast => AfiSafi::IPV4_UNICAST,
            Family::Ipv6Unicast => AfiSafi::IPV6_UNICAST,
        }
    }

    /// Returns the index: 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::Ipv4Unicast => "ipv4-unicast",
            Family::Ipv6Unicast => "ipv6-unicast",
        })
    }
}
