//! A partition of prefix space: its destinations, and what follows for clients when one changes.

use std::sync::atomic::Ordering;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};
use rutter_policy::RejectReason;
use smallvec::SmallVec;

use crate::attrs::AttrStore;
use crate::bitset::PeerSet;
use crate::catch_up::Catching;
use crate::change::{Change, Record, Recorder, View, sent_path_id};
use crate::clients::{Clients, Live};
use crate::encode::{Nlri, Style};
use crate::group::{Group, Inbox};
use crate::route::{Route, State};
use crate::table::{Destination, Id, Table, accepted};
use crate::topology::Topology;
use crate::{AttrSet, PeerId};

/// A prefix type with a table in every shard.
pub(crate) trait Stored: Nlri {
    fn table(shard: &Shard) -> &Table<Self>;
    fn table_mut(shard: &mut Shard) -> &mut Table<Self>;
    fn records(inbox: &mut Inbox) -> &mut Vec<Record<Self>>;
    fn split(shard: &mut Shard) -> (&mut Table<Self>, &mut Clients);
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
        }
    };
}

stored!(Ipv4Prefix, ipv4);
stored!(Ipv6Prefix, ipv6);

/// One shard. Owned by whoever holds its lock, for one batch at a time.
pub(crate) struct Shard {
    index: usize,
    ipv4: Table<Ipv4Prefix>,
    ipv6: Table<Ipv6Prefix>,
    pub clients: Clients,
}

/// One route to take or to drop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op<K> {
    pub prefix: K,
    pub path_id: u32,
    /// Index into the batch's attribute sets, or [`WITHDRAW`].
    pub set: u32,
    pub state: State,
    pub reject: Option<RejectReason>,
}

/// In place of an attribute set: the route goes.
pub(crate) const WITHDRAW: u32 = u32::MAX;

/// What a run of operations needs besides the shard.
pub(crate) struct Apply<'a> {
    pub topology: &'a Topology,
    pub store: &'a AttrStore,
    pub peer: PeerId,
}

/// How the numbers of one peer's routes changed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub received: i32,
    pub accepted: i32,
}

impl Shard {
    pub fn new(index: usize, seed: u64) -> Self {
        Shard {
            index,
            ipv4: Table::new(seed),
            ipv6: Table::new(seed),
            clients: Clients::default(),
        }
    }

    /// Applies operations of one peer in order, then hands the records to the groups.
    pub fn apply<K: Stored>(&mut self, with: &Apply<'_>, ops: &[Op<K>], sets: &[AttrSet]) {
        let mut tally = Tally::default();
        let limit = self.limit::<K>(with);
        let (table, clients) = K::split(self);
        // Look-ups first, each independent of the others, so that their cache misses overlap.
        let found: Vec<Option<Id>> = ops.iter().map(|op| table.find(op.prefix)).collect();
        for (op, found) in ops.iter().zip(found) {
            let id = match still_there(table, found, op.prefix) {
                Some(id) => id,
                None if op.set == WITHDRAW => match table.find(op.prefix) {
                    Some(id) => id,
                    None => continue,
                },
                None => table.find_or_insert(op.prefix),
            };
            let new = sets.get(op.set as usize).map(|set| Route {
                attrs: set.clone(),
                path_id: op.path_id,
                peer: with.peer,
                state: op.state,
                reject: op.reject,
            });
            let path = (with.peer, op.path_id);
            let mut edit = Edit {
                table,
                clients,
                with,
            };
            edit.replace(id, path, new, &limit, &mut tally);
        }
        self.finish::<K>(with, tally);
    }

    fn limit<K: Stored>(&self, with: &Apply<'_>) -> Limit {
        let peer = with.topology.peer(with.peer);
        Limit {
            most: peer.and_then(|peer| peer.neighbor.block_above[K::FAMILY.index()]),
            held: peer.map_or(0, |peer| peer.counts.family(K::FAMILY).received),
        }
    }

