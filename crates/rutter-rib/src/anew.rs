//! What clients must hear where what they heard does not follow from the present rules alone: another export policy has come, or
//! the rank of a peer has changed, and the walk over the table that follows is not over.

use smallvec::SmallVec;

use crate::audience::Variation;
use crate::bitset::PeerSet;
use crate::change::{Change, Recorder, Served, same_path, sent_path_id};
use crate::log::Recipients;
use crate::route::Route;
use crate::topology::Topology;

impl Topology {
    /// Whether clients may have heard the routes before a change by other rules than the present ones.
    pub fn unsettles(&self, change: &Change<'_>) -> bool {
        let (before, after) = (&change.before, &change.after);
        let differs = |retold: &crate::retell::Differing| retold.any_of(before.iter().copied());
        let decision = self.decision();
        self.retold.as_ref().is_some_and(differs)
            || self.ranking > 0
                && (decision.med_is_partial(before) || decision.med_is_partial(after))
    }

    fn differs(&self, route: &Route) -> bool {
        let retold = self.retold.as_ref();
        retold.is_some_and(|retold| retold.any_of([route]))
    }
}

impl<K: Copy> Recorder<'_, K> {
    /// As [`Recorder::record`] for clients that may have heard the former routes by the present rules or by those before.
    pub fn record_anew(&mut self, change: &Change<'_>) {
        let decision = self.view.topology.decision();
        let add_path = self.view.style.add_path[self.view.family.index()];
        let is_partial =
            decision.med_is_partial(&change.before) || decision.med_is_partial(&change.after);
        if add_path && self.view.style.add_path_limit == 0 {
            self.paths_anew(change);
        } else if add_path || is_partial {
            self.each_anew(change, add_path);
        } else {
            self.best_anew(change);
        }
    }

    fn former<'r>(&self, routes: &[&'r Route]) -> Served<'r> {
        self.serve_by(routes, |route, peers| {
            self.view.topology.former_recipients(route, peers)
        })
    }

    fn present<'r>(&self, routes: &[&'r Route]) -> Served<'r> {
        self.serve_by(routes, |route, peers| {
            self.view.topology.recipients(route, peers)
        })
    }

    /// One route each, by sets of clients.
    fn best_anew(&mut self, change: &Change<'_>) {
        let before = [self.former(&change.before), self.present(&change.before)];
        let after = self.present(&change.after);
        for (route, to) in &after {
            let heard = |served: &Served<'_>| -> PeerSet {
                let same = served.iter().find(|(old, _)| old.sends_as(route));
                same.map_or_else(PeerSet::default, |(_, heard)| heard.clone())
            };
            let mut fresh = to.clone();
            if !self.view.topology.differs(route) {
                fresh = fresh.minus(&heard(&before[0]).and(&heard(&before[1])));
            }
            self.announce_varied(route, 0, fresh);
        }
        let mut gone = PeerSet::default();
        let served = before.iter().flatten();
        served.for_each(|(_, heard)| gone.extend(heard));
        for (_, served) in &after {
            gone = gone.minus(served);
        }
        if let Some(last) = change.before.first()
            && !gone.is_empty()
        {
            let to = Recipients::of(gone);
            self.push(None, last.peer, 0, Variation::default(), to);
        }
    }

    /// Every path, by sets of clients.
    fn paths_anew(&mut self, change: &Change<'_>) {
        let topology = self.view.topology;
        let present = |route: &Route| topology.recipients(route, self.view.live);
        let former = |route: &Route| topology.former_recipients(route, self.view.live);
        let carried = |routes: &[&Route]| -> SmallVec<[usize; 4]> {
            let carries = |at: &usize| self.carries(routes[*at]);
            (0..routes.len()).filter(carries).collect()
        };
        let (before, after) = (carried(&change.before), carried(&change.after));
        let before: SmallVec<[&Route; 4]> = before.iter().map(|at| change.before[*at]).collect();
        let after: SmallVec<[&Route; 4]> = after.iter().map(|at| change.after[*at]).collect();
        let told: Vec<(&Route, PeerSet)> = after
            .iter()
            .map(|route| {
                let same = before.iter().find(|old| same_path(old, route));
                let holds = same.filter(|old| old.sends_as(route) && !topology.differs(route));
                let to = present(route);
                match holds {
                    Some(old) => (*route, to.minus(&former(old).and(&present(old)))),
                    None => (*route, to),
                }
            })
            .collect();
        let gone: Vec<(&Route, PeerSet)> = before
            .iter()
            .map(|old| {
                let mut heard = former(old);
                heard.extend(&present(old));
                let same = after.iter().find(|new| same_path(new, old));
                let hears = same.map_or_else(PeerSet::default, |new| present(new));
                (*old, heard.minus(&hears))
            })
            .collect();
        for (route, to) in told {
            self.announce_varied(route, sent_path_id(route), to);
        }
        for (route, from) in gone.into_iter().filter(|(_, from)| !from.is_empty()) {
            let (id, to) = (sent_path_id(route), Recipients::of(from));
            self.push(None, route.peer, id, Variation::default(), to);
        }
    }

    /// Client by client: a few paths each, or one that does not follow from the order of all.
    fn each_anew(&mut self, change: &Change<'_>, add_path: bool) {
        let topology = self.view.topology;
        let mut told: SmallVec<[(&Route, PeerSet); 4]> = SmallVec::new();
        let mut gone: SmallVec<[(&Route, PeerSet); 4]> = SmallVec::new();
        for peer in self.view.live.iter() {
            let hears = self.window(&change.after, peer);
            for route in &hears {
                add(&mut told, route, peer);
            }
            let may_hold = change.before.iter().copied().filter(|old| {
                let heard = topology.may_hear(old, peer) || topology.might_have_heard(old, peer);
                heard && self.carries(old)
            });
            if add_path {
                let is_heard = |old: &Route| hears.iter().any(|new| same_path(new, old));
                may_hold
                    .filter(|old| !is_heard(old))
                    .for_each(|old| add(&mut gone, old, peer));
            } else if let (true, Some(old)) = (hears.is_empty(), { may_hold }.next()) {
                add(&mut gone, old, peer);
            }
        }
        let id = |route: &Route| if add_path { sent_path_id(route) } else { 0 };
        for (route, to) in told {
            self.announce_varied(route, id(route), to);
        }
        for (route, to) in gone {
            let to = Recipients::of(to);
            self.push(None, route.peer, id(route), Variation::default(), to);
        }
    }
}

/// Puts a peer to those of a route.
fn add<'r>(list: &mut SmallVec<[(&'r Route, PeerSet); 4]>, route: &'r Route, peer: crate::PeerId) {
    match list
        .iter_mut()
        .find(|(known, _)| std::ptr::eq(*known, route))
    {
        Some((_, peers)) => peers.insert(peer),
        None => list.push((route, [peer].into_iter().collect())),
    }
}
