//! The change log: what happened to routes, verdicts and best routes, in order, for readers that watch the table.
//!
//! The change feed ([`crate::FeedEvent`]) has the messages of peers. It cannot tell that another policy rejects a route, or
//! that another route is the best. The log has the outcome of each change instead, whoever caused it. Shards write to it
//! only while somebody watches ([`crate::Rib::watch_changes`]); otherwise they run other code, which does not know of it.
//!
//! The log keeps the latest changes and numbers them. A reader asks for those after the last one that it has seen, so
//! it costs nothing while it waits, and knows when it was too slow.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rutter_net::{Asn, Prefix};
use rutter_policy::{Class, RejectReason};
use smallvec::SmallVec;

use crate::adj_rib_in::one_pass_edit::FEW_ROUTES;
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Id, Table, accepted};
use crate::adj_rib_in::verdict::Verdict;
use crate::topology::Topology;
use crate::{AttrSet, PeerId, Rib};

/// The neighbor of a change, as it was called then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedPeer {
    /// Its id.
    pub id: PeerId,
    /// Its name.
    pub name: Arc<str>,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
}

/// The verdict on a route: the class of an accepted one, or the reason of rejection.
pub type RouteOutcome = Result<Class, RejectReason>;

/// The place of a route that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedRoute {
    /// The sender.
    pub peer: ChangedPeer,
    /// The destination.
    pub prefix: Prefix,
    /// RFC 7911 path identifier as received, 0 without Add-Path.
    pub path_id: u32,
}

/// A change of the table.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// A route came, or came again with other attributes.
    Announced {
        /// The route.
        route: ChangedRoute,
        /// Its attributes.
        attrs: AttrSet,
        /// The verdict on it.
        outcome: RouteOutcome,
    },
    /// A route was withdrawn, or removed with its session.
    Withdrawn {
        /// The route.
        route: ChangedRoute,
    },
    /// A route that stayed as it was has another verdict: policy, outside data or a limit changed.
    Verdict {
        /// The route.
        route: ChangedRoute,
        /// The verdict before.
        before: RouteOutcome,
        /// The verdict now.
        after: RouteOutcome,
    },
    /// Another route is the best of its destination, or none is any more.
    Best {
        /// The destination.
        prefix: Prefix,
        /// The sender of the best route before.
        before: Option<ChangedPeer>,
        /// The sender of the best route, and its attributes.
        after: Option<(ChangedPeer, AttrSet)>,
    },
    /// A session was established.
    SessionUp {
        /// The neighbor.
        peer: ChangedPeer,
    },
    /// A session ended.
    SessionDown {
        /// The neighbor.
        peer: ChangedPeer,
        /// The reason in words.
        reason: Arc<str>,
    },
}

/// A change with its number.
#[derive(Clone, Debug)]
pub struct LoggedChange {
    /// Consecutive numbers. They go on where they were, or later, when another log begins.
    pub number: u64,
    /// Wall time in microseconds since 1970, as precise as the calls of [`ChangeLog::set_time`].
    pub unix_us: u64,
    /// The change.
    pub change: TableChange,
}

/// The wanted changes are not kept any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangesLost {
    /// The number of the oldest change that is kept, or of the next one.
    pub oldest: u64,
}

/// The latest changes of a table.
pub struct ChangeLog {
    state: Mutex<Latest>,
    unix_us: AtomicU64,
    capacity: usize,
    /// Nobody writes to it any more.
    is_closed: AtomicBool,
}

struct Latest {
    changes: VecDeque<LoggedChange>,
    /// The number of the next change.
    next: u64,
    /// The bytes of the attributes in these changes.
    bytes: usize,
}

/// The largest number of bytes of attributes that a log keeps: a peer decides how long its attributes are.
const MOST_BYTES: usize = 32 << 20;

impl TableChange {
    fn attribute_bytes(&self) -> usize {
        match self {
            TableChange::Announced { attrs, .. } => attrs.block().len(),
            TableChange::Best { after, .. } => {
                after.as_ref().map_or(0, |(_, attrs)| attrs.block().len())
            }
            _ => 0,
        }
    }
}

