//! Prepares another export policy: the audiences of all attribute sets under it. No commit waits for that, whatever the sets
//! of a peer cost. The policies are then exchanged at once, with only the sets that came last.

use std::hash::BuildHasherDefault;
use std::sync::Arc;

use hashbrown::HashMap;
use rapidhash::fast::RapidHasher;
use rutter_policy::ExportPolicy;

use crate::Rib;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::advertise::audience_specs::AudienceSpecs;
use crate::reevaluate::export::ExportTransition;

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
    /// The sets that the policies treat differently.
    differing: FormerNumbers,
    /// The number of evaluations so far.
    evaluated: usize,
}

/// After so many sets the new ones are evaluated, so that few of them wait.
const SETS_A_SLICE: usize = 64;
/// The bytes of sets that are evaluated while all wait, at most.
const MAX_ARRIVED: usize = 64 * 1024;
/// Peers that send new sets faster than they are evaluated cannot put the exchange off any more after so many attempts.
const MAX_ATTEMPTS: usize = 256;

impl ExportPreparation {
    /// Evaluates all attribute sets under another policy. The caller holds [`Rib::export_replacement`].
    pub fn new(rib: &Rib, policy: Arc<ExportPolicy>) -> Self {
        let former = {
            let audiences = &mut rib.topology.write().audiences;
            audiences.watch_arrivals();
            Arc::clone(audiences.policy())
        };
        let mut preparation = ExportPreparation {
            policy,
            former,
            specs: AudienceSpecs::default(),
            numbered: Vec::new(),
            differing: HashMap::default(),
            evaluated: 0,
        };
        let mut stripe = 0;
        while let Some(sets) = rib.store.sets_of(stripe) {
            for (index, set) in sets.into_iter().enumerate() {
                preparation.evaluate(rib, set);
                if index % SETS_A_SLICE == 0 {
                    preparation.evaluate_arrived(rib);
                }
            }
            stripe += 1;
        }
        preparation
    }

    fn evaluate(&mut self, rib: &Rib, set: AttrSet) {
        self.evaluated += 1;
        let attributes = set.attributes();
        let (policy, former) = (&self.policy, &self.former);
        if policy.advertises_unchanged(&attributes) && former.advertises_unchanged(&attributes) {
            return rib.store.release_unrouted(set);
        }
        if !policy.has_same_effect(former, &attributes) {
            self.differing.insert(set.address(), set.audience());
        }
        let number = self.specs.number_for(&set, policy);
        self.numbered.push((set, number));
    }

    /// Evaluates the sets whose audience under the former policy was determined since the last call.
    fn evaluate_arrived(&mut self, rib: &Rib) {
        let arrived = rib.topology.read().audiences.take_arrived();
        arrived.into_iter().for_each(|set| self.evaluate(rib, set));
    }

    /// Puts the policy in force. O(sets that some policy does not advertise unchanged), with a step of a few nanoseconds each.
    /// Returns the number of sets that were evaluated while all waited.
    pub fn exchange(mut self, rib: &Rib) -> usize {
        let mut attempts = 0;
        let mut topology = loop {
            self.evaluate_arrived(rib);
            let topology = rib.topology.write();
            attempts += 1;
            if topology.audiences.arrived_bytes() <= MAX_ARRIVED || attempts >= MAX_ATTEMPTS {
                break topology;
            }
        };
        let before = self.evaluated;
        for set in topology.audiences.take_arrived() {
            self.evaluate(rib, set);
        }
        let evaluated = self.evaluated - before;
        let classes_differ = !self.policy.has_same_class_effect(&self.former);
        let now = topology.audiences.under(self.policy, self.specs);
        let former = std::mem::replace(&mut topology.audiences, now);
        for (set, number) in &self.numbered {
            set.set_audience(*number);
        }
        let transition = ExportTransition::of_policies(self.differing, former, classes_differ);
        topology.export_transition = Some(transition);
        drop(topology);
        for (set, _) in self.numbered {
            rib.store.release_unrouted(set);
        }
        evaluated
    }
}

#[cfg(test)]
mod tests {
    use rutter_net::Asn;
    use rutter_policy::{Action, ActionCommunity, ExportSettings};
    use rutter_wire::attr::{self, code};

