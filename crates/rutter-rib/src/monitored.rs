//! Routes of other people's sessions: monitored routers and files.

use std::sync::Arc;

use rutter_wire::bmp::PeerType;

/// Whose routes these are, where another router reports them (BMP, RFC 7854) or a file holds them (MRT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitored {
    /// Who reports: name or address of the monitored router, or name of the file.
    pub router: Arc<str>,
    /// By which protocol it came.
    pub source: Source,
    /// At which point of the router's tables its routes were seen.
    pub view: View,
    /// Peer type (RFC 7854 §4.2): peers of one address and distinguisher may differ in it alone.
    pub peer_type: PeerType,
    /// Peer distinguisher: which of the router's instances (RFC 7854 §4.2), 0 for the global one.
    pub distinguisher: u64,
}

/// How routes came to be known.
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
    /// After import policy (RFC 7854).
    AdjRibInPost,
    /// What the router chose (RFC 9069).
    LocRib,
    /// Towards a peer, before export policy (RFC 8671).
    AdjRibOutPre,
    /// As sent to a peer (RFC 8671).
    AdjRibOutPost,
}

impl View {
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
