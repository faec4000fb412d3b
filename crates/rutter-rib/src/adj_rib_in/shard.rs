//! A shard: a partition of prefix space with its destinations and its view of the clients.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rutter_lpm::Net;
use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_policy::DataPrefix;

use crate::adj_rib_in::attr_set::AttrStore;
use crate::adj_rib_in::edit::{Edit, Edited};
use crate::adj_rib_in::leftovers::Leftovers;
use crate::adj_rib_in::multi_route_edit::Edits;
use crate::adj_rib_in::one_pass_edit::FEW_ROUTES;
use crate::adj_rib_in::prefix_lengths::PrefixLengths;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::table::{Id, Table, accepted};
use crate::adj_rib_in::tally::{Limit, Tally};
use crate::adj_rib_in::verdict::Verdict;
use crate::advertise::catch_up::CatchUp;
use crate::advertise::clients::Clients;
use crate::advertise::encode::{Nlri, Style};
use crate::advertise::group::Inbox;
use crate::advertise::octet_count::{OctetCount, SLICE_OCTETS};
use crate::advertise::recorder::Record;
use crate::read::change_log::{ChangeLog, Unwatched, Watch};
use crate::read::lookup::{FamilyMirror, Mirror, ShardMirror};
use crate::topology::Topology;
use crate::{AttrSet, PeerId};

/// A prefix type with a table in every shard.
pub(crate) trait Stored: Nlri + Net + DataPrefix {
    fn table(shard: &Shard) -> &Table<Self>;
    fn table_mut(shard: &mut Shard) -> &mut Table<Self>;
    fn records(inbox: &mut Inbox) -> &mut Vec<Record<Self>>;
    fn split(shard: &mut Shard) -> (&mut Table<Self>, &mut Clients);
    fn half(mirror: &Mirror) -> &FamilyMirror<Self>;
}

macro_rules! stored {
    ($prefix:ty, $field:ident) => {
        impl Stored for $prefix {
            fn table(shard: &Shard) -> &Table<Self> {
                &shard.$field
            }
            fn table_mut(shard: &mut Shard) -> &mut Table<Self> {
                &mut shard.$field
            }
            fn records(inbox: &mut Inbox) -> &mut Vec<Record<Self>> {
                &mut inbox.$field
            }
            fn split(shard: &mut Shard) -> (&mut Table<Self>, &mut Clients) {
                (&mut shard.$field, &mut shard.clients)
            }
            fn half(mirror: &Mirror) -> &FamilyMirror<Self> {
                &mirror.$field
            }
        }
    };
}

stored!(Ipv4Prefix, ipv4);
stored!(Ipv6Prefix, ipv6);

/// One shard. The thread that holds its lock owns it, for one batch at a time.
pub(crate) struct Shard {
    index: usize,
    ipv4: Table<Ipv4Prefix>,
    ipv6: Table<Ipv6Prefix>,
    pub clients: Clients,
    /// The mirror that look-ups read, once they are enabled.
    pub mirror: Option<Arc<Mirror>>,
    /// The log of changes, while somebody watches.
    pub watch: Option<Arc<ChangeLog>>,
    /// The number of routes that were added, changed, removed or advertised again so far.
    pub changes: u64,
    /// Shared by all shards.
    leftovers: Arc<Leftovers>,
}

impl Shard {
    /// The number of destinations in both families.
    pub fn destinations(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }
}

/// One route to insert or to remove.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op<K> {
    pub prefix: K,
    pub path_id: u32,
    /// Index into the batch's attribute sets, or [`WITHDRAW`].
    pub set: u32,
    pub state: State,
    pub verdict: Verdict,
}

impl<K> Op<K> {
    /// The route of a peer to insert; `None` to remove one.
    #[inline(always)]
    fn route(&self, peer: PeerId, sets: &[AttrSet]) -> Option<Route> {
        sets.get(self.set as usize).map(|set| Route {
            attrs: set.clone(),
            path_id: self.path_id,
            peer,
            state: self.state,
            verdict: self.verdict,
        })
    }
}

/// In place of an attribute set: withdraws the route.
pub(crate) const WITHDRAW: u32 = u32::MAX;

/// The context of a run of operations.
pub(crate) struct Apply<'a> {
    pub topology: &'a Topology,
    pub store: &'a AttrStore,
    pub peer: PeerId,
}

