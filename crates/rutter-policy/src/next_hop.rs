//! Next hops, and the rules for the addresses that a neighbor may announce (RFC 7948 §4.8, RFC 2545, RFC 8950).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The next hop of a route as received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NextHop {
    /// IPv4.
    V4(Ipv4Addr),
    /// A global IPv6 address, optionally with a link-local one (RFC 2545 §3).
    V6 {
        /// The global address. A sender without one may use a link-local address here.
        global: Ipv6Addr,
        /// The link-local address of a 32-octet next hop.
        link_local: Option<Ipv6Addr>,
    },
}

impl NextHop {
    /// The address that the policy checks. A link-local address beside a global one is not checked.
    pub fn addr(self) -> IpAddr {
        match self {
            NextHop::V4(addr) => IpAddr::V4(addr),
            NextHop::V6 { global, .. } => IpAddr::V6(global),
        }
    }
}

impl From<IpAddr> for NextHop {
    fn from(addr: IpAddr) -> Self {
        match addr {
            IpAddr::V4(addr) => NextHop::V4(addr),
            IpAddr::V6(global) => NextHop::V6 {
                global,
                link_local: None,
            },
        }
    }
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.addr().fmt(f)
    }
}

/// The next hops that a neighbor may announce.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum NextHopRule {
    /// The address of the session. If the next hop is of the other family (IPv6 routes on an IPv4 session, RFC 8950):
    /// the addresses of the same member in that family.
    #[default]
    Strict,
    /// Any address of a neighbor with the same AS on this LAN.
    SameAs,
    /// The address of the session, or a listed one.
    Authorized,
    /// Any address except our own.
    Any,
}
