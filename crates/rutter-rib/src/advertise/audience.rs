//! Audiences: the clients that may receive an attribute set, as sets of peers, computed once per attribute set.

use std::collections::HashMap;

use rutter_net::{Asn, Community};
use rutter_policy::{AudienceSpec, ChangesId, ExportPolicy, Recipient, Rtt};
use rutter_wire::attr::Attributes;

use crate::PeerId;
use crate::adj_rib_in::attr_set::{AttrSet, AttrStore};
use crate::adj_rib_in::verdict::ClassId;
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// The modification of a route for some of its recipients: prepends and added well-known communities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub(crate) struct Modification {
    /// The number of times that the neighbor's own AS is prepended.
    pub prepend: u8,
    pub added: AddedCommunities,
    /// The class of the route.
    pub class: ClassId,
    /// The changes of the client's export filter.
    pub changes: ChangesId,
}

/// Well-known communities that are added to a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub(crate) struct AddedCommunities(u8);

impl AddedCommunities {
    pub const NO_EXPORT: u8 = 1;
    pub const NO_ADVERTISE: u8 = 2;
    /// RFC 9494: the route is long-lived stale.
    pub const LLGR_STALE: u8 = 4;
    /// RFC 8326: this speaker is about to stop.
    pub const GRACEFUL_SHUTDOWN: u8 = 8;

    /// Adds a community if `on`.
    #[must_use]
    pub fn with(self, community: u8, on: bool) -> Self {
        AddedCommunities(if on { self.0 | community } else { self.0 })
    }

    pub fn iter(self) -> impl Iterator<Item = Community> {
        [
            (Self::NO_EXPORT, Community::NO_EXPORT),
            (Self::NO_ADVERTISE, Community::NO_ADVERTISE),
            (Self::LLGR_STALE, Community::LLGR_STALE),
            (Self::GRACEFUL_SHUTDOWN, Community::GRACEFUL_SHUTDOWN),
        ]
        .into_iter()
        .filter_map(move |(bit, community)| (self.0 & bit != 0).then_some(community))
    }
}

/// The facts about a peer that an audience depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub asn: Asn,
    /// True if the session crosses an AS border: NO_EXPORT, where it is honoured, keeps routes from it.
    pub external: bool,
    pub rtt: Option<Rtt>,
    pub receives_blackhole: bool,
}

/// An audience, resolved to peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience {
    spec: Option<AudienceSpec>,
    allowed: PeerSet,
    /// The peers that do not receive the routes that were accepted for BLACKHOLE.
    no_blackhole: PeerSet,
    /// The modifications of the route, with disjoint sets of peers.
    modifications: Vec<(Modification, PeerSet)>,
}

impl Audience {
    fn heap(&self) -> usize {
        let modifications = self.modifications.capacity() * size_of::<(Modification, PeerSet)>();
        let peers: usize = self.modifications.iter().map(|(_, of)| of.heap()).sum();
        self.allowed.heap() + self.no_blackhole.heap() + allocated(modifications) + peers
    }

    pub fn allows(&self, peer: PeerId) -> bool {
        self.spec.is_none() || self.allowed.contains(peer)
    }

    /// Returns whether a peer receives the routes that were accepted for BLACKHOLE.
    pub fn allows_blackhole(&self, peer: PeerId) -> bool {
        !self.no_blackhole.contains(peer)
    }

    /// The peers among these that may receive the route. `is_blackhole`: it was accepted for BLACKHOLE.
    pub fn restrict(&self, peers: PeerSet, is_blackhole: impl Fn() -> bool) -> PeerSet {
        if self.spec.is_none() {
            return peers;
        }
        let peers = peers.and(&self.allowed);
        match !self.no_blackhole.is_empty() && is_blackhole() {
            true => peers.minus(&self.no_blackhole),
            false => peers,
        }
    }

    /// Returns whether a peer receives routes in the same way from this audience and the other.
    pub fn serves_like(&self, other: &Audience, peer: PeerId) -> bool {
        self.allows(peer) == other.allows(peer)
            && self.allows_blackhole(peer) == other.allows_blackhole(peer)
            && self.modification(peer) == other.modification(peer)
    }

    /// Splits recipients by the modification of the route for them.
    pub fn split_by_modification(
        &self,
        mut peers: PeerSet,
        mut each: impl FnMut(Modification, PeerSet),
    ) {
        for (modification, of) in &self.modifications {
            let part = peers.clone().and(of);
            if !part.is_empty() {
                peers = peers.minus(&part);
                each(*modification, part);
            }
        }
        if !peers.is_empty() {
            each(Modification::default(), peers);
        }
    }

    /// The modification of the route for one peer.
    pub fn modification(&self, peer: PeerId) -> Modification {
        self.modifications
            .iter()
            .find(|(_, peers)| peers.contains(peer))
            .map_or(Modification::default(), |(modification, _)| *modification)
    }

