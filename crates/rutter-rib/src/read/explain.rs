//! Explanations: the decision process and the export rules for one prefix, with reasons.

use rutter_net::Prefix;
use rutter_policy::{Class, Finding, RejectReason};
use rutter_wire::attr::Attributes;
use smallvec::SmallVec;

use crate::adj_rib_in::attr_set::{AttrSet, Summary};
use crate::adj_rib_in::charges::NOBODY;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::accepted;
use crate::advertise::export_view::{GroupScope, OneClient, Rules, Scope, Withheld, export_view};
use crate::decision::Process;
use crate::reevaluate::import::Judge;
use crate::topology::{Peer, Topology};
use crate::{PeerId, Rib, Step};

/// The candidates of a prefix and the clients that receive them.
#[derive(Debug)]
pub struct Explanation {
    /// The prefix.
    pub prefix: Prefix,
    /// The candidates, best first; rejected ones last.
    pub candidates: Vec<Candidate>,
    /// Every established client.
    pub clients: Vec<ClientVerdict>,
}

/// One route of the prefix.
#[derive(Debug)]
pub struct Candidate {
    /// The peer that sent it.
    pub peer: PeerId,
    /// RFC 7911 path identifier as received.
    pub path_id: u32,
    /// Its attributes.
    pub attrs: AttrSet,
    /// True if kept over a restart of its sender.
    pub stale: bool,
    /// The first reason of rejection.
    pub reject: Option<RejectReason>,
    /// The class of an accepted route.
    pub class: Class,
    /// All objections of the import policy, with evidence; evaluated now, from the kept route.
    pub findings: Vec<Finding>,
    /// The changes of the operator's filters, one line for each rule that makes some.
    pub filter_changes: Vec<String>,
    /// The step at which it lost to the candidate before it; `None` for the best and for rejected ones.
    pub lost_at: Option<Step>,
}

/// The routes that one client receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientVerdict {
    /// The client.
    pub peer: PeerId,
    /// The indices of the candidates that it receives: none, one, or with Add-Path several.
    pub receives: Vec<usize>,
    /// Better candidates that it does not receive, each with the reason.
    pub skipped: Vec<(usize, Withheld)>,
    /// The rules of the client's export filters that reject candidates, as text, with the indices of these.
    pub filtered: Vec<(usize, String)>,
}

impl Rib {
    /// Explains a prefix; `None` where nobody announces it.
    pub fn explain(&self, prefix: Prefix) -> Option<Explanation> {
        let routes: Vec<Route> = match prefix {
            Prefix::V4(prefix) => self.routes_of(prefix)?,
            Prefix::V6(prefix) => self.routes_of(prefix)?,
        };
        let topology = self.topology.read();
        Some(Explanation {
            prefix,
            candidates: candidates(&topology, prefix, &routes),
            clients: clients(&topology, prefix, accepted(&routes)),
        })
    }

    /// Explains a prefix as if a peer announced a route with these attributes, in place of its present one. `mp_next_hop`
    /// has the octets of the next hop in MP_REACH_NLRI, or none. `None` where there is no such peer. The table does not
    /// change.
    pub fn explain_with(
        &self,
        prefix: Prefix,
        peer: PeerId,
        attributes: &Attributes<'_>,
        mp_next_hop: &[u8],
    ) -> Option<Explanation> {
        let mut block = Vec::new();
        attributes.write_canonical(&mut block);
        let summary = || Summary::of(&Attributes::from_canonical(&block));
        let attrs = self.store.intern(NOBODY, &block, mp_next_hop, summary);
        self.assign_audience(&attrs, &attrs.attributes());
        let mut routes = match prefix {
            Prefix::V4(prefix) => self.routes_of(prefix),
            Prefix::V6(prefix) => self.routes_of(prefix),
        }
        .unwrap_or_default();
        let topology = self.topology.read();
        let explanation = topology.peer(peer).map(|held| {
            let route = hypothetical(&topology, held, (peer, prefix), attrs.clone());
            routes.retain(|known| known.peer != peer);
            let end = accepted(&routes).len();
            let place = match route.is_accepted() {
                true => topology.decision().place(&routes[..end], &route),
                false => routes.len(),
            };
            routes.insert(place, route);
            let end = accepted(&routes).len();
            topology.decision().sort(&mut routes[..end]);
            Explanation {
                prefix,
                candidates: candidates(&topology, prefix, &routes),
                clients: clients(&topology, prefix, accepted(&routes)),
            }
        });
        drop(routes);
        self.store.release_unrouted(attrs);
        explanation
    }

    /// Returns all objections of the import policy to a route of a peer, with evidence. Empty where the peer was
    /// removed.
    pub fn findings(&self, peer: PeerId, prefix: Prefix, attrs: &AttrSet) -> Vec<Finding> {
        judge(&self.topology.read(), peer, prefix, attrs)
    }