    use super::*;
    use crate::adj_rib_in::attr_set::Summary;
    use crate::adj_rib_in::charges::NOBODY;
    use crate::advertise::members::Client;
    use crate::{PeerId, RibConfig};

    fn policy(not_to: &str) -> Arc<ExportPolicy> {
        let notation = not_to.parse().expect("a notation");
        let action = ActionCommunity::new(Action::NotToPeer, notation).expect("an action");
        Arc::new(ExportPolicy::new(ExportSettings {
            local_asn: Asn(64_500),
            actions: vec![action],
            ..ExportSettings::default()
        }))
    }

    /// A table with the clients 0 to 9 of AS 0 to 9.
    fn rib(export: Arc<ExportPolicy>) -> Rib {
        let rib = Rib::new(RibConfig {
            shards: 1,
            cluster_id: 0,
            log_limit: 1 << 20,
            export,
            seed: 7,
            always_compare_med: false,
        });
        for number in 0..10 {
            let client = Client {
                asn: Asn(u32::from(number)),
                external: true,
                rtt: None,
                receives_blackhole: true,
            };
            let audiences = &mut rib.topology.write().audiences;
            audiences.add_peer(PeerId(number), client);
        }
        rib
    }

    /// A set with the communities `0:asn`, `1:asn + 1`, and one that makes it another set.
    fn set(rib: &Rib, asn: u16, number: u16) -> AttrSet {
        let communities = [[0, asn], [1, asn + 1], [2, number]];
        let octets = communities.concat().into_iter().flat_map(u16::to_be_bytes);
        let mut block = Vec::new();
        attr::write_attr(
            &mut block,
            0xc0,
            code::COMMUNITIES,
            &octets.collect::<Vec<_>>(),
        );
        let set = rib.store.intern(NOBODY, &block, &[], Summary::default);
        rib.assign_audience(&set, &set.attributes());
        set
    }

    /// The clients that may not receive a set.
    fn left_out(rib: &Rib, set: &AttrSet) -> Vec<u16> {
        let topology = rib.topology.read();
        let audience = topology.audiences.of(set);
        (0..10)
            .filter(|peer| !audience.allows(PeerId(*peer)))
            .collect()
    }

    #[test]
    fn no_set_is_evaluated_while_all_wait() {
        let rib = rib(policy("0:peer"));
        let held: Vec<AttrSet> = (0..2_000).map(|n| set(&rib, n % 8, n)).collect();
        assert_eq!(left_out(&rib, &held[3]), [3]);
        let preparation = ExportPreparation::new(&rib, policy("1:peer"));
        assert_eq!(preparation.evaluated, 2_000);
        // The former policy is in force, for new sets, too.
        let later: Vec<AttrSet> = (0..100).map(|n| set(&rib, n % 8, 5_000 + n)).collect();
        assert_eq!(left_out(&rib, &held[3]), [3]);
        assert_eq!(left_out(&rib, &later[3]), [3]);
        assert_eq!(preparation.exchange(&rib), 0);
        let last = set(&rib, 3, 9_000);
        for set in [&held[3], &later[3], &last] {
            assert_eq!(left_out(&rib, set), [4]);
        }
    }

    /// A set that came after the last look is evaluated at the exchange.
    #[test]
    fn sets_that_came_last_are_not_forgotten() {
        let rib = rib(policy("0:peer"));
        let mut preparation = ExportPreparation::new(&rib, policy("1:peer"));
        let first = set(&rib, 3, 1);
        preparation.evaluate_arrived(&rib);
        assert_eq!(preparation.evaluated, 1);
        // It is everybody's under the former policy.
        let mut block = Vec::new();
        attr::write_attr(&mut block, 0xc0, code::COMMUNITIES, &[0, 1, 0, 5]);
        let second = rib.store.intern(NOBODY, &block, &[], Summary::default);
        rib.assign_audience(&second, &second.attributes());
        assert!(left_out(&rib, &second).is_empty());
        preparation.exchange(&rib);
        assert_eq!(left_out(&rib, &first), [4]);
        assert_eq!(left_out(&rib, &second), [5]);
    }
}
