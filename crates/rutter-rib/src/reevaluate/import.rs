//! Re-evaluation after a change of import policies or ranks: held routes are evaluated again in place, those of all
//! neighbors in one walk.

use std::cell::Cell;
use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_policy::{AttrVerdict, ChangesId, ImportPolicy, MedChange, OutsideData, RouteVerdict};

use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::epochs::EpochSet;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::{Op, Slice, Stored, WITHDRAW};
use crate::adj_rib_in::verdict::Verdict;
use crate::advertise::octet_count::OctetCount;
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

/// The attempts to give clients other options before a further one comes up.
const MAX_ATTEMPTS: usize = 10;

impl Rib {
    /// As [`Rib::replace_neighbors`] for one.
    pub fn replace_neighbor(&self, peer: PeerId, neighbor: Neighbor) {
        self.replace_neighbors(vec![(peer, neighbor)], || {});
    }

    /// Replaces settings and policies of neighbors. Under another policy their routes are evaluated again in place:
    /// no refresh is requested, and only differences are sent. O(routes) for any number of neighbors, in slices;
    /// updates of peers pass in between.
    ///
    /// A neighbor that was removed in the walk is left out, also if another one has its id now.
    ///
    /// `notify` is called when many differences have accumulated: flush there, so that clients receive them early.
    pub fn replace_neighbors(&self, changes: Vec<(PeerId, Neighbor)>, mut notify: impl FnMut()) {
        let compared = self.compare_policies(&changes);
        let mut attempts = 0;
        let mut topology = loop {
            self.replace_clients(&changes, &mut WalkProgress::new(self, &mut notify));
            let topology = self.topology.write();
            attempts += 1;
            // A session that has just come up was sent routes by the former options.
            if attempts == MAX_ATTEMPTS || !topology.distinguishes_clients(&changes) {
                break topology;
            }
        };
        let (mut work, mut replaced) = (Vec::new(), Vec::new());
        for ((peer, neighbor), compared) in changes.into_iter().zip(compared) {
            let held = topology.peer(peer).map(|held| &held.neighbor);
            let Some(held) = held.filter(|held| held.address == neighbor.address) else {
                continue;
            };
            work.push((peer, Reevaluation::after(held, &neighbor, compared)));
            replaced.extend(topology.replace(peer, neighbor));
        }
        topology.rebuild_rules();
        let ranks = u32::from(work.iter().any(|(_, due)| due.ranked));
        topology.rank_walks += ranks;
        drop(topology);
        // Their policies may have long lists.
        drop(replaced);
        self.changed();
        self.reevaluate(&work, &mut WalkProgress::new(self, &mut notify));
        self.topology.write().rank_walks -= ranks;
        self.forget_unused_classes(&mut notify);
    }

    /// Compares import policies while nobody waits: they may have long lists.
    fn compare_policies(&self, changes: &[(PeerId, Neighbor)]) -> Vec<Option<Compared>> {
        let held: Vec<_> = {
            let topology = self.topology.read();
            let held = |peer| Some(Arc::clone(&topology.peer(peer)?.neighbor.import));
            changes.iter().map(|(peer, _)| held(*peer)).collect()
        };
        let both = changes.iter().zip(held);
        both.map(|((_, new), held)| held.map(|held| Compared::new(held, &new.import)))
            .collect()
    }

    /// Evaluates the routes of a neighbor again under its present policy.
    pub fn reevaluate_import(&self, peer: PeerId) {
        self.reevaluate_imports(&[peer], || {});
    }

    /// As [`Rib::reevaluate_import`] for some neighbors in one walk.
    pub(crate) fn reevaluate_imports(&self, peers: &[PeerId], mut notify: impl FnMut()) {
        let due = Reevaluation {
            judged: true,
            ranked: false,
        };
        let work: Vec<_> = peers.iter().map(|peer| (*peer, due)).collect();
        self.reevaluate(&work, &mut WalkProgress::new(self, &mut notify));
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
                peer.is_some_and(|peer| peer.counts.received(K::FAMILY, EpochSet::ALL) > 0)
            };
            if !peers.iter().any(holds) {
                return None;
            }
            let slice = Slice {
                topology,
                store: &self.store,
                from,
                read: Cell::default(),
            };
            editor.begin_slice();
            let edit = |prefix: K, route: &Route| {
                let edited = editor.edit(topology, prefix.into(), route);
                slice.read.set(editor.octets());
                edited
            };
            shard.edit_routes::<K>(&slice, edit)
        });
    }
}

/// An import policy, and whether the one that takes its place is the same.
struct Compared {
    held: Arc<ImportPolicy>,
    is_same: bool,
}

impl Compared {
    fn new(held: Arc<ImportPolicy>, new: &Arc<ImportPolicy>) -> Self {
        let is_same = Arc::ptr_eq(&held, new) || held.settings() == new.settings();
        Compared { held, is_same }
    }
}