    fn routes_of<K: Stored>(&self, prefix: K) -> Option<Vec<Route>> {
        Some(self.copy_of(prefix)?.routes.to_vec())
    }
}

/// The route that a peer would have in the table if it announced these attributes.
fn hypothetical(
    topology: &Topology,
    held: &Peer,
    (peer, prefix): (PeerId, Prefix),
    attrs: AttrSet,
) -> Route {
    let family = prefix.family();
    let judge = Judge::new(topology, &held.neighbor.import);
    let of_set = judge.check_attributes(family, &attrs);
    let summary = attrs.summary();
    let state = State::of_set(summary.neighbour_as, summary.multi_exit_disc);
    let state = state.in_epoch(held.epochs[family].present);
    let (verdict, state) = judge.judge(prefix, &of_set, &attrs, state);
    Route {
        attrs,
        path_id: 0,
        peer,
        state,
        verdict,
    }
}

fn candidates(topology: &Topology, prefix: Prefix, routes: &[Route]) -> Vec<Candidate> {
    let decision = topology.decision();
    let accepted = accepted(routes).len();
    let lost_at = |index: usize| match index {
        0 => None,
        _ if index >= accepted => None,
        _ => Some(decision.compare(&routes[index - 1], &routes[index]).1),
    };
    let judged = |(index, route): (usize, &Route)| Candidate {
        peer: route.peer,
        path_id: route.path_id,
        attrs: route.attrs.clone(),
        stale: topology.is_stale(route, prefix.family()),
        reject: route.verdict.reject(),
        class: topology.class(route),
        findings: judge(topology, route.peer, prefix, &route.attrs),
        filter_changes: filter_changes(topology, prefix, route),
        lost_at: lost_at(index),
    };
    routes.iter().enumerate().map(judged).collect()
}

fn judge(topology: &Topology, peer: PeerId, prefix: Prefix, attrs: &AttrSet) -> Vec<Finding> {
    let Some(peer) = topology.peer(peer) else {
        return Vec::new();
    };
    let (attributes, next_hop) = (attrs.attributes(), attrs.policy_next_hop());
    let import = &peer.neighbor.import;
    import.all_reasons(
        &topology.outside_data,
        prefix,
        &attributes,
        next_hop,
        prefix.family(),
    )
}

fn filter_changes(topology: &Topology, prefix: Prefix, route: &Route) -> Vec<String> {
    let peer = topology.peer(route.peer);
    let Some(peer) = peer.filter(|_| !topology.class(route).changes.is_none()) else {
        return Vec::new();
    };
    peer.neighbor.import.filter_changes(
        &topology.outside_data,
        prefix,
        &route.attrs.attributes(),
        route.attrs.policy_next_hop(),
        prefix.family(),
    )
}

fn clients(topology: &Topology, prefix: Prefix, routes: &[Route]) -> Vec<ClientVerdict> {
    let client = |(peer, held): (PeerId, &Peer)| {
        let scope = GroupScope {
            topology,
            style: &held.group.as_ref()?.style,
        };
        Some(client(&scope.at(prefix), routes, peer))
    };
    topology.iter().filter_map(client).collect()
}

/// Decides what a client receives of a destination's accepted routes, best first. O(routes).
pub(crate) fn client(scope: &Scope<'_>, routes: &[Route], peer: PeerId) -> ClientVerdict {
    let all: SmallVec<[&Route; 4]> = routes.iter().collect();
    let view = export_view(scope, Rules::Present, &all, &OneClient(Some(peer)));
    // The view is in the order of the routes.
    let mut sent = view.iter().map(|(route, _)| *route).peekable();
    let (mut receives, mut others) = (Vec::new(), Vec::new());
    for (index, route) in routes.iter().enumerate() {
        // Without Add-Path a route behind the received one is not withheld: it is not the best.
        if sent.peek().is_none() && !receives.is_empty() && !scope.has_add_path() {
            break;
        }
        match sent.next_if(|one| std::ptr::eq(*one, route)) {
            Some(_) => receives.push(index),
            None => others.push(index),
        }
    }
    let why = |index: usize| {
        let withheld = scope.withheld(Rules::Present, &routes[index], peer);
        (index, withheld.unwrap_or(Withheld::PathLimit))
    };
    let skipped: Vec<(usize, Withheld)> = others.into_iter().map(why).collect();
    let by_filter = skipped.iter().filter(|(_, why)| *why == Withheld::Filter);
    let evidence = |(index, _): &(usize, Withheld)| {
        let evidence = scope.filter_evidence(&routes[*index])?;
        Some((*index, evidence))
    };
    ClientVerdict {
        peer,
        filtered: by_filter.filter_map(evidence).collect(),
        skipped,
        receives,
    }
}