impl Apply<'_> {
    pub fn limit<K: Stored>(&self) -> Limit {
        let peer = self.topology.peer(self.peer);
        Limit {
            prefixes: peer.and_then(|peer| peer.neighbor.limits.prefixes[K::FAMILY]),
            held: peer.map_or(0, |peer| peer.counts(K::FAMILY).received),
            removing: peer.map_or_else(Default::default, |peer| peer.epochs[K::FAMILY].removing),
        }
    }

    pub fn count<K: Stored>(&self, tally: Tally) {
        if let Some(peer) = self.topology.peer(self.peer) {
            peer.counts.add(K::FAMILY, &tally);
            self.topology.count_routes(&tally);
        }
    }
}

/// The start of a slice of a walk over the table, and its context.
pub(crate) struct Slice<'a> {
    pub topology: &'a Topology,
    pub store: &'a AttrStore,
    pub from: Id,
    /// The octets of long attributes that the edits have read.
    pub read: Cell<usize>,
}

impl<'a> Slice<'a> {
    fn of(&self, peer: PeerId) -> Apply<'a> {
        Apply {
            topology: self.topology,
            store: self.store,
            peer,
        }
    }
}

/// The destinations that a slice of a walk visits: about a tenth of a millisecond.
pub(crate) const MAX_VISITED: Id = 8 * 1024;
/// The routes that a slice visits, but for those of its last destination: a peer chooses the number of paths of a prefix.
pub(crate) const MAX_VISITED_ROUTES: usize = 8 * MAX_VISITED as usize;
/// The operations after which a commit looks again at the work beyond its operations, while there is little.
const OPS_BETWEEN_LOOKS: usize = 16;
const FEW_OCTETS: usize = 16 * 1024;
/// A commit of a limited number of steps takes so many plain operations for each: they are seldom split.
const OPS_PER_STEP: usize = 2;
/// The groups of clients for which a plain change is recorded in the time of a step.
const GROUPS_PER_STEP: usize = 8;

/// The outcome of operations on a shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    /// The number of first operations that were applied, but for those that are `left`.
    pub ops: usize,
    /// The indices of operations among these that are left: their destinations have many routes.
    pub left: Vec<u32>,
    /// The steps beyond one for each: destinations with many routes cost more, and so do many sets and groups of clients, and
    /// long attributes that clients are sent.
    pub more_steps: usize,
}

impl Applied {
    /// The number of operations that were applied.
    pub fn count(&self) -> usize {
        self.ops - self.left.len()
    }
}

/// The routes that a slice edits before it releases the shard's lock for waiting threads. Each edit is recorded for
/// the clients, which takes long where there are many.
pub(crate) const MAX_EDITS: usize = 256;
/// The steps beyond one for each that the edits of a slice take, but for those of its last destination: half a millisecond.
pub(crate) const MAX_MORE_STEPS: usize = 1_024;

impl Shard {
    pub fn new(
        index: usize,
        seed: u64,
        lengths: &PerFamily<Arc<PrefixLengths>>,
        leftovers: &Arc<Leftovers>,
    ) -> Self {
        let of = |family: Family| (Arc::clone(&lengths[family]), Arc::clone(leftovers));
        let (ipv4, ipv6) = (of(Family::Ipv4Unicast), of(Family::Ipv6Unicast));
        Shard {
            index,
            ipv4: Table::new(seed, ipv4.0, ipv4.1),
            ipv6: Table::new(seed, ipv6.0, ipv6.1),
            clients: Clients::default(),
            mirror: None,
            watch: None,
            changes: 0,
            leftovers: Arc::clone(leftovers),
        }
    }

    /// Applies operations of one peer in order, then hands the records to the groups. It leaves operations once they have
    /// taken so many steps beyond one for each.
    pub fn apply<K: Stored>(
        &mut self,
        with: &Apply<'_>,
        (ops, sets): (&[Op<K>], &[AttrSet]),
        max_steps: usize,
    ) -> Applied {
        let for_groups = self.clients.live.len() / GROUPS_PER_STEP;
        let max_ops = max_steps.saturating_mul(OPS_PER_STEP);
        let max_ops = max_ops.div_ceil(1 + for_groups);
        let ops = (&ops[..ops.len().min(max_ops)], sets);
        let mut applied = match self.watch.clone() {
            None => self.apply_watched(with, ops, max_steps, Unwatched),
            Some(log) => self.apply_watched(with, ops, max_steps, &*log),
        };
        applied.more_steps += applied.count() * for_groups;
        applied
    }