    fn add_peer(&mut self, peer: PeerId, of: Client, policy: &ExportPolicy) {
        let Some(spec) = &self.spec else { return };
        let Client { asn, external, .. } = of;
        let recipient = Recipient {
            asn,
            rtt: of.rtt.map(|rtt| policy.rtt_class(rtt)),
        };
        if spec.allows(recipient) && !(spec.no_export && external) {
            self.allowed.insert(peer);
        }
        if spec.blackhole && !of.receives_blackhole {
            self.no_blackhole.insert(peer);
        }
        let modification = Modification {
            prepend: spec.prepends_for(recipient),
            added: AddedCommunities::default()
                .with(AddedCommunities::NO_EXPORT, spec.adds_no_export_for(asn))
                .with(
                    AddedCommunities::NO_ADVERTISE,
                    spec.adds_no_advertise_for(asn),
                )
                .with(
                    AddedCommunities::GRACEFUL_SHUTDOWN,
                    spec.add_graceful_shutdown && external,
                ),
            class: ClassId::PLAIN,
            changes: ChangesId::NONE,
        };
        if modification == Modification::default() {
            return;
        }
        match self
            .modifications
            .iter_mut()
            .find(|(v, _)| *v == modification)
        {
            Some((_, peers)) => peers.insert(peer),
            None => self
                .modifications
                .push((modification, [peer].into_iter().collect())),
        }
    }

    fn remove_peer(&mut self, peer: PeerId) {
        self.allowed.remove(peer);
        self.no_blackhole.remove(peer);
        for (_, peers) in &mut self.modifications {
            peers.remove(peer);
        }
    }
}

/// The index of the audience of everybody.
pub(crate) const EVERYONE: u32 = 0;

/// All audiences in use; index 0 is everybody.
#[derive(Clone)]
pub(crate) struct Audiences {
    policy: std::sync::Arc<ExportPolicy>,
    audiences: Vec<Audience>,
    by_spec: HashMap<AudienceSpec, u32>,
    /// The numbers of audiences that are free.
    free: Vec<u32>,
    /// The number of audiences above which unused ones are searched for.
    most: usize,
    search: Option<Search>,
    /// About the bytes of the sets of peers: those of each audience when it was added.
    heap: usize,
}

/// A search for audiences that no attribute set uses, in steps.
#[derive(Clone)]
struct Search {
    /// The next part of the attribute store.
    next: usize,
    /// By number of the audience.
    is_used: Vec<bool>,
    /// The attribute sets seen so far.
    sets: usize,
    /// The attribute sets that the calls since the last part may look at.
    allowance: usize,
}

/// The attribute sets that a call of a search may look at, on average: some microseconds.
const SETS_A_CALL: usize = 256;

/// Below this number a search for unused audiences is not worth it.
const MOST: usize = 1_024;

impl Audiences {
    pub fn new(policy: std::sync::Arc<ExportPolicy>) -> Self {
        Audiences {
            policy,
            audiences: vec![Audience::default()],
            by_spec: HashMap::new(),
            free: Vec::new(),
            most: MOST,
            search: None,
            heap: 0,
        }
    }

    pub fn policy(&self) -> &std::sync::Arc<ExportPolicy> {
        &self.policy
    }

    /// The number of audiences, everybody included, and about how many bytes they take.
    pub fn size(&self) -> (u64, u64) {
        let each: usize = self.audiences.iter().map(Audience::heap).sum();
        (self.count() as u64, (self.lists() + each) as u64)
    }

    /// About the bytes, without a walk.
    pub fn about_bytes(&self) -> u64 {
        (self.lists() + self.heap) as u64
    }

    fn lists(&self) -> usize {
        let list = allocated(self.audiences.capacity() * size_of::<Audience>());
        let index = allocated(self.by_spec.capacity() * size_of::<(AudienceSpec, u32)>());
        list + index
    }

    /// The number of audiences that are not free.
    fn count(&self) -> usize {
        self.audiences.len() - self.free.len()
    }

    /// Searches for unused audiences if there are many: a peer may ask for another with every route. A call looks at one
    /// part of the attribute store, or at nothing where the parts are large. The next search comes when it costs little per
    /// audience.
    pub fn search_unused(&mut self, store: &AttrStore) {
        if self.search.is_none() && self.count() > self.most {
            self.search = Some(Search {
                next: 0,
                is_used: vec![false; self.audiences.len()],
                sets: 0,
                allowance: 0,
            });
        }
        let Some(mut search) = self.search.take() else {
            return;
        };
        search.allowance += SETS_A_CALL;
        if store.sets_of_stripe(search.next) > search.allowance {
            self.search = Some(search);
            return;
        }
        search.allowance = 0;
        let has_part = store.visit_stripe(search.next, |set| {
            search.sets += 1;
            if let Some(is_used) = search.is_used.get_mut(set.audience() as usize) {
                *is_used = true;
            }
        });
        search.next += 1;
        match has_part {
            true => self.search = Some(search),
            false => self.free_unused(&search),
        }
    }

