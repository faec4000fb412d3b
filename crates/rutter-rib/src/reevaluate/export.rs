//! Re-evaluation under another export policy, or with other options of clients: every attribute set gets its new
//! audience, and a walk advertises the differences.

use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix};
use rutter_policy::ExportPolicy;
use rutter_wire::attr::Attributes;
use smallvec::SmallVec;

use crate::Rib;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::adj_rib_in::edit::{keys, record_for_live};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{
    MAX_EDITS, MAX_MORE_STEPS, MAX_VISITED, MAX_VISITED_ROUTES, Shard, Stored,
};
use crate::adj_rib_in::table::Id;
use crate::adj_rib_in::verdict::ClassId;
use crate::advertise::audience::Audience;
use crate::advertise::audiences::{Audiences, EVERYONE};
use crate::advertise::octet_count::SLICE_OCTETS;
use crate::advertise::recorder::Change;
use crate::peer_set::PeerSet;
use crate::reevaluate::export_preparation::{ExportPreparation, FormerNumbers};
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;
use crate::{Neighbor, PeerId};

/// The transition from one export policy to another: the routes that clients receive differently.
pub(crate) struct ExportTransition {
    /// By address, with the number of the former audience. A freed address may be reused for another set: then more
    /// is advertised than needed.
    sets: FormerNumbers,
    former: Audiences,
    /// The two policies mark or change routes of a class differently.
    classes_differ: bool,
    /// The clients that changed, where the policy stays: all others receive everything as before. `None` where the
    /// policy changes.
    clients: Option<PeerSet>,
}

impl ExportTransition {
    /// A transition between policies that treat these sets differently.
    pub fn of_policies(sets: FormerNumbers, former: Audiences, classes_differ: bool) -> Self {
        ExportTransition {
            sets,
            former,
            classes_differ,
            clients: None,
        }
    }

    /// The clients whose options changed, where the policy stays.
    pub fn clients(&self) -> Option<&PeerSet> {
        self.clients.as_ref()
    }

    /// Returns whether clients receive one of these routes differently than under the former policy.
    pub fn any_of<'a>(&self, routes: impl IntoIterator<Item = &'a Route>) -> bool {
        let differs = |route: &Route| {
            self.classes_differ && route.verdict.class() != ClassId::PLAIN
                || self.sets.contains_key(&route.attrs.address())
        };
        (self.classes_differ || !self.sets.is_empty()) && routes.into_iter().any(differs)
    }

    /// The former audience of a route, where it differs from the present one.
    pub fn former(&self, route: &Route) -> Option<&Audience> {
        let index = self.sets.get(&route.attrs.address())?;
        Some(self.former.at(*index))
    }
}

impl Topology {
    /// The options of these clients have changed, while the policy stays: the sets have another audience for them.
    pub(crate) fn begin_client_transition(
        &mut self,
        sets: FormerNumbers,
        former: Audiences,
        clients: PeerSet,
    ) {
        self.export_transition = Some(ExportTransition {
            sets,
            former,
            classes_differ: false,
            clients: Some(clients),
        });
    }
}

impl Rib {
    /// Computes the audience of a set.
    pub(crate) fn assign_audience(&self, set: &AttrSet, attributes: &Attributes<'_>) {
        let policy = {
            let topology = self.topology.read();
            if topology.audiences.is_everyone(attributes) {
                set.set_audience(EVERYONE);
                topology.audiences.note_arrival(set);
                return;
            }
            Arc::clone(topology.audiences.policy())
        };
        // A peer chooses the number of communities: others need not wait while they are sorted.
        let spec = policy.audience(attributes);
        let mut topology = self.topology.write();
        let audiences = &mut topology.audiences;
        match Arc::ptr_eq(audiences.policy(), &policy) {
            true => audiences.assign_spec(set, spec),
            false => audiences.assign(set),
        }
        audiences.search_unused(&self.store);
    }

    /// Replaces the exchange-wide action communities. Clients are sent only the destinations for which the new policy
    /// differs. O(attribute sets + destinations). The sets are evaluated aside and the destinations visited in slices:
    /// updates of peers pass. `notify` is as in
    /// [`Rib::replace_neighbors`].
    pub fn replace_export(&self, export: Arc<ExportPolicy>, mut notify: impl FnMut()) {
        let _one_at_a_time = self.export_replacement.lock();
        ExportPreparation::new(self, export).exchange(self);
        self.changed();
        self.finish_transition(&mut WalkProgress::new(self, &mut notify));
    }

    /// Applies new options of clients as far as audiences depend on them. Only these clients are sent anything: the
    /// routes that they receive now and did not receive before, or in another form, and withdrawals. The other settings
    /// of the neighbors are left to the caller. O(attribute sets + destinations) if a route is concerned.
    pub(crate) fn replace_clients(
        &self,
        changes: &[(PeerId, Neighbor)],
        progress: &mut WalkProgress<'_>,
    ) {
        if !self.topology.read().distinguishes_clients(changes) {
            return;
        }
        let _one_at_a_time = self.export_replacement.lock();
        let concerns_sets = self.put_clients_in_force(changes);
        self.changed();
        if concerns_sets {
            self.finish_transition(progress);
        }
    }

    fn finish_transition(&self, progress: &mut WalkProgress<'_>) {
        self.reevaluate_export::<Ipv4Prefix>(progress);
        self.reevaluate_export::<Ipv6Prefix>(progress);
        let ended = self.topology.write().export_transition.take();
        // It takes long to free where peers sent many audiences.
        drop(ended);
    }

    fn reevaluate_export<K: Stored>(&self, progress: &mut WalkProgress<'_>) {
        self.walk(progress, |topology, shard, from| {
            shard.reevaluate_export::<K>(topology, from)
        });
    }
}

impl Shard {
    /// Advertises the differences of the new export policy for a slice of destinations. Returns the id to continue
    /// with.
    fn reevaluate_export<K: Stored>(&mut self, topology: &Topology, from: Id) -> Option<Id> {
        let end = K::table(self).id_end();
        let differing = topology.export_transition.as_ref()?;
        let slice_end = end.min(from + MAX_VISITED);
        let (mut id, mut edited) = (from, 0);
        // A peer chooses the number of paths of a prefix.
        let (mut visited, mut steps, mut octets) = (0, 0, 0);
        while id < slice_end
            && visited < MAX_VISITED_ROUTES
            && edited < MAX_EDITS
            && steps < MAX_MORE_STEPS
            && octets < SLICE_OCTETS
        {
            let routes = self.accepted::<K>(id);
            visited += routes.len();
            if differing.any_of(routes) {
                self.readvertise::<K>(topology, id);
                steps += self.clients.take_steps();
                octets = self.clients.pending_octets();
                edited += 1;
            }
            id += 1;
        }
        self.changes += edited as u64;
        self.deliver();
        (id < end).then_some(id)
    }

    fn readvertise<K: Stored>(&mut self, topology: &Topology, id: Id) {
        let (table, clients) = K::split(self);
        let destination = table.get(id);
        let transition = topology.export_transition.as_ref();
        let only = transition.and_then(ExportTransition::clients);
        clients.mark_some(K::FAMILY, id, &keys(destination.accepted()), only);
        let routes: SmallVec<[&Route; 4]> = destination.accepted().iter().collect();
        let change = Change {
            before: routes.clone(),
            after: routes,
        };
        record_for_live(clients, topology, destination.prefix, |mut recorder| {
            recorder.record_in_transition(&change);
        });
    }
}