    #[inline(never)]
    fn apply_watched<K: Stored, W: Watch>(
        &mut self,
        with: &Apply<'_>,
        (ops, sets): (&[Op<K>], &[AttrSet]),
        max_steps: usize,
        watch: W,
    ) -> Applied {
        let mut applied = Applied {
            ops: ops.len(),
            ..Applied::default()
        };
        let mut tally = Tally::default();
        let limit = with.limit::<K>();
        let mirror = self.mirror.clone();
        let mirror = ShardMirror::of(mirror.as_deref(), self.index);
        let (table, clients) = K::split(self);
        let plain = limit.prefixes.is_none() && clients.all_receive_best(K::FAMILY, with.topology);
        let mut found = Vec::with_capacity(ops.len());
        table.find_all(ops.iter().map(|op| op.prefix), &mut found);
        let mut deferred = Vec::new();
        // The first may have long attributes already.
        let mut next_look = 1;
        for (index, (op, found)) in ops.iter().zip(found).enumerate() {
            if index == next_look {
                let Some(ops) = ops_until_look(clients, &mut applied.more_steps, max_steps) else {
                    applied.ops = index;
                    break;
                };
                next_look += ops;
            }
            let id = match still_valid(table, found, op.prefix) {
                Some(id) => id,
                None if op.set == WITHDRAW => match table.find(op.prefix) {
                    Some(id) => id,
                    None => continue,
                },
                None => table.find_or_insert(op.prefix),
            };
            let mut new = op.route(with.peer, sets);
            let before = watch.before_one(table, id);
            let mut edit = Edit {
                table,
                clients,
                with,
                mirror,
            };
            if plain && let Some(route) = new.take() {
                match edit.add_route(id, route, &mut tally) {
                    Ok(()) => {
                        watch.after(before, with.topology, edit.table);
                        continue;
                    }
                    Err(route) => new = Some(route),
                }
            }
            if edit.table.get(id).routes.len() > FEW_ROUTES {
                deferred.push((id, index as u32));
                continue;
            }
            edit.replace(id, (with.peer, op.path_id), new, &limit, &mut tally);
            watch.after(before, with.topology, edit.table);
        }
        with.count::<K>(tally);
        applied.more_steps += self.clients.take_steps();
        if !deferred.is_empty() {
            self.apply_deferred(
                with,
                deferred,
                (ops, sets),
                watch,
                (max_steps, &mut applied),
            );
        }
        self.changes += applied.count() as u64;
        K::table_mut(self).release_if_empty();
        applied.more_steps += OctetCount::steps(self.deliver());
        applied
    }

    /// Applies the operations on destinations with many routes, those of each destination together. Until then nobody
    /// else changes these destinations. Once the steps are used up, the operations on the other destinations are left.
    #[inline(never)]
    fn apply_deferred<K: Stored, W: Watch>(
        &mut self,
        with: &Apply<'_>,
        mut deferred: Vec<(Id, u32)>,
        (ops, sets): (&[Op<K>], &[AttrSet]),
        watch: W,
        (max_steps, applied): (usize, &mut Applied),
    ) {
        let mirror = self.mirror.clone();
        let mirror = ShardMirror::of(mirror.as_deref(), self.index);
        let (table, clients) = K::split(self);
        deferred.sort_unstable();
        for together in deferred.chunk_by(|a, b| a.0 == b.0) {
            let steps = applied.more_steps + OctetCount::steps(clients.pending_octets());
            if steps >= max_steps {
                applied.left.extend(together.iter().map(|(_, index)| index));
                continue;
            }
            let mut edit = Edit {
                table,
                clients,
                with,
                mirror,
            };
            let change = |(_, index): &(Id, u32)| {
                let op = &ops[*index as usize];
                ((with.peer, op.path_id), op.route(with.peer, sets))
            };
            let id = together[0].0;
            let before = watch.before(edit.table, id);
            edit.replace_all(id, together.iter().map(change).collect());
            applied.more_steps += edit.clients.take_steps();
            watch.after(before, with.topology, edit.table);
        }
        applied.left.sort_unstable();
    }

