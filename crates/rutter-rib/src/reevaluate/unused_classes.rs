//! Removes classes that no route has any more.

use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::shard::{MAX_VISITED, MAX_VISITED_ROUTES, Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::adj_rib_in::verdict::CLASSES;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::{PeerId, Rib};

impl Rib {
    /// Makes room in a crowded table of classes: filters and routes that changed have left classes without routes behind.
    /// O(routes), but only where most places are taken that were free after the last call.
    pub(crate) fn forget_unused_classes(&self, notify: &mut dyn FnMut()) {
        if self.topology.read().classes.is_crowded() {
            self.remove_unused_classes(notify);
        }
    }

    /// Evaluates all routes again after [`Rib::unmarked_verdicts`] has grown, if other classes have no routes any more: then
    /// routes get the marks that they lost. Returns whether there was room. O(routes); `notify` is as in
    /// [`Rib::replace_neighbors`].
    pub fn restore_marks(&self, mut notify: impl FnMut()) -> bool {
        self.remove_unused_classes(&mut notify);
        let topology = self.topology.read();
        let has_room = !topology.classes.is_full();
        let peers: Vec<PeerId> = topology.iter().map(|(id, _)| id).collect();
        drop(topology);
        if has_room {
            self.reevaluate_imports(&peers, notify);
        }
        has_room
    }

    /// Finds the classes of all routes in slices, between which updates pass, and keeps these.
    ///
    /// A copy of the table takes its place first. Queued routes are evaluated again at their commit then, so each route that
    /// comes behind the walk got its class from the copy, which knows that. The last step does the same with what remains. A
    /// snapshot keeps the table with which it was taken.
    fn remove_unused_classes(&self, notify: &mut dyn FnMut()) {
        // Another search would replace the copy.
        let Some(_alone) = self.class_search.try_lock() else {
            return;
        };
        self.keep_classes(|_| [true; CLASSES]);
        let mut used = [false; CLASSES];
        let mut progress = WalkProgress::new(self, notify);
        self.walk(&mut progress, |_, shard, from| {
            add_used::<Ipv4Prefix>(shard, from, &mut used)
        });
        self.walk(&mut progress, |_, shard, from| {
            add_used::<Ipv6Prefix>(shard, from, &mut used)
        });
        notify();
        self.keep_classes(|classes| {
            let given = classes.given();
            std::array::from_fn(|place| used[place] || given[place])
        });
        self.changed();
    }

    /// Puts a table with some of the classes in force. Queued records are encoded with the present one.
    fn keep_classes(&self, kept: impl FnOnce(&ClassTable) -> [bool; CLASSES]) {
        let mut topology = self.topology.write();
        self.encode(&topology);
        let kept = kept(&topology.classes);
        topology.classes = Arc::new(topology.classes.keeping(&kept));
    }
}

/// Adds the classes of the routes of a slice. Returns the id to continue with.
fn add_used<K: Stored>(shard: &Shard, from: Id, used: &mut [bool; CLASSES]) -> Option<Id> {
    let end = K::table(shard).id_end();
    let mut visited = 0;
    for id in from..end.min(from.saturating_add(MAX_VISITED)) {
        if visited >= MAX_VISITED_ROUTES {
            return Some(id);
        }
        let routes = shard.accepted::<K>(id);
        visited += routes.len();
        for route in routes {
            used[usize::from(route.verdict.class().0)] = true;
        }
    }
    Some(from.saturating_add(MAX_VISITED)).filter(|next| *next < end)
}
