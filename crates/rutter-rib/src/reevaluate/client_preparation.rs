//! Prepares other options of clients: the attribute sets that these clients receive otherwise. The policy stays, and so does the
//! audience of each set.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_net::Asn;
use rutter_policy::AudienceSpec;

use crate::advertise::audience::{ClientKind, Outcome};
use crate::advertise::audience_specs::AudienceSpecs;
use crate::advertise::audiences::SeenSet;
use crate::reevaluate::export_preparation::FormerNumbers;
use crate::reevaluate::set_visit::{SetVisitor, visit_all, visit_last};
use crate::topology::{Topology, client};
use crate::{ClientOptions, Neighbor, PeerId, Rib};

/// Other options of a client that audiences distinguish from its present ones.
struct ClientChange {
    peer: PeerId,
    options: ClientOptions,
    step: KindChange,
}

/// The facts that audiences distinguish, before and after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KindChange {
    asn: Asn,
    before: ClientKind,
    after: ClientKind,
}

impl Topology {
    /// Returns whether audiences distinguish new options of clients from their present ones.
    pub(crate) fn distinguishes_clients(&self, changes: &[(PeerId, Neighbor)]) -> bool {
        !self.distinguished_clients(changes).is_empty()
    }

    /// The new options of neighbors that audiences distinguish from their present options.
    fn distinguished(&self, changes: &[(PeerId, Neighbor)]) -> Vec<ClientChange> {
        let change = |(peer, new): &(PeerId, Neighbor)| {
            let held = &self.peer(*peer)?.neighbor;
            let (one, other) = (client(held), client(new));
            let is_another = held.address != new.address
                || one.asn != other.asn
                || one.external != other.external;
            if is_another || !self.audiences.distinguish(one, other) {
                return None;
            }
            let policy = self.audiences.policy();
            Some(ClientChange {
                peer: *peer,
                options: new.client.clone(),
                step: KindChange {
                    asn: one.asn,
                    before: one.kind(policy),
                    after: other.kind(policy),
                },
            })
        };
        changes.iter().filter_map(change).collect()
    }

    /// The same of clients that receive routes.
    fn distinguished_clients(&self, changes: &[(PeerId, Neighbor)]) -> Vec<ClientChange> {
        let receives = |change: &ClientChange| {
            let held = self.peer(change.peer);
            held.is_some_and(|held| held.group.is_some())
        };
        let mut changes = self.distinguished(changes);
        changes.retain(receives);
        changes
    }

    /// Puts the options in force. Returns whether an attribute set is concerned.
    fn change_clients(&mut self, changes: Vec<ClientChange>, differing: Differing) -> bool {
        let former = self.audiences.copy_with(differing.former);
        let mut clients = Vec::new();
        for ClientChange { peer, options, .. } in changes {
            if let Some(held) = self.peer_mut(peer) {
                held.neighbor.client.rtt = options.rtt;
                held.neighbor.client.receives_blackhole = options.receives_blackhole;
                clients.push((peer, client(&held.neighbor)));
            }
        }
        self.audiences.change_clients(clients.iter().copied());
        if differing.sets.is_empty() {
            return false;
        }
        let clients = clients.iter().map(|(peer, _)| *peer).collect();
        self.begin_client_transition(differing.sets, former, clients);
        true
    }
}

/// The attribute sets that some clients receive otherwise.
#[derive(Default)]
struct Differing {
    sets: FormerNumbers,
    /// Their audiences.
    former: AudienceSpecs,
}

/// A change of clients that is prepared.
pub(super) struct ClientPreparation {
    steps: Vec<KindChange>,
    /// By the number of an audience: whether the changes concern it. A number may be freed and given to another.
    judged: HashMap<u32, (Arc<AudienceSpec>, bool)>,
    differing: Differing,
}

impl ClientPreparation {
    /// No set was visited yet.
    pub fn begin(rib: &Rib, changes: &[(PeerId, Neighbor)]) -> Self {
        // Clients may come until the exchange.
        let changes = rib.topology.read().distinguished(changes);
        ClientPreparation {
            steps: changes.iter().map(|change| change.step).collect(),
            judged: HashMap::default(),
            differing: Differing::default(),
        }
    }

    /// Puts the changes in force. Returns whether an attribute set is concerned. `None`: since the visit another thread changed a
    /// client in a way that was not prepared.
    pub fn exchange(mut self, rib: &Rib, changes: &[(PeerId, Neighbor)]) -> Option<bool> {
        let (mut topology, _) = visit_last(rib, &mut self);
        let changes = topology.distinguished_clients(changes);
        let is_prepared = |change: &ClientChange| self.steps.contains(&change.step);
        if !changes.iter().all(is_prepared) {
            return None;
        }
        Some(topology.change_clients(changes, self.differing))
    }

    fn concern(&mut self, number: u32, spec: Arc<AudienceSpec>) -> bool {
        if let Some((known, concerned)) = self.judged.get(&number)
            && Arc::ptr_eq(known, &spec)
        {
            return *concerned;
        }
        let concerned = self.steps.iter().any(|step| {
            let outcome = |kind| Outcome::of(&spec, step.asn, kind);
            outcome(step.before) != outcome(step.after)
        });
        if concerned {
            self.differing.former.keep_as(number, Arc::clone(&spec));
        }
        self.judged.insert(number, (spec, concerned));
        concerned
    }
}

impl SetVisitor for ClientPreparation {
    fn visit(&mut self, rib: &Rib, seen: SeenSet) {
        let SeenSet { set, number, spec } = seen;
        match spec.is_some_and(|spec| self.concern(number, spec)) {
            true => self.differing.sets.insert(set.address(), number),
            // Another set may have had the address.
            false => self.differing.sets.remove(&set.address()),
        };
        rib.store.release_unrouted(set);
    }

    fn tidy(&mut self, _: &Rib) {}
}

impl Rib {
    /// Puts new options of clients in force, as far as audiences depend on them. Returns whether an attribute set is concerned:
    /// until [`Topology::export_transition`] is cleared, a change of a destination with such sets sends these clients the
    /// difference. The caller holds [`Rib::export_replacement`].
    pub(crate) fn put_clients_in_force(&self, changes: &[(PeerId, Neighbor)]) -> bool {
        loop {
            let mut preparation = ClientPreparation::begin(self, changes);
            visit_all(self, &mut preparation);
            if let Some(concerns_sets) = preparation.exchange(self, changes) {
                return concerns_sets;
            }
        }
    }
}
