//! A monitored session, and the peers of the table for its views.

use std::net::IpAddr;

use rutter_net::{Asn, PerFamily};
use rutter_rib::{PeerId, View};
use rutter_wire::bmp::{PeerHeader, PeerType, RibView};

use super::reading::Reading;

/// The identity of a router's session (RFC 7854 §4.2): type, distinguisher and address. The flags are no part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub kind: PeerType,
    pub distinguisher: u64,
    pub address: IpAddr,
}

impl Key {
    pub fn of(header: &PeerHeader) -> Self {
        Key {
            kind: header.kind,
            distinguisher: header.distinguisher,
            address: header.address,
        }
    }
}

/// An established session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub name: String,
    pub address: IpAddr,
    pub asn: Asn,
    pub bgp_id: u32,
    pub distinguisher: u64,
    pub reading: Reading,
    /// The router sent no Peer Up for it.
    pub is_implied: bool,
    /// The oddities of its UPDATEs that were logged.
    pub logged: Oddities,
    /// The views, each added with its first UPDATE.
    pub views: [Option<ViewPeer>; VIEWS],
}

/// The oddities of a session's UPDATEs. Each is logged once.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Oddities {
    /// One was malformed.
    pub malformed: bool,
    /// One announced routes without a next hop.
    pub without_next_hop: bool,
}

/// The number of views.
pub(super) const VIEWS: usize = 5;

/// A view of a session, which is a peer of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewPeer {
    pub peer: PeerId,
    /// The peer's session uses four-octet AS numbers.
    pub as4: bool,
    /// For each family, whether NLRI are read with path identifiers.
    pub add_path: PerFamily<bool>,
    /// The families for which an UPDATE has confirmed `add_path`.
    pub shown: PerFamily<bool>,
}

/// The index of a view in [`Session::views`].
pub(super) fn index(view: RibView) -> usize {
    view as usize
}

/// The table's type for a view.
pub(super) fn table_view(view: RibView) -> View {
    match view {
        RibView::AdjRibInPre => View::AdjRibInPre,
        RibView::AdjRibInPost => View::AdjRibInPost,
        RibView::LocRib => View::LocRib,
        RibView::AdjRibOutPre => View::AdjRibOutPre,
        RibView::AdjRibOutPost => View::AdjRibOutPost,
    }
}
