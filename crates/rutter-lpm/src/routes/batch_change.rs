//! Applies many changes at once, and prefetches the memory that they need.
//!
//! A change waits for one uncached line after another: the slot of the root, the node, the number in it, the
//! value. Within a change each line leads to the next. The lines of different changes are independent, so their
//! misses overlap.

use crate::net::Net;
use crate::shared_table::SharedTable;

use super::found_route::{FoundRoute, location_of};
use super::hash_index::IndexLines;
use super::queued_shard::spread;
use super::route_list::{self, RoutesRef};
use super::{Inner, TooLong};

/// A change of one route, for [`RoutesView::apply`](super::RoutesView::apply).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteChange<'c, N> {
    /// The prefix of the route.
    pub prefix: N,
    /// The source of the route.
    pub source: u32,
    /// The new value of the route, or `None` to remove it.
    pub value: Option<&'c [u32]>,
}

impl<'c, N> RouteChange<'c, N> {
    /// Sets the value of a source's route to a prefix.
    pub fn set(prefix: N, source: u32, value: &'c [u32]) -> Self {
        RouteChange {
            prefix,
            source,
            value: Some(value),
        }
    }

    /// Removes a source's route to a prefix.
    pub fn remove(prefix: N, source: u32) -> Self {
        RouteChange {
            prefix,
            source,
            value: None,
        }
    }
}

/// The most changes that are prefetched together.
pub(super) const MAX_BATCH: usize = 64;

/// The place where a value will be searched; zeros for a removal.
#[derive(Clone, Copy, Default)]
pub(super) struct Prefetched {
    pub hash: u64,
    line: u32,
}

/// The progress of a change.
#[derive(Clone, Copy, Default)]
struct Step {
    /// True if the table contains this thread's earlier changes of the prefix, so that it may be read without a
    /// lock.
    is_known: bool,
    /// The node below the root, or 0.
    node: u32,
    /// The route found; `None` if only a writer can find it.
    seen: Option<FoundRoute>,
}

impl<N: Net> Inner<N> {
    /// Applies a change, unless the table already has the new value. For an active reader, which has then
    /// loaded the lines that a writer needs.
    pub(super) fn apply_one_change(&self, change: &RouteChange<'_, N>) -> Result<(), TooLong> {
        let number = self.shard(change.prefix.bits());
        let table = &*self.tables[number];
        // Before anything is read: a change that this thread left in a queue is applied before its prefix
        // counts as known.
        let is_known = self.is_known(change.prefix, number);
        let node = table.child_of_root(change.prefix);
        // Two chains of two misses each lead to the value. One is the slot of the root and the node; the other
        // is the index and its block. Most changes set a value that the route has or had. Both chains together
        // take the time of one.
        let asked = self.ask(change);
        table.prefetch_node(node);
        IndexLines::ask_for_blocks(&table.memory, asked.line, asked.hash);
        let seen = is_known.then(|| FoundRoute::new(table, change, node));
        match seen.flatten() {
            Some(seen) if seen.is_unchanged(table, change) => Ok(()),
            seen => self.make(change, asked.hash, seen),
        }
    }

    /// Applies up to `MOST` changes, except those that the table already has. For an active reader, as
    /// [`Self::apply_one_change`].
    pub(super) fn apply_some<const MOST: usize>(
        &self,
        changes: &[RouteChange<'_, N>],
    ) -> Result<(), TooLong> {
        let mut steps = [Step::default(); MOST];
        let steps = &mut steps[..changes.len()];
        let unchanged = self.find_unchanged(changes, steps);
        let changed = || {
            changes
                .iter()
                .enumerate()
                .filter(|(at, _)| unchanged >> at & 1 == 0)
        };
        let mut asked = [Prefetched::default(); MOST];
        for (at, change) in changed() {
            asked[at] = self.ask(change);
        }
        for (at, change) in changed() {
            let Prefetched { line, hash } = asked[at];
            IndexLines::ask_for_blocks(&self.table(change.prefix).memory, line, hash);
        }
        // The hashes of prefixes that may have changed in this batch: routes found before are no longer valid
        // for them.
        let mut made = 0_u64;
        for (at, change) in changes.iter().enumerate() {
            let one_of = 1 << spread(change.prefix, 6);
            let is_first = made & one_of == 0;
            let was_unchanged = unchanged >> at & 1 == 1;
            if is_first && was_unchanged {
                continue;
            }
            let seen = match is_first {
                true => steps[at].seen,
                false => self.see(change),
            };
            if !is_first
                && seen.is_some_and(|seen| seen.is_unchanged(self.table(change.prefix), change))
            {
                continue;
            }
            made |= one_of;
            let asked = match was_unchanged {
                true => self.ask(change),
                false => asked[at],
            };
            self.make(change, asked.hash, seen)?;
        }
        Ok(())
    }

    /// Finds the routes of changes, each independently. Returns a bit for each change that the table already
    /// has.
    fn find_unchanged(&self, changes: &[RouteChange<'_, N>], steps: &mut [Step]) -> u64 {
        // Each loop is short, so that the processor fetches the lines of many changes at once.
        for (step, change) in steps.iter_mut().zip(changes) {
            let number = self.shard(change.prefix.bits());
            step.is_known = self.is_known(change.prefix, number);
            step.node = self.tables[number].child_of_root(change.prefix);
        }
        for (step, change) in steps.iter().zip(changes) {
            self.table(change.prefix).prefetch_node(step.node);
        }
        let mut locations = [None; MAX_BATCH];
        for ((location, step), change) in locations.iter_mut().zip(&*steps).zip(changes) {
            if step.is_known {
                let table = self.table(change.prefix);
                *location = location_of(table, change.prefix, step.node);
                let number = location
                    .and_then(|location| location.number)
                    .and_then(RoutesRef::of);
                number.inspect(|number| route_list::prefetch(&table.memory, *number));
            }
        }
        let mut unchanged = 0;
        for (at, (step, change)) in steps.iter_mut().zip(changes).enumerate() {
            let table = self.table(change.prefix);
            step.seen =
                locations[at].map(|location| FoundRoute::at(table, location, change.source));
            let is_unchanged = step
                .seen
                .is_some_and(|seen| seen.is_unchanged(table, change));
            unchanged |= u64::from(is_unchanged) << at;
        }
        unchanged
    }

    /// Prefetches the index line where a change's value will be searched.
    #[inline(always)]
    pub(super) fn ask(&self, change: &RouteChange<'_, N>) -> Prefetched {
        let Some(value) = change.value else {
            return Prefetched::default();
        };
        let hash = self.seed.hash(change.source, value);
        let shard = self.shard(change.prefix.bits());
        let lines = &self.queued_shards[shard].lines;
        let line = lines.ask(&self.tables[shard].memory, hash);
        Prefetched { hash, line }
    }

    fn table(&self, prefix: N) -> &SharedTable<N> {
        &self.tables[self.shard(prefix.bits())]
    }

    /// Returns whether the table of a shard can be read for a prefix without a lock: no change of this thread is
    /// waiting for it.
    fn is_known(&self, prefix: N, shard: usize) -> bool {
        !self.is_short(prefix) && self.queued_shards[shard].is_up_to_date_on(prefix)
    }

    /// Finds the route of a change, if it is known. For an active reader.
    fn see(&self, change: &RouteChange<'_, N>) -> Option<FoundRoute> {
        let number = self.shard(change.prefix.bits());
        let table = &*self.tables[number];
        let is_known = self.is_known(change.prefix, number);
        is_known.then(|| FoundRoute::new(table, change, table.child_of_root(change.prefix)))?
    }
}