impl ChangeLog {
    /// An empty log for so many changes. Its first change has this number, which is the time in microseconds.
    pub(crate) fn new(capacity: usize, next: u64) -> Self {
        ChangeLog {
            state: Mutex::new(Latest {
                changes: VecDeque::new(),
                next,
                bytes: 0,
            }),
            unix_us: AtomicU64::new(next),
            capacity,
            is_closed: AtomicBool::new(false),
        }
    }

    /// Sets the time of the log, in microseconds since 1970, because it reads no clock. Each reader calls it before it reads.
    pub fn set_time(&self, unix_us: u64) {
        self.unix_us.store(unix_us, Ordering::Relaxed);
    }

    /// The number that the next change will have.
    pub fn next_number(&self) -> u64 {
        self.state.lock().next
    }

    /// Returns up to `most` changes from this number on.
    ///
    /// # Errors
    ///
    /// The log does not keep the change with this number any more, or has not had it, or is closed.
    pub fn read(&self, from: u64, most: usize) -> Result<Vec<LoggedChange>, ChangesLost> {
        let state = self.state.lock();
        let oldest = state.next - state.changes.len() as u64;
        if !(oldest..=state.next).contains(&from) || self.is_closed.load(Ordering::Relaxed) {
            return Err(ChangesLost { oldest });
        }
        let skipped = usize::try_from(from - oldest).unwrap_or(usize::MAX);
        let wanted = state.changes.iter().skip(skipped).take(most);
        Ok(wanted.cloned().collect())
    }

    fn push(&self, changes: impl IntoIterator<Item = TableChange>) {
        let unix_us = self.unix_us.load(Ordering::Relaxed);
        let mut dropped: SmallVec<[LoggedChange; 4]> = SmallVec::new();
        let mut state = self.state.lock();
        for change in changes {
            state.bytes += change.attribute_bytes();
            while state.changes.len() >= self.capacity || state.bytes > MOST_BYTES {
                let Some(oldest) = state.changes.pop_front() else {
                    break;
                };
                state.bytes -= oldest.change.attribute_bytes();
                dropped.push(oldest);
            }
            let number = state.next;
            state.next += 1;
            state.changes.push_back(LoggedChange {
                number,
                unix_us,
                change,
            });
        }
        drop(state);
    }
}

impl Rib {
    /// Lets the shards write their changes to a log from now on, which keeps the latest `capacity` ones. Returns the
    /// log that is in use already, if there is one. `unix_us`: wall time in microseconds.
    pub fn watch_changes(&self, capacity: usize, unix_us: u64) -> Arc<ChangeLog> {
        let mut held = self.watching.lock();
        if let Some(log) = &held.log {
            log.set_time(unix_us);
            return Arc::clone(log);
        }
        // The time makes the numbers grow over restarts, too.
        let log = Arc::new(ChangeLog::new(capacity.max(1), held.next.max(unix_us)));
        for shard in &self.shards {
            shard.lock().watch = Some(Arc::clone(&log));
        }
        held.log = Some(Arc::clone(&log));
        log
    }

    /// Ends [`Rib::watch_changes`] if nobody has read the log for so long. Both times are in microseconds.
    pub fn end_unread_changes(&self, unix_us: u64, kept_us: u64) {
        let mut held = self.watching.lock();
        let read_us = |log: &Arc<ChangeLog>| log.unix_us.load(Ordering::Relaxed);
        let is_unread = |log: &Arc<ChangeLog>| read_us(log).saturating_add(kept_us) < unix_us;
        if !held.log.as_ref().is_some_and(is_unread) {
            return;
        }
        for shard in &self.shards {
            shard.lock().watch = None;
        }
        if let Some(log) = held.log.take() {
            log.is_closed.store(true, Ordering::Relaxed);
            // A reader that comes back later must find that it lost something.
            held.next = log.next_number() + 1;
        }
    }

    /// Writes the start or the end of a session to the log, if there is one.
    pub(crate) fn log_session(&self, peer: PeerId, reason: Option<&str>) {
        let Some(log) = self.watching.lock().log.clone() else {
            return;
        };
        let peer = changed_peer(&self.topology.read(), peer);
        log.push([match reason {
            None => TableChange::SessionUp { peer },
            Some(reason) => TableChange::SessionDown {
                peer,
                reason: reason.into(),
            },
        }]);
    }
}

