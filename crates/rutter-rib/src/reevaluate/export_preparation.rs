//! Prepares another export policy: the audiences of all attribute sets under it. The policies are then exchanged at once.

use std::hash::BuildHasherDefault;
use std::sync::Arc;

use hashbrown::HashMap;
use rapidhash::fast::RapidHasher;
use rutter_policy::ExportPolicy;

use crate::Rib;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::advertise::audience_specs::AudienceSpecs;
use crate::advertise::audiences::SeenSet;
use crate::reevaluate::export::ExportTransition;
use crate::reevaluate::set_visit::{SetVisitor, visit_all, visit_last};

/// By address of an attribute set: the number of its former audience.
pub(crate) type FormerNumbers = HashMap<usize, u32, BuildHasherDefault<RapidHasher<'static>>>;

/// The audiences of all attribute sets under another export policy.
pub(crate) struct ExportPreparation {
    policy: Arc<ExportPolicy>,
    former: Arc<ExportPolicy>,
    specs: AudienceSpecs,
    /// The sets that some policy does not advertise unchanged to everybody, with their numbers under the new one. They live
    /// until the exchange: one that is announced again before needs no second look.
    numbered: Vec<(AttrSet, u32)>,
    /// The bytes of these, and those after the last search for unused ones.
    bytes: usize,
    used_bytes: usize,
    /// The sets that the policies treat differently.
    differing: FormerNumbers,
}

/// The least bytes of sets for which a search for unused ones is worth it.
const MIN_BYTES: usize = 1024 * 1024;

impl ExportPreparation {
    /// Evaluates all attribute sets under another policy. The caller holds [`Rib::export_replacement`].
    pub fn new(rib: &Rib, policy: Arc<ExportPolicy>) -> Self {
        let mut preparation = ExportPreparation::begin(rib, policy);
        visit_all(rib, &mut preparation);
        preparation
    }

    /// No set is evaluated yet.
    pub(super) fn begin(rib: &Rib, policy: Arc<ExportPolicy>) -> Self {
        ExportPreparation {
            policy,
            former: Arc::clone(rib.topology.read().audiences.policy()),
            specs: AudienceSpecs::default(),
            numbered: Vec::new(),
            bytes: 0,
            used_bytes: 0,
            differing: HashMap::default(),
        }
    }

    /// Puts the policy in force. O(sets that some policy does not advertise unchanged), with a step of some nanoseconds each.
    /// Returns the number of sets that were evaluated while all waited.
    pub fn exchange(mut self, rib: &Rib) -> usize {
        let (mut topology, evaluated) = visit_last(rib, &mut self);
        let classes_differ = !self.policy.has_same_class_effect(&self.former);
        let mut now = topology.audiences.under(self.policy, self.specs);
        // Some of the sets are gone, and so may be neighbors that are charged.
        now.begin_search();
        let former = std::mem::replace(&mut topology.audiences, now);
        for (set, number) in &self.numbered {
            set.set_audience(*number);
        }
        let transition = ExportTransition::of_policies(self.differing, former, classes_differ);
        topology.export_transition = Some(transition);
        drop(topology);
        rib.leftovers.note();
        for (set, _) in self.numbered {
            rib.store.release_unrouted(set);
        }
        evaluated
    }

    /// Frees the sets that only the preparation holds: peers send and withdraw others during it.
    pub(super) fn free_unused(&mut self, rib: &Rib) {
        for (set, number) in std::mem::take(&mut self.numbered) {
            let (address, bytes) = (set.address(), set.octets());
            // If it is announced again, it is another set that has yet to get an audience.
            match rib.store.free_last_use(set) {
                Some(used) => self.numbered.push((used, number)),
                None => {
                    self.differing.remove(&address);
                    self.bytes -= bytes;
                }
            }
        }
        self.used_bytes = self.bytes;
    }
}

impl SetVisitor for ExportPreparation {
    fn visit(&mut self, rib: &Rib, seen: SeenSet) {
        let SeenSet { set, number, .. } = seen;
        let attributes = set.attributes();
        let (policy, former) = (&self.policy, &self.former);
        if policy.advertises_unchanged(&attributes) && former.advertises_unchanged(&attributes) {
            return rib.store.release_unrouted(set);
        }
        if !policy.has_same_effect(former, &attributes) {
            self.differing.insert(set.address(), number);
        }
        let number = self.specs.number_for(&set, policy);
        self.bytes += set.octets();
        self.numbered.push((set, number));
    }

    fn tidy(&mut self, rib: &Rib) {
        if self.bytes >= 2 * self.used_bytes + MIN_BYTES {
            self.free_unused(rib);
        }
    }
}
