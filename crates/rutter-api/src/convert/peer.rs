//! Joins sessions with the route counts of the table.

use rutter_net::Family;
use rutter_rib::{PeerId, PeerSummary};

use crate::{FamilyRow, PeerRow, RouteSource, SessionRow};

/// The neighbors, indexed by id.
pub(crate) struct Sources<'a> {
    by_id: Vec<Option<&'a PeerSummary>>,
}

impl<'a> Sources<'a> {
    /// Builds the index.
    pub(crate) fn new(peers: &'a [PeerSummary]) -> Self {
        let len = peers.iter().map(|p| p.id.index() + 1).max().unwrap_or(0);
        let mut by_id = vec![None; len];
        for peer in peers {
            by_id[peer.id.index()] = Some(peer);
        }
        Sources { by_id }
    }

    /// Returns the neighbor with this id.
    pub(crate) fn get(&self, id: PeerId) -> Option<&'a PeerSummary> {
        self.by_id.get(id.index()).copied().flatten()
    }

    /// Returns the row of the neighbor with this id.
    pub(crate) fn row(&self, id: PeerId) -> RouteSource {
        match self.get(id) {
            Some(peer) => RouteSource {
                name: peer.neighbor.name.to_string(),
                address: peer.neighbor.address,
                asn: peer.neighbor.remote_asn.0,
            },
            None => RouteSource {
                name: format!("#{}", id.0),
                address: std::net::Ipv4Addr::UNSPECIFIED.into(),
                asn: 0,
            },
        }
    }
}

/// Joins sessions with their route counts, sorted by address.
pub(crate) fn peer_rows(mut sessions: Vec<SessionRow>, peers: &[PeerSummary]) -> Vec<PeerRow> {
    let sources = Sources::new(peers);
    sessions.sort_by_key(|s| s.address);
    sessions
        .into_iter()
        .map(|session| PeerRow {
            families: session
                .peer
                .and_then(|id| sources.get(id))
                .map(family_rows)
                .unwrap_or_default(),
            session,
        })
        .collect()
}

fn family_rows(peer: &PeerSummary) -> Vec<FamilyRow> {
    Family::ALL
        .into_iter()
        .filter_map(|family| {
            let agreed = peer.session.as_ref().and_then(|s| s.family(family));
            let counts = peer.counts[family];
            if agreed.is_none() && counts.received == 0 {
                return None;
            }
            let info = agreed.unwrap_or_default();
            Some(FamilyRow {
                family: family.to_string(),
                negotiated: agreed.is_some(),
                received: counts.received.into(),
                accepted: counts.accepted.into(),
                rejected: counts.rejected().into(),
                add_path_receive: info.add_path_receive,
                add_path_send: info.add_path_send,
                extended_next_hop: info.extended_next_hop,
            })
        })
        .collect()
}