    /// Edits the routes of one peer in the destinations of a range of ids: `edit` is given each route and
    /// returns what it becomes. Returns whether ids remain after the range.
    pub fn edit_routes<K: Stored>(
        &mut self,
        with: &Apply<'_>,
        ids: std::ops::Range<Id>,
        mut edit: impl FnMut(K, &Route) -> Edited,
    ) -> bool {
        let mut tally = Tally::default();
        let limit = self.limit::<K>(with);
        let (table, clients) = K::split(self);
        let end = ids.end.min(table.id_end());
        for id in ids.start..end {
            let destination = table.get(id);
            let prefix = destination.prefix;
            let edits: SmallVec<[(u32, Edited); 1]> = destination
                .routes
                .iter()
                .filter(|route| route.peer == with.peer)
                .map(|route| (route.path_id, edit(prefix, route)))
                .filter(|(_, edited)| !matches!(edited, Edited::Keep))
                .collect();
            for (path_id, edited) in edits {
                let path = (with.peer, path_id);
                let mut edit = Edit {
                    table,
                    clients,
                    with,
                };
                let new = match edited {
                    Edited::Rank => {
                        edit.rank(id);
                        continue;
                    }
                    Edited::Replace(route) => Some(route),
                    Edited::Keep | Edited::Remove => None,
                };
                edit.replace(id, path, new, &limit, &mut tally);
            }
        }
        let more = end < K::table(self).id_end();
        self.finish::<K>(with, tally);
        more
    }

    fn finish<K: Stored>(&mut self, with: &Apply<'_>, tally: Tally) {
        if let Some(peer) = with.topology.peer(with.peer) {
            peer.counts.add(K::FAMILY, tally.received, tally.accepted);
        }
        K::table_mut(self).release_if_empty();
        self.deliver();
    }

    /// Tells the live clients all they may hear, whatever they hold.
    pub fn retell<K: Stored>(&mut self, topology: &Topology) {
        let (table, clients) = K::split(self);
        for id in 0..table.id_end() {
            let destination = table.get(id);
            let routes: SmallVec<[&Route; 4]> = destination.accepted().iter().collect();
            for live in &mut clients.live {
                if live.group.style.families[K::FAMILY.index()] {
                    let Live {
                        group,
                        peers,
                        count,
                        pending,
                    } = live;
                    let view = view(topology, group, (peers, *count), K::FAMILY);
                    let out = K::records(pending);
                    Recorder::new(destination.prefix, &view, out).record_anew(&routes);
                }
            }
            clients
                .catching
                .iter_mut()
                .for_each(|c| c.mark(K::FAMILY, id));
        }
        self.deliver();
    }