    /// Edits routes in a slice of destinations. `edit` is called with each route and returns its outcome. Returns the
    /// id to continue with.
    pub fn edit_routes<K: Stored>(
        &mut self,
        slice: &Slice<'_>,
        edit: impl FnMut(K, &Route) -> Edited,
    ) -> Option<Id> {
        match self.watch.clone() {
            None => self.edit_routes_watched(slice, edit, Unwatched),
            Some(log) => self.edit_routes_watched(slice, edit, &*log),
        }
    }

    fn edit_routes_watched<K: Stored, W: Watch>(
        &mut self,
        slice: &Slice<'_>,
        mut edit: impl FnMut(K, &Route) -> Edited,
        watch: W,
    ) -> Option<Id> {
        let (mut edited, mut visited) = (0, 0);
        let mirror = self.mirror.clone();
        let mirror = ShardMirror::of(mirror.as_deref(), self.index);
        let (table, clients) = K::split(self);
        let end = table.id_end().min(slice.from + MAX_VISITED);
        let mut id = slice.from;
        let (mut octets, mut steps) = (0, 0);
        while id < end
            && edited < MAX_EDITS
            && steps < MAX_MORE_STEPS
            && visited < MAX_VISITED_ROUTES
            && slice.read.get() + octets < SLICE_OCTETS
        {
            let destination = table.get(id);
            visited += destination.routes.len();
            let prefix = destination.prefix;
            let edits: Edits = destination
                .routes
                .iter()
                .map(|route| ((route.peer, route.path_id), edit(prefix, route)))
                .filter(|(_, edited)| !matches!(edited, Edited::Keep))
                .collect();
            if let Some(((peer, _), _)) = edits.first() {
                edited += edits.len();
                let with = slice.of(*peer);
                let mut edit = Edit {
                    table,
                    clients,
                    with: &with,
                    mirror,
                };
                let before = watch.before(edit.table, id);
                edit.apply(id, edits);
                watch.after(before, slice.topology, edit.table);
                octets = clients.pending_octets();
                steps += clients.take_steps();
            }
            id += 1;
        }
        self.changes += edited as u64;
        K::table_mut(self).release_if_empty();
        self.deliver();
        (id < K::table(self).id_end()).then_some(id)
    }

    /// Moves records to the groups' inboxes. The shard's lock is held, so that their order is the shard's. Returns the octets
    /// of their attributes beyond those of usual sets.
    pub fn deliver(&mut self) -> usize {
        let mut all = 0;
        for live in &mut self.clients.live {
            let Inbox { ipv4, ipv6 } = &mut live.pending;
            if ipv4.is_empty() && ipv6.is_empty() {
                continue;
            }
            let records = ipv4.len() + ipv6.len();
            let mut inbox = live.group.inboxes[self.index].lock();
            move_all(ipv4, &mut inbox.ipv4);
            move_all(ipv6, &mut inbox.ipv6);
            drop(inbox);
            live.group
                .pending_records
                .fetch_add(records, Ordering::Release);
            let octets = std::mem::take(&mut live.octets).octets();
            if octets > 0 {
                let pending = &live.group.pending_octets;
                pending.fetch_add(octets, Ordering::Relaxed);
            }
            all += octets;
        }
        all
    }
}

/// Adds the steps that operations took so far beyond one for each. Returns the number of operations before the next look, `None`
/// if the steps are used up.
#[inline(always)]
fn ops_until_look(clients: &Clients, more_steps: &mut usize, max_steps: usize) -> Option<usize> {
    let (steps, octets) = (clients.take_steps(), clients.pending_octets());
    *more_steps += steps;
    if *more_steps + OctetCount::steps(octets) >= max_steps {
        return None;
    }
    match steps < OPS_BETWEEN_LOOKS && octets < FEW_OCTETS {
        true => Some(OPS_BETWEEN_LOOKS),
        false => Some(1),
    }
}

fn move_all<T>(from: &mut Vec<T>, to: &mut Vec<T>) {
    if to.is_empty() {
        std::mem::swap(from, to);
    } else {
        to.append(from);
    }
    if from.capacity() > 16 * 1024 {
        from.shrink_to(0);
    }
}

fn still_valid<K: Stored>(table: &Table<K>, found: Option<Id>, prefix: K) -> Option<Id> {
    let id = found?;
    let destination = table.get(id);
    // An earlier operation of the batch may have freed the destination and reused its id.
    (destination.prefix == prefix && !destination.routes.is_empty()).then_some(id)
}

