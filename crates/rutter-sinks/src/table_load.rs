//! Loads whole tables into a store: the routes of a snapshot, in an order that fills keys efficiently.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_events::{AttrColumns, Peer};
use rutter_net::{Family, PerFamily, Prefix};
use rutter_rib::{AttrSet, PeerId, Rib, Snapshot};

use crate::peer::{PeerKey, StoredPeer};

/// A route of a load.
#[derive(Clone, Debug)]
pub struct LoadRow {
    /// The peer of the route.
    pub peer: Arc<StoredPeer>,
    /// The prefix of the route.
    pub prefix: Prefix,
    /// RFC 7911 path identifier.
    pub path_id: u32,
    /// The attributes. Equal sets mostly share one allocation.
    pub attrs: Arc<AttrColumns>,
}

/// Selects the families of a peer to load; `None` skips the peer.
pub type RouteFilter<'w> = &'w (dyn Fn(&PeerKey) -> Option<PerFamily<bool>> + Sync);

/// A source of whole tables.
pub trait RouteSource: Sync {
    /// Calls `visit` with chunks of the current state, until one call fails.
    fn routes<E>(
        &self,
        wanted: RouteFilter<'_>,
        visit: &mut dyn FnMut(Vec<LoadRow>) -> Result<(), E>,
    ) -> Result<(), E>;
}

/// The table of the collector.
pub struct TableSource(pub Arc<Rib>);

impl RouteSource for TableSource {
    fn routes<E>(
        &self,
        wanted: RouteFilter<'_>,
        visit: &mut dyn FnMut(Vec<LoadRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        let snapshot = self.0.snapshot();
        let mut peers: Vec<_> = snapshot
            .peers()
            .iter()
            .filter_map(|summary| {
                let peer = Arc::new(StoredPeer::from(&Peer::from(summary)));
                let families = wanted(&peer.key)?;
                let held = summary
                    .counts
                    .iter()
                    .map(|counts| u64::from(counts.received));
                Some((summary.id, peer, families, held.sum::<u64>()))
            })
            .collect();
        // Stores number the peers in this order, so that keys are filled from one end to the other.
        peers.sort_unstable_by(|a, b| a.1.key.cmp(&b.1.key));
        let mut rest = &peers[..];
        while !rest.is_empty() {
            // Several small peers, or one large peer, share a walk over the table.
            let mut sum = 0;
            let fits = rest.iter().take_while(|(.., held)| {
                sum += held;
                sum <= ROUTES_PER_WALK
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            walk(&snapshot, now, visit)?;
            rest = later;
        }
        Ok(())
    }
}

type Walked = (PeerId, Arc<StoredPeer>, PerFamily<bool>, u64);

fn walk<E>(
    snapshot: &Snapshot,
    peers: &[Walked],
    visit: &mut dyn FnMut(Vec<LoadRow>) -> Result<(), E>,
) -> Result<(), E> {
    let ordinals: HashMap<PeerId, u32> = peers.iter().map(|peer| peer.0).zip(0..).collect();
    let mut found: Vec<(u32, Prefix, u32, &AttrSet)> = Vec::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                if let Some(ordinal) = ordinals.get(&route.peer)
                    && peers[*ordinal as usize].2[family]
                {
                    // The snapshot keeps the set alive.
                    found.push((*ordinal, destination.prefix, route.path_id, route.attrs));
                }
            }
        }
    }
    found.sort_unstable_by_key(|(ordinal, prefix, path_id, _)| (*ordinal, *prefix, *path_id));
    let mut columns = ColumnsCache::default();
    for piece in found.chunks(CHUNK) {
        let row = |(ordinal, prefix, path_id, set): &(u32, Prefix, u32, &AttrSet)| LoadRow {
            peer: Arc::clone(&peers[*ordinal as usize].1),
            prefix: *prefix,
            path_id: *path_id,
            attrs: columns.get(set),
        };
        visit(piece.iter().map(row).collect())?;
    }
    Ok(())
}

/// A cache of the columns of recent sets. The keys are the addresses of their bytes, which stay valid as long
/// as the snapshot.
#[derive(Default)]
struct ColumnsCache(HashMap<*const u8, Arc<AttrColumns>>);

impl ColumnsCache {
    fn get(&mut self, set: &AttrSet) -> Arc<AttrColumns> {
        if self.0.len() >= MAX_CACHED_SETS {
            self.0.clear();
        }
        let columns = self.0.entry(set.block().as_ptr());
        Arc::clone(columns.or_insert_with(|| Arc::new(AttrColumns::of(set))))
    }
}

/// The largest number of routes that are sorted at once.
const ROUTES_PER_WALK: u64 = 2_000_000;
/// The number of routes in a chunk.
const CHUNK: usize = 20_000;
const MAX_CACHED_SETS: usize = 1 << 16;