impl Reevaluation {
    /// `compared` holds unless another thread has replaced the policy since.
    fn after(held: &Neighbor, new: &Neighbor, compared: Option<Compared>) -> Self {
        let compared = compared.filter(|compared| Arc::ptr_eq(&compared.held, &held.import));
        let compared =
            compared.unwrap_or_else(|| Compared::new(Arc::clone(&held.import), &new.import));
        let same_policy = compared.is_same;
        let same = same_policy && held.limits.prefixes == new.limits.prefixes;
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

    /// The octets of long attributes that were read in the slice.
    fn octets(&self) -> usize {
        0
    }

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

    fn octets(&self) -> usize {
        self.verdicts.octets.octets()
    }

    fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
        let due = self.of_peer.get(route.peer.index());
        if !due.is_some_and(|due| due.judged) {
            return Edited::Keep;
        }
        self.verdicts.edit(topology, prefix, route)
    }
}

/// Evaluates routes of one neighbor under the present outside data.
pub(crate) struct Judge<'a> {
    import: &'a ImportPolicy,
    data: &'a OutsideData,
    classes: &'a ClassTable,
}

impl<'a> Judge<'a> {
    pub fn new(topology: &'a Topology, import: &'a ImportPolicy) -> Self {
        Judge {
            import,
            data: &topology.outside_data,
            classes: &topology.classes,
        }
    }

    /// Evaluates the checks that all routes with the same attributes share.
    pub fn check_attributes(&self, family: Family, attrs: &AttrSet) -> AttrVerdict {
        let next_hop = attrs.policy_next_hop();
        let attributes = attrs.attributes();
        let (import, data) = (self.import, self.data);
        let verdict = import.check_attributes(data, &attributes, next_hop, family);
        let mut verdicts = [verdict];
        if import.has_later_checks() {
            import.under(data).find_origins(&mut verdicts);
        }
        verdicts[0]
    }

    /// Returns the verdict on a route with these attributes, and its state under it.
    pub fn judge(
        &self,
        prefix: Prefix,
        of_set: &AttrVerdict,
        attrs: &AttrSet,
        state: State,
    ) -> (Verdict, State) {
        let verdict = self.import.judge(self.data, prefix, of_set);
        let state = state.with(State::OTHER_PREFERENCE, of_set.graceful_shutdown);
        let state = match state.has_med() {
            true => state.with_med(attrs.summary().multi_exit_disc),
            false => state,
        };
        let state = state_under(state, verdict);
        (self.classes.verdict(verdict), state)
    }

    /// Evaluates queued operations again: the policy or the outside data changed since they were queued, and the walk
    /// over the table does not see them.
    pub fn reevaluate_queued<K: Stored>(&self, ops: &mut [Op<K>], sets: &[AttrSet]) {
        let mut last = None;
        for op in ops.iter_mut().filter(|op| op.set != WITHDRAW) {
            let attrs = &sets[op.set as usize];
            let of_set = match last {
                Some((set, of_set)) if set == op.set => of_set,
                _ => self.check_attributes(K::FAMILY, attrs),
            };
            last = Some((op.set, of_set));
            (op.verdict, op.state) = self.judge(op.prefix.into(), &of_set, attrs, op.state);
        }
    }
}

/// Adds the effect of a verdict to a route's state.
#[inline]
pub(crate) fn state_under(state: State, verdict: RouteVerdict) -> State {
    let RouteVerdict::Accepted {
        class,
        least_preferred,
    } = verdict
    else {
        return state;
    };
    let state = match least_preferred {
        true => state.with(State::OTHER_PREFERENCE, true),
        false => state,
    };
    match class.changes.is_none() {
        true => state,
        false => state_with_changes(state, class.changes),
    }
}

/// Adds the effect of filters that change what the decision process compares. A MULTI_EXIT_DISC of the set that they
/// remove stays in the state: that costs time, but changes no decision.
#[cold]
fn state_with_changes(state: State, changes: ChangesId) -> State {
    let changes = changes.changes().unwrap_or_default();
    let state = state.with(
        State::OTHER_PREFERENCE,
        state.has(State::OTHER_PREFERENCE) || changes.concern_decision(),
    );
    match changes.med {
        Some(MedChange::Set(value)) if value > 0 => state.with_med(value),
        _ => state,
    }
}

/// The verdicts of a slice of the table: prefixes that were announced together are mostly close together. No
/// attribute set is freed during a slice, so an address means one set.
pub(crate) struct Verdicts {
    known: [Option<((usize, PeerId), AttrVerdict)>; 64],
    /// The attributes that were evaluated.
    pub octets: OctetCount,
}

