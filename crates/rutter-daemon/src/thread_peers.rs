//! The neighbors of one I/O thread: slots with stable numbers, and an index by address.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::connection::{Connection, ConnectionKey};
use crate::peer::Peer;

/// The neighbors of a thread.
///
/// Invariant: the index has exactly one entry for each occupied slot, under the address of its neighbor. The list of
/// free slots has each empty slot once.
#[derive(Default)]
pub(crate) struct ThreadPeers {
    slots: Vec<Option<Peer>>,
    free: Vec<usize>,
    by_address: HashMap<IpAddr, usize>,
}

impl ThreadPeers {
    /// Puts a new neighbor into a free slot and returns the slot. The address must not be in use.
    pub(crate) fn insert(&mut self, peer: Peer) -> usize {
        let address = peer.address();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(peer);
        let earlier = self.by_address.insert(address, slot);
        debug_assert!(earlier.is_none(), "two neighbors with one address");
        slot
    }

    /// Empties a slot and returns its neighbor.
    pub(crate) fn remove(&mut self, slot: usize) -> Option<Peer> {
        let peer = self.slots.get_mut(slot)?.take()?;
        self.by_address.remove(&peer.address());
        self.free.push(slot);
        Some(peer)
    }

    /// The neighbor in a slot.
    pub(crate) fn get(&self, slot: usize) -> Option<&Peer> {
        self.slots.get(slot)?.as_ref()
    }

    /// The neighbor in a slot.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Peer> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// The slot of the neighbor with this address.
    pub(crate) fn find(&self, address: IpAddr) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    /// A connection of a neighbor.
    pub(crate) fn connection_mut(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.get_mut(key.slot)?.connections[key.id.index()].as_mut()
    }

    /// The number of slots, occupied or free.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The number of neighbors.
    pub(crate) fn len(&self) -> usize {
        self.by_address.len()
    }

    /// All neighbors.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.slots.iter().flatten()
    }

    /// All neighbors.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.slots.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::peer;

    #[test]
    fn a_slot_is_used_again_and_the_index_follows() {
        let mut peers = ThreadPeers::default();
        let addresses: Vec<IpAddr> = (1..4).map(|n| [192, 0, 2, n].into()).collect();
        let slots: Vec<usize> = addresses.iter().map(|a| peers.insert(peer(*a))).collect();
        assert_eq!((peers.len(), peers.slot_count()), (3, 3));
        let removed = peers.remove(slots[1]).expect("a neighbor");
        assert_eq!(removed.address(), addresses[1]);
        assert!(peers.remove(slots[1]).is_none());
        assert_eq!(peers.find(addresses[1]), None);
        let fourth = IpAddr::from([192, 0, 2, 4]);
        assert_eq!(peers.insert(peer(fourth)), slots[1]);
        assert_eq!(peers.find(fourth), Some(slots[1]));
        assert_eq!(peers.find(addresses[2]), Some(slots[2]));
        assert_eq!((peers.len(), peers.slot_count()), (3, 3));
    }
}
