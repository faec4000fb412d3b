//! The numbers that peers have in a database.

use std::collections::HashMap;
use std::sync::Arc;

use crate::batch::PeerChange;
use crate::peer::{PeerKey, StoredPeer};
use crate::store::Fault;

/// Numbers known so far; forgotten with the connection, since a transaction that failed may have made some.
#[derive(Default)]
pub(crate) struct PeerNumbers(HashMap<PeerKey, (i32, Arc<StoredPeer>)>);

impl PeerNumbers {
    /// The number of a peer that was learned.
    pub(crate) fn of(&self, peer: &PeerKey) -> Result<i32, Fault> {
        let known = self.0.get(peer).map(|(number, _)| *number);
        known.ok_or_else(|| {
            Fault(format!(
                "peer {} has no number: this is a mistake in Rutter",
                peer.address
            ))
        })
    }

    /// The last change of each peer, by its number.
    pub(crate) fn last<'c>(
        &self,
        changes: &'c [PeerChange],
    ) -> Result<HashMap<i32, &'c PeerChange>, Fault> {
        let numbered = |change: &'c PeerChange| Ok((self.of(&change.peer.key)?, change));
        changes.iter().map(numbered).collect()
    }

    /// Those that have no number yet, or of which something else is stored.
    pub(crate) fn strange<'p>(
        &self,
        peers: impl IntoIterator<Item = &'p Arc<StoredPeer>>,
    ) -> Vec<&'p Arc<StoredPeer>> {
        let known = |peer: &StoredPeer| self.0.get(&peer.key).is_some_and(|(_, of)| **of == *peer);
        peers.into_iter().filter(|peer| !known(peer)).collect()
    }

    /// What the database calls peers, by their places among those given.
    pub(crate) fn learn(
        &mut self,
        given: &[&Arc<StoredPeer>],
        numbers: impl IntoIterator<Item = (i32, i32)>,
    ) {
        for (place, number) in numbers {
            if let Some(peer) = given.get(place as usize) {
                self.0.insert(peer.key.clone(), (number, Arc::clone(peer)));
            }
        }
    }
}