impl Default for Verdicts {
    fn default() -> Self {
        Verdicts {
            known: [None; 64],
            octets: OctetCount::default(),
        }
    }
}

impl Verdicts {
    /// Evaluates a route again.
    pub fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
        let Some(peer) = topology.peer(route.peer) else {
            return Edited::Keep;
        };
        let judge = Judge::new(topology, &peer.neighbor.import);
        let of_set = self.of(&judge, prefix.family(), route);
        let (verdict, state) = judge.judge(prefix, &of_set, &route.attrs, route.state);
        if verdict == route.verdict && state == route.state {
            return Edited::Keep;
        }
        Edited::Replace(Route {
            verdict,
            state,
            ..route.clone()
        })
    }

    fn of(&mut self, judge: &Judge<'_>, family: Family, route: &Route) -> AttrVerdict {
        let key = (route.attrs.address(), route.peer);
        let place = &mut self.known[place_of(key.0)];
        match place {
            Some((known, verdict)) if *known == key => *verdict,
            _ => {
                let verdict = judge.check_attributes(family, &route.attrs);
                self.octets.add(&route.attrs);
                *place = Some((key, verdict));
                verdict
            }
        }
    }
}

/// One of 64 places for an address.
pub(crate) fn place_of(address: usize) -> usize {
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 58) as usize
}

#[cfg(test)]
mod tests {
    use rutter_net::{Asn, PerFamily};
    use rutter_policy::{ExportPolicy, ExportSettings};
    use rutter_wire::attr::{self, code};

    use super::*;
    use crate::advertise::test_support::neighbor;
    use crate::{Batch, FamilyInfo, PeerKind, RibConfig, SessionInfo};

    /// Counts the routes of each slice.
    struct Counting<'a> {
        inner: ImportEditor<'a>,
        slices: Vec<usize>,
    }

    impl Editor for Counting<'_> {
        fn begin_slice(&mut self) {
            self.slices.push(0);
            self.inner.begin_slice();
        }

        fn octets(&self) -> usize {
            self.inner.octets()
        }

        fn edit(&mut self, topology: &Topology, prefix: Prefix, route: &Route) -> Edited {
            *self.slices.last_mut().unwrap() += 1;
            self.inner.edit(topology, prefix, route)
        }
    }

    fn announcement(number: u32, len: usize) -> Vec<u8> {
        let mut block = Vec::new();
        attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, 2];
        path.extend(
            [1_000, 65_000 + number]
                .into_iter()
                .flat_map(u32::to_be_bytes),
        );
        attr::write_attr(&mut block, 0x40, code::AS_PATH, &path);
        attr::write_attr(&mut block, 0x40, code::NEXT_HOP, &[192, 0, 2, 1]);
        attr::write_attr(&mut block, 0xd0, 99, &vec![7; len]);
        let mut body = vec![0, 0];
        body.extend((block.len() as u16).to_be_bytes());
        body.extend(block);
        body.extend([16, 20, number as u8]);
        body
    }

    #[test]
    fn slices_end_after_some_octets_of_attributes() {
        for (len, most) in [(50_000, 6), (10, 100)] {
            let rib = Rib::new(RibConfig {
                shards: 2,
                cluster_id: 0,
                log_limit: 1 << 20,
                export: Arc::new(ExportPolicy::new(ExportSettings::default())),
                seed: 7,
                always_compare_med: false,
            });
            let of_neighbor = neighbor(0, PeerKind::RouteServerClient, None);
            let peer = rib.add_neighbor(of_neighbor).unwrap();
            let session = SessionInfo {
                remote_bgp_id: 1,
                remote_asn: Asn(1_000),
                as4: true,
                max_message_len: 65_535,
                families: PerFamily::both(Some(FamilyInfo::default())),
                enhanced_refresh: true,
            };
            let _stream = rib.session_up(peer, session);
            let mut batch = Batch::new();
            for number in 0..100 {
                batch.push(&rib, peer, &announcement(number, len), 0);
            }
            rib.commit(&mut batch);
            let judged = Reevaluation {
                judged: true,
                ranked: false,
            };
            let of_peer = vec![judged; peer.index() + 1];
            let mut editor = Counting {
                inner: ImportEditor::new(&of_peer),
                slices: Vec::new(),
            };
            let family = Family::Ipv4Unicast;
            let mut notify = || {};
            let mut progress = WalkProgress::new(&rib, &mut notify);
            rib.edit_routes(family, &[peer], &mut progress, &mut editor);
            assert_eq!(editor.slices.iter().sum::<usize>(), 100);
            let longest = editor.slices.iter().max();
            assert!(longest <= Some(&most), "{:?}", editor.slices);
            // One of each shard if the attributes are short.
            assert!(len > 10 || editor.slices.len() == 2, "{:?}", editor.slices);
        }
    }
}
