//! Changes during a transition: another export policy is in force, or a peer's rank has changed, and the walk that
//! applies it to the table goes on. A client then holds what either the former or the present rules gave it.

use crate::PeerId;
use crate::adj_rib_in::route::Route;
use crate::advertise::audience::Modification;
use crate::advertise::export_view::{ClientSet, ExportView, Rules, every_path, export_view};
use crate::advertise::recorder::{Change, Recorder, ViewIndex, place_of};
use crate::peer_set::PeerSet;
use crate::reevaluate::export::ExportTransition;
use crate::topology::Topology;

impl Topology {
    /// Returns whether clients may hold the routes before a change by other rules than the present ones.
    pub fn is_in_transition(&self, change: &Change<'_>) -> bool {
        let differs =
            |transition: &ExportTransition| transition.any_of(change.before.iter().copied());
        let decision = self.decision();
        self.export_transition.as_ref().is_some_and(differs)
            || self.rank_walks > 0
                && (decision.med_is_partial(&change.before)
                    || decision.med_is_partial(&change.after))
    }

    /// Returns whether the export policy that is being applied treats a route differently than the one before.
    fn has_new_audience(&self, route: &Route) -> bool {
        let transition = self.export_transition.as_ref();
        transition.is_some_and(|transition| transition.any_of([route]))
    }
}

impl<K: Copy> Recorder<'_, K> {
    /// As [`Recorder::record`] for clients that may hold the former routes by the present rules or by those before.
    pub fn record_in_transition(&mut self, change: &Change<'_>) {
        let topology = self.live.scope.topology;
        let transition = topology.export_transition.as_ref();
        let ranks_changed =
            topology.rank_walks > 0 && topology.decision().med_is_partial(&change.before);
        if let (Some(changed), false) = (transition.and_then(|t| t.clients()), ranks_changed) {
            return self.record_for_changed_clients(change, changed);
        }
        let certain = self.certainly_held(&change.before);
        let possible = self.possibly_held(&change.before);
        self.record_difference(&certain, &possible, &change.after);
    }

    /// As [`Recorder::record_in_transition`] where the options of some clients changed: all other clients hold exactly
    /// what the present rules gave them.
    fn record_for_changed_clients(&mut self, change: &Change<'_>, changed: &PeerSet) {
        let scope = &self.live.scope;
        let others = self.live.peers.clone().minus(changed);
        let changed = self.live.peers.clone().and(changed);
        let of_others = export_view(scope, Rules::Present, &change.before, &others);
        let now = export_view(scope, Rules::Present, &change.before, &changed);
        let then = export_view(scope, Rules::Former, &change.before, &changed);
        let in_same_form = |route: &Route, client: PeerId| {
            let form = |rules| {
                let audience = scope.audience(rules, route);
                audience.map_or(Modification::default(), |one| one.modification(client))
            };
            form(Rules::Present) == form(Rules::Former)
        };
        let views = [&of_others, &now, &then].map(|view| ViewIndex::of(view, place_of));
        let [_, _, held_then] = &views;
        let mut certain = of_others.clone();
        for (route, clients) in &now {
            let held = held_then.find(route);
            let both =
                held.flat_map(|(_, then)| clients.clone().and(then).iter().collect::<Vec<_>>());
            let certain_of = both.filter(|client| in_same_form(route, *client));
            certain.push((*route, certain_of.collect()));
        }
        let by_any = |route: &Route| {
            let mut clients = PeerSet::default();
            let found = views.iter().flat_map(|view| view.find(route));
            found.for_each(|(_, to)| clients.extend(to));
            clients
        };
        let possible = { change.before.iter() }.map(|route| (*route, by_any(route)));
        let possible = possible
            .filter(|(_, clients)| !ClientSet::is_empty(clients))
            .collect();
        self.record_difference(&certain, &possible, &change.after);
    }

    /// The routes that clients hold by both sets of rules. None where MULTI_EXIT_DISC makes the order of a client's
    /// routes depend on ranks that may have changed.
    fn certainly_held<'r>(&self, before: &[&'r Route]) -> ExportView<'r> {
        let topology = self.live.scope.topology;
        if topology.decision().med_is_partial(before) {
            return ExportView::new();
        }
        let former = self.view(Rules::Former, before);
        let former = ViewIndex::of(&former, place_of);
        let by_both = |(route, now): (&'r Route, PeerSet)| {
            let (_, then) = former.find(route).next()?;
            (!topology.has_new_audience(route)).then(|| (route, now.and(then)))
        };
        let present = self.view(Rules::Present, before).into_iter();
        present.filter_map(by_both).collect()
    }

    /// Every route that a client may hold by either set of rules, whatever the order.
    fn possibly_held<'r>(&self, before: &[&'r Route]) -> ExportView<'r> {
        let scope = &self.live.scope;
        let by_either = |route: &&'r Route| {
            let view = |rules| every_path(scope, rules, &[*route], self.live.peers);
            let mut clients = PeerSet::default();
            for (_, to) in view(Rules::Former).iter().chain(&view(Rules::Present)) {
                clients.extend(to);
            }
            (*route, clients)
        };
        let all = before.iter().map(by_either);
        all.filter(|(_, clients)| !ClientSet::is_empty(clients))
            .collect()
    }
}
