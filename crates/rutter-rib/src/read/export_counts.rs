//! The numbers of routes that clients are sent and not sent: one walk for all clients.
//!
//! The clients of a group have a view of a destination in common. It is computed once and counted once for the group;
//! the clients that differ from most count for themselves. They are few: the senders of the routes, and the clients that an
//! action community names.

use std::ops::ControlFlow;
use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use smallvec::SmallVec;

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{Shard, Stored};
use crate::advertise::export_view::{GroupScope, Rules, Scope, Withheld, export_view};
use crate::advertise::fast_path::is_plain;
use crate::peer_set::PeerSet;
use crate::read::exports::ExportedDestination;
use crate::topology::Topology;
use crate::{DestinationPlace, PeerId, Rib, RouteView};

/// The numbers of one client in one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExportCount {
    /// The prefixes of which it is sent a route.
    pub prefixes: u64,
    /// The routes that it is sent: more than prefixes with Add-Path.
    pub routes: u64,
    /// The routes that it is not sent, in the order of [`Withheld::ALL`]. Without Add-Path these are the better ones than
    /// the route that it is sent.
    pub withheld: [u64; REASONS],
}

impl ExportCount {
    /// The reasons for which routes are withheld, each with the number of these.
    pub fn reasons(&self) -> impl Iterator<Item = (Withheld, u64)> + use<> {
        let all = Withheld::ALL.into_iter().zip(self.withheld);
        all.filter(|(_, routes)| *routes > 0)
    }
}

/// The counts of a walk for some clients. Give it to [`Rib::count_exports`] for each slice of the walk.
#[derive(Debug, Default)]
pub struct ExportCounts {
    clients: PeerSet,
    /// By peer. The common numbers of its group come on top.
    by_peer: Vec<Numbers>,
    groups: Vec<GroupCounts>,
}