impl Shard {
    /// Ends the catch-up of a client. After the last one, the destinations that were kept for it are freed by
    /// [`Shard::tidy`]: a peer decides how many there are.
    pub fn end_catch_up(&mut self, peer: PeerId) {
        self.clients.catching_up.retain(|one| one.peer != peer);
        let kept = &self.clients.tombstones;
        if self.clients.catching_up.is_empty() && !kept.iter().all(BTreeSet::is_empty) {
            self.leftovers.note();
        }
    }

    /// Does so many steps of the work that nobody waits for. Returns whether some is left.
    pub fn tidy(&mut self, steps: usize) -> bool {
        let left = [
            self.tidy_family::<Ipv4Prefix>(steps),
            self.tidy_family::<Ipv6Prefix>(steps),
        ];
        left.contains(&true)
    }

    fn tidy_family<K: Stored>(&mut self, steps: usize) -> bool {
        let (table, clients) = K::split(self);
        let grows = table.grow_on(steps);
        if !clients.catching_up.is_empty() {
            return grows;
        }
        let kept = &mut clients.tombstones[K::FAMILY];
        for id in std::iter::from_fn(|| kept.pop_first()).take(steps) {
            // It may have routes again, or it may be free or another prefix's.
            if id < table.id_end() && table.get(id).routes.is_empty() {
                table.remove(id);
            }
        }
        let is_left = grows || !kept.is_empty();
        table.release_if_empty();
        is_left
    }

    /// Frees destinations without routes once a client was sent their withdrawal, unless another needs them.
    pub fn free_unheld<K: Stored>(&mut self, ids: impl Iterator<Item = Id>) {
        let (table, clients) = K::split(self);
        for id in ids {
            let kept = &clients.tombstones[K::FAMILY];
            if kept.is_empty() {
                return;
            }
            let is_kept = kept.contains(&id) && id < table.id_end();
            if is_kept && table.get(id).routes.is_empty() && !clients.may_hold(K::FAMILY, id) {
                clients.forget(K::FAMILY, id);
                table.remove(id);
            }
        }
    }

    /// Keeps a destination without routes for the clients that catch up.
    pub fn tombstone<K: Stored>(&mut self, prefix: K) -> Id {
        let (table, clients) = K::split(self);
        let id = table.find_or_insert(prefix);
        if table.get(id).routes.is_empty() {
            clients.tombstones[K::FAMILY].insert(id);
        }
        id
    }

    /// The accepted routes of a destination, best first.
    pub fn accepted<K: Stored>(&self, id: Id) -> &[Route] {
        accepted(&K::table(self).get(id).routes)
    }

    /// Begins the catch-up of a client that does not follow its group's log.
    pub fn begin_catch_up(&mut self, peer: PeerId, style: &Style) {
        self.clients.begin_catch_up(CatchUp::new(peer, style));
    }

    /// Marks every destination for a client that leaves the log or whose session begins. O(ids / 64): its routes are
    /// computed later, slice by slice.
    pub fn mark_all<K: Stored>(&mut self, peer: PeerId) {
        let (table, clients) = K::split(self);
        if let Some(catching_up) = clients.catching_up(peer) {
            catching_up.mark_all(K::FAMILY, table.id_end());
        }
    }

    /// Marks every destination for a client whose messages change their style.
    pub fn restyle(&mut self, peer: PeerId, former: &Style) {
        let ends = PerFamily::from_fn(|family| self.id_end(family));
        if let Some(catching_up) = self.clients.catching_up(peer) {
            catching_up.restyle(former, ends);
        }
    }

    /// Publishes the destinations of a range of ids to the mirror. Returns whether ids remain after the range.
    pub fn mirror_slice<K: Stored>(&self, ids: std::ops::Range<Id>) -> bool {
        let table = K::table(self);
        let end = ids.end.min(table.id_end());
        if let Some(part) = ShardMirror::of(self.mirror.as_deref(), self.index) {
            (ids.start..end).for_each(|id| part.publish(id, table.get(id)));
        }
        end < table.id_end()
    }

    /// One more than the highest id in use.
    pub fn id_end(&self, family: Family) -> Id {
        match family {
            Family::Ipv4Unicast => self.ipv4.id_end(),
            Family::Ipv6Unicast => self.ipv6.id_end(),
        }
    }
}
