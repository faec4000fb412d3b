//! The table's memory by purpose.

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix};

use crate::adj_rib_in::attr_set::AttrStore;
use crate::adj_rib_in::epochs::EpochSet;
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Destination, Id};
use crate::topology::{Peer, Topology};
use crate::{PeerId, Rib};

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

/// The memory of one neighbor with routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMemory {
    /// The neighbor.
    pub peer: PeerId,
    /// Its AS, which may have more sessions; `None` for a neighbor inside our AS, which stands alone.
    pub member: Option<Asn>,
    /// The bytes that it is charged for: see [`Rib::peer_memory`].
    pub bytes: u64,
    /// The state of its routes.
    pub routes: RoutesState,
}

/// The state of a neighbor's routes as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutesState {
    /// Its session is established.
    Established,
    /// Its session is down. They wait for the next one as stale routes (RFC 4724).
    Stale,
    /// Its session is down, and they are being removed.
    Leaving,
}

impl Peer {
    fn member(&self) -> Option<Asn> {
        let is_external = self.neighbor.kind.is_external();
        is_external.then_some(self.neighbor.remote_asn)
    }

    fn routes_state(&self) -> RoutesState {
        let is_stale = |family| {
            let stale = self.epochs[family].stale;
            self.counts.received(family, stale) > 0
        };
        match self.session.is_some() {
            true => RoutesState::Established,
            false if Family::ALL.into_iter().any(is_stale) => RoutesState::Stale,
            false => RoutesState::Leaving,
        }
    }
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

    /// About the bytes that the received routes take now, for a limit: as [`Rib::memory`], but without a walk. Lists of more
    /// than two routes are estimated from their number. Outbound logs have a limit of their own.
    pub fn memory_in_use(&self) -> u64 {
        let (_, sets, index) = self.store.size();
        let (mut destinations, mut tables) = (0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            let ipv4 = Ipv4Prefix::table(&shard);
            let ipv6 = Ipv6Prefix::table(&shard);
            destinations += shard.destinations();
            for (pages, index) in [ipv4.size(), ipv6.size()] {
                tables += pages + index;
            }
        }
        let routes = {
            let topology = self.topology.read();
            tables += topology.audiences.about_bytes() as usize;
            topology.routes()
        };
        // As if all destinations had the same number. The first two routes of each lie inline.
        let destinations = destinations as u64;
        let listed = routes.saturating_sub(2 * destinations);
        let lists = listed * ROUTE + listed.min(destinations) * LIST;
        sets + index + tables as u64 + lists
    }

    /// The number of prefixes in the table, in both families. It costs no walk.
    pub fn prefixes(&self) -> u64 {
        let counts = { self.shards.iter() }.map(|shard| shard.lock().destinations());
        counts.sum::<usize>() as u64
    }

    /// The bytes that a neighbor is charged for: its attribute sets, the audiences of their action communities, and an upper
    /// bound for its routes. Routes that wait to be removed count. Neighbors share sets: the last one to announce a set is
    /// charged for it.
    pub fn peer_memory(&self, peer: PeerId) -> u64 {
        self.topology.read().memory_of(peer, &self.store)
    }

    /// The neighbors with routes, and the bytes that each is charged for. Routes that other routers report, or that come
    /// from files, are left out.
    pub fn memory_by_peer(&self) -> Vec<PeerMemory> {
        let topology = self.topology.read();
        let own = topology.iter().filter(|(_, held)| {
            let received = |family| held.counts.received(family, EpochSet::ALL);
            held.neighbor.monitored.is_none() && Family::ALL.into_iter().any(|f| received(f) > 0)
        });
        let row = |(peer, held): (PeerId, &Peer)| PeerMemory {
            peer,
            member: held.member(),
            bytes: topology.memory_of(peer, &self.store),
            routes: held.routes_state(),
        };
        own.map(row).collect()
    }

    /// Releases memory that a burst of changes left behind: unused attribute sets and working memory. Makes room for new
    /// classes where few are left. Call it in quiet moments: the next changes allocate it again.
    pub fn release_buffers(&self) {
        self.forget_unused_classes(&mut || {});
        while self.has_leftovers() {
            self.tidy();
        }
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

impl Topology {
    fn memory_of(&self, peer: PeerId, store: &AttrStore) -> u64 {
        let Some(held) = self.peer(peer) else {
            return 0;
        };
        let routes = |family, bytes| {
            let routes = held.counts.received(family, EpochSet::ALL);
            u64::from(routes) * bytes
        };
        routes(Family::Ipv4Unicast, route_bytes::<Ipv4Prefix>())
            + routes(Family::Ipv6Unicast, route_bytes::<Ipv6Prefix>())
            + store.charged(peer)
            + self.audiences.charged(peer)
    }
}

/// The bytes of a route that has its destination alone: the destination, and its place in an index that is half full. No
/// route takes more.
const fn route_bytes<K>() -> u64 {
    (size_of::<Destination<K>>() + 2 * (size_of::<Id>() + 1)) as u64
}

/// The bytes of a route in a list, and those of a list besides its third and further routes: the first two, and the
/// allocator's own.
const ROUTE: u64 = size_of::<Route>() as u64;
const LIST: u64 = 3 * ROUTE;

/// The destinations visited under one hold of a shard's lock.
const SLICE: usize = 8 * 1024;
