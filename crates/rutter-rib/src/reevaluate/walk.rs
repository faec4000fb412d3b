//! Walks over all destinations, in slices between which the updates of peers pass.

use crate::Rib;
use crate::adj_rib_in::shard::Shard;
use crate::adj_rib_in::table::Id;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;

impl Rib {
    /// Calls `slice` for the destinations of a family in all shards. It is given the id to begin with in a shard, and
    /// returns the id to continue with. All shards advance together: routes that were announced together reached them
    /// at about the same time. Their changes are then advertised in as few UPDATEs as possible.
    pub(crate) fn walk(
        &self,
        progress: &mut WalkProgress<'_>,
        mut slice: impl FnMut(&Topology, &mut Shard, Id) -> Option<Id>,
    ) {
        let mut places = vec![Some(0); self.shards.len()];
        while places.iter().any(Option::is_some) {
            for (shard, place) in self.shards.iter().zip(&mut places) {
                let Some(from) = *place else {
                    continue;
                };
                let topology = self.topology.read();
                *place = slice(&topology, &mut shard.lock(), from);
                drop(topology);
                progress.after_slice(self);
            }
        }
        self.encode(&self.topology.read());
    }
}
