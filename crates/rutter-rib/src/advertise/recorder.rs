//! What the clients of a group must hear when the candidates of a destination change.
//!
//! Candidates are ordered once. Who receives the first is its recipients; who receives the second, its recipients
//! less those already served; and so on until nobody is left: two or three operations on sets of peers,
//! whatever their number. In an exchange where routes go to all but their sender not even that: everybody
//! receives the first but its sender, who receives the second.

use std::borrow::Borrow;

use smallvec::SmallVec;

use rutter_net::Family;

use crate::adj_rib_in::route::{Route, State};
use crate::advertise::audience::{EVERYONE, Modification};
use crate::advertise::encode::Style;
use crate::advertise::log::Recipients;
use crate::peer_set::PeerSet;
use crate::topology::Topology;
use crate::{AttrSet, PeerId};

/// One thing to tell: a route, or that there is none any more, to some clients of a group.
#[derive(Clone, Debug)]
pub(crate) struct Record<K> {
    pub prefix: K,
    /// Path identifier to send where the group uses Add-Path.
    pub path_id: u32,
    /// What is announced; `None` withdraws.
    pub set: Option<AttrSet>,
    pub to: Recipients,
    pub sender: PeerId,
    pub modification: Modification,
    /// First of the records of one change. Records of one change have disjoint recipients or paths, so
    /// their order is free; records of two changes of one prefix keep theirs.
    pub opens_change: bool,
}

/// The accepted candidates of a destination before and after one change, best first.
pub(crate) struct Change<'a> {
    pub before: SmallVec<[&'a Route; 4]>,
    pub after: SmallVec<[&'a Route; 4]>,
}

/// Routes with those who hear them, best first; nobody receives two.
pub(crate) type ExportView<'r> = SmallVec<[(&'r Route, PeerSet); 4]>;

/// Who former a route.
pub(crate) struct Former {
    /// These do.
    pub certain: PeerSet,
    /// And nobody but these.
    pub possible: PeerSet,
}

/// A route that clients hear, as far as it matters for whether they must hear another instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertised {
    set: usize,
    peer: PeerId,
    long_lived_stale: bool,
}

impl Advertised {
    fn of(route: &Route) -> Self {
        Advertised {
            set: route.attrs.address(),
            peer: route.peer,
            long_lived_stale: route.state.has(State::LONG_LIVED_STALE),
        }
    }
}

/// What everybody receives where routes go to all but their sender: the first candidate, and its sender the first of
/// another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BestTwo {
    first: Option<Advertised>,
    second: Option<Advertised>,
}

impl BestTwo {
    /// Of candidates in order.
    pub fn of<R: Borrow<Route>>(routes: &[R]) -> Self {
        let Some(first) = routes.first().map(R::borrow) else {
            return BestTwo {
                first: None,
                second: None,
            };
        };
        let others = routes[1..].iter().map(R::borrow);
        let second = others.into_iter().find(|route| route.peer != first.peer);
        BestTwo {
            first: Some(Advertised::of(first)),
            second: second.map(Advertised::of),
        }
    }

    fn sender(&self) -> Option<PeerId> {
        self.first.map(|received| received.peer)
    }

    fn advertised_to(&self, peer: PeerId) -> Option<Advertised> {
        if self.sender() == Some(peer) {
            self.second
        } else {
            self.first
        }
    }
}

/// Whether a route goes to all but its sender as it is, whatever the group of clients.
pub(crate) fn is_plain(family: Family, route: &Route) -> bool {
    route.attrs.audience() == EVERYONE
        && (family != Family::Ipv4Unicast || route.attrs.mp_next_hop().len() < 16)
}

/// What a group's part of a shard knows when it looks at a change.
pub(crate) struct View<'a> {
    pub topology: &'a Topology,
    pub style: &'a Style,
    /// Clients that follow the log.
    pub live: &'a PeerSet,
    pub live_count: usize,
    pub family: Family,
}

/// The path identifier under which a route is sent (RFC 7911 §3: unique per prefix).
///
/// Sixteen bits of the sender, sixteen folded from the identifier it used.
pub(crate) fn path_id_of(peer: PeerId, path_id: u32) -> u32 {
    let folded = (path_id ^ path_id >> 16) & 0xffff;
    (u32::from(peer.0) + 1) << 16 | folded
}

