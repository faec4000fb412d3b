//! Converts routes and reject reasons into rows.

use rutter_net::Prefix;
use rutter_policy::{Class, Finding, OutsideData, RejectReason};
use rutter_rib::{AttrSet, PeerSummary, RouteView};

use super::{Sources, attributes_row};
use crate::{FindingRow, RejectRow, RouteRow};

/// Converts a route. `best`: the route is selected as the best of its destination.
pub(crate) fn route_row(
    prefix: Prefix,
    route: &RouteView<'_>,
    best: bool,
    sources: &Sources<'_>,
) -> RouteRow {
    RouteRow {
        prefix,
        peer: sources.row(route.peer),
        path_id: (route.path_id != 0).then_some(route.path_id),
        best,
        stale: route.stale,
        long_lived_stale: route.long_lived_stale,
        locally_originated: is_locally_originated(sources.get(route.peer), route.attrs),
        rejected: route.reject.map(reject_row),
        origin_state: origin_state(route.class),
        path_state: path_state(route.class),
        accepted_in_spite_of: route.class.failed.map(reject_row),
        attributes: attributes_row(route.attrs),
    }
}

/// Returns whether a monitored router reports its own route.
pub(crate) fn is_locally_originated(peer: Option<&PeerSummary>, set: &AttrSet) -> bool {
    let monitored = peer.and_then(|peer| peer.neighbor.monitored.as_deref());
    monitored.is_some_and(|monitored| monitored.view.is_locally_originated(set.next_hop()))
}

/// The validation state of a route's origin, where the policy marks routes with it.
pub(crate) fn origin_state(class: Class) -> Option<String> {
    class.origin.map(|state| state.name().to_owned())
}

/// The state of a route's path under the ASPAs, where the policy marks routes with it.
pub(crate) fn path_state(class: Class) -> Option<String> {
    class.path.map(|state| state.name().to_owned())
}

/// Converts a reject reason.
pub(crate) fn reject_row(reason: RejectReason) -> RejectRow {
    RejectRow {
        code: reason.code(),
        name: reason.name().to_owned(),
        explanation: reason.explanation().to_owned(),
    }
}

/// Converts a finding.
pub(crate) fn finding_row(finding: &Finding) -> FindingRow {
    FindingRow {
        reason: reject_row(finding.reason),
        evidence: finding.evidence.clone(),
    }
}

/// Evaluates a neighbor's import policy and returns all reasons against a route.
pub(crate) fn findings_of(
    data: &OutsideData,
    peer: &PeerSummary,
    prefix: Prefix,
    set: &AttrSet,
) -> Vec<FindingRow> {
    let next_hop = set.policy_next_hop();
    peer.neighbor
        .import
        .all_reasons(data, prefix, &set.attributes(), next_hop, prefix.family())
        .iter()
        .map(finding_row)
        .collect()
}
