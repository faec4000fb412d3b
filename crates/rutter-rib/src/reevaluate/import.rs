//! Re-evaluation after a change of import policies or ranks: held routes are evaluated again in place, those of all
//! neighbors in one walk.

use std::sync::Arc;

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_policy::{AttrVerdict, ImportPolicy, RejectReason};

use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Op, Slice, Stored, WITHDRAW};
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;
use crate::{AttrSet, Neighbor, PeerId, Rib};

/// The parts of a neighbor's routes that must be evaluated again.
#[derive(Clone, Copy, Default)]
struct Reevaluation {
    /// The verdicts, under the policy that the neighbor has when the walk reaches a route. During a walk it may get
    /// another policy, or be removed and leave its id to another neighbor.
    judged: bool,
    /// The rank in the decision process.
    ranked: bool,
}

impl Rib {
    /// As [`Rib::replace_neighbors`] for one.
    pub fn replace_neighbor(&self, peer: PeerId, neighbor: Neighbor) {
        self.replace_neighbors(vec![(peer, neighbor)], || {});
    }

    /// Replaces settings and policies of neighbors. Under another policy their routes are evaluated again in place:
    /// no refresh is requested, and only differences are sent. O(routes) for any number of neighbors, in slices;
    /// updates of peers pass in between.
    ///
    /// `notify` is called when many differences have accumulated: flush there, so that clients receive them early.
    pub fn replace_neighbors(&self, changes: Vec<(PeerId, Neighbor)>, mut notify: impl FnMut()) {
        let mut work = Vec::new();
        let mut topology = self.topology.write();
        for (peer, neighbor) in changes {
            let held = topology.peer(peer).map(|held| &held.neighbor);
            work.extend(held.map(|held| (peer, Reevaluation::after(held, &neighbor))));
            topology.replace(peer, neighbor);
        }
        topology.rebuild_rules();
        let ranks = u32::from(work.iter().any(|(_, due)| due.ranked));
        topology.rank_walks += ranks;
        drop(topology);
        self.changed();
        self.reevaluate(&work, &mut WalkProgress::new(self, &mut notify));
        self.topology.write().rank_walks -= ranks;
    }

    /// Reorders destinations after the rank of a peer changed; [`Topology::rank_walks`] counts this walk already.
    pub(crate) fn reorder_routes_of(&self, peer: PeerId) {
        let due = Reevaluation {
            judged: false,
            ranked: true,
        };
        self.reevaluate(&[(peer, due)], &mut WalkProgress::new(self, &mut || {}));
        self.topology.write().rank_walks -= 1;
    }

    /// Evaluates the routes of a neighbor again under its present policy.
    pub fn reevaluate_import(&self, peer: PeerId) {
        let due = Reevaluation {
            judged: true,
            ranked: false,
        };
        self.reevaluate(&[(peer, due)], &mut WalkProgress::new(self, &mut || {}));
    }

    fn reevaluate(&self, work: &[(PeerId, Reevaluation)], progress: &mut WalkProgress<'_>) {
        let mut of_peer = Vec::new();
        for (peer, due) in work {
            let index = peer.index();
            of_peer.resize(of_peer.len().max(index + 1), Reevaluation::default());
            of_peer[index] = *due;
        }
        let peers = |wanted: fn(&Reevaluation) -> bool| -> Vec<PeerId> {
            let wanted = work.iter().filter(|(_, due)| wanted(due));
            wanted.map(|(peer, _)| *peer).collect()
        };
        let judged = peers(|due| due.judged);
        let ranked = peers(|due| due.ranked);
        for family in Family::ALL {
            self.edit_routes(family, &judged, progress, &mut ImportEditor::new(&of_peer));
            let mut rank = |_, route: &Route| match of_peer.get(route.peer.index()) {
                Some(due) if due.ranked => Edited::Rank,
                _ => Edited::Keep,
            };
            self.edit_routes(family, &ranked, progress, &mut rank);
        }
    }

    /// Edits routes of a family in slices. `editor` also sees the routes of peers other than `peers`.
    pub(crate) fn edit_routes(
        &self,
        family: Family,
        peers: &[PeerId],
        progress: &mut WalkProgress<'_>,
        editor: &mut impl Editor,
    ) {
        match family {
            Family::Ipv4Unicast => self.edit_family::<Ipv4Prefix>(peers, progress, editor),
            Family::Ipv6Unicast => self.edit_family::<Ipv6Prefix>(peers, progress, editor),
        }
    }

