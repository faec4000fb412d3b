//! The mirror that look-ups read: a longest-prefix table of places, and the routes at each place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rutter_lpm::{Net, Profile, Reader, Table};
use rutter_net::{Ipv4Prefix, Ipv6Prefix};
use smallvec::SmallVec;

use super::slots::{Loaded, Slots};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Destination, Id};

/// The destinations with accepted routes, for readers without locks. The shards keep it current under their locks.
pub(crate) struct Mirror {
    pub ipv4: FamilyMirror<Ipv4Prefix>,
    pub ipv6: FamilyMirror<Ipv6Prefix>,
    shards: u32,
    /// True if the routes from before the mirror are in it, too.
    pub complete: AtomicBool,
    /// True if a family outgrew its longest-prefix table: readers then ask the shards.
    overflowed: AtomicBool,
}

/// The accepted routes of a destination, best first.
pub(super) struct MirrorEntry<K> {
    pub prefix: K,
    pub routes: SmallVec<[Route; 2]>,
}

/// One family.
pub(crate) struct FamilyMirror<K: Net> {
    /// From a prefix to its place. It changes only when a destination is added or removed, not when its routes
    /// change.
    places: Mutex<Table<K>>,
    slots: Slots<MirrorEntry<K>>,
}

/// The mirror as one shard sees it.
#[derive(Clone, Copy)]
pub(crate) struct ShardMirror<'m> {
    mirror: &'m Mirror,
    shard: usize,
}

/// The most bytes of nodes: the longest-prefix table ends at 1 GiB, and one update can take a little.
const MAX_NODE_BYTES: usize = 960 << 20;
/// The destinations between two checks of the size.
const LOOK_EVERY: usize = 1024;

impl Mirror {
    pub fn new(profile: Profile, shards: usize) -> Self {
        Mirror {
            ipv4: FamilyMirror::new(profile),
            ipv6: FamilyMirror::new(profile),
            shards: shards as u32,
            complete: AtomicBool::new(false),
            overflowed: AtomicBool::new(false),
        }
    }

    /// Returns whether readers may use it.
    pub fn is_usable(&self) -> bool {
        self.complete.load(Ordering::Acquire) && !self.overflowed.load(Ordering::Acquire)
    }

    /// The number of entries and the bytes of both families, without the routes' attribute sets.
    pub fn size(&self) -> (u64, u64) {
        let (ipv4, ipv6) = (self.ipv4.size(), self.ipv6.size());
        (ipv4.0 + ipv6.0, ipv4.1 + ipv6.1)
    }
}

impl<'m> ShardMirror<'m> {
    pub fn of(mirror: Option<&'m Mirror>, shard: usize) -> Option<Self> {
        mirror.map(|mirror| ShardMirror { mirror, shard })
    }

    /// Copies the accepted routes of a destination. Call it under the lock of the shard.
    pub fn publish<K: Stored>(self, id: Id, destination: &Destination<K>) {
        let mirror = self.mirror;
        let place = u64::from(id) * u64::from(mirror.shards) + self.shard as u64;
        let half = K::half(mirror);
        let fits = u32::try_from(place).is_ok_and(|place| half.publish(place, destination));
        if !fits {
            mirror.overflowed.store(true, Ordering::Release);
        }
    }
}

impl<K: Stored> FamilyMirror<K> {
    fn new(profile: Profile) -> Self {
        FamilyMirror {
            places: Mutex::new(Table::new(profile)),
            slots: Slots::new(),
        }
    }

    pub fn reader(&self) -> Reader<K> {
        self.places.lock().reader()
    }

    /// Returns `false` where there is no more room.
    fn publish(&self, place: u32, destination: &Destination<K>) -> bool {
        let prefix = destination.prefix;
        let known = self.slots.is_set(place);
        let accepted = destination.accepted();
        if accepted.is_empty() {
            if known {
                // The place is emptied last. A reader that finds it empty or reused looks again, and finds the prefix
                // removed.
                self.places.lock().remove(prefix);
                self.slots.store(place, None);
            }
            return true;
        }
        let routes = accepted.iter().cloned().collect();
        self.slots
            .store(place, Some(Arc::new(MirrorEntry { prefix, routes })));
        if known {
            return true;
        }
        let mut places = self.places.lock();
        if places.len().is_multiple_of(LOOK_EVERY) && places.size().nodes > MAX_NODE_BYTES {
            return false;
        }
        places.insert(prefix, place);
        true
    }

    /// Returns the destination of the longest prefix that contains the address.
    ///
    /// The prefix was the longest at one instant of the call; the routes were the prefix's at a later one.
    pub(super) fn find(
        &self,
        reader: &mut Reader<K>,
        addr: K::Addr,
    ) -> Option<Loaded<MirrorEntry<K>>> {
        let view = reader.enter();
        loop {
            let (prefix, place) = view.lookup_prefix(addr)?;
            if let Some(held) = self.slots.load(place)
                && held.as_ref().is_some_and(|held| held.prefix == prefix)
            {
                return Some(held);
            }
            // The prefix was removed between the two look-ups. Its place was emptied after that, so the next look-up
            // sees the present table.
        }
    }

    fn size(&self) -> (u64, u64) {
        let places = self.places.lock();
        let entry = size_of::<MirrorEntry<K>>() + 2 * size_of::<usize>();
        let bytes = places.size().taken + self.slots.size() + places.len() * entry;
        (places.len() as u64, bytes as u64)
    }
}
