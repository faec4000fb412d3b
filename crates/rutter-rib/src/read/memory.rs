//! The table's memory by purpose.

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::Rib;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::Id;

/// Memory of one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// The purpose.
    pub what: &'static str,
    /// The number of items.
    pub count: u64,
    /// The bytes allocated for them, with the allocator's own overhead.
    pub bytes: u64,
}

impl Rib {
    /// Returns the bytes by purpose. Walks the table in slices; updates of peers pass in between.
    pub fn memory(&self) -> Vec<MemoryRow> {
        let row = |what, count, bytes| MemoryRow { what, count, bytes };
        let (sets, set_bytes, index_bytes) = self.store.size();
        let mut rows = vec![
            row("attribute sets", sets, set_bytes),
            row("attribute set index", sets, index_bytes),
        ];
        rows.extend(self.table_memory::<Ipv4Prefix>([
            "ipv4 destinations with up to two routes",
            "ipv4 routes of destinations with more",
            "ipv4 prefix index",
        ]));
        rows.extend(self.table_memory::<Ipv6Prefix>([
            "ipv6 destinations with up to two routes",
            "ipv6 routes of destinations with more",
            "ipv6 prefix index",
        ]));
        if let Some(mirror) = self.mirror.get() {
            let (count, bytes) = mirror.size();
            rows.push(row("look-up mirror", count, bytes));
        }
        let (count, bytes) = self.topology.read().audiences.size();
        rows.push(row("audiences of attribute sets", count, bytes));
        let groups = self.groups.read();
        let retained = groups.iter().map(|group| group.retained() as u64).sum();
        rows.push(row("outbound logs", groups.len() as u64, retained));
        rows
    }

    /// Releases memory that a burst of changes left behind: unused attribute sets and working memory. Call it in
    /// quiet moments: the next changes allocate it again.
    pub fn release_buffers(&self) {
        self.store.shrink();
        for shard in &self.shards {
            let live = &mut shard.lock().clients.live;
            live.iter_mut()
                .for_each(|live| live.pending.release_if_empty());
        }
        let groups = self.groups.read();
        groups.iter().for_each(|group| group.release_buffers());
    }

    fn table_memory<K: Stored>(&self, names: [&'static str; 3]) -> [MemoryRow; 3] {
        let (mut count, mut bytes) = (0, [0; 3]);
        for shard in &self.shards {
            let (pages, index, end) = {
                let shard = shard.lock();
                let table = K::table(&shard);
                count += table.len() as u64;
                let (pages, index) = table.size();
                (pages, index, table.id_end())
            };
            let outgrown: usize = (0..end)
                .step_by(SLICE)
                .map(|start| K::table(&shard.lock()).outgrown(start..start + SLICE as Id))
                .sum();
            for (sum, part) in bytes.iter_mut().zip([pages, outgrown, index]) {
                *sum += part as u64;
            }
        }
        [0, 1, 2].map(|part| MemoryRow {
            what: names[part],
            count,
            bytes: bytes[part],
        })
    }
}

/// The destinations visited under one hold of a shard's lock.
const SLICE: usize = 8 * 1024;