/// The log of a table while somebody watches.
#[derive(Default)]
pub(crate) struct Watching {
    log: Option<Arc<ChangeLog>>,
    /// The first number of the next log.
    next: u64,
}

/// The work of a shard before and after it changes a destination.
pub(crate) trait Watch: Copy {
    /// The state of a destination before a change.
    type Before<K>;

    /// Notes the state of a destination.
    fn before<K: Stored>(self, table: &Table<K>, id: Id) -> Self::Before<K>;

    /// The same before a single route changes. Destinations with many routes are not changed so, and cost nothing here.
    fn before_one<K: Stored>(self, table: &Table<K>, id: Id) -> Self::Before<K>;

    /// Compares a destination with its state before.
    fn after<K: Stored>(self, before: Self::Before<K>, topology: &Topology, table: &Table<K>);
}

/// Nobody watches: nothing is done.
#[derive(Clone, Copy)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    type Before<K> = ();

    #[inline(always)]
    fn before<K: Stored>(self, _: &Table<K>, _: Id) {}

    #[inline(always)]
    fn before_one<K: Stored>(self, _: &Table<K>, _: Id) {}

    #[inline(always)]
    fn after<K: Stored>(self, (): (), _: &Topology, _: &Table<K>) {}
}

impl Watch for &ChangeLog {
    type Before<K> = HeldBefore<K>;

    fn before<K: Stored>(self, table: &Table<K>, id: Id) -> HeldBefore<K> {
        let destination = table.get(id);
        HeldBefore {
            prefix: destination.prefix,
            routes: destination.routes.iter().map(Held::of).collect(),
        }
    }

    fn before_one<K: Stored>(self, table: &Table<K>, id: Id) -> HeldBefore<K> {
        let destination = table.get(id);
        match destination.routes.len() > FEW_ROUTES {
            true => HeldBefore {
                prefix: destination.prefix,
                routes: SmallVec::new(),
            },
            false => self.before(table, id),
        }
    }

    fn after<K: Stored>(self, before: HeldBefore<K>, topology: &Topology, table: &Table<K>) {
        let found = table.find(before.prefix);
        let routes = found.map_or(&[][..], |id| &table.get(id).routes);
        let comparison = Comparison {
            prefix: before.prefix.into(),
            before: &before.routes,
            topology,
        };
        let changes = comparison.changes(routes);
        if !changes.is_empty() {
            self.push(changes);
        }
    }
}

/// The routes of a destination before a change.
pub(crate) struct HeldBefore<K> {
    prefix: K,
    routes: SmallVec<[Held; 4]>,
}

/// A route before a change. Its set is still in the table when the new routes come, so no new set has its address.
#[derive(Clone, Copy)]
struct Held {
    path: (PeerId, u32),
    set: usize,
    verdict: Verdict,
}

impl Held {
    fn of(route: &Route) -> Self {
        Held {
            path: (route.peer, route.path_id),
            set: route.attrs.address(),
            verdict: route.verdict,
        }
    }
}

/// Finds the routes of a destination by path. A peer chooses the number of paths, so they are not searched one by one.
struct PathIndex<'a> {
    held: &'a [Held],
    /// The places in the order of paths, where there are many.
    sorted: Vec<u32>,
}

impl<'a> PathIndex<'a> {
    fn of(held: &'a [Held]) -> Self {
        let mut sorted = Vec::new();
        if held.len() > FEW_ROUTES {
            sorted.extend(0..held.len() as u32);
            sorted.sort_unstable_by_key(|at| held[*at as usize].path);
        }
        PathIndex { held, sorted }
    }

    /// Returns the place of a path. `near`: the place where it probably is.
    fn find(&self, path: (PeerId, u32), near: usize) -> Option<usize> {
        if self.held.get(near).is_some_and(|held| held.path == path) {
            return Some(near);
        }
        if self.sorted.is_empty() {
            return self.held.iter().position(|held| held.path == path);
        }
        let of = |at: &u32| self.held[*at as usize].path;
        let found = self.sorted.binary_search_by_key(&path, of);
        found.ok().map(|place| self.sorted[place] as usize)
    }
}