/// As [`path_id_of`] for a route.
pub(crate) fn sent_path_id(route: &Route) -> u32 {
    path_id_of(route.peer, route.path_id)
}

fn same(a: Option<&Route>, b: Option<&Route>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.is_sent_like(b),
        _ => false,
    }
}

/// Collects the records of one change of one prefix.
pub(crate) struct Recorder<'a, K> {
    pub prefix: K,
    pub view: &'a View<'a>,
    pub out: &'a mut Vec<Record<K>>,
    opened: bool,
}

impl<'a, K: Copy> Recorder<'a, K> {
    pub fn new(prefix: K, view: &'a View<'a>, out: &'a mut Vec<Record<K>>) -> Self {
        Recorder {
            prefix,
            view,
            out,
            opened: false,
        }
    }

    /// Records what the live clients must hear.
    pub fn record(&mut self, change: &Change<'_>) {
        if self.view.live_count == 0 {
            return;
        }
        if self.view.topology.is_in_transition(change) {
            return self.record_in_transition(change);
        }
        if self.view.style.add_path[self.view.family.index()] {
            return self.record_paths(change);
        }
        let decision = self.view.topology.decision();
        if decision.med_is_partial(&change.before) || decision.med_is_partial(&change.after) {
            return self.record_each(change);
        }
        let plain = |route: &&Route| route.attrs.audience() == EVERYONE && self.carries(route);
        let simple = self.view.topology.uniform
            && change.before.iter().all(plain)
            && change.after.iter().all(plain);
        if simple {
            self.record_best(BestTwo::of(&change.before), &change.after);
        } else {
            self.record_served(change);
        }
    }

    pub(crate) fn carries(&self, route: &Route) -> bool {
        self.view.style.can_carry(self.view.family, &route.attrs)
    }

    /// Everybody receives the first candidate but its sender, who receives the next of another.
    pub fn record_best<R: Borrow<Route>>(&mut self, before: BestTwo, after: &[R]) {
        if self.view.live_count == 0 {
            return;
        }
        let now = BestTwo::of(after);
        let changed = before.first != now.first;
        let (old, new) = (before.sender(), now.sender());
        let mut excluded = [NOBODY; 2];
        let (mut count, mut hidden) = (0, 0);
        for peer in [old, new.filter(|_| new != old)].into_iter().flatten() {
            let (received, receives) = (before.advertised_to(peer), now.advertised_to(peer));
            if changed && received != receives && receives == now.first {
                continue;
            }
            excluded[count] = peer;
            count += 1;
            if self.view.live.contains(peer) {
                hidden += 1;
                if received != receives {
                    let route = after.iter().map(R::borrow).find(|r| r.peer != peer);
                    self.record_route(route, received, Recipients::Only(peer));
                }
            }
        }
        if changed && self.view.live_count > hidden {
            let last = excluded[count.saturating_sub(1)];
            let to = Recipients::AllBut(excluded[0], last);
            self.record_route(after.first().map(R::borrow), before.first, to);
        }
    }

    /// Client by client, where what is best of the routes that one may see does not follow from their order.
    fn record_each(&mut self, change: &Change<'_>) {
        let mut new = ExportView::new();
        let mut withdrawn = PeerSet::default();
        for peer in self.view.live.iter() {
            let received = self.window(&change.before, peer).first().copied();
            let receives = self.window(&change.after, peer).first().copied();
            if same(received, receives) {
                continue;
            }
            let Some(route) = receives else {
                withdrawn.insert(peer);
                continue;
            };
            add_recipient(&mut new, route, peer);
        }
        for (route, peers) in new {
            self.announce(route, 0, peers);
        }
        self.withdraw_last(change, withdrawn);
    }

    /// Withdraws what clients received last, whichever route it was.
    fn withdraw_last(&mut self, change: &Change<'_>, withdrawn: PeerSet) {
        if let Some(last) = change.before.first()
            && !withdrawn.is_empty()
        {
            let to = Recipients::of(withdrawn);
            self.push(None, last.peer, 0, Modification::default(), to);
        }
    }

