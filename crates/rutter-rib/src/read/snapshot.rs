//! Snapshots: views of the table for readers, which share their pages with the writers until these write.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily, Prefix};
use rutter_policy::{Class, OutsideData, RejectReason};
use triomphe::Arc;

use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::epochs::Epochs;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{BOOK, Book, Destination, Key, pages};
use crate::topology::{Peer, Topology};
use crate::{AttrSet, Neighbor, PeerId, Rib, RouteCounts, SessionInfo};

/// A view of the whole table: each shard as it was at one moment.
///
/// Taking one costs a reference count for 16,384 destinations, under the shard's lock (microseconds). Afterwards
/// readers and writers do not meet. While a snapshot lives, a writer copies a page of 256 destinations the first time
/// it writes to it. Drop a snapshot as soon as possible.
pub struct Snapshot {
    ipv4: Vec<Vec<Arc<Book<Ipv4Prefix>>>>,
    ipv6: Vec<Vec<Arc<Book<Ipv6Prefix>>>>,
    peers: Vec<PeerSummary>,
    context: ViewContext,
}

/// A neighbor when the snapshot was taken.
#[derive(Clone, Debug)]
pub struct PeerSummary {
    /// Its id.
    pub id: PeerId,
    /// Its settings.
    pub neighbor: Neighbor,
    /// The parameters of its session; `None` while it is not established.
    pub session: Option<SessionInfo>,
    /// The number of its routes, per family.
    pub counts: PerFamily<RouteCounts>,
}

/// The place of a destination in the table. The default is the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct DestinationPlace {
    /// The shard.
    pub shard: u32,
    /// The slot in it.
    pub slot: u32,
}

/// A destination with its routes.
#[derive(Debug)]
pub struct DestinationView<'a> {
    /// The prefix.
    pub prefix: Prefix,
    /// Its routes in the order of the decision process, rejected ones last.
    pub routes: Vec<RouteView<'a>>,
}

/// A destination whose routes are not looked at yet. A walk that wants few routes copies none of the others.
pub struct UnreadDestination<'a> {
    /// The prefix.
    pub prefix: Prefix,
    routes: &'a [Route],
    context: &'a ViewContext,
}

impl<'a> UnreadDestination<'a> {
    /// Its routes in the order of the decision process, rejected ones last. A destination may have none any more.
    pub fn routes(&self) -> impl Iterator<Item = RouteView<'a>> + use<'a> {
        let (family, context) = (self.prefix.family(), self.context);
        let stays = move |route: &&Route| !context.is_being_removed(family, route);
        let routes = self.routes.iter().filter(stays);
        routes.map(move |route| route_view(route, family, context))
    }
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct RouteView<'a> {
    /// The peer that sent it.
    pub peer: PeerId,
    /// RFC 7911 path identifier as received, 0 without Add-Path.
    pub path_id: u32,
    /// Its attributes.
    pub attrs: &'a AttrSet,
    /// True if kept over a restart of its sender (RFC 4724).
    pub stale: bool,
    /// True if long-lived stale (RFC 9494): least preferred.
    pub long_lived_stale: bool,
    /// The first reason of rejection; `None` for routes that take part in the decision.
    pub reject: Option<RejectReason>,
    /// The class of an accepted route; [`Class::PLAIN`] for a rejected one.
    pub class: Class,
}

impl DestinationView<'_> {
    /// The best route, `None` where all are rejected.
    pub fn best(&self) -> Option<&RouteView<'_>> {
        self.routes.first().filter(|route| route.reject.is_none())
    }
}

impl Rib {
    /// Returns a view of the whole table as it is now.
    pub fn snapshot(&self) -> Snapshot {
        // The routes name classes of this topology's table.
        let topology = self.topology.read();
        let (peers, context) = (summaries(&topology), ViewContext::new(&topology));
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for shard in &self.shards {
            let shard = shard.lock();
            ipv4.push(Ipv4Prefix::table(&shard).share());
            ipv6.push(Ipv6Prefix::table(&shard).share());
        }
        Snapshot {
            ipv4,
            ipv6,
            peers,
            context,
        }
    }

    /// Returns all neighbors with their counts, without a view of the routes.
    pub fn peers(&self) -> Vec<PeerSummary> {
        summaries(&self.topology.read())
    }

