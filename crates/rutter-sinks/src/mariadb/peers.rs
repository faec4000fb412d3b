//! The numbers that peers have in the database.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;

use super::fault;
use crate::peer::{PeerKey, StoredPeer};
use crate::store::Fault;

/// Numbers known so far; forgotten with the connection, since a transaction that failed may have made some.
#[derive(Default)]
pub(super) struct PeerIds(HashMap<PeerKey, (i32, Arc<StoredPeer>)>);

const UPSERT: &str = "INSERT INTO rutter_peers
    (collector_id, router, peer_address, distinguisher, view, peer_name, peer_asn, bgp_id, source, state, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'down', '')
ON DUPLICATE KEY UPDATE peer_id = LAST_INSERT_ID(peer_id), peer_name = VALUES(peer_name),
    peer_asn = VALUES(peer_asn), bgp_id = VALUES(bgp_id), source = VALUES(source)";

impl PeerIds {
    /// The number of a peer that [`PeerIds::learn`] has seen.
    pub(super) fn of(&self, peer: &PeerKey) -> Result<i32, Fault> {
        let known = self.0.get(peer).map(|(id, _)| *id);
        known.ok_or_else(|| {
            let address = peer.address;
            Fault(format!(
                "peer {address} has no number: this is a mistake in Rutter"
            ))
        })
    }

    /// Makes sure that a peer has a number, and that what is stored of it is up to date.
    pub(super) fn learn(
        &mut self,
        conn: &mut Conn,
        collector: i32,
        peer: &Arc<StoredPeer>,
    ) -> Result<i32, Fault> {
        if let Some((id, known)) = self.0.get(&peer.key)
            && **known == **peer
        {
            return Ok(*id);
        }
        let bgp_id = (peer.bgp_id != 0).then(|| Ipv4Addr::from(peer.bgp_id).to_string());
        conn.exec_drop(
            UPSERT,
            (
                collector,
                fitting(&peer.key.router),
                peer.key.address.to_string(),
                peer.key.distinguisher,
                peer.key.view,
                &*peer.name,
                peer.asn.0,
                bgp_id,
                peer.source,
            ),
        )
        .map_err(fault("cannot store a peer"))?;
        let id = conn.last_insert_id() as i32;
        self.0.insert(peer.key.clone(), (id, Arc::clone(peer)));
        Ok(id)
    }
}

/// What fits the column: nothing that others call themselves may keep all that follows from being stored.
fn fitting(name: &str) -> &str {
    let end = name
        .char_indices()
        .nth(255)
        .map_or(name.len(), |(at, _)| at);
    name[..end].trim_end()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_that_is_too_long_is_cut() {
        assert_eq!(super::fitting("edge1 "), "edge1");
        assert_eq!(super::fitting(&"ü".repeat(258)).chars().count(), 255);
    }
}