    /// `new` is announced, or `old` withdrawn where there is no new one; routes without modifications.
    fn record_route(&mut self, new: Option<&Route>, old: Option<Advertised>, to: Recipients) {
        match (new, old) {
            (Some(route), _) => {
                let modification = with_route_state(Modification::default(), route);
                self.push(Some(route), route.peer, 0, modification, to);
            }
            (None, Some(received)) => {
                self.push(None, received.peer, 0, Modification::default(), to)
            }
            (None, None) => {}
        }
    }

    /// The general way: recipients of each candidate in turn, less those already served.
    fn record_served(&mut self, change: &Change<'_>) {
        self.record_after(change, &[self.serve(&change.before)]);
    }

    /// One route each, by sets of clients. Where it is not certain by which rules they received the former routes, `before` says
    /// who received which by each: what a client former by all of them it is not new again, what it may hold by any is withdrawn.
    pub(crate) fn record_after(&mut self, change: &Change<'_>, before: &[ExportView<'_>]) {
        let after = self.serve(&change.after);
        for (route, to) in &after {
            let mut certain = match self.view.topology.audience_changed(route) {
                true => PeerSet::default(),
                false => to.clone(),
            };
            for served in before {
                let same = served.iter().find(|(old, _)| old.is_sent_like(route));
                certain = same.map_or_else(PeerSet::default, |(_, received)| certain.and(received));
            }
            self.announce(route, 0, to.clone().minus(&certain));
        }
        let mut withdrawn = PeerSet::default();
        let served = before.iter().flatten();
        served.for_each(|(_, received)| withdrawn.extend(received));
        for (_, served) in &after {
            withdrawn = withdrawn.minus(served);
        }
        self.withdraw_last(change, withdrawn);
    }

    pub(crate) fn serve<'r>(&self, routes: &[&'r Route]) -> ExportView<'r> {
        self.serve_by(routes, |route, peers| {
            self.view.topology.recipients(route, peers)
        })
    }

    /// Who receives which route, where `recipients` are those of some peers that may hear it.
    pub(crate) fn serve_by<'r>(
        &self,
        routes: &[&'r Route],
        recipients: impl Fn(&Route, &PeerSet) -> PeerSet,
    ) -> ExportView<'r> {
        let mut unserved = self.view.live.clone();
        let mut served = SmallVec::new();
        for route in routes {
            if !self.carries(route) {
                continue;
            }
            let to = recipients(route, &unserved);
            if to.is_empty() {
                continue;
            }
            unserved = unserved.minus(&to);
            served.push((*route, to));
            if unserved.is_empty() {
                break;
            }
        }
        served
    }

    pub(crate) fn announce(&mut self, route: &Route, path_id: u32, to: PeerSet) {
        if to.is_empty() {
            return;
        }
        let topology = self.view.topology;
        topology
            .audiences
            .of(&route.attrs)
            .split_by_modification(to, |modification, part| {
                let modification = with_route_state(modification, route);
                self.push(
                    Some(route),
                    route.peer,
                    path_id,
                    modification,
                    Recipients::of(part),
                );
            });
    }

    /// Add-Path: every path, or the best few, each under its identifier.
    fn record_paths(&mut self, change: &Change<'_>) {
        if self.view.style.add_path_limit == 0 {
            return self.record_all_paths(change);
        }
        for peer in self.view.live.iter() {
            let received = self.window(&change.before, peer);
            let receives = self.window(&change.after, peer);
            self.record_window(&received, &receives, peer);
        }
    }

    fn record_all_paths(&mut self, change: &Change<'_>) {
        let view = self.view;
        self.record_paths_after(change, |route| {
            let received = view.topology.recipients(route, view.live);
            Former {
                possible: received.clone(),
                certain: received,
            }
        });
    }

    /// Every path, by sets of clients; `former` says who former one of the former.
    pub(crate) fn record_paths_after(
        &mut self,
        change: &Change<'_>,
        former: impl Fn(&Route) -> Former,
    ) {
        let view = self.view;
        let carries = |route: &&Route| view.style.can_carry(view.family, &route.attrs);
        let old = change.before.iter().copied().filter(carries);
        let old: SmallVec<[(&Route, Former); 4]> = old.map(|r| (r, former(r))).collect();
        let new = change.after.iter().copied().filter(carries);
        let new: ExportView<'_> = new
            .map(|r| (r, view.topology.recipients(r, view.live)))
            .collect();
        for (route, recipients) in &new {
            let before = old.iter().find(|(old, _)| same_path(old, route));
            let fresh = match before {
                Some((old, former)) if old.is_sent_like(route) => {
                    recipients.clone().minus(&former.certain)
                }
                _ => recipients.clone(),
            };
            self.announce(route, sent_path_id(route), fresh);
        }
        for (route, former) in old {
            let after = new.iter().find(|(new, _)| same_path(new, route));
            let withdrawn = match after {
                Some((_, recipients)) => former.possible.minus(recipients),
                None => former.possible,
            };
            if !withdrawn.is_empty() {
                let (id, to) = (sent_path_id(route), Recipients::of(withdrawn));
                self.push(None, route.peer, id, Modification::default(), to);
            }
        }
    }

    /// The paths one client receives, best first, at most as many as the group's limit.
    pub(crate) fn window<'r>(
        &self,
        routes: &[&'r Route],
        peer: PeerId,
    ) -> SmallVec<[&'r Route; 4]> {
        window(
            self.view.topology,
            self.view.style,
            self.view.family,
            routes,
            peer,
        )
    }

    fn record_window(&mut self, received: &[&Route], receives: &[&Route], peer: PeerId) {
        for route in receives {
            if received
                .iter()
                .any(|old| same_path(old, route) && old.is_sent_like(route))
            {
                continue;
            }
            let modification = self
                .view
                .topology
                .audiences
                .of(&route.attrs)
                .modification(peer);
            let modification = with_route_state(modification, route);
            let id = sent_path_id(route);
            self.push(
                Some(route),
                route.peer,
                id,
                modification,
                Recipients::Only(peer),
            );
        }
        for route in received {
            if !receives.iter().any(|new| same_path(new, route)) {
                let id = sent_path_id(route);
                let to = Recipients::Only(peer);
                self.push(None, route.peer, id, Modification::default(), to);
            }
        }
    }

    pub(crate) fn push(
        &mut self,
        route: Option<&Route>,
        sender: PeerId,
        path_id: u32,
        modification: Modification,
        to: Recipients,
    ) {
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

/// Puts a client to those that hear a route.
pub(crate) fn add_recipient<'r>(new: &mut ExportView<'r>, route: &'r Route, peer: PeerId) {
    match new
        .iter_mut()
        .find(|(known, _)| std::ptr::eq(*known, route))
    {
        Some((_, peers)) => peers.insert(peer),
        None => new.push((route, [peer].into_iter().collect())),
    }
}

