//! The export filters of the clients of a group: which routes they may receive, and in which form.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity, Prefix};
use rutter_policy::{ChangesId, Combinations, FilterChain, FilterDecision, RouteChanges, RuleSet};
use rutter_wire::attr::{self, Attributes, code};

use crate::adj_rib_in::route::Route;
use crate::advertise::export_view::Scope;
use crate::topology::Topology;
use crate::{AttrSet, PeerId};

/// The export filters of the clients of a group. Groups are equal only if their filters are, so a route is judged once for
/// all clients of a group.
///
/// The filters see a route as the import filters leave it. Their conditions on attributes are evaluated once for each
/// attribute set and sender, as long as the answer is remembered.
#[derive(Debug)]
pub(crate) struct ExportFilter {
    chain: FilterChain,
    /// By sender: the routes of one neighbor must not use up the combinations of another.
    combinations: Mutex<BTreeMap<PeerId, Arc<Combinations>>>,
    matched: Mutex<Vec<Option<Matched>>>,
}

/// The rules whose conditions on attributes hold for the routes of a sender with this set and these changes. The set is kept,
/// so that its address means no other one.
#[derive(Debug)]
struct Matched {
    set: AttrSet,
    peer: PeerId,
    /// The AS of the sender: another neighbor may have its id later.
    asn: Asn,
    /// The changes of import filters.
    changes: ChangesId,
    rules: RuleSet,
}

/// The decision of export filters on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Export {
    /// It may be sent, with these changes.
    Accepted(ChangesId),
    Rejected,
}

/// The number of remembered answers: a power of two.
const REMEMBERED: usize = 256;
/// The octets of communities that are compared with a pattern in the time of a comparison of routes.
const OCTETS_PER_COMPARISON: usize = 256;
/// The comparisons of routes that take as long as an answer that is not remembered, without its patterns.
const COMPARISONS_PER_ANSWER: usize = 4;

impl ExportFilter {
    /// The filters of a chain.
    pub fn new(chain: FilterChain) -> Self {
        ExportFilter {
            chain,
            combinations: Mutex::default(),
            matched: Mutex::default(),
        }
    }

    /// Forgets the remembered answers, and with them the sets that no route has any more.
    pub fn forget(&self) {
        *self.matched.lock() = Vec::new();
    }

    /// Decides on a route.
    pub fn decide(&self, scope: &Scope<'_>, route: &Route) -> Export {
        match self.decision(scope, route) {
            FilterDecision::Rejected { .. } => Export::Rejected,
            FilterDecision::Accepted(applied) => {
                let applied = applied.and(self.chain.changing());
                if applied.is_empty() {
                    return Export::Accepted(ChangesId::NONE);
                }
                let of_sender = Arc::clone(self.combinations.lock().entry(route.peer).or_default());
                let changes = of_sender.changes(&self.chain, applied, false);
                // With too many combinations, a route might go where it must not without its changes.
                changes.map_or(Export::Rejected, Export::Accepted)
            }
        }
    }

    /// Describes why a route is rejected; `None` if it is not.
    pub fn evidence(&self, scope: &Scope<'_>, route: &Route) -> Option<String> {
        match self.decision(scope, route) {
            FilterDecision::Rejected { filter, rule } => Some(self.chain.describe(filter, rule)),
            FilterDecision::Accepted(_) => None,
        }
    }

    fn decision(&self, scope: &Scope<'_>, route: &Route) -> FilterDecision {
        let rules = self.matching(scope, route);
        // The configuration refuses validation states here: a change of VRPs would have to advertise routes again.
        self.chain.decide(rules, scope.prefix, || None)
    }

    fn matching(&self, scope: &Scope<'_>, route: &Route) -> RuleSet {
        let topology = scope.topology;
        let changes = topology.class(route).changes;
        let asn = asn_of_sender(topology, route);
        let is_same = |held: &&Matched| {
            held.set.same(&route.attrs)
                && (held.peer, held.asn, held.changes) == (route.peer, asn, changes)
        };
        let place = place_of(route);
        let known = self.matched.lock();
        let known_rules = known.get(place).and_then(Option::as_ref);
        if let Some(held) = known_rules.filter(is_same) {
            return held.rules;
        }
        drop(known);
        let (rules, octets) = self.compare(topology, scope.prefix, route);
        scope.count_comparisons(COMPARISONS_PER_ANSWER + octets / OCTETS_PER_COMPARISON);
        let mut known = self.matched.lock();
        if known.is_empty() {
            known.resize_with(REMEMBERED, || None);
        }
        known[place] = Some(Matched {
            set: route.attrs.clone(),
            peer: route.peer,
            asn,
            changes,
            rules,
        });
        rules
    }

    /// The rules that hold, and [the octets that were compared](FilterChain::compare).
    fn compare(&self, topology: &Topology, prefix: Prefix, route: &Route) -> (RuleSet, usize) {
        let sender = asn_of_sender(topology, route);
        let received = route.attrs.attributes();
        let next_hop = route.attrs.policy_next_hop();
        let matching = |attributes: &Attributes<'_>| {
            let family = prefix.family();
            self.chain.compare(attributes, next_hop, family, sender)
        };
        match topology.classes.changes(route.verdict.class()) {
            None => matching(&received),
            Some(changes) => {
                let mut block = Vec::new();
                write_compared(&received, changes, &mut block);
                matching(&Attributes::from_canonical(&block))
            }
        }
    }
}

fn asn_of_sender(topology: &Topology, route: &Route) -> Asn {
    let sender = topology.peer(route.peer);
    sender.map_or(Asn(0), |peer| peer.neighbor.remote_asn)
}

/// Writes the attributes that conditions compare, as import filters leave them.
fn write_compared(received: &Attributes<'_>, changes: &RouteChanges, out: &mut Vec<u8>) {
    let path = received.as_path();
    let first = path.and_then(|path| path.first()).unwrap_or(Asn(0));
    attr::write_as_path_prepended(out, path, first, usize::from(changes.prepend));
    let mut standard: Vec<Community> = received.communities().collect();
    let mut extended: Vec<ExtendedCommunity> = received.extended_communities().collect();
    let mut large: Vec<LargeCommunity> = received.large_communities().collect();
    changes.change_standard(&mut standard);
    changes.change_extended(&mut extended);
    changes.change_large(&mut large);
    let standard: Vec<u8> = standard.iter().flat_map(|c| c.0.to_be_bytes()).collect();
    let extended: Vec<u8> = extended.iter().flat_map(|c| c.0).collect();
    let parts = large.iter().flat_map(|c| [c.global, c.local1, c.local2]);
    let large: Vec<u8> = parts.flat_map(u32::to_be_bytes).collect();
    for (code, value) in [
        (code::COMMUNITIES, standard),
        (code::EXTENDED_COMMUNITIES, extended),
        (code::LARGE_COMMUNITIES, large),
    ] {
        if !value.is_empty() {
            attr::write_attr(out, attr::OPTIONAL | attr::TRANSITIVE, code, &value);
        }
    }
}

fn place_of(route: &Route) -> usize {
    let address = route.attrs.address() as u64 ^ u64::from(route.peer.0) << 48;
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % REMEMBERED
}

impl PartialEq for ExportFilter {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}

impl Eq for ExportFilter {}

impl Hash for ExportFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let names = self.chain.filters().iter().map(|filter| &filter.name);
        names.for_each(|name| name.hash(state));
    }
}
