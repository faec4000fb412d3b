//! The neighbors, their sessions, and the rules between them. Every commit reads it; only a change of a neighbor or
//! session writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rutter_net::{Family, PerFamily};
use rutter_policy::{Class, OutsideData};

use crate::adj_rib_in::attr_set::SetFlags;
use crate::adj_rib_in::charges::NOBODY;
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::epochs::{EPOCHS, EpochSet, Epochs};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::tally::Tally;
use crate::advertise::audiences::Audiences;
use crate::advertise::group::Group;
use crate::advertise::members::Client;
use crate::decision::{Decision, PeerRank};
use crate::peer_set::PeerSet;
use crate::reevaluate::export::ExportTransition;
use crate::{
    Intake, Neighbor, NotKept, PeerId, PeerKind, RESERVED_IDS, RouteCounts, SessionInfo,
    TooManyNeighbors,
};

/// A neighbor with the table's state for it.
pub(crate) struct Peer {
    pub neighbor: Neighbor,
    pub session: Option<SessionInfo>,
    /// The group of which it is a client, while it is established and may receive routes.
    pub group: Option<Arc<Group>>,
    pub counts: Arc<Counts>,
    /// The epochs of its routes, per family.
    pub epochs: PerFamily<Epochs>,
    /// Removed as soon as its routes are; nobody sees it.
    pub is_leaving: bool,
}

impl Peer {
    /// The number of its routes in a family, without those that wait to be removed.
    pub fn counts(&self, family: Family) -> RouteCounts {
        let counted = EpochSet::ALL.minus(self.epochs[family].removing);
        let received = self.counts.received(family, counted);
        let accepted = sum(&self.counts.accepted[family], counted);
        RouteCounts {
            received,
            accepted: accepted.min(received),
        }
    }

    /// The routes that are kept, and the others.
    pub fn intake(&self) -> Intake {
        let limits = &self.neighbor.limits;
        let has_room = |family: Family| {
            let limit = limits.prefixes[family];
            limit.is_none_or(|above| self.counts(family).received < above.limit)
        };
        Intake {
            counts: self.counts_by_family(),
            not_kept: self.counts.not_kept(),
            lacks_routes: PerFamily::from_fn(|family| self.counts.are_missing(family)),
            has_room: PerFamily::from_fn(has_room),
        }
    }

    /// The same in both families.
    pub fn counts_by_family(&self) -> PerFamily<RouteCounts> {
        PerFamily::from_fn(|family| self.counts(family))
    }
}

/// The number of routes per family and epoch; written under a shard's lock, read by anybody.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    received: PerFamily<ByEpoch>,
    accepted: PerFamily<ByEpoch>,
    /// The paths that were not kept, ever.
    paths_not_kept: AtomicU64,
    /// The routes above a limit on prefixes that were not kept, ever.
    blocked: AtomicU64,
    /// Routes that a limit kept out may be missing since the neighbor last sent all of them.
    are_missing: PerFamily<AtomicBool>,
}

type ByEpoch = [AtomicU32; EPOCHS];

fn sum(counts: &ByEpoch, epochs: EpochSet) -> u32 {
    let each = epochs.iter().map(|epoch| &counts[usize::from(epoch)]);
    // Readers may see a route that moves between epochs in none or in both.
    each.fold(0, |sum, count| {
        sum.wrapping_add(count.load(Ordering::Relaxed))
    })
}

impl Counts {
    pub fn add(&self, family: Family, tally: &Tally) {
        let add = |counters: &ByEpoch, by: &[i32; EPOCHS]| {
            for (counter, by) in counters.iter().zip(by).filter(|(_, by)| **by != 0) {
                counter.fetch_add(*by as u32, Ordering::Relaxed);
            }
        };
        add(&self.received[family], &tally.received);
        add(&self.accepted[family], &tally.accepted);
        if tally.not_kept > 0 {
            let not_kept = u64::from(tally.not_kept);
            self.paths_not_kept.fetch_add(not_kept, Ordering::Relaxed);
        }
        if tally.blocked > 0 {
            let blocked = u64::from(tally.blocked);
            self.blocked.fetch_add(blocked, Ordering::Relaxed);
            self.are_missing[family].store(true, Ordering::Relaxed);
        }
    }

