//! A part of the address space: its prefixes, the lists of their routes, and the values these share.
//!
//! The table's number of a prefix is the place of its list: blocks of a head word (how many routes, the prefix's length,
//! whether the list goes on) and a pair of words (source, value) a route; the place of the next block ends one that is
//! not the last. A list is replaced as a whole, but for values, which readers find changed from one word to the other.

use std::sync::Arc;

use crate::epoch::Epochs;
use crate::memory::Memory;
use crate::net::Net;
use crate::profile::Profile;
use crate::search::Shared;
use crate::supply::Supply;
use crate::sync::Arc as EpochsArc;
use crate::table::Table;

use super::RoutesSize;
use super::intern::Pool;
use super::lane::Change;

/// What one lock protects.
pub(super) struct Shard<N: Net> {
    table: Table<N>,
    values: Pool,
    routes: usize,
    /// Prefixes, and their routes, that all shards have.
    short: (usize, usize),
    list: Vec<(u32, u32)>,
    words: Vec<u32>,
}

/// Routes in a block.
const MOST: usize = 64;
const COUNT: u32 = 0xff;
const LEN_AT: u32 = 8;
const MORE: u32 = 1 << 16;

/// The length of the prefix that has a list.
pub(super) fn prefix_len(memory: &Memory, list: u32) -> u8 {
    (memory.word(list) >> LEN_AT) as u8
}

/// The sources and values of a list, each pair with the place of its value.
pub(super) fn routes(memory: &Memory, list: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
    let (mut block, mut at, mut head) = (list, 0, memory.word(list));
    std::iter::from_fn(move || {
        if at == head & COUNT {
            if head & MORE == 0 {
                return None;
            }
            block = memory.word(block + 1 + at * 2);
            head = memory.word(block);
            at = 0;
        }
        let place = block + 1 + at * 2;
        at += 1;
        Some((memory.word(place), memory.word(place + 1), place + 1))
    })
}

impl<N: Net> Shard<N> {
    pub fn new(profile: Profile, epochs: EpochsArc<Epochs>, supply: Arc<Supply>) -> Self {
        Shard {
            table: Table::with_epochs(profile, epochs, supply),
            values: Pool::new(),
            routes: 0,
            short: (0, 0),
            list: Vec::new(),
            words: Vec::new(),
        }
    }

    pub fn shared(&self) -> Arc<Shared<N>> {
        Arc::clone(&self.table.shared)
    }

    /// Sets a route or takes it out.
    pub fn apply(&mut self, change: &Change<N, &[u32]>) {
        match change.value {
            Some(value) => self.insert(change.prefix, change.source, value, change.is_short),
            None => self.remove(change.prefix, change.source, change.is_short),
        }
    }

    fn insert(&mut self, prefix: N, source: u32, value: &[u32], is_short: bool) {
        let value = self.values.take(&mut self.table, value);
        let old = self.table.get(prefix);
        self.list.clear();
        if let Some(old) = old {
            let memory = &self.table.shared.memory;
            let found = routes(memory, old).find(|(other, ..)| *other == source);
            if let Some((_, before, place)) = found {
                memory.set(place, value);
                return self.values.give_back(&mut self.table, before);
            }
            let pairs = routes(memory, old).map(|(source, value, _)| (source, value));
            self.list.extend(pairs);
        }
        self.list.push((source, value));
        self.replace(prefix, old);
        self.routes += 1;
        self.short.1 += usize::from(is_short);
        self.short.0 += usize::from(is_short && old.is_none());
    }

    fn remove(&mut self, prefix: N, source: u32, is_short: bool) {
        let Some(old) = self.table.get(prefix) else {
            return;
        };
        self.list.clear();
        let mut gone = None;
        for (other, value, _) in routes(&self.table.shared.memory, old) {
            if other == source {
                gone = Some(value);
            } else {
                self.list.push((other, value));
            }
        }
        let Some(gone) = gone else {
            return;
        };
        self.replace(prefix, Some(old));
        self.values.give_back(&mut self.table, gone);
        self.routes -= 1;
        self.short.1 -= usize::from(is_short);
        self.short.0 -= usize::from(is_short && self.list.is_empty());
    }

    /// Takes all routes of a source out in one walk: how many in all, and of short prefixes.
    pub fn remove_source(&mut self, source: u32, is_short: impl Fn(N) -> bool) -> (usize, usize) {
        let (mut all, mut short) = (0, (0, 0));
        let (values, left, words) = (&mut self.values, &mut self.list, &mut self.words);
        self.table.revise(|table: &mut Table<N>, prefix: N, list| {
            let memory = &table.shared.memory;
            let found = routes(memory, list).find(|(other, ..)| *other == source);
            let Some((_, value, _)) = found else {
                return Some(list);
            };
            left.clear();
            let others = routes(memory, list).filter(|(other, ..)| *other != source);
            left.extend(others.map(|(source, value, _)| (source, value)));
            let new = store_list(table, words, left, prefix.prefix_len());
            retire_list(table, list);
            values.give_back(table, value);
            all += 1;
            if is_short(prefix) {
                short.0 += usize::from(new.is_none());
                short.1 += 1;
            }
            new
        });
        self.routes -= all;
        self.short.0 -= short.0;
        self.short.1 -= short.1;
        (all, short.1)
    }

    /// Adds this shard's part; what all shards have is counted once.
    pub fn add_to(&self, size: &mut RoutesSize, is_first: bool) {
        let (prefixes, routes) = if is_first { (0, 0) } else { self.short };
        size.prefixes += self.table.len() - prefixes;
        size.routes += self.routes - routes;
        size.values += self.values.len();
        size.taken += self.table.size().taken + self.values.size();
    }

    pub fn reclaim(&mut self) {
        self.table.reclaim();
    }

    /// Puts the list in place of the one that a prefix had.
    fn replace(&mut self, prefix: N, old: Option<u32>) {
        let (table, words) = (&mut self.table, &mut self.words);
        match store_list(table, words, &self.list, prefix.prefix_len()) {
            Some(list) => drop(table.insert(prefix, list)),
            None => drop(table.remove(prefix)),
        }
        if let Some(old) = old {
            retire_list(table, old);
        }
    }
}

/// Lays a list out; nothing for one without routes.
fn store_list<N: Net>(
    table: &mut Table<N>,
    words: &mut Vec<u32>,
    list: &[(u32, u32)],
    prefix_len: u8,
) -> Option<u32> {
    let mut next = None;
    // From the end, so that each block can name the one after.
    for routes in list.chunks(MOST).rev() {
        let more = if next.is_some() { MORE } else { 0 };
        words.clear();
        words.push(routes.len() as u32 | u32::from(prefix_len) << LEN_AT | more);
        words.extend(routes.iter().flat_map(|(s, v)| [*s, *v]));
        words.extend(next);
        next = Some(table.store(words));
    }
    next
}

/// Lets the blocks of a list go.
fn retire_list<N: Net>(table: &mut Table<N>, list: u32) {
    let mut block = Some(list);
    while let Some(place) = block {
        let memory = &table.shared.memory;
        let head = memory.word(place);
        block = (head & MORE != 0).then(|| memory.word(place + 1 + (head & COUNT) * 2));
        table.retire(place);
    }
}
