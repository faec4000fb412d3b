//! The ids of peers in a database.

use std::collections::HashMap;
use std::sync::Arc;

use crate::batch::PeerChange;
use crate::peer::{PeerKey, StoredPeer};
use crate::store::StoreError;

/// The known ids. They are discarded with the connection, since a failed transaction may have assigned some.
#[derive(Default)]
pub(crate) struct PeerIds(HashMap<PeerKey, (i32, Arc<StoredPeer>)>);

impl PeerIds {
    /// The id of a known peer.
    pub(crate) fn id_of(&self, peer: &PeerKey) -> Result<i32, StoreError> {
        let known = self.0.get(peer).map(|(number, _)| *number);
        known.ok_or_else(|| {
            StoreError(format!(
                "peer {} has no number: this is a bug in Rutter",
                peer.address
            ))
        })
    }

    /// The last change of each peer, by its id.
    pub(crate) fn last_changes<'c>(
        &self,
        changes: &'c [PeerChange],
    ) -> Result<HashMap<i32, &'c PeerChange>, StoreError> {
        let numbered = |change: &'c PeerChange| Ok((self.id_of(&change.peer.key)?, change));
        changes.iter().map(numbered).collect()
    }

    /// The peers that have no id yet, or whose stored columns differ.
    pub(crate) fn unknown<'p>(
        &self,
        peers: impl IntoIterator<Item = &'p Arc<StoredPeer>>,
    ) -> Vec<&'p Arc<StoredPeer>> {
        let known = |peer: &StoredPeer| self.0.get(&peer.key).is_some_and(|(_, of)| **of == *peer);
        peers.into_iter().filter(|peer| !known(peer)).collect()
    }

    /// Adds ids, given by the indexes of their peers in `new_peers`.
    pub(crate) fn add(
        &mut self,
        new_peers: &[&Arc<StoredPeer>],
        numbers: impl IntoIterator<Item = (i32, i32)>,
    ) {
        for (place, number) in numbers {
            if let Some(peer) = new_peers.get(place as usize) {
                self.0.insert(peer.key.clone(), (number, Arc::clone(peer)));
            }
        }
    }
}