    fn edit_family<K: Stored>(
        &self,
        peers: &[PeerId],
        progress: &mut WalkProgress<'_>,
        editor: &mut impl Editor,
    ) {
        self.walk(progress, |topology, shard, from| {
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
            };
            editor.begin_slice();
            let edit = |prefix: K, route: &Route| editor.edit(topology, prefix.into(), route);
            shard.edit_routes::<K>(&slice, edit)
        });
    }
}

impl Reevaluation {
    fn after(held: &Neighbor, new: &Neighbor) -> Self {
        let same = Arc::ptr_eq(&held.import, &new.import) && held.block_above == new.block_above;
        Reevaluation {
            judged: !same,
            ranked: held.default_local_pref != new.default_local_pref,
        }
    }
}

/// Decides the outcome for each route in a walk over the table.
pub(crate) trait Editor {
    /// Called before the routes of each slice.
    fn begin_slice(&mut self) {}

    /// Returns the outcome for a route.
    fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited;
}

impl<F: FnMut(Prefix, &Route) -> Edited> Editor for F {
    fn edit(&mut self, _: &Topology, prefix: Prefix, route: &Route) -> Edited {
        self(prefix, route)
    }
}

/// Evaluates routes under their senders' import policies.
struct ImportEditor<'a> {
    of_peer: &'a [Reevaluation],
    verdicts: Verdicts,
}

impl<'a> ImportEditor<'a> {
    fn new(of_peer: &'a [Reevaluation]) -> Self {
        ImportEditor {
            of_peer,
            verdicts: Verdicts::default(),
        }
    }
}

impl Editor for ImportEditor<'_> {
    fn begin_slice(&mut self) {
        self.verdicts = Verdicts::default();
    }

    fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
        let due = self.of_peer.get(route.peer.index());
        if !due.is_some_and(|due| due.judged) {
            return Edited::Keep;
        }
        let Some(peer) = topology.peer(route.peer) else {
            return Edited::Keep;
        };
        let import = &peer.neighbor.import;
        let verdict = self.verdicts.of(import, prefix.family(), route);
        let (reject, state) = judge(import, prefix, verdict, route.state);
        if reject == route.reject && state == route.state {
            return Edited::Keep;
        }
        Edited::Replace(Route {
            reject,
            state,
            ..route.clone()
        })
    }
}

/// The verdict of a policy that all routes with the same attributes share.
#[derive(Clone, Copy)]
struct Verdict {
    attributes: AttrVerdict,
    origin: Option<Asn>,
}

impl Verdict {
    fn new(import: &ImportPolicy, family: Family, attrs: &AttrSet) -> Self {
        let attributes = attrs.attributes();
        let path = attributes.as_path();
        Verdict {
            origin: path.and_then(|path| path.origin()),
            attributes: import.check_attributes(&attributes, attrs.policy_next_hop(), family),
        }
    }
}

/// The verdicts of a slice of the table: prefixes that were announced together are mostly close together. No
/// attribute set is freed during a slice, so an address means one set.
struct Verdicts([Option<((usize, PeerId), Verdict)>; 64]);

impl Default for Verdicts {
    fn default() -> Self {
        Verdicts([None; 64])
    }
}

impl Verdicts {
    fn of(&mut self, import: &ImportPolicy, family: Family, route: &Route) -> Verdict {
        let key = (route.attrs.address(), route.peer);
        let hash = (key.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut self.0[(hash >> 58) as usize];
        match place {
            Some((known, verdict)) if *known == key => *verdict,
            _ => {
                let verdict = Verdict::new(import, family, &route.attrs);
                *place = Some((key, verdict));
                verdict
            }
        }
    }
}

/// Returns the verdict of a policy on a route, and the route's state under it.
fn judge(
    import: &ImportPolicy,
    prefix: Prefix,
    verdict: Verdict,
    state: State,
) -> (Option<RejectReason>, State) {
    let Verdict { attributes, origin } = verdict;
    let reject = attributes
        .reject
        .or_else(|| import.check_prefix(prefix, attributes.blackhole))
        .or_else(|| import.check_origin(prefix, origin));
    let state = state
        .with(State::GRACEFUL_SHUTDOWN, attributes.graceful_shutdown)
        .with(State::BLACKHOLE, attributes.blackhole);
    (reject, state)
}

/// Evaluates queued operations again: the policy changed since they were queued, and the walk over the table does not
/// see them.
pub(crate) fn reevaluate_queued<K: Stored>(
    import: &ImportPolicy,
    ops: &mut [Op<K>],
    sets: &[AttrSet],
) {
    for op in ops.iter_mut().filter(|op| op.set != WITHDRAW) {
        let verdict = Verdict::new(import, K::FAMILY, &sets[op.set as usize]);
        (op.reject, op.state) = judge(import, op.prefix.into(), verdict, op.state);
    }
}