    /// Moves records to the groups' inboxes. Under the shard's lock, so that their order is the shard's.
    fn deliver(&mut self) {
        for live in &mut self.clients.live {
            let Inbox { ipv4, ipv6 } = &mut live.pending;
            if ipv4.is_empty() && ipv6.is_empty() {
                continue;
            }
            let mut inbox = live.group.inboxes[self.index].lock();
            move_all(ipv4, &mut inbox.ipv4);
            move_all(ipv6, &mut inbox.ipv6);
            drop(inbox);
            live.group.waiting.store(true, Ordering::Release);
        }
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

fn still_there<K: Stored>(table: &Table<K>, found: Option<Id>, prefix: K) -> Option<Id> {
    let id = found?;
    let destination = table.get(id);
    // The destination can have been freed, and its id given away, by an earlier operation of the batch.
    (destination.prefix == prefix && !destination.routes.is_empty()).then_some(id)
}

/// What becomes of a route that is looked at.
pub(crate) enum Edited {
    Keep,
    Remove,
    Replace(Route),
    /// The route is what it was, but its sender's rank changed.
    Rank,
}

/// The limit of `max-prefix` with action `block`, and the routes held when the batch began.
struct Limit {
    most: Option<u32>,
    held: u32,
}

impl Limit {
    /// Whether a route stays out that is held already and not accepted (`known`), or that is new.
    fn blocks(&self, known: bool, tally: &Tally) -> bool {
        let received = i64::from(self.held) + i64::from(tally.received);
        let with_it = received + i64::from(!known);
        self.most.is_some_and(|most| with_it > i64::from(most))
    }
}

/// One change in a table, with those who must hear of it.
struct Edit<'a, K> {
    table: &'a mut Table<K>,
    clients: &'a mut Clients,
    with: &'a Apply<'a>,
}

/// Accepted routes before a change, by peer and path identifier.
type Keys = SmallVec<[(PeerId, u32); 4]>;

impl<K: Stored> Edit<'_, K> {
    /// Puts `new` in the place of the route of this peer and path, if there is one.
    fn replace(
        &mut self,
        id: Id,
        path: (PeerId, u32),
        mut new: Option<Route>,
        limit: &Limit,
        tally: &mut Tally,
    ) {
        let position = position(self.table.get(id), path);
        if position.is_none() && new.is_none() {
            return;
        }
        let destination = self.table.get_mut(id);
        let is_in = position.is_some_and(|at| destination.routes[at].is_accepted());
        if !is_in
            && limit.blocks(position.is_some(), tally)
            && let Some(route) = &mut new
        {
            route.reject.get_or_insert(RejectReason::MaxPrefix);
        }
        if let (Some(at), Some(route)) = (position, &new)
            && is_refresh(&destination.routes[at], route)
        {
            destination.routes[at].state = route.state;
            return;
        }
        if let Some(route) = &mut new
            && is_one_path_too_many(destination, route)
        {
            route.reject.get_or_insert(RejectReason::Paths);
        }
        let decision = self.with.topology.decision();
        let sort = decision.med_is_partial(destination.accepted());
        let before: Keys = keys(destination.accepted());
        let removed = position.map(|at| destination.routes.remove(at));
        tally.count(removed.as_ref(), -1);
        tally.count(new.as_ref(), 1);
        let shown = |route: &Option<Route>| route.as_ref().is_some_and(Route::is_accepted);
        let concerns_clients = shown(&removed) || shown(&new);
        if let Some(route) = new {
            self.insert(id, route);
        }
        if sort {
            self.sort(id);
        }
        if concerns_clients {
            self.tell(id, &before, removed.as_ref());
        }
        if let Some(route) = removed {
            self.with.store.release(route.attrs);
        }
        self.clear_if_empty(id);
    }

    fn insert(&mut self, id: Id, route: Route) {
        let destination = self.table.get_mut(id);
        if !route.is_accepted() {
            destination.routes.push(route);
            return;
        }
        let decision = self.with.topology.decision();
        let end = destination.accepted().len();
        let place = decision.place(&destination.routes[..end], &route);
        destination.routes.insert(place, route);
        if decision.med_is_partial(&destination.routes[..=end]) {
            decision.sort(&mut destination.routes[..=end]);
        }
    }

    fn sort(&mut self, id: Id) {
        let destination = self.table.get_mut(id);
        let end = destination.accepted().len();
        let decision = self.with.topology.decision();
        decision.sort(&mut destination.routes[..end]);
    }

    /// Puts a destination into order after the rank of a sender changed.
    fn rank(&mut self, id: Id) {
        let before: Keys = keys(self.table.get(id).accepted());
        self.sort(id);
        if before != keys(self.table.get(id).accepted()) {
            self.tell(id, &before, None);
        }
    }

    fn tell(&mut self, id: Id, before: &Keys, removed: Option<&Route>) {
        for catching in &mut self.clients.catching {
            catching.mark(K::FAMILY, id);
            catching.hold_paths(K::FAMILY, id, before);
        }
        let destination = self.table.get(id);
        let old = |(peer, path_id): &(PeerId, u32)| {
            let is = |route: &&Route| route.peer == *peer && route.path_id == *path_id;
            removed
                .filter(is)
                .or_else(|| destination.routes.iter().find(is))
        };
        let change = Change {
            before: before.iter().filter_map(old).collect(),
            after: destination.accepted().iter().collect(),
        };
        for live in &mut self.clients.live {
            if !live.group.style.families[K::FAMILY.index()] {
                continue;
            }
            let Live {
                group,
                peers,
                count,
                pending,
            } = live;
            let view = view(self.with.topology, group, (peers, *count), K::FAMILY);
            let out = K::records(pending);
            Recorder::new(destination.prefix, &view, out).record(&change);
        }
    }

    fn clear_if_empty(&mut self, id: Id) {
        if !self.table.get(id).routes.is_empty() {
            return;
        }
        if self.clients.catching.is_empty() {
            self.table.remove(id);
        } else {
            self.clients.tombstones[K::FAMILY.index()].insert(id);
        }
    }
}

