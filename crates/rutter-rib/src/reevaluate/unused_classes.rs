//! Removes classes that no route has any more.

use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::adj_rib_in::shard::{Shard, Stored};
use crate::adj_rib_in::verdict::CLASSES;
use crate::{PeerId, Rib};

impl Rib {
    /// Makes room in a crowded table of classes: filters and routes that changed have left classes without routes behind.
    /// O(routes), while nobody else writes, but only where most places are taken that were free after the last call.
    pub(crate) fn forget_unused_classes(&self) {
        if self.topology.read().classes.is_crowded() {
            self.remove_unused_classes();
        }
    }

    /// Evaluates all routes again after [`Rib::unmarked_verdicts`] has grown, if other classes have no routes any more: then
    /// routes get the marks that they lost. Returns whether there was room. O(routes); `notify` is as in
    /// [`Rib::replace_neighbors`].
    pub fn restore_marks(&self, notify: impl FnMut()) -> bool {
        self.remove_unused_classes();
        let topology = self.topology.read();
        let has_room = !topology.classes.is_full();
        let peers: Vec<PeerId> = topology.iter().map(|(id, _)| id).collect();
        drop(topology);
        if has_room {
            self.reevaluate_imports(&peers, notify);
        }
        has_room
    }

    /// Queued routes are evaluated again at their commit, and queued records are encoded before. A snapshot keeps the table
    /// with which it was taken.
    fn remove_unused_classes(&self) {
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
