//! Policies change while routes are held: these are judged anew in place, those of all neighbors in one walk.

use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_policy::{ImportPolicy, RejectReason};

use crate::edit::Edited;
use crate::news::News;
use crate::route::{Route, State};
use crate::shard::{Op, Slice, Stored, WITHDRAW};
use crate::{AttrSet, Neighbor, PeerId, Rib};

/// What is to be found out about the routes of a neighbor.
#[derive(Clone, Default)]
struct Again {
    /// The policy that judges them.
    import: Option<Arc<ImportPolicy>>,
    /// Their rank in the decision process changed.
    ranked: bool,
}

impl Rib {
    /// As [`Rib::replace_neighbors`] for one.
    pub fn replace_neighbor(&self, peer: PeerId, neighbor: Neighbor) {
        self.replace_neighbors(vec![(peer, neighbor)], || {});
    }

    /// Replaces settings and policies of neighbors. Under another policy routes are judged anew in place: no refresh is asked
    /// for, and only differences are sent. O(routes), however many neighbors; in slices, others' updates pass in between.
    /// When many differences have come together `tell` is called: flush there, so that clients hear early.
    pub fn replace_neighbors(&self, changes: Vec<(PeerId, Neighbor)>, mut tell: impl FnMut()) {
        let mut work = Vec::new();
        let mut topology = self.topology.write();
        for (peer, neighbor) in changes {
            let held = topology.peer(peer).map(|held| &held.neighbor);
            work.extend(held.map(|held| (peer, Again::after(held, &neighbor))));
            topology.replace(peer, neighbor);
        }
        topology.rebuild_rules();
        let ranks = u32::from(work.iter().any(|(_, again)| again.ranked));
        topology.ranking += ranks;
        drop(topology);
        self.changed();
        self.judge_all(&work, &mut News::new(self, &mut tell));
        self.topology.write().ranking -= ranks;
    }

    /// Puts destinations into order after the rank of a peer changed; [`Topology::ranking`] counts it already.
    pub(crate) fn rank_again(&self, peer: PeerId) {
        let again = Again {
            import: None,
            ranked: true,
        };
        self.judge_all(&[(peer, again)], &mut News::new(self, &mut || {}));
        self.topology.write().ranking -= 1;
    }

    /// Judges the routes of a neighbor anew under its present policy.
    pub fn judge_again(&self, peer: PeerId) {
        let import = self.neighbor(peer).map(|neighbor| neighbor.import);
        let again = Again {
            import,
            ranked: false,
        };
        self.judge_all(&[(peer, again)], &mut News::new(self, &mut || {}));
    }

    fn judge_all(&self, work: &[(PeerId, Again)], news: &mut News<'_>) {
        let mut of_peer = Vec::new();
        for (peer, again) in work {
            let index = peer.index();
            of_peer.resize(of_peer.len().max(index + 1), Again::default());
            of_peer[index] = again.clone();
        }
        let of = |route: &Route| of_peer.get(route.peer.index());
        let peers = |wanted: fn(&Again) -> bool| -> Vec<PeerId> {
            let wanted = work.iter().filter(|(_, again)| wanted(again));
            wanted.map(|(peer, _)| *peer).collect()
        };
        let judged = peers(|again| again.import.is_some());
        let ranked = peers(|again| again.ranked);
        for family in Family::ALL {
            self.edit_routes(family, &judged, news, |prefix, route| {
                let import = of(route).and_then(|again| again.import.as_ref());
                import.map_or(Edited::Keep, |import| rejudge(import, prefix, route))
            });
            self.edit_routes(family, &ranked, news, |_, route| match of(route) {
                Some(again) if again.ranked => Edited::Rank,
                _ => Edited::Keep,
            });
        }
    }

    /// Edits routes of a family, shard by shard in slices; `edit` is shown those of other peers than `peers`, too.
    pub(crate) fn edit_routes(
        &self,
        family: Family,
        peers: &[PeerId],
        news: &mut News<'_>,
        mut edit: impl FnMut(Prefix, &Route) -> Edited,
    ) {
        match family {
            Family::Ipv4Unicast => self.edit_family::<Ipv4Prefix>(peers, news, &mut edit),
            Family::Ipv6Unicast => self.edit_family::<Ipv6Prefix>(peers, news, &mut edit),
        }
    }

    fn edit_family<K: Stored>(
        &self,
        peers: &[PeerId],
        news: &mut News<'_>,
        edit: &mut impl FnMut(Prefix, &Route) -> Edited,
    ) {
        self.walk(news, |topology, shard, from| {
            let holds = |peer: &PeerId| {
                let peer = topology.peer(*peer);
                peer.is_some_and(|peer| peer.counts.family(K::FAMILY).received > 0)
            };
            if !peers.iter().any(holds) {
                return None;
            }
            let slice = Slice {
                topology,
                store: &self.store,
                from,
                most_edits: usize::MAX,
            };
            let edit = |prefix: K, route: &Route| edit(prefix.into(), route);
            shard.edit_routes::<K>(&slice, edit)
        });
    }
}

impl Again {
    fn after(held: &Neighbor, new: &Neighbor) -> Self {
        let same = Arc::ptr_eq(&held.import, &new.import) && held.block_above == new.block_above;
        Again {
            import: (!same).then(|| Arc::clone(&new.import)),
            ranked: held.default_local_pref != new.default_local_pref,
        }
    }
}

/// A route after its neighbor's policy changed.
fn rejudge(import: &ImportPolicy, prefix: Prefix, route: &Route) -> Edited {
    let (reject, state) = judge(import, prefix, &route.attrs, route.state);
    if reject == route.reject && state == route.state {
        return Edited::Keep;
    }
    Edited::Replace(Route {
        reject,
        state,
        ..route.clone()
    })
}

/// The verdict of a policy on a route, and the route's state under it.
fn judge(
    import: &ImportPolicy,
    prefix: Prefix,
    attrs: &AttrSet,
    state: State,
) -> (Option<RejectReason>, State) {
    let attributes = attrs.attributes();
    let next_hop = attrs.policy_next_hop();
    let verdict = import.check_attributes(&attributes, next_hop, prefix.family());
    let origin = attributes.as_path().and_then(|path| path.origin());
    let reject = verdict
        .reject
        .or_else(|| import.check_prefix(prefix, verdict.blackhole))
        .or_else(|| import.check_origin(prefix, origin));
    let state = state
        .with(State::GRACEFUL_SHUTDOWN, verdict.graceful_shutdown)
        .with(State::BLACKHOLE, verdict.blackhole);
    (reject, state)
}

/// Judges operations that are not in the table yet anew: the policy changed since they were queued, and the walk over
/// the table does not see them.
pub(crate) fn judge_queued<K: Stored>(import: &ImportPolicy, ops: &mut [Op<K>], sets: &[AttrSet]) {
    for op in ops.iter_mut().filter(|op| op.set != WITHDRAW) {
        let set = &sets[op.set as usize];
        (op.reject, op.state) = judge(import, op.prefix.into(), set, op.state);
    }
}