fn view<'a>(
    topology: &'a Topology,
    group: &'a Group,
    (live, live_count): (&'a PeerSet, usize),
    family: Family,
) -> View<'a> {
    View {
        topology,
        style: &group.style,
        live,
        live_count,
        family,
    }
}

impl Tally {
    fn count(&mut self, route: Option<&Route>, by: i32) {
        if let Some(route) = route {
            self.received += by;
            self.accepted += if route.is_accepted() { by } else { 0 };
        }
    }
}

fn position<K>(destination: &Destination<K>, (peer, path_id): (PeerId, u32)) -> Option<usize> {
    destination
        .routes
        .iter()
        .position(|route| route.peer == peer && route.path_id == path_id)
}

fn keys(routes: &[Route]) -> Keys {
    routes
        .iter()
        .map(|route| (route.peer, route.path_id))
        .collect()
}

/// Paths of one prefix that a neighbor may have in the decision (RFC 7911 sets no bound).
const MOST_PATHS: usize = 256;

/// Whether a neighbor's further path of a prefix stays out: it has too many, or one that is sent on under the
/// same identifier.
fn is_one_path_too_many<K>(destination: &Destination<K>, new: &Route) -> bool {
    let others = destination
        .accepted()
        .iter()
        .filter(|held| held.peer == new.peer && held.path_id != new.path_id);
    let mut count = 0;
    for held in others {
        count += 1;
        if count == MOST_PATHS || sent_path_id(held) == sent_path_id(new) {
            return true;
        }
    }
    false
}

/// Whether the new route says what the held one does, so that only its epoch changes.
fn is_refresh(held: &Route, new: &Route) -> bool {
    held.attrs.same(&new.attrs)
        && held.reject == new.reject
        && held.state.with(State::EPOCH, false) == new.state.with(State::EPOCH, false)
}

impl Shard {
    /// Ends the catch-up of a client. When it was the last, destinations kept for its sake are freed.
    pub fn end_catch_up(&mut self, peer: PeerId) {
        self.clients.catching.retain(|one| one.peer != peer);
        if self.clients.catching.is_empty() {
            self.bury::<Ipv4Prefix>();
            self.bury::<Ipv6Prefix>();
        }
    }

    fn bury<K: Stored>(&mut self) {
        let (table, clients) = K::split(self);
        for id in std::mem::take(&mut clients.tombstones[K::FAMILY.index()]) {
            if id < table.id_end() && table.get(id).routes.is_empty() {
                table.remove(id);
            }
        }
    }

    /// Keeps a destination without routes for the clients that catch up.
    pub fn tombstone<K: Stored>(&mut self, prefix: K) -> Id {
        let (table, clients) = K::split(self);
        let id = table.find_or_insert(prefix);
        if table.get(id).routes.is_empty() {
            clients.tombstones[K::FAMILY.index()].insert(id);
        }
        id
    }

    /// The accepted routes of a destination, best first.
    pub fn accepted<K: Stored>(&self, id: Id) -> &[Route] {
        accepted(&K::table(self).get(id).routes)
    }

    /// Starts marks for a client that does not follow its group's log.
    pub fn begin_catch_up(&mut self, peer: PeerId, style: &Style) {
        self.clients.catching.push(Catching::new(peer, style));
    }

    /// Marks every destination of which a client hears something now. Of the others it holds nothing: it
    /// follows the log, or its session begins.
    pub fn mark_all<K: Stored>(&mut self, peer: PeerId, topology: &Topology, style: &Style) {
        let (table, clients) = K::split(self);
        let Some(catching) = clients.catching(peer) else {
            return;
        };
        let hears = |route: &Route| {
            topology.may_hear(route, peer) && style.can_carry(K::FAMILY, &route.attrs)
        };
        for id in 0..table.id_end() {
            if table.get(id).accepted().iter().any(hears) {
                catching.mark(K::FAMILY, id);
            }
        }
    }

    /// Ids in use end before this.
    pub fn id_end(&self, family: Family) -> Id {
        match family {
            Family::Ipv4Unicast => self.ipv4.id_end(),
            Family::Ipv6Unicast => self.ipv6.id_end(),
        }
    }
}
