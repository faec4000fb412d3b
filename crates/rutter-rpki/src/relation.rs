//! The relation of a neighbor to this AS.

/// The relation of the neighbor that announced a route to this AS. It selects the procedure of path verification
/// (draft-ietf-sidrops-aspa-verification-28 §5.5, §5.6). It is the counterpart of the local role of RFC 9234.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// The neighbor is a customer.
    Customer,
    /// The neighbor is a lateral peer.
    Peer,
    /// The neighbor is a client of this route server.
    RouteServerClient,
    /// The neighbor is a route server, which does not add its AS to the path.
    RouteServer,
    /// The neighbor is a provider.
    Provider,
}

impl Relation {
    /// Returns whether paths from the neighbor must lead up only: each AS is a provider of the next.
    pub(crate) fn is_upstream(self) -> bool {
        self != Relation::Provider
    }

    /// Returns whether the neighbor's AS must come first in the path.
    pub(crate) fn adds_its_as(self) -> bool {
        self != Relation::RouteServer
    }
}