    /// Calls `with` with a copy of one destination; `None` for a prefix without routes. O(1).
    pub fn destination<T>(
        &self,
        prefix: Prefix,
        with: impl FnOnce(DestinationView<'_>) -> T,
    ) -> Option<T> {
        let context = || ViewContext::new(&self.topology.read());
        match prefix {
            Prefix::V4(prefix) => {
                let held = self.copy_of(prefix)?;
                let view = view(&held, &context());
                (!view.routes.is_empty()).then(|| with(view))
            }
            Prefix::V6(prefix) => {
                let held = self.copy_of(prefix)?;
                let view = view(&held, &context());
                (!view.routes.is_empty()).then(|| with(view))
            }
        }
    }

    /// Returns the longest prefix with an accepted route that is this one or covers it. It takes a short lock for
    /// each occurring length until one is found. Prefixes may be added and removed in between.
    pub fn longest_match(&self, net: Prefix) -> Option<Prefix> {
        match net {
            Prefix::V4(net) => self.longest(net).map(Prefix::V4),
            Prefix::V6(net) => self.longest(net).map(Prefix::V6),
        }
    }

    fn longest<K: Stored>(&self, net: K) -> Option<K> {
        let has_best = |held: &Destination<K>| !held.accepted().is_empty();
        (0..=net.prefix_len())
            .rev()
            .map(|len| net.shortened(len))
            .find(|prefix| self.with_held(*prefix, has_best) == Some(true))
    }

    pub(crate) fn copy_of<K: Stored>(&self, prefix: K) -> Option<Destination<K>> {
        let copy = |held: &Destination<K>| (!held.routes.is_empty()).then(|| held.clone());
        self.with_held(prefix, copy)?
    }

    /// Reads a destination under its shard's lock. Lengths that do not occur cost no lock.
    fn with_held<K: Stored, T>(
        &self,
        prefix: K,
        look: impl FnOnce(&Destination<K>) -> T,
    ) -> Option<T> {
        if !self.lengths[K::FAMILY].has(prefix.prefix_len()) {
            return None;
        }
        let shard = self.shards[self.shard_of(prefix.seeded_hash(self.seed))].lock();
        let table = K::table(&shard);
        Some(look(table.get(table.find(prefix)?)))
    }
}

impl Snapshot {
    /// All neighbors, ascending by id.
    pub fn peers(&self) -> &[PeerSummary] {
        &self.peers
    }

    /// Returns one neighbor.
    pub fn peer(&self, peer: PeerId) -> Option<&PeerSummary> {
        let index = self.peers.binary_search_by_key(&peer, |one| one.id).ok()?;
        self.peers.get(index)
    }

    /// The outside data under which the routes were evaluated. A walk that applies them may go on.
    pub fn outside_data(&self) -> &OutsideData {
        &self.context.outside_data
    }

    /// The destinations of a family in no particular order.
    pub fn destinations(
        &self,
        family: Family,
    ) -> Box<dyn Iterator<Item = DestinationView<'_>> + '_> {
        let all = self.destinations_from(family, DestinationPlace::default());
        let views = all.map(|(_, destination)| DestinationView {
            prefix: destination.prefix,
            routes: destination.routes().collect(),
        });
        Box::new(views.filter(|view| !view.routes.is_empty()))
    }