    fn free_unused(&mut self, search: &Search) {
        // The first is that of everybody.
        for index in 1..search.is_used.len() {
            let audience = &mut self.audiences[index];
            if !search.is_used[index]
                && let Some(spec) = audience.spec.take()
            {
                self.heap = self.heap.saturating_sub(audience.heap());
                *audience = Audience::default();
                self.by_spec.remove(&spec);
                self.free.push(index as u32);
            }
        }
        self.most = MOST.max(2 * self.count()).max(search.sets / 16);
    }

    /// The audience of an attribute set, which [`Audiences::assign`] must have computed.
    pub fn of(&self, set: &AttrSet) -> &Audience {
        self.at(set.audience())
    }

    /// The audience of a set that had this index.
    pub fn at(&self, index: u32) -> &Audience {
        self.audiences
            .get(index as usize)
            .unwrap_or(&self.audiences[0])
    }

    /// Returns whether routes with these attributes go to everybody without changes, as almost all do. Other sets
    /// need [`Audiences::assign`].
    pub fn is_everyone(&self, attributes: &Attributes<'_>) -> bool {
        self.policy.advertises_unchanged(attributes)
    }

    /// Returns whether a set goes to everybody as it is. A set whose action communities are scrubbed does not.
    fn is_plain(&self, set: &AttrSet, spec: &AudienceSpec) -> bool {
        let rewritten = self.policy.scrub() && self.policy.removes_any(&set.attributes());
        spec.is_everyone() && !rewritten
    }

    /// Computes and stores the audience of a set. `peers` are all neighbors.
    pub fn assign(&mut self, set: &AttrSet, peers: impl Iterator<Item = (PeerId, Client)>) {
        let attributes = set.attributes();
        if self.policy.advertises_unchanged(&attributes) {
            return set.set_audience(EVERYONE);
        }
        let spec = self.policy.audience(&attributes);
        if self.is_plain(set, &spec) {
            return set.set_audience(EVERYONE);
        }
        let index = match self.by_spec.get(&spec) {
            Some(index) => *index,
            None => {
                let mut audience = Audience {
                    spec: Some(spec.clone()),
                    ..Audience::default()
                };
                peers.for_each(|(peer, client)| audience.add_peer(peer, client, &self.policy));
                self.heap += audience.heap();
                let index = self.insert(audience);
                self.by_spec.insert(spec, index);
                index
            }
        };
        if let Some(search) = &mut self.search
            && let Some(is_used) = search.is_used.get_mut(index as usize)
        {
            *is_used = true;
        }
        set.set_audience(index);
    }

    fn insert(&mut self, audience: Audience) -> u32 {
        if let Some(index) = self.free.pop() {
            self.audiences[index as usize] = audience;
            return index;
        }
        self.audiences.push(audience);
        (self.audiences.len() - 1) as u32
    }

    pub fn add_peer(&mut self, peer: PeerId, client: Client) {
        for audience in &mut self.audiences {
            audience.add_peer(peer, client, &self.policy);
        }
    }

    /// Returns whether some audience may distinguish two states of a client.
    pub fn distinguish(&self, one: Client, other: Client) -> bool {
        let facts = |client: Client| Client {
            rtt: None,
            ..client
        };
        let class = |client: Client| client.rtt.map(|rtt| self.policy.rtt_class(rtt));
        facts(one) != facts(other) || class(one) != class(other)
    }

    /// The numbers of the audiences that serve one of these peers otherwise than the audience of the same number in
    /// `other`.
    pub fn differing(&self, other: &Audiences, peers: &[PeerId]) -> Vec<u32> {
        let pairs = self.audiences.iter().zip(&other.audiences).zip(0..);
        let differs = |(one, two): &(&Audience, &Audience)| {
            peers.iter().any(|peer| !one.serves_like(two, *peer))
        };
        pairs
            .filter(|(pair, _)| differs(pair))
            .map(|(_, index)| index)
            .collect()
    }

    pub fn remove_peer(&mut self, peer: PeerId) {
        for audience in &mut self.audiences {
            audience.remove_peer(peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rutter_policy::ExportSettings;

    use super::*;
    use crate::adj_rib_in::attr_set::Summary;
    use crate::adj_rib_in::charges::NOBODY;

    #[test]
    fn a_search_looks_at_few_attribute_sets_in_each_call() {
        let store = AttrStore::new(7);
        let set = |number: u32| store.intern(NOBODY, &number.to_be_bytes(), &[], Summary::default);
        let sets: Vec<AttrSet> = (0..40_000).map(set).collect();
        let mut audiences = Audiences::new(Arc::new(ExportPolicy::new(ExportSettings::default())));
        audiences.most = 0;
        let mut calls = 0;
        loop {
            audiences.search_unused(&store);
            calls += 1;
            let Some(search) = &audiences.search else {
                break;
            };
            assert!(search.sets <= calls * SETS_A_CALL, "{calls} calls");
        }
        let parts = 64;
        assert!(calls <= sets.len() / SETS_A_CALL + parts + 1, "{calls}");
    }
}