    /// The number of routes of these epochs, rejected ones included.
    pub fn received(&self, family: Family, epochs: EpochSet) -> u32 {
        sum(&self.received[family], epochs)
    }

    pub fn not_kept(&self) -> NotKept {
        NotKept {
            paths: self.paths_not_kept.load(Ordering::Relaxed),
            blocked: self.blocked.load(Ordering::Relaxed),
        }
    }

    /// Routes that a limit kept out may be missing in a family.
    pub fn are_missing(&self, family: Family) -> bool {
        self.are_missing[family].load(Ordering::Relaxed)
    }

    /// Takes over the counts of routes that another process did not keep.
    pub fn restore(&self, family: Family, not_kept: NotKept, are_missing: bool) {
        self.paths_not_kept.store(not_kept.paths, Ordering::Relaxed);
        self.blocked.store(not_kept.blocked, Ordering::Relaxed);
        self.are_missing[family].store(are_missing, Ordering::Relaxed);
    }

    /// The neighbor sends all routes of a family again.
    pub fn begin_resend(&self, family: Family) {
        self.are_missing[family].store(false, Ordering::Relaxed);
    }
}

/// All neighbors.
pub(crate) struct Topology {
    pub peers: Vec<Option<Peer>>,
    pub ranks: Vec<PeerRank>,
    /// The number of neighbors that were ever added.
    added: u32,
    /// All ids below this are taken.
    first_free: usize,
    /// The number of ids that are taken.
    taken: usize,
    pub audiences: Audiences,
    /// The outside data that import policies read. It is no part of a neighbor: a session that comes up must not bring
    /// former data back.
    pub outside_data: Arc<OutsideData>,
    pub classes: Arc<ClassTable>,
    pub always_compare_med: bool,
    /// True if all neighbors are route server clients. Any route may then be sent to any client but its sender,
    /// unless its audience is smaller.
    pub uniform: bool,
    /// The peers that may receive the routes of a sender, by the sender's kind.
    reach: [PeerSet; 5],
    /// The peers that must not receive routes with ONLY_TO_CUSTOMER (RFC 9234 §5).
    no_otc: PeerSet,
    /// The transition from one export policy to another, while a walk applies it.
    pub export_transition: Option<ExportTransition>,
    /// The number of walks that reorder destinations after the rank of a peer changed.
    pub rank_walks: u32,
    /// The routes of all neighbors, those that wait to be removed included.
    routes: AtomicU64,
}

impl Topology {
    pub fn new(
        audiences: Audiences,
        outside_data: Arc<OutsideData>,
        always_compare_med: bool,
    ) -> Self {
        Topology {
            peers: Vec::new(),
            ranks: Vec::new(),
            added: 0,
            first_free: 0,
            taken: 0,
            audiences,
            outside_data,
            classes: Arc::new(ClassTable::new()),
            always_compare_med,
            uniform: true,
            reach: Default::default(),
            no_otc: PeerSet::default(),
            export_transition: None,
            rank_walks: 0,
            routes: AtomicU64::new(0),
        }
    }

    /// Counts routes that come or go.
    pub fn count_routes(&self, tally: &Tally) {
        let more: i32 = tally.received.iter().sum();
        if more != 0 {
            self.routes
                .fetch_add(i64::from(more) as u64, Ordering::Relaxed);
        }
    }

    /// The number of routes of all neighbors.
    pub fn routes(&self) -> u64 {
        self.routes.load(Ordering::Relaxed)
    }

