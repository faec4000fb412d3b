//! Many changes at once: what they will look at is asked of memory for all of them together.
//!
//! A change waits for one line after the other that no cache near has: the slot of the root, the node, the number in it, the
//! value. Those of one change lead to one another; those of several changes do not.

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
    /// Which prefix.
    pub prefix: N,
    /// Whose route.
    pub source: u32,
    /// What is known of the route from now on, or nothing to take it out.
    pub value: Option<&'c [u32]>,
}

impl<'c, N> RouteChange<'c, N> {
    /// A source's route to a prefix has this value from now on.
    pub fn set(prefix: N, source: u32, value: &'c [u32]) -> Self {
        RouteChange {
            prefix,
            source,
            value: Some(value),
        }
    }

    /// A source has no route to a prefix any more.
    pub fn remove(prefix: N, source: u32) -> Self {
        RouteChange {
            prefix,
            source,
            value: None,
        }
    }
}

/// Changes whose lines are asked for together, at most.
pub(super) const MAX_BATCH: usize = 64;

/// Where a value will be looked for; zeros where there is none.
#[derive(Clone, Copy, Default)]
pub(super) struct Prefetched {
    pub hash: u64,
    line: u32,
}

/// Where a change is on its way down.
#[derive(Clone, Copy, Default)]
struct Step {
    /// Whether the table has what this thread did before, so that it may be looked at.
    is_known: bool,
    /// The node below the root, 0 where there is none.
    node: u32,
    /// What was found; nothing where only a writer can tell.
    seen: Option<FoundRoute>,
}

impl<N: Net> Inner<N> {
    /// Makes a change but where it has_words what is so already. For a reader at work, which has then seen what a writer will look at.
    pub(super) fn apply_one_change(&self, change: &RouteChange<'_, N>) -> Result<(), TooLong> {
        let number = self.shard(change.prefix.bits());
        let table = &*self.tables[number];
        // Before anything is looked at: who has made what this thread left to others, has done so before this has_words that it is known.
        let is_known = self.is_known(change.prefix, number);
        let node = table.child_of_root(change.prefix);
        // Two ways of two misses each lead to the value: the slot of the root and the node, and the index and what it names, as most
        // changes say what is so already, or was. Both at once take as long as one.
        let asked = self.ask(change);
        table.prefetch_node(node);
        IndexLines::ask_for_blocks(&table.memory, asked.line, asked.hash);
        let seen = is_known.then(|| FoundRoute::new(table, change, node));
        match seen.flatten() {
            Some(seen) if seen.is_unchanged(table, change) => Ok(()),
            seen => self.make(change, asked.hash, seen),
        }
    }

    /// Makes up to `MOST` changes but those that say what is so already. For a reader at work, as [`Self::apply_one_change`].
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
        // Of which prefixes there may be a change among those made: what was found before holds no more.
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

    /// Sees what there is of changes, each by itself, and tells by a bit each which of them are so already.
    fn find_unchanged(&self, changes: &[RouteChange<'_, N>], steps: &mut [Step]) -> u64 {
        // Each loop is short, so that the processor asks for the lines of many changes at once.
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

    /// Asks for where a change's value will be looked for.
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

    /// Whether the table of a shard can be asked without a lock for what a prefix has, with nothing of this thread's on its way to it.
    fn is_known(&self, prefix: N, shard: usize) -> bool {
        !self.is_short(prefix) && self.queued_shards[shard].is_up_to_date_on(prefix)
    }

    /// What there is of a change, where it is known. For a reader at work.
    fn see(&self, change: &RouteChange<'_, N>) -> Option<FoundRoute> {
        let number = self.shard(change.prefix.bits());
        let table = &*self.tables[number];
        let is_known = self.is_known(change.prefix, number);
        is_known.then(|| FoundRoute::new(table, change, table.child_of_root(change.prefix)))?
    }
}
