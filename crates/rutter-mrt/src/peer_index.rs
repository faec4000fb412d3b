//! The peers of a table dump, and the entries of its records.

use std::collections::{HashMap, HashSet};

use rutter_wire::mrt::{PeerEntry, PeerIndexTable, Rib, RibEntry};

use crate::{Odd, RecordOutcome, Unreadable};

/// The peers of the latest PEER_INDEX_TABLE, each as its reader's `P`.
pub struct PeerIndex<P> {
    peers: Vec<P>,
    /// The number of the latest record with an entry of the peer.
    seen: Vec<u64>,
    /// The number of the latest record.
    record: u64,
    /// The peers and path identifiers of the latest record, if it has path identifiers.
    paths: HashSet<(u16, u32)>,
}

impl<P> Default for PeerIndex<P> {
    fn default() -> Self {
        PeerIndex {
            peers: Vec::new(),
            seen: Vec::new(),
            record: 0,
            paths: HashSet::new(),
        }
    }
}

impl<P> PeerIndex<P> {
    /// Reads the peers of a PEER_INDEX_TABLE instead of those before. `each` gets a peer, and the number of peers with
    /// its address and AS that are listed before it: BIRD lists its own routes as a peer 0.0.0.0 AS 0 for each instance.
    pub fn read(
        &mut self,
        table: &PeerIndexTable<'_>,
        mut each: impl FnMut(&PeerEntry, u32) -> P,
    ) -> RecordOutcome {
        self.peers.clear();
        let mut listed: HashMap<_, u32> = HashMap::new();
        let mut read = || {
            for peer in table.peers() {
                let peer = peer?;
                let before = listed.entry((peer.address, peer.asn)).or_default();
                self.peers.push(each(&peer, *before));
                *before += 1;
            }
            Ok::<_, Unreadable>(())
        };
        let outcome = read().into();
        self.seen.clear();
        self.seen.resize(self.peers.len(), 0);
        outcome
    }

    /// Calls `each` with each entry of a record and its peer. The last argument is true if the record has another route
    /// of the same peer and path identifier before, which the entry replaces.
    pub fn entries(
        &mut self,
        rib: &Rib<'_>,
        mut each: impl FnMut(&P, &RibEntry<'_>, bool) -> RecordOutcome,
    ) -> RecordOutcome {
        self.record += 1;
        self.paths.clear();
        let mut outcome = RecordOutcome::READ;
        let mut entries = rib.entries();
        for entry in entries.by_ref() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    outcome.add(&error.into());
                    return outcome;
                }
            };
            let is_again = self.is_again(&entry, rib.add_path);
            if is_again {
                outcome.add(&Odd::Repeated.into());
            }
            let read = match self.peers.get(usize::from(entry.peer_index)) {
                Some(peer) => each(peer, &entry, is_again),
                None => Unreadable::NoSuchPeer(entry.peer_index).into(),
            };
            outcome.add(&read);
        }
        if !entries.rest().is_empty() {
            outcome.add(&Odd::Trailing.into());
        }
        outcome
    }

    fn is_again(&mut self, entry: &RibEntry<'_>, add_path: bool) -> bool {
        let Some(seen) = self.seen.get_mut(usize::from(entry.peer_index)) else {
            return false;
        };
        match add_path {
            false => std::mem::replace(seen, self.record) == self.record,
            true => !self.paths.insert((entry.peer_index, entry.path_id)),
        }
    }
}
