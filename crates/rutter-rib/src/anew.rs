//! What clients must hear where what they heard does not follow from the present rules alone: another export policy has come, or
//! the rank of a peer has changed, and the walk over the table that follows is not over.

use crate::audience::Variation;
use crate::bitset::PeerSet;
use crate::change::{Change, Holds, Recorder, Served, hears_too, same_path, sent_path_id};
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

    /// Whether the export policy that is being told says something else of a route than the one before.
    pub fn differs(&self, route: &Route) -> bool {
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

    fn best_anew(&mut self, change: &Change<'_>) {
        let topology = self.view.topology;
        let former = self.serve_by(&change.before, |route, peers| {
            topology.former_recipients(route, peers)
        });
        self.record_after(change, &[former, self.serve(&change.before)]);
    }

    fn paths_anew(&mut self, change: &Change<'_>) {
        let (topology, live) = (self.view.topology, self.view.live);
        self.record_paths_after(change, |route| {
            let former = topology.former_recipients(route, live);
            let mut perhaps = topology.recipients(route, live);
            let surely = match topology.differs(route) {
                true => PeerSet::default(),
                false => perhaps.clone().and(&former),
            };
            perhaps.extend(&former);
            Holds { surely, perhaps }
        });
    }

    /// Client by client: a few paths each, or one that does not follow from the order of all.
    fn each_anew(&mut self, change: &Change<'_>, add_path: bool) {
        let topology = self.view.topology;
        let (mut told, mut gone) = (Served::new(), Served::new());
        for peer in self.view.live.iter() {
            let hears = self.window(&change.after, peer);
            for route in &hears {
                hears_too(&mut told, route, peer);
            }
            let may_hold = change.before.iter().copied().filter(|old| {
                let heard = topology.may_hear(old, peer) || topology.might_have_heard(old, peer);
                heard && self.carries(old)
            });
            if add_path {
                let is_heard = |old: &Route| hears.iter().any(|new| same_path(new, old));
                may_hold
                    .filter(|old| !is_heard(old))
                    .for_each(|old| hears_too(&mut gone, old, peer));
            } else if let (true, Some(old)) = (hears.is_empty(), { may_hold }.next()) {
                hears_too(&mut gone, old, peer);
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
