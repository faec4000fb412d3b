//! Removes classes that no route has any more.

use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::Rib;
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::verdict::CLASSES;

impl Rib {
    /// Makes room in a crowded table of classes: filters that changed have left classes without routes behind.
    /// O(routes), while nobody else writes, but only where more than half of the places are taken.
    ///
    /// Queued routes are evaluated again at their commit, and queued records are encoded before. A snapshot keeps the table
    /// with which it was taken.
    pub(crate) fn forget_unused_classes(&self) {
        if !self.topology.read().classes.is_crowded() {
            return;
        }
        let mut topology = self.topology.write();
        self.encode(&topology);
        let mut used = [false; CLASSES];
        for shard in &self.shards {
            let shard = shard.lock();
            add_used::<Ipv4Prefix>(&shard, &mut used);
            add_used::<Ipv6Prefix>(&shard, &mut used);
        }
        topology.classes = Arc::new(topology.classes.keeping(&used));
        drop(topology);
        self.changed();
    }
}

fn add_used<K: Stored>(shard: &Shard, used: &mut [bool; CLASSES]) {
    for id in 0..K::table(shard).id_end() {
        for route in shard.accepted::<K>(id) {
            used[usize::from(route.verdict.class().0)] = true;
        }
    }
}