/// No peer has this id: there are at most 65,535, counted from 0.
const NOBODY: PeerId = PeerId(u16::MAX);

pub(crate) fn same_path(a: &Route, b: &Route) -> bool {
    a.peer == b.peer && a.path_id == b.path_id
}

/// Adds what the route itself asks for to what its audience does.
pub(crate) fn with_route_state(modification: Modification, route: &Route) -> Modification {
    Modification {
        long_lived_stale: route.state.has(State::LONG_LIVED_STALE),
        ..modification
    }
}

/// The routes a client receives of a destination, best first: one, or with Add-Path up to the limit.
pub(crate) fn window<'r>(
    topology: &Topology,
    style: &Style,
    family: Family,
    routes: &[&'r Route],
    peer: PeerId,
) -> SmallVec<[&'r Route; 4]> {
    let most = match (style.add_path[family.index()], style.add_path_limit) {
        (false, _) => 1,
        (true, 0) => usize::MAX,
        (true, limit) => usize::from(limit),
    };
    let visible = routes
        .iter()
        .filter(|route| topology.may_receive(route, peer) && style.can_carry(family, &route.attrs))
        .copied();
    let decision = topology.decision();
    if !decision.med_is_partial(routes) {
        return visible.take(most).collect();
    }
    let mut visible: SmallVec<[&Route; 4]> = visible.collect();
    decision.sort(&mut visible);
    visible.truncate(most);
    visible
}
