//! Routes of sessions that are not ours: those of monitored routers, and those in files.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_wire::bmp::PeerType;

/// The origin of routes that another router reports (BMP, RFC 7854) or that a file holds (MRT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitored {
    /// The name or address of the monitored router, or the name of the file.
    pub router: Arc<str>,
    /// The protocol that brought them.
    pub source: Source,
    /// The point of the router's tables at which the routes were seen.
    pub view: View,
    /// The peer type (RFC 7854 §4.2): peers of one address and distinguisher may differ in it alone.
    pub peer_type: PeerType,
    /// The peer distinguisher: the router's instance (RFC 7854 §4.2), 0 for the global one.
    pub distinguisher: u64,
}

/// The source of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A BGP session of our own.
    Bgp,
    /// A BMP session with the router that holds the BGP session.
    Bmp,
    /// A file.
    Mrt,
}

/// A point in a router's flow of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// As received from the peer (RFC 7854).
    AdjRibInPre,
    /// After the import policy (RFC 7854).
    AdjRibInPost,
    /// As selected by the router (RFC 9069).
    LocRib,
    /// For a peer, before the export policy (RFC 8671).
    AdjRibOutPre,
    /// As sent to a peer (RFC 8671).
    AdjRibOutPost,
}

impl View {
    /// Returns whether a route with this next hop is the router's own: in its Loc-RIB and in what it advertises, `0.0.0.0`
    /// or `::` stands for a locally originated route.
    pub fn is_locally_originated(self, next_hop: Option<IpAddr>) -> bool {
        let is_received = matches!(self, Self::AdjRibInPre | Self::AdjRibInPost);
        !is_received && next_hop.is_some_and(|address| address.is_unspecified())
    }

    /// The name in every table and message: `adj-in-pre`, `adj-in-post`, `loc-rib`, `adj-out-pre` or `adj-out-post`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AdjRibInPre => "adj-in-pre",
            Self::AdjRibInPost => "adj-in-post",
            Self::LocRib => "loc-rib",
            Self::AdjRibOutPre => "adj-out-pre",
            Self::AdjRibOutPost => "adj-out-post",
        }
    }
}
