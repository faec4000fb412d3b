//! Destinations of one family in one shard: a dense array in copy-on-write pages, and an index by prefix.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashTable;
use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use smallvec::SmallVec;

use crate::route::Route;

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

/// Routes of one destination: accepted ones in the order of the decision process, then rejected ones.
/// Two lie inline; that is the usual number.
pub(crate) type Routes = SmallVec<[Route; 2]>;

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

/// Destinations of a contiguous range of ids; shared with snapshots until written.
pub(crate) type Page<K> = Vec<Destination<K>>;

/// Destinations by id and by prefix.
///
/// Ids are dense and reused. Look-up costs about two cache misses: the index, the destination.
pub(crate) struct Table<K> {
    pages: Vec<Arc<Page<K>>>,
    index: HashTable<Id>,
    free: Vec<Id>,
    seed: u64,
}

impl<K: Key> Table<K> {
    pub fn new(seed: u64) -> Self {
        Table {
            pages: Vec::new(),
            index: HashTable::new(),
            free: Vec::new(),
            seed,
        }
    }

    pub fn find(&self, prefix: K) -> Option<Id> {
        let at = |id: &Id| self.get(*id).prefix == prefix;
        self.index.find(prefix.seeded_hash(self.seed), at).copied()
    }

    pub fn get(&self, id: Id) -> &Destination<K> {
        &self.pages[id as usize / PAGE][id as usize % PAGE]
    }

    /// The destination for writing; its page is copied first where a snapshot shares it.
    pub fn get_mut(&mut self, id: Id) -> &mut Destination<K> {
        &mut Arc::make_mut(&mut self.pages[id as usize / PAGE])[id as usize % PAGE]
    }

    /// The id of a prefix, new and without routes where it was unknown.
    pub fn find_or_insert(&mut self, prefix: K) -> Id {
        match self.find(prefix) {
            Some(id) => id,
            None => self.insert(prefix),
        }
    }

    fn insert(&mut self, prefix: K) -> Id {
        let destination = Destination {
            prefix,
            routes: Routes::new(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                *self.get_mut(id) = destination;
                id
            }
            None => self.push(destination),
        };
        let (pages, seed) = (&self.pages, self.seed);
        let rehash = |id: &Id| {
            pages[*id as usize / PAGE][*id as usize % PAGE]
                .prefix
                .seeded_hash(seed)
        };
        self.index
            .insert_unique(prefix.seeded_hash(seed), id, rehash);
        id
    }

    fn push(&mut self, destination: Destination<K>) -> Id {
        if self.pages.last().is_none_or(|page| page.len() == PAGE) {
            self.pages.push(Arc::new(Vec::with_capacity(PAGE)));
        }
        let last = self.pages.len() - 1;
        let page = Arc::make_mut(&mut self.pages[last]);
        if page.capacity() < PAGE {
            page.reserve_exact(PAGE - page.len());
        }
        page.push(destination);
        (last * PAGE + page.len() - 1) as Id
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
        match self.pages.last() {
            Some(page) => ((self.pages.len() - 1) * PAGE + page.len()) as Id,
            None => 0,
        }
    }

    /// Number of destinations.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The pages as they are now; costs a reference count a page.
    pub fn share(&self) -> Vec<Arc<Page<K>>> {
        self.pages.clone()
    }

    /// Octets of pages, of route lists that outgrew their destination, and of the index.
    pub fn size(&self) -> (u64, u64, u64) {
        let page = |p: &Arc<Page<K>>| p.capacity() * size_of::<Destination<K>>();
        let pages: usize = self.pages.iter().map(page).sum();
        let spilled: usize = self
            .pages
            .iter()
            .flat_map(|page| page.iter())
            .filter(|destination| destination.routes.spilled())
            .map(|destination| destination.routes.capacity() * size_of::<Route>())
            .sum();
        let index = self.index.allocation_size() + self.free.capacity() * size_of::<Id>();
        (pages as u64, spilled as u64, index as u64)
    }
}
