//! Destinations of one family in one shard: a dense array in copy-on-write pages, and an index by prefix.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use triomphe::Arc;

use crate::memory::allocated;
use crate::route::Route;
use crate::routes::Routes;

/// A prefix type that the table can hold.
pub(crate) trait Key:
    Copy + Eq + Hash + Debug + Into<Prefix> + Send + Sync + 'static
{
    const FAMILY: Family;

    /// A hash that a peer cannot aim without the seed.
    fn seeded_hash(self, seed: u64) -> u64;
}

impl Key for Ipv4Prefix {
    const FAMILY: Family = Family::Ipv4Unicast;

    fn seeded_hash(self, seed: u64) -> u64 {
        mix(u64::from(self.bits()) << 8 | u64::from(self.len()), seed)
    }
}

impl Key for Ipv6Prefix {
    const FAMILY: Family = Family::Ipv6Unicast;

    fn seeded_hash(self, seed: u64) -> u64 {
        let high = (self.bits() >> 64) as u64;
        mix(
            mix(high, seed) ^ self.bits() as u64,
            u64::from(self.len()) ^ seed,
        )
    }
}

fn mix(value: u64, seed: u64) -> u64 {
    let product = u128::from(value ^ seed) * 0x9e37_79b9_7f4a_7c15_u128;
    let folded = (product as u64) ^ ((product >> 64) as u64);
    let again = u128::from(folded ^ 0xd6e8_feb8_6659_fd93) * u128::from(seed | 1);
    (again as u64) ^ ((again >> 64) as u64)
}

/// One destination. Without routes it is free, or kept because a client has yet to hear that it is gone.
#[derive(Clone, Debug)]
pub(crate) struct Destination<K> {
    pub prefix: K,
    pub routes: Routes,
}

impl<K> Destination<K> {
    /// The routes that take part in the decision, best first.
    pub fn accepted(&self) -> &[Route] {
        accepted(&self.routes)
    }
}

/// The accepted routes in front of a destination's list.
pub(crate) fn accepted(routes: &[Route]) -> &[Route] {
    let end = routes
        .iter()
        .position(|route| !route.is_accepted())
        .unwrap_or(routes.len());
    &routes[..end]
}

/// Dense index of a destination in its table.
pub(crate) type Id = u32;

const PAGE: usize = 256;

/// Destinations of a contiguous range of ids, in one allocation; shared with snapshots until written.
pub(crate) type Page<K> = [Destination<K>];

/// Destinations by id and by prefix.
///
/// Ids are dense and reused. Look-up costs about two cache misses: the index, the destination.
pub(crate) struct Table<K> {
    pages: Vec<Arc<Page<K>>>,
    /// Ids below this were given out once; above it the last page is filled up with destinations without routes.
    end: Id,
    index: HashTable<Id>,
    free: Vec<Id>,
    seed: u64,
}

impl<K: Key> Table<K> {
    pub fn new(seed: u64) -> Self {
        Table {
            pages: Vec::new(),
            end: 0,
            index: HashTable::new(),
            free: Vec::new(),
            seed,
        }
    }

    pub fn find(&self, prefix: K) -> Option<Id> {
        let at = |id: &Id| self.get(*id).prefix == prefix;
        self.index.find(prefix.seeded_hash(self.seed), at).copied()
    }

    /// Looks many prefixes up, appending to `found`. The misses of one step are independent of each other, so the
    /// processor overlaps them: first all in the index, by the few bits of the hash that it holds, then all
    /// destinations found there.
    pub fn find_all(&self, prefixes: impl Iterator<Item = K> + Clone, found: &mut Vec<Option<Id>>) {
        let start = found.len();
        let likely = |prefix: K| self.index.find(prefix.seeded_hash(self.seed), |_| true);
        found.extend(prefixes.clone().map(|prefix| likely(prefix).copied()));
        for (slot, prefix) in found[start..].iter_mut().zip(prefixes) {
            if slot.is_some_and(|id| self.get(id).prefix != prefix) {
                *slot = self.find(prefix);
            }
        }
    }

    pub fn get(&self, id: Id) -> &Destination<K> {
        &self.pages[id as usize / PAGE][id as usize % PAGE]
    }

    /// The destination for writing; its page is copied first where a snapshot shares it.
    pub fn get_mut(&mut self, id: Id) -> &mut Destination<K> {
        slot(&mut self.pages, id)
    }

