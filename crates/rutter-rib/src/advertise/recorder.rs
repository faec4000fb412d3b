//! The records of a change: for each client of a group the difference between two export views.

use smallvec::SmallVec;

use crate::adj_rib_in::route::{Route, State};
use crate::advertise::audience::{AddedCommunities, Modification};
use crate::advertise::export_view::{ExportView, Rules, Scope, export_view};
use crate::advertise::fast_path::{BestTwo, is_plain};
use crate::advertise::log::Recipients;
use crate::advertise::octet_count::OctetCount;
use crate::peer_set::PeerSet;
use crate::{AttrSet, PeerId};

/// One route, or the withdrawal of one, for some clients of a group.
#[derive(Clone, Debug)]
pub(crate) struct Record<K> {
    pub prefix: K,
    /// The path identifier to send where the group uses Add-Path.
    pub path_id: u32,
    /// The announced attributes; `None` withdraws.
    pub set: Option<AttrSet>,
    pub to: Recipients,
    pub sender: PeerId,
    pub modification: Modification,
    /// True if this is the first record of one change. Records of one change have disjoint recipients or paths, so
    /// their order is free. Records of two changes of one prefix keep their order.
    pub opens_change: bool,
}

/// The accepted candidates of a destination before and after one change, best first.
pub(crate) struct Change<'a> {
    pub before: SmallVec<[&'a Route; 4]>,
    pub after: SmallVec<[&'a Route; 4]>,
}

/// The clients of a group that follow its log, and the scope of what they receive.
pub(crate) struct LiveClients<'a> {
    pub scope: Scope<'a>,
    pub peers: &'a PeerSet,
    pub count: usize,
}

/// A route is only looked at to find the way in which a change is recorded.
const ROUTES_PER_COMPARISON: usize = 4;

/// Collects the records of one change of one prefix.
pub(crate) struct Recorder<'a, K> {
    pub prefix: K,
    pub live: &'a LiveClients<'a>,
    pub out: &'a mut Vec<Record<K>>,
    octets: &'a mut OctetCount,
    opened: bool,
}

impl<'a, K: Copy> Recorder<'a, K> {
    pub fn new(
        prefix: K,
        live: &'a LiveClients<'a>,
        out: &'a mut Vec<Record<K>>,
        octets: &'a mut OctetCount,
    ) -> Self {
        Recorder {
            prefix,
            live,
            out,
            octets,
            opened: false,
        }
    }

    /// Returns whether the other routes of a destination never matter for the recipients of one.
    pub fn sends_each_path_alone(&self) -> bool {
        let topology = self.live.scope.topology;
        let settled = topology.export_transition.is_none() && topology.rank_walks == 0;
        settled && self.live.scope.max_paths() == usize::MAX
    }

    /// Records a change for the live clients.
    pub fn record(&mut self, change: &Change<'_>) {
        if self.live.count == 0 {
            return;
        }
        let Scope {
            topology, family, ..
        } = self.live.scope;
        let routes = change.before.len() + change.after.len();
        self.live
            .scope
            .count_comparisons(routes / ROUTES_PER_COMPARISON);
        if topology.is_in_transition(change) {
            return self.record_in_transition(change);
        }
        let decision = topology.decision();
        let plain = |route: &&Route| is_plain(family, route);
        let has_fast_path = topology.uniform
            && !self.live.scope.has_add_path()
            && change.before.iter().all(plain)
            && change.after.iter().all(plain)
            && !decision.med_is_partial(&change.before)
            && !decision.med_is_partial(&change.after);
        if has_fast_path {
            self.record_best(BestTwo::of(&change.before), &change.after);
        } else {
            let before = self.view(Rules::Present, &change.before);
            self.record_difference(&before, &before, &change.after);
        }
    }

