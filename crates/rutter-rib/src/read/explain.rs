//! Why a prefix goes where it goes: the decision process and the export rules, told instead of acted on.

use std::fmt;

use rutter_net::{Family, Prefix};
use rutter_policy::{Finding, RejectReason};

use crate::adj_rib_in::attr_set::AttrSet;
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::accepted;
use crate::advertise::group::Group;
use crate::advertise::recorder::window;
use crate::topology::Topology;
use crate::{PeerId, Rib, Step};

/// All that is known of a prefix: its candidates and who receives which.
#[derive(Debug)]
pub struct Explanation {
    /// The prefix asked for.
    pub prefix: Prefix,
    /// Best first; rejected ones last.
    pub candidates: Vec<Candidate>,
    /// Every established client.
    pub clients: Vec<ClientVerdict>,
}

/// One route of the prefix.
#[derive(Debug)]
pub struct Candidate {
    /// Who sent it.
    pub peer: PeerId,
    /// RFC 7911 path identifier as received.
    pub path_id: u32,
    /// Its attributes.
    pub attrs: AttrSet,
    /// MirrorEntry over a restart of its sender.
    pub stale: bool,
    /// The first reason of rejection.
    pub reject: Option<RejectReason>,
    /// Everything the import policy has against it, with evidence; found now, from the kept route.
    pub findings: Vec<Finding>,
    /// The step at which it lost to the candidate before it; `None` for the best and for rejected ones.
    pub lost_at: Option<Step>,
}

/// What one client receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientVerdict {
    /// The client.
    pub peer: PeerId,
    /// Indices of the candidates it receives: none, one, or with Add-Path several.
    pub receives: Vec<usize>,
    /// Better candidates that it does not hear, each with the reason.
    pub skipped: Vec<(usize, Withheld)>,
}

/// Why a candidate is not for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// The client sent it.
    OwnRoute,
    /// An action community, or NO_ADVERTISE or NO_EXPORT where honoured, keeps it from this client.
    Audience,
    /// The rules between kinds of peers: internal to internal without reflection, collectors.
    Reflection,
    /// ONLY_TO_CUSTOMER and the session's role (RFC 9234).
    Role,
    /// The client does not take this family, or not with this kind of next hop (RFC 8950).
    Family,
    /// Add-Path is on and better candidates fill the limit.
    PathLimit,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Withheld::OwnRoute => "it is the client's own route",
            Withheld::Audience => "its communities keep it from this client",
            Withheld::Reflection => "the rules between internal and collecting peers",
            Withheld::Role => "ONLY_TO_CUSTOMER and the session's role (RFC 9234)",
            Withheld::Family => "the session does not carry this family or next hop",
            Withheld::PathLimit => "better candidates fill the Add-Path limit",
        })
    }
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
            clients: clients(&topology, prefix.family(), accepted(&routes)),
        })
    }

    /// Everything that the import policy has against a route of a peer, with evidence; nothing where the peer has gone.
    pub fn findings(&self, peer: PeerId, prefix: Prefix, attrs: &AttrSet) -> Vec<Finding> {
        judge(&self.topology.read(), peer, prefix, attrs)
    }

    fn routes_of<K: Stored>(&self, prefix: K) -> Option<Vec<Route>> {
        Some(self.copy_of(prefix)?.routes.to_vec())
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
        reject: route.reject,
        findings: judge(topology, route.peer, prefix, &route.attrs),
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
    import.all_reasons(prefix, &attributes, next_hop, prefix.family())
}

fn clients(topology: &Topology, family: Family, routes: &[Route]) -> Vec<ClientVerdict> {
    topology
        .iter()
        .filter_map(|(id, peer)| Some((id, peer.group.as_ref()?)))
        .map(|(id, group)| client(topology, group, family, routes, id))
        .collect()
}

fn client(
    topology: &Topology,
    group: &Group,
    family: Family,
    routes: &[Route],
    peer: PeerId,
) -> ClientVerdict {
    let all: Vec<&Route> = routes.iter().collect();
    let shown = match group.style.families[family.index()] {
        true => window(topology, &group.style, family, &all, peer),
        false => Default::default(),
    };
    let is_shown = |route: &Route| shown.iter().any(|one| std::ptr::eq(*one, route));
    let receives: Vec<usize> = (0..routes.len())
        .filter(|i| is_shown(&routes[*i]))
        .collect();
    let add_path = group.style.add_path[family.index()];
    // Without Add-Path, what stands behind the route heard is not withheld: it is not the best.
    let end = match (add_path, receives.last()) {
        (false, Some(last)) => *last,
        _ => routes.len(),
    };
    let skipped = (0..end)
        .filter(|index| !receives.contains(index))
        .map(|index| {
            (
                index,
                withheld(topology, group, family, &routes[index], peer),
            )
        })
        .collect();
    ClientVerdict {
        peer,
        receives,
        skipped,
    }
}

fn withheld(
    topology: &Topology,
    group: &Group,
    family: Family,
    route: &Route,
    peer: PeerId,
) -> Withheld {
    if route.peer == peer {
        Withheld::OwnRoute
    } else if !group.style.families[family.index()] || !group.style.can_carry(family, &route.attrs)
    {
        Withheld::Family
    } else if !topology.reach_of(route.peer).contains(peer) {
        Withheld::Reflection
    } else if topology.withholds_otc(&route.attrs, peer) {
        Withheld::Role
    } else if !topology.audiences.of(&route.attrs).allows(peer) {
        Withheld::Audience
    } else {
        Withheld::PathLimit
    }
}