struct Comparison<'a> {
    prefix: Prefix,
    before: &'a [Held],
    topology: &'a Topology,
}

impl Comparison<'_> {
    fn changes(&self, routes: &[Route]) -> SmallVec<[TableChange; 2]> {
        let mut changes = SmallVec::new();
        let index = PathIndex::of(self.before);
        let mut stays: SmallVec<[bool; 4]> = SmallVec::from_elem(false, self.before.len());
        for (at, route) in routes.iter().enumerate() {
            let found = index.find((route.peer, route.path_id), at);
            if let Some(at) = found {
                stays[at] = true;
            }
            changes.extend(self.of_route(found.map(|at| &self.before[at]), route));
        }
        let gone = self.before.iter().zip(stays).filter(|(_, stays)| !stays);
        changes.extend(gone.map(|(held, _)| TableChange::Withdrawn {
            route: self.route(held.path),
        }));
        changes.extend(self.of_best(accepted(routes).first()));
        changes
    }

    fn of_route(&self, held: Option<&Held>, route: &Route) -> Option<TableChange> {
        let place = || self.route((route.peer, route.path_id));
        match held {
            Some(held) if held.set == route.attrs.address() => (held.verdict != route.verdict)
                .then(|| TableChange::Verdict {
                    route: place(),
                    before: self.outcome(held.verdict),
                    after: self.outcome(route.verdict),
                }),
            _ => Some(TableChange::Announced {
                route: place(),
                attrs: route.attrs.clone(),
                outcome: self.outcome(route.verdict),
            }),
        }
    }

    fn of_best(&self, after: Option<&Route>) -> Option<TableChange> {
        let best = self.before.first();
        let before = best.filter(|held| held.verdict.is_accepted());
        let key = |held: &Held| (held.path, held.set);
        if before.map(key) == after.map(Held::of).as_ref().map(key) {
            return None;
        }
        let source = |peer| changed_peer(self.topology, peer);
        Some(TableChange::Best {
            prefix: self.prefix,
            before: before.map(|held| source(held.path.0)),
            after: after.map(|route| (source(route.peer), route.attrs.clone())),
        })
    }

    fn route(&self, (peer, path_id): (PeerId, u32)) -> ChangedRoute {
        ChangedRoute {
            peer: changed_peer(self.topology, peer),
            prefix: self.prefix,
            path_id,
        }
    }

    fn outcome(&self, verdict: Verdict) -> RouteOutcome {
        match verdict.reject() {
            Some(reason) => Err(reason),
            None => Ok(self.topology.classes.class(verdict.class())),
        }
    }
}

fn changed_peer(topology: &Topology, id: PeerId) -> ChangedPeer {
    match topology.peer(id) {
        Some(peer) => ChangedPeer {
            id,
            name: Arc::clone(&peer.neighbor.name),
            address: peer.neighbor.address,
            asn: peer.neighbor.remote_asn,
        },
        // The last routes of a removed neighbor go after it.
        None => ChangedPeer {
            id,
            name: format!("#{}", id.0).into(),
            address: std::net::Ipv4Addr::UNSPECIFIED.into(),
            asn: Asn(0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(name: &str) -> TableChange {
        TableChange::SessionUp {
            peer: ChangedPeer {
                id: PeerId(0),
                name: name.into(),
                address: [192, 0, 2, 1].into(),
                asn: Asn(64_500),
            },
        }
    }

    #[test]
    fn a_reader_that_is_too_slow_learns_how_much_it_lost() {
        let log = ChangeLog::new(3, 1);
        log.set_time(7);
        log.push([up("a"), up("b")]);
        let read = log.read(1, 10).unwrap();
        assert_eq!(
            read.iter().map(|one| one.number).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(read[0].unix_us, 7);
        assert!(log.read(3, 10).unwrap().is_empty());
        log.push([up("c"), up("d"), up("e")]);
        assert_eq!(log.read(1, 10).unwrap_err(), ChangesLost { oldest: 3 });
        assert!(log.read(7, 10).is_err(), "a number of another log");
        assert_eq!(log.read(3, 2).unwrap().len(), 2);
        assert_eq!(log.next_number(), 6);
    }
}