    /// The routes that the live clients receive of these.
    pub fn view<'r>(&self, rules: Rules, routes: &[&'r Route]) -> ExportView<'r> {
        export_view(&self.live.scope, rules, routes, self.live.peers)
    }

    /// Records how clients get from their present routes to the export view of `after`. The clients hold all
    /// `certain` routes: these are not sent again. They hold no routes but the `possible` ones: these are withdrawn
    /// where no other route takes their place.
    pub fn record_difference(
        &mut self,
        certain: &ExportView<'_>,
        possible: &ExportView<'_>,
        after: &[&Route],
    ) {
        let after = self.view(Rules::Present, after);
        let has_add_path = self.live.scope.has_add_path();
        let identity = match has_add_path {
            true => path_of,
            false => source_of,
        };
        let certain = ViewIndex::of(certain, identity);
        for (route, to) in &after {
            let held = certain.find(route);
            let held = held.filter(|(old, _)| old.is_sent_like(route));
            let to = held.fold(to.clone(), |to, (_, clients)| to.minus(clients));
            self.announce(route, self.path_id(route), to);
        }
        if has_add_path {
            self.withdraw_paths(possible, &after);
        } else {
            self.withdraw_last(possible, &after);
        }
    }

    /// Withdraws each path from the clients that do not receive it any more.
    fn withdraw_paths(&mut self, before: &ExportView<'_>, after: &ExportView<'_>) {
        let after = ViewIndex::of(after, path_of);
        for (route, clients) in before {
            let lost = after
                .find(route)
                .fold(clients.clone(), |lost, (_, to)| lost.minus(to));
            self.withdraw(route.peer, self.path_id(route), lost);
        }
    }

    /// Withdraws the prefix from the clients that received a route of it and receive none now.
    fn withdraw_last(&mut self, before: &ExportView<'_>, after: &ExportView<'_>) {
        let Some((first, _)) = before.first() else {
            return;
        };
        let mut lost = PeerSet::default();
        before.iter().for_each(|(_, clients)| lost.extend(clients));
        let lost = after.iter().fold(lost, |lost, (_, to)| lost.minus(to));
        self.withdraw(first.peer, 0, lost);
    }

    /// The path identifier under which the group's clients receive a route.
    fn path_id(&self, route: &Route) -> u32 {
        match self.live.scope.has_add_path() {
            true => sent_path_id(route),
            false => 0,
        }
    }

    fn announce(&mut self, route: &Route, path_id: u32, to: PeerSet) {
        if to.is_empty() {
            return;
        }
        let audience = self.live.scope.topology.audiences.of(&route.attrs);
        let changes = self.live.scope.changes_by_filter(route);
        let scope = &self.live.scope;
        scope.count_comparisons(1 + audience.modification_count());
        audience.split_by_modification(to, |modification, part| {
            let modification = Modification {
                changes,
                ..with_route_state(modification, route)
            };
            let to = Recipients::of(part);
            self.push(Some(route), route.peer, path_id, modification, to);
        });
    }

    fn withdraw(&mut self, sender: PeerId, path_id: u32, from: PeerSet) {
        if !from.is_empty() {
            let to = Recipients::of(from);
            self.push(None, sender, path_id, Modification::default(), to);
        }
    }

    #[inline(always)]
    pub fn push(
        &mut self,
        route: Option<&Route>,
        sender: PeerId,
        path_id: u32,
        modification: Modification,
        to: Recipients,
    ) {
        if let Some(route) = route {
            self.octets.add(&route.attrs);
        }
        self.out.push(Record {
            prefix: self.prefix,
            path_id,
            set: route.map(|route| route.attrs.clone()),
            to,
            sender,
            modification,
            opens_change: !self.opened,
        });
        self.opened = true;
    }
}

/// The path identifier under which a route is sent (RFC 7911 §3: unique per prefix).
///
/// Sixteen bits of the sender, sixteen folded from the identifier that it used.
pub(crate) fn path_id_of(peer: PeerId, path_id: u32) -> u32 {
    let folded = (path_id ^ path_id >> 16) & 0xffff;
    (u32::from(peer.0) + 1) << 16 | folded
}

/// As [`path_id_of`] for a route.
pub(crate) fn sent_path_id(route: &Route) -> u32 {
    path_id_of(route.peer, route.path_id)
}

/// A number pair by which routes of two views are matched.
pub(crate) type Identity = (usize, u32);

/// The same for routes of one path, as clients see it: a path may take the place of another that is sent on under the same
/// identifier.
fn path_of(route: &Route) -> Identity {
    (route.peer.index(), sent_path_id(route))
}

/// The same for routes that clients cannot tell apart, if their state is the same.
fn source_of(route: &Route) -> Identity {
    (route.attrs.address(), u32::from(route.peer.0))
}

/// The same for views of the same routes.
pub(crate) fn place_of(route: &Route) -> Identity {
    (std::ptr::from_ref(route).addr(), 0)
}

/// The entries of a view by the identity of their routes. A destination may have thousands of paths, so they are not
/// searched one by one.
pub(crate) struct ViewIndex<'v, 'r> {
    view: &'v ExportView<'r>,
    entries: SmallVec<[(Identity, u32); 4]>,
    identity: fn(&Route) -> Identity,
}

impl<'v, 'r> ViewIndex<'v, 'r> {
    pub fn of(view: &'v ExportView<'r>, identity: fn(&Route) -> Identity) -> Self {
        let numbered = view.iter().zip(0..);
        let entry = |((route, _), at): (&(&Route, _), u32)| (identity(route), at);
        let mut entries: SmallVec<_> = numbered.map(entry).collect();
        entries.sort_unstable();
        ViewIndex {
            view,
            entries,
            identity,
        }
    }

    /// The entries with the identity of a route.
    pub fn find(&self, route: &Route) -> impl Iterator<Item = &'v (&'r Route, PeerSet)> + '_ {
        let wanted = (self.identity)(route);
        let start = self.entries.partition_point(|entry| entry.0 < wanted);
        let same = self.entries[start..].iter();
        same.take_while(move |entry| entry.0 == wanted)
            .map(|entry| &self.view[entry.1 as usize])
    }
}

/// Adds the modifications that the route's own state asks for to those of its audience.
pub(crate) fn with_route_state(modification: Modification, route: &Route) -> Modification {
    Modification {
        added: modification.added.with(
            AddedCommunities::LLGR_STALE,
            route.state.has(State::LONG_LIVED_STALE),
        ),
        class: route.verdict.class(),
        ..modification
    }
}
