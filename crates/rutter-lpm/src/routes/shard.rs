//! A part of the address space: its prefixes, the lists of their routes, and the values that these share.

use std::sync::Arc;

use crate::chunk_allocator::ChunkAllocator;
use crate::epoch::Epochs;
use crate::net::Net;
use crate::profile::Profile;
use crate::shared_table::{Location, SharedTable};
use crate::sync::Arc as EpochsArc;
use crate::table::Table;

use super::RoutesSize;
use super::found_route::FoundRoute;
use super::hash_index::IndexLines;
use super::queued_shard::Change;
use super::route_list::{self, RoutesRef};
use super::value_pool::{self, Seed, ValuePool};

/// The data that one lock protects.
pub(super) struct Shard<N: Net> {
    table: Table<N>,
    values: ValuePool,
    routes: usize,
    /// The numbers of prefixes and routes that are in every shard.
    short: (usize, usize),
    list: Vec<u32>,
}

impl<N: Net> Shard<N> {
    pub fn new(
        profile: Profile,
        epochs: EpochsArc<Epochs>,
        chunk_allocator: Arc<ChunkAllocator>,
        seed: Seed,
    ) -> Self {
        Shard {
            table: Table::with_epochs(profile, epochs, chunk_allocator, true),
            values: ValuePool::new(seed),
            routes: 0,
            short: (0, 0),
            list: Vec::new(),
        }
    }

    pub fn shared(&self) -> Arc<SharedTable<N>> {
        Arc::clone(&self.table.shared)
    }

    /// The index lines in which values are searched.
    pub fn lines(&self) -> Arc<IndexLines> {
        self.values.lines()
    }

    /// Sets or removes a route. `seen` is the route that a still active reader found.
    pub fn apply(&mut self, change: &Change<N, &[u32]>, seen: Option<FoundRoute>) {
        let location = seen.and_then(|seen| self.table.seek_again(change.prefix, seen.location()));
        let location = location.unwrap_or_else(|| self.table.seek(change.prefix));
        let table = &*self.table.shared;
        let found = seen.and_then(|seen| seen.route_of(table, location.number));
        let found = found.unwrap_or_else(|| {
            let number = location.number.and_then(RoutesRef::of)?;
            route_list::find(&table.memory, number, change.source)
        });
        match change.value {
            Some(value) => self.insert(change, value, location, found),
            None => self.remove(change, location, found),
        }
        // Values may be retired although no prefix is added or removed.
        self.table.reclaim_if_due();
    }

