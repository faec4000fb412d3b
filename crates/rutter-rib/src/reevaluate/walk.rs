//! Walks over all destinations, in slices between which others' updates pass.

use crate::Rib;
use crate::adj_rib_in::shard::Shard;
use crate::adj_rib_in::table::Id;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;

impl Rib {
    /// Has `slice` look at the destinations of a family in all shards: it is given where to begin in a shard, and gives where
    /// to go on. The shards go abreast: what was announced together came into all of them at about the same time, so it is
    /// told of together, too, in as few UPDATEs as can be.
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
