//! A session that a router monitors, and the peers of the table that stand for its views.

use std::net::IpAddr;

use rutter_net::{Asn, PerFamily};
use rutter_rib::{PeerId, View};
use rutter_wire::bmp::{PeerHeader, PeerType, RibView};

use super::reading::Reading;

/// What tells a router's sessions apart (RFC 7854 §4.2): type, distinguisher and address. Flags do not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    kind: PeerType,
    distinguisher: u64,
    address: IpAddr,
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

/// A session that is established.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub name: String,
    pub address: IpAddr,
    pub asn: Asn,
    pub bgp_id: u32,
    pub distinguisher: u64,
    pub reading: Reading,
    /// By view; made when the first UPDATE of the view comes.
    pub views: [Option<ViewPeer>; VIEWS],
}

/// How many views there are.
pub(super) const VIEWS: usize = 5;

/// A view of a session: a peer of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewPeer {
    pub peer: PeerId,
    /// The form of AS numbers that its session was opened with.
    pub as4: bool,
    /// Whether NLRI are read with path identifiers, per family.
    pub add_path: PerFamily<bool>,
    /// Families of which an UPDATE has shown that this is so.
    pub shown: PerFamily<bool>,
}

/// The view's place in [`Session::views`].
pub(super) fn index(view: RibView) -> usize {
    view as usize
}

/// The table's word for a view.
pub(super) fn table_view(view: RibView) -> View {
    match view {
        RibView::AdjRibInPre => View::AdjRibInPre,
        RibView::AdjRibInPost => View::AdjRibInPost,
        RibView::LocRib => View::LocRib,
        RibView::AdjRibOutPre => View::AdjRibOutPre,
        RibView::AdjRibOutPost => View::AdjRibOutPost,
    }
}
