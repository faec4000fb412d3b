//! BGP Role (RFC 9234 §4).

use std::fmt;

/// A BGP Role: the role that a speaker announces for itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Role {
    /// Sells transit to the other side.
    Provider = 0,
    /// Route server.
    RouteServer = 1,
    /// Client of a route server.
    RouteServerClient = 2,
    /// Buys transit from the other side.
    Customer = 3,
    /// Lateral peer.
    Peer = 4,
}

impl Role {
    /// Every role, in numerical order.
    pub const ALL: [Role; 5] = [
        Role::Provider,
        Role::RouteServer,
        Role::RouteServerClient,
        Role::Customer,
        Role::Peer,
    ];

    /// The role with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|r| *r as u8 == code)
    }

    /// The only role that the other side may announce (RFC 9234 §4.2, table 2).
    pub fn counterpart(self) -> Role {
        match self {
            Role::Provider => Role::Customer,
            Role::RouteServer => Role::RouteServerClient,
            Role::RouteServerClient => Role::RouteServer,
            Role::Customer => Role::Provider,
            Role::Peer => Role::Peer,
        }
    }

    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let &[code] = value else { return None };
        Self::from_code(code)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Provider => "provider",
            Role::RouteServer => "route-server",
            Role::RouteServerClient => "route-server-client",
            Role::Customer => "customer",
            Role::Peer => "peer",
        })
    }
}