/// A condition on routes: it is given the route, and whether it is the best one.
pub type RouteCondition<'a> = &'a dyn Fn(&RouteView<'_>, bool) -> bool;

/// Clients that have their views in common, and the numbers that count for each of them.
#[derive(Debug)]
struct GroupCounts {
    /// One of the members, which finds the group.
    example: PeerId,
    members: PeerSet,
    size: usize,
    common: Numbers,
}

/// Prefixes, routes, and the withheld routes by reason. They may be negative until the common ones are added.
type Numbers = [i64; 2 + REASONS];

/// A slice ends after so many routes for a group. A session that changes waits for its end.
const MAX_STEPS: usize = 1_024;

const REASONS: usize = Withheld::ALL.len();
const PREFIXES: usize = 0;
const ROUTES: usize = 1;
const OWN_ROUTES: usize = place(Withheld::OwnRoute);

/// The place of a reason among the numbers.
const fn place(why: Withheld) -> usize {
    2 + why as usize
}

impl Rib {
    /// Counts the routes of a slice of the table for all these clients, and returns the place to go on with, `None` after the
    /// last slice. The slices are those of [`Rib::visit_exports`], and so is what each client is sent. Routes that change
    /// during a walk count as they were or as they are.
    ///
    /// Only destinations count whose prefix is `wanted`, and only routes that meet the `condition`. A client without a session
    /// is sent nothing, and nothing is withheld from it. A destination costs a few operations on sets of clients for each
    /// group of them, whatever their number.
    pub fn count_exports(
        &self,
        family: Family,
        from: DestinationPlace,
        wanted: impl Fn(Prefix) -> bool,
        condition: Option<RouteCondition<'_>>,
        counts: &mut ExportCounts,
    ) -> Option<DestinationPlace> {
        let mut steps = 0;
        self.visit_exports(family, from, wanted, |destination| {
            if steps >= MAX_STEPS {
                return ControlFlow::Break(());
            }
            // Sessions do not change during a slice.
            if steps == 0 {
                counts.find_groups(destination.topology);
            }
            counts.add(destination, condition);
            steps += 1 + counts.groups.len() * destination.routes.len();
            ControlFlow::Continue(())
        })
    }

    /// Counts the routes of a family for these clients, in slices. Peers' updates pass in between.
    pub fn export_counts(&self, family: Family, clients: &[PeerId]) -> ExportCounts {
        let mut counts = ExportCounts::new(clients.iter().copied());
        let mut next = (!clients.is_empty()).then(DestinationPlace::default);
        while let Some(place) = next {
            next = self.count_exports(family, place, |_| true, None, &mut counts);
        }
        counts
    }

    /// The number of prefixes of a family that each of these clients is sent now; 0 without a session.
    pub fn advertised_prefixes(&self, family: Family, clients: &[PeerId]) -> Vec<u32> {
        let counts = self.export_counts(family, clients);
        let prefixes = |client: &PeerId| counts.of(*client).prefixes as u32;
        clients.iter().map(prefixes).collect()
    }

    /// The largest number of prefixes of a family that a client can be sent. O(shards).
    pub fn most_prefixes(&self, family: Family) -> u32 {
        let of = |shard: &Shard| match family {
            Family::Ipv4Unicast => Ipv4Prefix::table(shard).id_end(),
            Family::Ipv6Unicast => Ipv6Prefix::table(shard).id_end(),
        };
        self.shards.iter().map(|shard| of(&shard.lock())).sum()
    }
}

impl ExportCounts {
    /// Begins to count for these clients.
    pub fn new(clients: impl IntoIterator<Item = PeerId>) -> Self {
        let clients = clients
            .into_iter()
            .map(|client| (client, Default::default()));
        ExportCounts::continued(clients)
    }

    /// Goes on counting from the numbers of an earlier part of the walk.
    pub fn continued(counts: impl IntoIterator<Item = (PeerId, ExportCount)>) -> Self {
        let mut all = ExportCounts::default();
        for (client, count) in counts {
            let end = all.by_peer.len().max(client.index() + 1);
            all.by_peer.resize(end, Numbers::default());
            all.by_peer[client.index()] = numbers(count);
            all.clients.insert(client);
        }
        all
    }

    /// The numbers of a client so far.
    pub fn of(&self, client: PeerId) -> ExportCount {
        let own = self.by_peer.get(client.index());
        let mut sum = own.copied().unwrap_or_default();
        let groups = self.groups.iter();
        for group in groups.filter(|group| group.members.contains(client)) {
            add(&mut sum, &group.common);
        }
        let number = |at: usize| u64::try_from(sum[at]).unwrap_or(0);
        ExportCount {
            prefixes: number(PREFIXES),
            routes: number(ROUTES),
            withheld: Withheld::ALL.map(|why| number(place(why))),
        }
    }

    /// Divides the clients by their groups, as they are now.
    fn find_groups(&mut self, topology: &Topology) {
        let found = groups(topology, &self.clients);
        let known = self.groups.iter().map(|group| &group.members);
        if known.eq(found.iter().map(|(_, members)| members)) {
            return;
        }
        for group in self.groups.drain(..) {
            for client in group.members.iter() {
                add(&mut self.by_peer[client.index()], &group.common);
            }
        }
        let of = |(example, members): (PeerId, PeerSet)| GroupCounts {
            example,
            size: members.len(),
            members,
            common: Numbers::default(),
        };
        self.groups = found.into_iter().map(of).collect();
    }

    fn add(
        &mut self,
        destination: &ExportedDestination<'_>,
        condition: Option<RouteCondition<'_>>,
    ) {
        let (topology, routes) = (destination.topology, destination.routes);
        let family = destination.prefix.family();
        let is_simple = condition.is_none()
            && topology.uniform
            && routes.iter().all(|route| is_plain(family, route))
            && !topology.decision().med_is_partial(routes);
        let mut meets = SmallVec::<[bool; 8]>::from_elem(true, routes.len());
        if let Some(condition) = condition {
            let all = destination.views().zip(&mut meets);
            all.for_each(|((view, best), meets)| *meets = condition(&view, best));
        }
        for group in &mut self.groups {
            let held = topology.peer(group.example);
            let Some(held) = held.and_then(|held| held.group.as_ref()) else {
                continue;
            };
            let scope = GroupScope {
                topology,
                style: &held.style,
            };
            let scope = scope.at(destination.prefix);
            if !(is_simple && group.add_best(&scope, routes, &mut self.by_peer)) {
                group.add_view(&scope, routes, &meets, &mut self.by_peer);
            }
        }
    }
}

/// The clients of each group, with the first as its example.
fn groups(topology: &Topology, clients: &PeerSet) -> Vec<(PeerId, PeerSet)> {
    let group = |peer: PeerId| topology.peer(peer)?.group.as_ref();
    let mut groups: Vec<(PeerId, PeerSet)> = Vec::new();
    for client in clients.iter() {
        let Some(own) = group(client) else { continue };
        let is_same = |(example, _): &&mut (PeerId, PeerSet)| {
            group(*example).is_some_and(|known| Arc::ptr_eq(known, own))
        };
        match groups.iter_mut().find(is_same) {
            Some((_, members)) => members.insert(client),
            None => groups.push((client, [client].into_iter().collect())),
        }
    }
    groups
}

impl GroupCounts {
    /// Counts routes that go to all but their senders. Returns false, and counts nothing, where the clients do not receive
    /// the best route or every route.
    fn add_best(&mut self, scope: &Scope<'_>, routes: &[Route], by_peer: &mut [Numbers]) -> bool {
        let style = scope.style;
        let has_limit = scope.has_add_path() && style.add_path_limit != 0;
        if has_limit || !style.families[scope.family] || !style.advertises {
            return false;
        }
        let first = routes[0].peer;
        let leading = routes.iter().take_while(|route| route.peer == first);
        let leading = leading.count();
        // The routes that all but their senders receive or, without Add-Path, would receive from another sender.
        let (sent, not_sent) = match scope.has_add_path() {
            true => (routes.len(), routes),
            false => (1, &routes[..leading]),
        };
        self.common[PREFIXES] += 1;
        self.common[ROUTES] += sent as i64;
        let is_alone = leading == routes.len();
        for route in not_sent
            .iter()
            .filter(|route| self.members.contains(route.peer))
        {
            let own = &mut by_peer[route.peer.index()];
            own[OWN_ROUTES] += 1;
            own[ROUTES] -= i64::from(scope.has_add_path());
        }
        if is_alone && self.members.contains(first) {
            let own = &mut by_peer[first.index()];
            own[PREFIXES] -= 1;
            own[ROUTES] -= i64::from(!scope.has_add_path());
        }
        true
    }

    /// Counts the routes of a destination that meet the conditions.
    fn add_view(
        &mut self,
        scope: &Scope<'_>,
        routes: &[Route],
        meets: &[bool],
        by_peer: &mut [Numbers],
    ) {
        let all: SmallVec<[&Route; 4]> = routes.iter().collect();
        let view = export_view(scope, Rules::Present, &all, &self.members);
        // The view is in the order of the routes.
        let mut view = view.into_iter().peekable();
        let mut with_a_route = PeerSet::default();
        // Without Add-Path a route behind the one that a client is sent is not withheld: it is not the best.
        let mut unserved = self.members.clone();
        for (route, meets) in routes.iter().zip(meets) {
            let sent = view.next_if(|(sent, _)| std::ptr::eq(*sent, route));
            let to = sent.map(|(_, to)| to).unwrap_or_default();
            if *meets {
                self.add_set(ROUTES, &to, by_peer);
                with_a_route.extend(&to);
                let others = unserved.clone().minus(&to);
                scope.withheld_from(Rules::Present, route, others, |why, from| {
                    self.add_set(place(why), &from, by_peer);
                });
            }
            if !scope.has_add_path() {
                unserved = unserved.minus(&to);
                if unserved.is_empty() {
                    break;
                }
            }
        }
        self.add_set(PREFIXES, &with_a_route, by_peer);
    }

    /// Adds one for some members: for these, or for all with the others as exceptions.
    fn add_set(&mut self, at: usize, to: &PeerSet, by_peer: &mut [Numbers]) {
        if to.len() * 2 <= self.size {
            to.iter().for_each(|peer| by_peer[peer.index()][at] += 1);
        } else {
            self.common[at] += 1;
            let others = self.members.clone().minus(to);
            others
                .iter()
                .for_each(|peer| by_peer[peer.index()][at] -= 1);
        }
    }
}

fn numbers(count: ExportCount) -> Numbers {
    let mut numbers = Numbers::default();
    let counts = [count.prefixes, count.routes]
        .into_iter()
        .chain(count.withheld);
    let all = numbers.iter_mut().zip(counts);
    all.for_each(|(number, count)| *number = i64::try_from(count).unwrap_or(i64::MAX));
    numbers
}

fn add(sum: &mut Numbers, more: &Numbers) {
    // A cursor may name any number.
    let all = sum.iter_mut().zip(more);
    all.for_each(|(number, more)| *number = number.saturating_add(*more));
}