    /// The destinations of a family from a place on, each with its place. The order is that of the places.
    ///
    /// A destination keeps its place while it has routes. So a reader that goes on in a later snapshot sees each
    /// destination exactly once that has routes all the time.
    pub fn destinations_from(
        &self,
        family: Family,
        start: DestinationPlace,
    ) -> Box<dyn Iterator<Item = (DestinationPlace, UnreadDestination<'_>)> + '_> {
        match family {
            Family::Ipv4Unicast => Box::new(self.walk(&self.ipv4, start)),
            Family::Ipv6Unicast => Box::new(self.walk(&self.ipv6, start)),
        }
    }

    /// The number of pages: parts of the table that several threads can read on their own.
    pub fn pages(&self) -> usize {
        let ipv4: usize = self.ipv4.iter().map(|books| pages(books)).sum();
        let ipv6: usize = self.ipv6.iter().map(|books| pages(books)).sum();
        ipv4 + ipv6
    }

    /// Calls `visit` with each route of a page: its prefix, its rank among the routes of that prefix (0 is the best
    /// if it is accepted), and the route. Nothing is copied. Pages above the last are empty.
    pub fn visit_page(&self, page: usize, mut visit: impl FnMut(Prefix, usize, RouteView<'_>)) {
        let ipv4: usize = self.ipv4.iter().map(|books| pages(books)).sum();
        if page < ipv4 {
            visit_page(nth(&self.ipv4, page), &self.context, &mut visit);
        } else {
            visit_page(nth(&self.ipv6, page - ipv4), &self.context, &mut visit);
        }
    }

    fn walk<'a, K: Key>(
        &'a self,
        shards: &'a [Vec<Arc<Book<K>>>],
        start: DestinationPlace,
    ) -> impl Iterator<Item = (DestinationPlace, UnreadDestination<'a>)> {
        let first = start.shard as usize;
        let in_shard = move |(shard, books): (usize, &'a Vec<Arc<Book<K>>>)| {
            let skipped = if shard == first {
                start.slot as usize
            } else {
                0
            };
            let slots = books.iter().flat_map(|book| book.iter()).flatten();
            slots
                .enumerate()
                .skip(skipped)
                .map(move |(slot, destination)| (shard, slot, destination))
        };
        shards
            .iter()
            .enumerate()
            .skip(first)
            .flat_map(in_shard)
            .filter(|(_, _, destination)| !destination.routes.is_empty())
            .map(|(shard, slot, destination)| {
                let place = DestinationPlace {
                    shard: shard as u32,
                    slot: slot as u32,
                };
                let unread = UnreadDestination {
                    prefix: destination.prefix.into(),
                    routes: &destination.routes,
                    context: &self.context,
                };
                (place, unread)
            })
    }

    /// The number of destinations of a family that have routes; walks them.
    pub fn len(&self, family: Family) -> usize {
        self.destinations(family).count()
    }

    /// Returns whether there are no routes at all.
    pub fn is_empty(&self) -> bool {
        Family::ALL
            .iter()
            .all(|family| self.destinations(*family).next().is_none())
    }
}

fn nth<K>(shards: &[Vec<Arc<Book<K>>>], mut page: usize) -> &[Destination<K>] {
    for books in shards {
        match books
            .get(page / BOOK)
            .and_then(|book| book.page(page % BOOK))
        {
            Some(page) => return page,
            None => page -= pages(books),
        }
    }
    &[]
}

fn visit_page<K: Key>(
    page: &[Destination<K>],
    context: &ViewContext,
    visit: &mut impl FnMut(Prefix, usize, RouteView<'_>),
) {
    for destination in page {
        let stays = |route: &&Route| {
            !context
                .epochs(K::FAMILY, route)
                .is_being_removed(route.state)
        };
        for (place, route) in destination.routes.iter().filter(stays).enumerate() {
            let route = route_view(route, K::FAMILY, context);
            visit(destination.prefix.into(), place, route);
        }
    }
}

fn view<'a, K: Key>(destination: &'a Destination<K>, context: &ViewContext) -> DestinationView<'a> {
    let stays = |route: &&'a Route| {
        !context
            .epochs(K::FAMILY, route)
            .is_being_removed(route.state)
    };
    let show = |route: &'a Route| route_view(route, K::FAMILY, context);
    DestinationView {
        prefix: destination.prefix.into(),
        routes: destination.routes.iter().filter(stays).map(show).collect(),
    }
}

pub(crate) fn route_view<'a>(
    route: &'a Route,
    family: Family,
    context: &ViewContext,
) -> RouteView<'a> {
    RouteView {
        peer: route.peer,
        path_id: route.path_id,
        attrs: &route.attrs,
        stale: context.epochs(family, route).is_stale(route.state),
        long_lived_stale: route.state.has(State::LONG_LIVED_STALE),
        reject: route.verdict.reject(),
        class: context.classes.class(route.verdict.class()),
    }
}

pub(crate) fn summaries(topology: &Topology) -> Vec<PeerSummary> {
    let all = topology.iter().filter(|(_, peer)| !peer.is_leaving);
    all.map(|(id, peer)| summarize(id, peer)).collect()
}

pub(crate) fn summary(topology: &Topology, id: PeerId) -> Option<PeerSummary> {
    topology.peer(id).map(|peer| summarize(id, peer))
}

fn summarize(id: PeerId, peer: &Peer) -> PeerSummary {
    PeerSummary {
        id,
        neighbor: peer.neighbor.clone(),
        session: peer.session.clone(),
        counts: peer.counts_by_family(),
    }
}

/// The facts beside the table that views of routes need.
pub(crate) struct ViewContext {
    epochs: Vec<PerFamily<Epochs>>,
    classes: std::sync::Arc<ClassTable>,
    outside_data: std::sync::Arc<OutsideData>,
}

impl ViewContext {
    pub fn new(topology: &Topology) -> Self {
        let epochs = |peer: &Peer| peer.epochs;
        let peers = topology.peers.iter();
        ViewContext {
            epochs: peers
                .map(|peer| peer.as_ref().map_or_else(Default::default, epochs))
                .collect(),
            classes: std::sync::Arc::clone(&topology.classes),
            outside_data: std::sync::Arc::clone(&topology.outside_data),
        }
    }

    /// Returns whether a sweeper is removing the route.
    pub fn is_being_removed(&self, family: Family, route: &Route) -> bool {
        self.epochs(family, route).is_being_removed(route.state)
    }

    fn epochs(&self, family: Family, route: &Route) -> Epochs {
        let families = self.epochs.get(route.peer.index());
        families.map_or_else(Epochs::default, |families| families[family])
    }
}
