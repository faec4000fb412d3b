//! Previews: the routes that other import policies or outside data would accept and reject.

use std::sync::Arc;

use rutter_net::Prefix;
use rutter_policy::{
    Class, ImportPolicy, OutsideData, OutsideDataChanges, RejectReason, RouteVerdict,
};

use crate::read::snapshot::RouteView;
use crate::{PeerId, Snapshot};

/// A route on which other policies or data have another verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreviewedRoute {
    /// The peer that sent it.
    pub peer: PeerId,
    /// The prefix.
    pub prefix: Prefix,
    /// The present verdict: a reason of rejection, or the class of an accepted route.
    pub before: Result<Class, RejectReason>,
    /// The verdict under the other policies and data; `None` if the neighbor is removed.
    pub after: Option<Result<Class, RejectReason>>,
}

/// The import policy that a neighbor would have.
#[derive(Clone, Debug)]
pub enum PreviewedPolicy {
    /// The present one.
    Same,
    /// Another one.
    Other(Arc<ImportPolicy>),
    /// None: the neighbor would be removed.
    Removed,
}

impl Snapshot {
    /// Calls `each` with every route on which the verdict would change if neighbors had other policies and the table
    /// had other data. Limits on the number of routes are not evaluated: a route that they reject stays out of it.
    /// O(routes) where a policy changes, else O(destinations).
    pub fn preview(
        &self,
        policy_of: impl Fn(PeerId) -> PreviewedPolicy,
        data: &OutsideData,
        mut each: impl FnMut(PreviewedRoute),
    ) {
        let changes = OutsideDataChanges::between(self.outside_data(), data);
        let policies: Vec<(PeerId, PreviewedPolicy)> = self
            .peers()
            .iter()
            .map(|peer| (peer.id, policy_of(peer.id)))
            .collect();
        for page in 0..self.pages() {
            self.visit_page(page, |prefix, _, route| {
                let Ok(index) = policies.binary_search_by_key(&route.peer, |(peer, _)| *peer)
                else {
                    return;
                };
                let after = match &policies[index].1 {
                    PreviewedPolicy::Removed => None,
                    PreviewedPolicy::Other(policy) => Some(judge(policy, data, prefix, &route)),
                    PreviewedPolicy::Same => {
                        let Some(peer) = self.peer(route.peer) else {
                            return;
                        };
                        let policy = &peer.neighbor.import;
                        if !is_concerned(&changes, policy, prefix, &route) {
                            return;
                        }
                        Some(judge(policy, data, prefix, &route))
                    }
                };
                let before = match route.reject {
                    Some(RejectReason::MaxPrefix | RejectReason::Paths) => return,
                    Some(reason) => Err(reason),
                    None => Ok(route.class),
                };
                if after != Some(before) {
                    each(PreviewedRoute {
                        peer: route.peer,
                        prefix,
                        before,
                        after,
                    });
                }
            });
        }
    }
}

fn is_concerned(
    changes: &OutsideDataChanges,
    policy: &ImportPolicy,
    prefix: Prefix,
    route: &RouteView<'_>,
) -> bool {
    let by_path = || {
        let path = route.attrs.attributes().as_path();
        path.is_some_and(|path| changes.concern_path(path))
    };
    changes.concern_prefix(prefix)
        || changes.concern_member(policy, || route.attrs.origin_as())
        || changes.concern_paths_of(policy) && by_path()
}

fn judge(
    policy: &ImportPolicy,
    data: &OutsideData,
    prefix: Prefix,
    route: &RouteView<'_>,
) -> Result<Class, RejectReason> {
    let next_hop = route.attrs.policy_next_hop();
    let attributes = route.attrs.attributes();
    let of_set = policy.check_attributes(data, &attributes, next_hop, prefix.family());
    match policy.judge(data, prefix, &of_set) {
        RouteVerdict::Rejected(reason) => Err(reason),
        RouteVerdict::Accepted { class, .. } => Ok(class),
    }
}
