//! The numbers that peers have in the database.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::connection::Connection;
use crate::peer::{PeerKey, StoredPeer};
use crate::store::Fault;

/// Numbers known so far; forgotten with the connection, since a transaction that failed may have made some.
#[derive(Default)]
pub(super) struct PeerIds(HashMap<PeerKey, (i32, Arc<StoredPeer>)>);

const UPSERT: &str = "INSERT INTO rutter_peers
    (collector_id, router, peer_address, distinguisher, view, peer_name, peer_asn, bgp_id, source, state)
VALUES ($1, $2, $3, $4::text::numeric, $5, $6, $7, $8, $9, 'down')
ON CONFLICT (collector_id, router, peer_address, distinguisher, view) DO UPDATE
    SET peer_name = EXCLUDED.peer_name, peer_asn = EXCLUDED.peer_asn,
        bgp_id = EXCLUDED.bgp_id, source = EXCLUDED.source
RETURNING peer_id";

impl PeerIds {
    /// The number of a peer that [`PeerIds::learn`] has seen.
    pub(super) fn of(&self, peer: &PeerKey) -> Result<i32, Fault> {
        let known = self.0.get(peer).map(|(id, _)| *id);
        known.ok_or_else(|| {
            Fault(format!(
                "peer {} has no number: this is a mistake in Rutter",
                peer.address
            ))
        })
    }

    /// Makes sure that a peer has a number, and that what is stored of it is up to date.
    pub(super) fn learn(
        &mut self,
        connection: &Connection,
        collector: i32,
        peer: &Arc<StoredPeer>,
    ) -> Result<i32, Fault> {
        if let Some((id, known)) = self.0.get(&peer.key)
            && **known == **peer
        {
            return Ok(*id);
        }
        let bgp_id = (peer.bgp_id != 0).then(|| IpAddr::V4(Ipv4Addr::from(peer.bgp_id)));
        let clean = |text: &str| text.replace('\0', "");
        let row = connection.one(
            UPSERT,
            &[
                &collector,
                &clean(&peer.key.router),
                &peer.key.address,
                &peer.key.distinguisher.to_string(),
                &peer.key.view,
                &clean(&peer.name),
                &i64::from(peer.asn.0),
                &bgp_id,
                &peer.source,
            ],
            "cannot store a peer",
        )?;
        let id = row.get(0);
        self.0.insert(peer.key.clone(), (id, Arc::clone(peer)));
        Ok(id)
    }
}
