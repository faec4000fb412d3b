//! What the table's bytes are for.

use rutter_net::{Ipv4Prefix, Ipv6Prefix};

use crate::Rib;
use crate::shard::Stored;

/// Memory of one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// The purpose.
    pub what: &'static str,
    /// How many of them there are.
    pub count: u64,
    /// Octets allocated for them, without the allocator's own overhead.
    pub bytes: u64,
}

impl Rib {
    /// Octets by purpose. Walks the table under one shard's lock after the other: for people, not for loops.
    pub fn memory(&self) -> Vec<MemoryRow> {
        let row = |what, count, bytes| MemoryRow { what, count, bytes };
        let (sets, set_bytes, index_bytes) = self.store.size();
        let mut rows = vec![
            row("attribute sets", sets, set_bytes),
            row("attribute set index", sets, index_bytes),
        ];
        rows.extend(self.table_memory::<Ipv4Prefix>([
            "ipv4 destinations with two routes inline",
            "ipv4 further routes",
            "ipv4 prefix index",
        ]));
        rows.extend(self.table_memory::<Ipv6Prefix>([
            "ipv6 destinations with two routes inline",
            "ipv6 further routes",
            "ipv6 prefix index",
        ]));
        let groups = self.groups.read();
        let retained = groups.iter().map(|group| group.retained() as u64).sum();
        rows.push(row("outbound logs", groups.len() as u64, retained));
        rows
    }

    fn table_memory<K: Stored>(&self, names: [&'static str; 3]) -> [MemoryRow; 3] {
        let (mut count, mut bytes) = (0, [0; 3]);
        for shard in &self.shards {
            let shard = shard.lock();
            let table = K::table(&shard);
            let (pages, spilled, index) = table.size();
            count += table.len() as u64;
            for (sum, part) in bytes.iter_mut().zip([pages, spilled, index]) {
                *sum += part;
            }
        }
        [0, 1, 2].map(|part| MemoryRow {
            what: names[part],
            count,
            bytes: bytes[part],
        })
    }
}