    pub fn decision(&self) -> Decision<'_> {
        Decision {
            ranks: &self.ranks,
            classes: &self.classes,
            always_compare_med: self.always_compare_med,
        }
    }

    pub fn peer(&self, peer: PeerId) -> Option<&Peer> {
        self.peers.get(peer.index())?.as_ref()
    }

    pub fn peer_mut(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.peers.get_mut(peer.index())?.as_mut()
    }

    /// Every neighbor with its id.
    pub fn iter(&self) -> impl Iterator<Item = (PeerId, &Peer)> {
        self.peers
            .iter()
            .enumerate()
            .filter_map(|(index, peer)| Some((PeerId(index as u16), peer.as_ref()?)))
    }

    /// The number of ids that are free.
    pub fn free_ids(&self) -> usize {
        NOBODY.index() - self.taken
    }

    pub fn add(&mut self, neighbor: Neighbor) -> Result<PeerId, TooManyNeighbors> {
        if neighbor.monitored.is_some() && self.free_ids() <= RESERVED_IDS {
            return Err(TooManyNeighbors);
        }
        let taken = self.peers.iter().skip(self.first_free);
        let index = self.first_free + taken.take_while(|peer| peer.is_some()).count();
        let peer = PeerId(u16::try_from(index).map_err(|_| TooManyNeighbors)?);
        if peer == NOBODY {
            return Err(TooManyNeighbors);
        }
        if index == self.peers.len() {
            self.peers.push(None);
            self.ranks.push(PeerRank::default());
        }
        self.put(peer, neighbor);
        self.first_free = index + 1;
        self.add_rules(peer);
        Ok(peer)
    }

    fn put(&mut self, peer: PeerId, neighbor: Neighbor) {
        let index = peer.index();
        self.ranks[index] = PeerRank::default();
        self.added = self.added.wrapping_add(1);
        self.audiences.add_peer(peer, client(&neighbor));
        self.taken += usize::from(self.peers[index].is_none());
        self.peers[index] = Some(Peer {
            neighbor,
            session: None,
            group: None,
            counts: Arc::default(),
            epochs: PerFamily::both(Epochs::of_neighbor(self.added)),
            is_leaving: false,
        });
        self.refresh_rank(peer);
    }

    /// Adds a neighbor under an id that is not in use. Call [`Topology::rebuild_rules`] after the last.
    pub fn add_as(&mut self, peer: PeerId, neighbor: Neighbor) {
        let end = self.peers.len().max(peer.index() + 1);
        self.peers.resize_with(end, || None);
        self.ranks.resize_with(end, PeerRank::default);
        self.put(peer, neighbor);
    }

    /// Removes neighbors that have no routes any more. O(all neighbors), whatever the number.
    pub fn remove_all(&mut self, peers: &[PeerId]) {
        for peer in peers {
            if let Some(slot) = self.peers.get_mut(peer.index()) {
                self.taken -= usize::from(slot.take().is_some());
                self.first_free = self.first_free.min(peer.index());
            }
        }
        self.audiences.remove_peers(peers);
        self.rebuild_rules();
    }

    /// Replaces the settings of a neighbor and returns the former ones. Call [`Topology::rebuild_rules`] after the last.
    pub fn replace(&mut self, peer: PeerId, neighbor: Neighbor) -> Option<Neighbor> {
        let known = self.peer(peer).map(|held| client(&held.neighbor));
        // All audiences would be resolved again.
        let is_same = |known| !self.audiences.distinguish(known, client(&neighbor));
        if !known.is_some_and(is_same) {
            self.audiences.remove_peers(&[peer]);
            self.audiences.add_peer(peer, client(&neighbor));
        }
        let held = self.peer_mut(peer)?;
        let former = std::mem::replace(&mut held.neighbor, neighbor);
        self.refresh_rank(peer);
        Some(former)
    }

    /// Recomputes a peer's rank in the decision process from its settings and session. Returns whether it changed.
    /// Routes that stay when a session ends keep the BGP Identifier with which they came.
    pub fn refresh_rank(&mut self, peer: PeerId) -> bool {
        let Some(held) = self.peer(peer) else {
            return false;
        };
        let before = self.ranks[peer.index()];
        let session = held.session.as_ref();
        let rank = PeerRank {
            external: held.neighbor.kind.is_external(),
            bgp_id: session.map_or(before.bgp_id, |session| session.remote_bgp_id),
            address: match held.neighbor.address {
                std::net::IpAddr::V4(addr) => u128::from(addr.to_bits()),
                std::net::IpAddr::V6(addr) => addr.to_bits(),
            },
            default_local_pref: held.neighbor.default_local_pref,
        };
        self.ranks[peer.index()] = rank;
        rank != before
    }

    /// Computes which kinds of peers receive which routes. O(neighbors).
    pub fn rebuild_rules(&mut self) {
        self.uniform = true;
        self.reach = Default::default();
        self.no_otc = PeerSet::default();
        for index in 0..self.peers.len() {
            self.add_rules(PeerId(index as u16));
        }
    }

    /// Adds a new neighbor to these.
    fn add_rules(&mut self, peer: PeerId) {
        let Some(held) = self.peer(peer) else {
            return;
        };
        let neighbor = &held.neighbor;
        let (kind, withholds_otc) = (neighbor.kind, neighbor.withholds_otc());
        let is_plain = kind == PeerKind::RouteServerClient
            && !withholds_otc
            && neighbor.client.export_filters.is_empty();
        self.uniform &= is_plain && neighbor.export_allowed;
        for (from, reach) in KINDS.into_iter().zip(&mut self.reach) {
            if may_send(from, kind) {
                reach.insert(peer);
            }
        }
        if withholds_otc {
            self.no_otc.insert(peer);
        }
    }

    pub fn reach_of(&self, sender: PeerId) -> &PeerSet {
        let kind = self
            .peer(sender)
            .map_or(PeerKind::Collector, |peer| peer.neighbor.kind);
        &self.reach[kind as usize]
    }

    /// Returns whether a route has ONLY_TO_CUSTOMER, received or added on receipt (RFC 9234 §5).
    #[inline]
    pub fn has_otc(&self, route: &Route) -> bool {
        route.attrs.summary().flags.has(SetFlags::ONLY_TO_CUSTOMER) || self.class(route).add_otc
    }

    /// The class of a route.
    #[inline]
    pub fn class(&self, route: &Route) -> Class {
        self.classes.class(route.verdict.class())
    }

    /// The peers that must not receive routes with ONLY_TO_CUSTOMER.
    pub fn no_otc(&self) -> &PeerSet {
        &self.no_otc
    }

    /// Returns whether a route is of its peer's former epoch.
    pub fn is_stale(&self, route: &Route, family: Family) -> bool {
        self.peer(route.peer)
            .is_some_and(|peer| peer.epochs[family].is_stale(route.state))
    }
}

/// The facts about a neighbor that audiences depend on.
pub(crate) fn client(neighbor: &Neighbor) -> Client {
    Client {
        asn: neighbor.remote_asn,
        external: neighbor.kind.is_external(),
        rtt: neighbor.client.rtt,
        receives_blackhole: neighbor.client.receives_blackhole,
    }
}

const KINDS: [PeerKind; 5] = [
    PeerKind::RouteServerClient,
    PeerKind::External,
    PeerKind::Internal,
    PeerKind::ReflectorClient,
    PeerKind::Collector,
];

/// Returns whether routes of one kind of peer are sent to another kind (RFC 4271 §9.2, RFC 4456 §6).
fn may_send(from: PeerKind, to: PeerKind) -> bool {
    let collects = from == PeerKind::Collector || to == PeerKind::Collector;
    let internal = from == PeerKind::Internal && to == PeerKind::Internal;
    !collects && !internal
}