    /// The id of a prefix, new and without routes where it was unknown.
    pub fn find_or_insert(&mut self, prefix: K) -> Id {
        // A sparse table is left to the index: a walk over all ids would cost more.
        if self.index.len() == self.index.capacity() && self.free.len() <= self.index.len() {
            self.grow_index();
        }
        let (pages, seed) = (&self.pages, self.seed);
        let held = |id: &Id| pages[*id as usize / PAGE][*id as usize % PAGE].prefix;
        let entry = self.index.entry(
            prefix.seeded_hash(seed),
            |id| held(id) == prefix,
            |id| held(id).seeded_hash(seed),
        );
        let vacant = match entry {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(vacant) => vacant,
        };
        let id = self.free.pop().unwrap_or(self.end);
        if id == self.end {
            self.end += 1;
        }
        if id as usize == self.pages.len() * PAGE {
            self.pages.push(empty_page(prefix));
        }
        slot(&mut self.pages, id).prefix = prefix;
        vacant.insert(id);
        id
    }

    /// Makes the index twice as large. In the order of ids, because an index that grows by itself reads the
    /// destinations in the order of their hashes, with a cache miss for each.
    #[cold]
    fn grow_index(&mut self) {
        let mut unused = self.free.clone();
        unused.sort_unstable();
        let mut unused = unused.into_iter().peekable();
        let mut index = HashTable::with_capacity(2 * self.index.len());
        for id in 0..self.end {
            if unused.next_if_eq(&id).is_none() {
                let hash = |id: &Id| self.get(*id).prefix.seeded_hash(self.seed);
                index.insert_unique(hash(&id), id, hash);
            }
        }
        self.index = index;
    }

    /// Frees a destination that has no routes; its id will be another prefix's.
    pub fn remove(&mut self, id: Id) {
        let prefix = self.get(id).prefix;
        debug_assert!(self.get(id).routes.is_empty());
        if let Ok(entry) = self
            .index
            .find_entry(prefix.seeded_hash(self.seed), |held| *held == id)
        {
            entry.remove();
            self.free.push(id);
        }
    }

    /// Gives the memory back once no destination is left. Ids known to the caller end here.
    pub fn release_if_empty(&mut self) {
        if self.index.is_empty() && !self.pages.is_empty() {
            *self = Table::new(self.seed);
        }
    }

    /// One more than the highest id in use.
    pub fn id_end(&self) -> Id {
        self.end
    }

    /// Number of destinations.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The pages as they are now; costs a reference count a page.
    pub fn share(&self) -> Vec<Arc<Page<K>>> {
        self.pages.clone()
    }

    /// Octets of pages and of the index.
    pub fn size(&self) -> (usize, usize) {
        // A counter of references stands before each page.
        let page = allocated(size_of::<usize>() + PAGE * size_of::<Destination<K>>());
        let list = allocated(self.pages.capacity() * size_of::<Arc<Page<K>>>());
        let free = allocated(self.free.capacity() * size_of::<Id>());
        let index = allocated(self.index.allocation_size());
        (list + page * self.pages.len(), index + free)
    }

    /// Octets of route lists that outgrew their destination, for a range of ids.
    pub fn outgrown(&self, ids: Range<Id>) -> usize {
        let ids = ids.start..ids.end.min(self.end);
        ids.map(|id| self.get(id).routes.heap_size()).sum()
    }
}

#[inline(always)]
fn slot<K: Key>(pages: &mut [Arc<Page<K>>], id: Id) -> &mut Destination<K> {
    let page = &mut pages[id as usize / PAGE];
    if !page.is_unique() {
        *page = page.iter().cloned().collect();
    }
    // A load where the standard library's would write twice.
    let Some(page) = Arc::get_mut(page) else {
        unreachable!("nobody else has a page that was just made");
    };
    &mut page[id as usize % PAGE]
}

fn empty_page<K: Key>(prefix: K) -> Arc<Page<K>> {
    let empty = |_| Destination {
        prefix,
        routes: Routes::default(),
    };
    (0..PAGE).map(empty).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Removed destinations leave ids free under which the index grows, or is cleaned, later.
        #[test]
        fn finds_what_it_holds(ops in proptest::collection::vec((any::<bool>(), 0u32..300), 0..2000)) {
            let mut table = Table::new(7);
            let mut twin: HashMap<Ipv4Prefix, Id> = HashMap::new();
            for (insert, number) in ops {
                let prefix = Ipv4Prefix::new(number << 8, 24).unwrap();
                if insert {
                    let id = table.find_or_insert(prefix);
                    prop_assert_eq!(*twin.entry(prefix).or_insert(id), id);
                } else if let Some(id) = twin.remove(&prefix) {
                    table.remove(id);
                }
                prop_assert_eq!(table.len(), twin.len());
            }
            for number in 0..300u32 {
                let prefix = Ipv4Prefix::new(number << 8, 24).unwrap();
                prop_assert_eq!(table.find(prefix), twin.get(&prefix).copied());
            }
        }
    }
}
