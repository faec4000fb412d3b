//! What clients must hear where what they received does not follow from the present rules alone: another export policy has come, or
//! the rank of a peer has changed, and the walk over the table that follows is not over.

use crate::adj_rib_in::route::Route;
use crate::advertise::audience::Modification;
use crate::advertise::log::Recipients;
use crate::advertise::recorder::{
    Change, ExportView, Former, Recorder, add_recipient, same_path, sent_path_id,
};
use crate::peer_set::PeerSet;
use crate::topology::Topology;

impl Topology {
    /// Whether clients may have received the routes before a change by other rules than the present ones.
    pub fn is_in_transition(&self, change: &Change<'_>) -> bool {
        let (before, after) = (&change.before, &change.after);
        let audience_changed = |export_transition: &crate::reevaluate::export::ExportTransition| {
            export_transition.any_of(before.iter().copied())
        };
        let decision = self.decision();
        self.export_transition
            .as_ref()
            .is_some_and(audience_changed)
            || self.rank_walks > 0
                && (decision.med_is_partial(before) || decision.med_is_partial(after))
    }

    /// Whether the export policy that is being new says something else of a route than the one before.
    pub fn audience_changed(&self, route: &Route) -> bool {
        let export_transition = self.export_transition.as_ref();
        export_transition.is_some_and(|export_transition| export_transition.any_of([route]))
    }
}

impl<K: Copy> Recorder<'_, K> {
    /// As [`Recorder::record`] for clients that may have received the former routes by the present rules or by those before.
    pub fn record_in_transition(&mut self, change: &Change<'_>) {
        let decision = self.view.topology.decision();
        let add_path = self.view.style.add_path[self.view.family.index()];
        let is_partial =
            decision.med_is_partial(&change.before) || decision.med_is_partial(&change.after);
        if add_path && self.view.style.add_path_limit == 0 {
            self.paths_in_transition(change);
        } else if add_path || is_partial {
            self.each_in_transition(change, add_path);
        } else {
            self.best_in_transition(change);
        }
    }

    fn best_in_transition(&mut self, change: &Change<'_>) {
        let topology = self.view.topology;
        let former = self.serve_by(&change.before, |route, peers| {
            topology.former_recipients(route, peers)
        });
        self.record_after(change, &[former, self.serve(&change.before)]);
    }

    fn paths_in_transition(&mut self, change: &Change<'_>) {
        let (topology, live) = (self.view.topology, self.view.live);
        self.record_paths_after(change, |route| {
            let former = topology.former_recipients(route, live);
            let mut possible = topology.recipients(route, live);
            let certain = match topology.audience_changed(route) {
                true => PeerSet::default(),
                false => possible.clone().and(&former),
            };
            possible.extend(&former);
            Former { certain, possible }
        });
    }

    /// Client by client: a few paths each, or one that does not follow from the order of all.
    fn each_in_transition(&mut self, change: &Change<'_>, add_path: bool) {
        let topology = self.view.topology;
        let (mut new, mut withdrawn) = (ExportView::new(), ExportView::new());
        for peer in self.view.live.iter() {
            let receives = self.window(&change.after, peer);
            for route in &receives {
                add_recipient(&mut new, route, peer);
            }
            let may_hold = change.before.iter().copied().filter(|old| {
                let received =
                    topology.may_receive(old, peer) || topology.might_have_received(old, peer);
                received && self.carries(old)
            });
            if add_path {
                let is_heard = |old: &Route| receives.iter().any(|new| same_path(new, old));
                may_hold
                    .filter(|old| !is_heard(old))
                    .for_each(|old| add_recipient(&mut withdrawn, old, peer));
            } else if let (true, Some(old)) = (receives.is_empty(), { may_hold }.next()) {
                add_recipient(&mut withdrawn, old, peer);
            }
        }
        let id = |route: &Route| if add_path { sent_path_id(route) } else { 0 };
        for (route, to) in new {
            self.announce(route, id(route), to);
        }
        for (route, to) in withdrawn {
            let to = Recipients::of(to);
            self.push(None, route.peer, id(route), Modification::default(), to);
        }
    }
}
