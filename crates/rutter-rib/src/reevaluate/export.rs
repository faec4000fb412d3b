//! Who may hear what, while routes are held: audiences of attribute sets, and an export policy that takes another's place.

use std::hash::BuildHasherDefault;
use std::sync::Arc;

use hashbrown::HashMap;
use rapidhash::fast::RapidHasher;
use rutter_net::{Ipv4Prefix, Ipv6Prefix};
use rutter_policy::ExportPolicy;
use rutter_wire::attr::Attributes;
use smallvec::SmallVec;

use crate::Rib;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::adj_rib_in::edit::{keys, record_for_live};
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{MAX_VISITED, Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::advertise::audience::{Audience, Audiences, EVERYONE};
use crate::advertise::recorder::Change;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;

/// The attribute sets of which two export policies say different things.
pub(crate) struct ExportTransition {
    /// By address, with the number of the audience that each had. An address may come to stand for another set meanwhile:
    /// then more is told than needed.
    sets: HashMap<usize, u32, BuildHasherDefault<RapidHasher<'static>>>,
    former: Audiences,
}

impl ExportTransition {
    /// Whether clients may hold one of these routes, or may not, by the former policy only.
    pub fn any_of<'a>(&self, routes: impl IntoIterator<Item = &'a Route>) -> bool {
        let differs = |route: &Route| self.sets.contains_key(&route.attrs.address());
        !self.sets.is_empty() && routes.into_iter().any(differs)
    }

    /// Who heard a route under the former policy, where that is another audience than now.
    pub fn former(&self, route: &Route) -> Option<&Audience> {
        let index = self.sets.get(&route.attrs.address())?;
        Some(self.former.at(*index))
    }
}

impl Topology {
    /// Replaces the action communities. Until [`Topology::export_transition`] is taken away, whoever changes a destination with
    /// sets that differ tells of it anew.
    fn replace_export(&mut self, rib: &Rib, export: Arc<ExportPolicy>) {
        let former = std::mem::replace(&mut self.audiences, Audiences::new(Arc::clone(&export)));
        let mut sets = HashMap::default();
        rib.store.for_each(|set| {
            if !export.has_same_effect(former.policy(), &set.attributes()) {
                sets.insert(set.address(), set.audience());
            }
            self.assign_audience(set);
        });
        self.export_transition = Some(ExportTransition { sets, former });
    }

    /// Forgets the audiences of attribute sets that are gone. O(attribute sets).
    fn forget_unused_audiences(&mut self, rib: &Rib) {
        let policy = Arc::clone(self.audiences.policy());
        self.audiences = Audiences::new(policy);
        rib.store.shrink();
        let mut sets = 0;
        rib.store.for_each(|set| {
            self.assign_audience(set);
            sets += 1;
        });
        self.audiences.are_in_use(sets);
    }
}

impl Rib {
    /// Makes sure that it is known who may hear a set.
    pub(crate) fn assign_audience(&self, set: &AttrSet, attributes: &Attributes<'_>) {
        let topology = self.topology.read();
        if topology.audiences.is_everyone(attributes) {
            set.set_audience(EVERYONE);
            return;
        }
        drop(topology);
        let mut topology = self.topology.write();
        topology.assign_audience(set);
        if topology.audiences.are_many() {
            topology.forget_unused_audiences(self);
        }
    }

    /// Replaces the exchange-wide action communities. Clients are told of those destinations alone of which the new policy
    /// says something else. O(attribute sets + destinations); in slices, others' updates pass in between. `notify` is as in
    /// [`Rib::replace_neighbors`].
    pub fn replace_export(&self, export: Arc<ExportPolicy>, mut notify: impl FnMut()) {
        let _one_at_a_time = self.export_replacement.lock();
        self.topology.write().replace_export(self, export);
        self.changed();
        let mut progress = WalkProgress::new(self, &mut notify);
        self.reevaluate_export::<Ipv4Prefix>(&mut progress);
        self.reevaluate_export::<Ipv6Prefix>(&mut progress);
        self.topology.write().export_transition = None;
    }

    fn reevaluate_export<K: Stored>(&self, progress: &mut WalkProgress<'_>) {
        self.walk(progress, |topology, shard, from| {
            shard.reevaluate_export::<K>(topology, from)
        });
    }
}

impl Shard {
    /// Tells of a slice of destinations what differs under the new export policy. Returns the id to go on with.
    fn reevaluate_export<K: Stored>(&mut self, topology: &Topology, from: Id) -> Option<Id> {
        let end = K::table(self).id_end();
        let differing = topology.export_transition.as_ref()?;
        let slice = from..end.min(from + MAX_VISITED);
        for id in slice.clone() {
            if differing.any_of(self.accepted::<K>(id)) {
                self.readvertise::<K>(topology, id);
                self.changes += 1;
            }
        }
        self.deliver();
        (slice.end < end).then_some(slice.end)
    }

    fn readvertise<K: Stored>(&mut self, topology: &Topology, id: Id) {
        let (table, clients) = K::split(self);
        let destination = table.get(id);
        clients.mark(K::FAMILY, id, &keys(destination.accepted()));
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