    /// Prefetches the memory that changes need, for all of them together.
    pub fn prefetch<'c>(&self, changes: impl Iterator<Item = Change<N, &'c [u32]>> + Clone) {
        let table = &*self.table.shared;
        for change in changes.clone() {
            table.prefetch_node(table.child_of_root(change.prefix));
            if change.value.is_some() {
                self.values.ask(&table.memory, change.hash);
            }
        }
        for prefix in changes.map(|change| change.prefix) {
            let is_in_node = u32::from(prefix.prefix_len()) > table.root.bits();
            let node = table.child_of_root(prefix);
            let number = is_in_node.then(|| crate::cpu::location(table, prefix, node).number);
            if let Some(number) = number.flatten().and_then(RoutesRef::of) {
                route_list::prefetch(&table.memory, number);
            }
        }
    }

    /// Sets a route; `found` is the current route of the same source.
    fn insert(
        &mut self,
        change: &Change<N, &[u32]>,
        value: &[u32],
        location: Location,
        found: Option<(u32, u32)>,
    ) {
        let Change {
            prefix,
            source,
            is_short,
            hash,
            ..
        } = *change;
        let old = location.number.and_then(RoutesRef::of);
        let memory = &self.table.shared.memory;
        match found {
            // A route often comes again with the same value.
            Some((before, _)) if value_pool::is(memory, before, source, value) => {}
            Some((before, place)) => {
                let new = self.values.take(&mut self.table, source, value, hash);
                if place == 0 {
                    let extra_len = self.table.shared.extra_len(prefix);
                    let number = RoutesRef::of_route(new, extra_len);
                    self.table.put(prefix, location, number.0);
                } else {
                    self.table.shared.memory.set(place, new);
                }
                self.values.give_back(&mut self.table, before);
            }
            None => {
                if let Some(old) = old {
                    self.list.clear();
                    let others = route_list::values(memory, old).map(|(value, _)| value);
                    self.list.extend(others);
                }
                let new = self.values.take(&mut self.table, source, value, hash);
                match old {
                    Some(_) => {
                        self.list.push(new);
                        self.replace(prefix, location);
                    }
                    None => self.put_first(prefix, location, new),
                }
                self.routes += 1;
                self.short.1 += usize::from(is_short);
                self.short.0 += usize::from(is_short && old.is_none());
            }
        }
    }

    /// Removes the route that was found, if any.
    fn remove(
        &mut self,
        change: &Change<N, &[u32]>,
        location: Location,
        found: Option<(u32, u32)>,
    ) {
        let Change {
            prefix, is_short, ..
        } = *change;
        let (Some((gone, _)), Some(old)) = (found, location.number.and_then(RoutesRef::of)) else {
            return;
        };
        let memory = &self.table.shared.memory;
        let is_last = !old.is_list();
        if is_last {
            self.pull_last(prefix, location);
        } else {
            self.list.clear();
            let values = route_list::values(memory, old).map(|(value, _)| value);
            self.list.extend(values.filter(|value| *value != gone));
            self.replace(prefix, location);
        }
        self.values.give_back(&mut self.table, gone);
        self.routes -= 1;
        self.short.1 -= usize::from(is_short);
        self.short.0 -= usize::from(is_short && is_last);
    }

    /// Removes all routes of a source in one walk. Returns their number, and the number of routes to short
    /// prefixes.
    pub fn remove_source(&mut self, source: u32, is_short: impl Fn(N) -> bool) -> (usize, usize) {
        let (mut all, mut short) = (0, (0, 0));
        let (values, left) = (&mut self.values, &mut self.list);
        self.table
            .update_all(|table: &mut Table<N>, prefix: N, number| {
                let memory = &table.shared.memory;
                let old = RoutesRef(number);
                let Some((gone, _)) = route_list::find(memory, old, source) else {
                    return Some(number);
                };
                left.clear();
                let others = route_list::values(memory, old).map(|(value, _)| value);
                left.extend(others.filter(|value| *value != gone));
                let new = route_list::store(table, left, old.extra_len());
                route_list::retire(table, old);
                values.give_back(table, gone);
                all += 1;
                if is_short(prefix) {
                    short.0 += usize::from(new.is_none());
                    short.1 += 1;
                }
                new.map(|new| new.0)
            });
        self.routes -= all;
        self.short.0 -= short.0;
        self.short.1 -= short.1;
        (all, short.1)
    }

    /// Adds the size of this shard. Prefixes in all shards are counted once.
    pub fn add_size_to(&self, size: &mut RoutesSize, is_first: bool) {
        let (prefixes, routes) = if is_first { (0, 0) } else { self.short };
        size.prefixes += self.table.len() - prefixes;
        size.routes += self.routes - routes;
        size.values += self.values.len();
        size.taken += self.table.size().taken + self.values.size();
    }

    pub fn reclaim(&mut self) {
        self.values.free_idle(&mut self.table, 0);
        self.table.reclaim();
    }

    /// Gives a prefix its first route.
    fn put_first(&mut self, prefix: N, location: Location, value: u32) {
        let table = &mut self.table;
        let number = RoutesRef::of_route(value, table.shared.extra_len(prefix)).0;
        match location.number.map(RoutesRef) {
            Some(RoutesRef::GAP) => table.fill_gap(location, number),
            _ => table.put(prefix, location, number),
        }
    }

    /// Removes a prefix after its only route.
    fn pull_last(&mut self, prefix: N, location: Location) {
        if !self.table.leave_gap(prefix, location) {
            self.table.pull(prefix, location);
        }
    }

    /// Replaces the routes of a prefix by the list, which has one route more or less.
    fn replace(&mut self, prefix: N, location: Location) {
        let table = &mut self.table;
        let extra_len = table.shared.extra_len(prefix);
        if let Some(new) = route_list::store(table, &self.list, extra_len) {
            table.put(prefix, location, new.0);
        }
        if let Some(old) = location.number {
            route_list::retire(table, RoutesRef(old));
        }
    }
}
