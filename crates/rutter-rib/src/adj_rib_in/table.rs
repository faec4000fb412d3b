//! Destinations of one family in one shard: a dense array in copy-on-write pages, and an index by prefix.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;
use std::sync;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use triomphe::Arc;

use crate::adj_rib_in::index_growth::{GROWS_AT_ONCE, Growth, STEP};
use crate::adj_rib_in::leftovers::Leftovers;
use crate::adj_rib_in::prefix_lengths::PrefixLengths;
use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::routes::Routes;
use crate::allocation::allocated;

/// A prefix type that the table can hold.
pub(crate) trait Key:
    Copy + Eq + Hash + Debug + Into<Prefix> + Send + Sync + 'static
{
    const FAMILY: Family;

    /// A hash that a peer cannot predict without the seed.
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

/// One destination. Without routes it is free, or kept until all clients know that it was withdrawn.
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

/// The accepted routes, which precede the others in a destination's list.
pub(crate) fn accepted(routes: &[Route]) -> &[Route] {
    let end = routes
        .iter()
        .position(|route| !route.is_accepted())
        .unwrap_or(routes.len());
    &routes[..end]
}

/// The dense index of a destination in its table.
pub(crate) type Id = u32;

/// The destinations of a page.
pub(crate) const PAGE: usize = 256;

/// The destinations of a contiguous range of ids, in one allocation; shared with snapshots until written.
pub(crate) type Page<K> = [Destination<K>];

/// The most pages of a book.
pub(crate) const BOOK: usize = 64;

/// Consecutive pages, shared with snapshots until one of them is written. Sharing a table then takes one reference
/// count, and one cache miss, for many destinations.
pub(crate) struct Book<K>([Option<Arc<Page<K>>>; BOOK]);

impl<K> Book<K> {
    fn empty() -> Self {
        Book([const { None }; BOOK])
    }

    /// The number of pages.
    fn len(&self) -> usize {
        self.0.partition_point(Option::is_some)
    }

    /// The pages in order.
    pub fn iter(&self) -> impl Iterator<Item = &Page<K>> {
        self.0.iter().map_while(Option::as_deref)
    }

    /// A page, if there is one.
    #[inline(always)]
    pub fn page(&self, at: usize) -> Option<&Page<K>> {
        self.0[at].as_deref()
    }
}

impl<K> Clone for Book<K> {
    fn clone(&self) -> Self {
        Book(self.0.clone())
    }
}

/// Destinations by id and by prefix.
///
/// Ids are dense and reused. A look-up costs about two cache misses: the index and the destination.
pub(crate) struct Table<K> {
    books: Vec<Arc<Book<K>>>,
    /// All ids below this were given out once. Above it the last page is padded with destinations without routes.
    end: Id,
    /// Without the entries that [`Table::growth`] has not moved.
    index: HashTable<Id>,
    growth: Option<Box<Growth>>,
    /// The number of destinations.
    len: usize,
    free: Vec<Id>,
    seed: u64,
    /// Shared by all shards.
    lengths: sync::Arc<PrefixLengths>,
    /// Shared by all shards and families.
    leftovers: sync::Arc<Leftovers>,
}

impl<K: Key> Table<K> {
    pub fn new(
        seed: u64,
        lengths: sync::Arc<PrefixLengths>,
        leftovers: sync::Arc<Leftovers>,
    ) -> Self {
        Table {
            books: Vec::new(),
            end: 0,
            index: HashTable::new(),
            growth: None,
            len: 0,
            free: Vec::new(),
            seed,
            lengths,
            leftovers,
        }
    }

    pub fn find(&self, prefix: K) -> Option<Id> {
        let at = |id: &Id| self.get(*id).prefix == prefix;
        let hash = prefix.seeded_hash(self.seed);
        match self.index.find(hash, at) {
            Some(id) => Some(*id),
            None => self.growth.as_ref()?.find(hash, at),
        }
    }

    /// Looks many prefixes up and appends the results to `found`. The cache misses of one step are independent, so
    /// the processor overlaps them. The first step probes the index by the few hash bits that it holds; the second
    /// reads the destinations found there.
    pub fn find_all(&self, prefixes: impl Iterator<Item = K> + Clone, found: &mut Vec<Option<Id>>) {
        let start = found.len();
        let likely = |prefix: K| self.index.find(prefix.seeded_hash(self.seed), |_| true);
        found.extend(prefixes.clone().map(|prefix| likely(prefix).copied()));
        for (slot, prefix) in found[start..].iter_mut().zip(prefixes) {
            let is_other = |id| self.get(id).prefix != prefix;
            if slot.map_or(self.growth.is_some(), is_other) {
                *slot = self.find(prefix);
            }
        }
    }

    #[inline(always)]
    pub fn get(&self, id: Id) -> &Destination<K> {
        held(&self.books, id)
    }

    /// Returns the destination for writing; copies its page first where a snapshot shares it.
    pub fn get_mut(&mut self, id: Id) -> &mut Destination<K> {
        slot(&mut self.books, id)
    }

    /// Returns the id of a prefix; adds a destination without routes where it was unknown.
    pub fn find_or_insert(&mut self, prefix: K) -> Id {
        // A sparse table leaves the growth to the index: a walk over all ids would cost more.
        if self.index.len() == self.index.capacity() && self.free.len() <= self.index.len() {
            self.grow_index();
        }
        if self.growth.is_some()
            && let Some(id) = self.continue_growth(prefix)
        {
            return id;
        }
        let (books, seed) = (&self.books, self.seed);
        let held = |id: &Id| held(books, *id).prefix;
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
        if (id as usize).is_multiple_of(PAGE) && id as usize / PAGE == pages(&self.books) {
            add_page(&mut self.books, id, prefix);
        }
        slot(&mut self.books, id).prefix = prefix;
        self.lengths.add(prefix.into().len());
        self.len += 1;
        vacant.insert(id);
        id
    }

    /// Makes room in the index of an empty table.
    pub fn reserve(&mut self, destinations: usize) {
        if self.len == 0 {
            self.growth = None;
            self.index = HashTable::with_capacity(destinations);
        }
    }

    /// Doubles the index in the order of ids. An index that grows on its own reads the destinations in the order of
    /// their hashes, with a cache miss for each. A large index grows in slices: to move a million entries takes longer than
    /// other neighbors may wait for the shard.
    #[cold]
    fn grow_index(&mut self) {
        self.finish_growth();
        let larger = HashTable::with_capacity(2 * self.index.len());
        let is_large = self.index.len() >= GROWS_AT_ONCE;
        let old = std::mem::replace(&mut self.index, larger);
        self.growth = Some(Box::new(Growth::begin(old, self.end, &self.free)));
        if is_large {
            self.leftovers.note();
        } else {
            self.finish_growth();
        }
    }

    /// Moves some entries to the new index. Returns the id of a prefix that has not moved.
    #[cold]
    fn continue_growth(&mut self, prefix: K) -> Option<Id> {
        let growth = self.growth.as_mut()?;
        let (books, seed) = (&self.books, self.seed);
        let hash = |id: &Id| held(books, *id).prefix.seeded_hash(seed);
        let is_over = growth.advance(STEP, &mut self.index, hash);
        let found = growth.find(prefix.seeded_hash(seed), |id| {
            held(books, *id).prefix == prefix
        });
        if is_over {
            self.growth = None;
        }
        found
    }

    /// Moves up to so many entries to the new index: prefixes move them too, but no more may come. Returns whether some
    /// are left.
    pub fn grow_on(&mut self, steps: usize) -> bool {
        let Some(growth) = &mut self.growth else {
            return false;
        };
        let (books, seed) = (&self.books, self.seed);
        let hash = |id: &Id| held(books, *id).prefix.seeded_hash(seed);
        if growth.advance(steps as Id, &mut self.index, hash) {
            self.growth = None;
        }
        self.growth.is_some()
    }

    fn finish_growth(&mut self) {
        let (books, seed) = (&self.books, self.seed);
        let hash = |id: &Id| held(books, *id).prefix.seeded_hash(seed);
        if let Some(growth) = self.growth.take() {
            growth.finish(&mut self.index, hash);
        }
    }

    /// Frees a destination without routes; another prefix will reuse its id.
    pub fn remove(&mut self, id: Id) {
        debug_assert!(self.get(id).routes.is_empty());
        let hash = self.get(id).prefix.seeded_hash(self.seed);
        let entry = self.index.find_entry(hash, |held| *held == id);
        let mut was_used = entry.map(|entry| entry.remove()).is_ok();
        if let Some(growth) = &mut self.growth {
            was_used |= growth.remove(hash, id);
        }
        if was_used {
            self.free.push(id);
            self.len -= 1;
        }
    }

    /// Releases the memory once no destination is left. Ids that the caller knows become invalid.
    pub fn release_if_empty(&mut self) {
        if self.len == 0 && !self.books.is_empty() {
            let (lengths, leftovers) = (&self.lengths, &self.leftovers);
            *self = Table::new(
                self.seed,
                sync::Arc::clone(lengths),
                sync::Arc::clone(leftovers),
            );
        }
    }

    /// One more than the highest id in use.
    pub fn id_end(&self) -> Id {
        self.end
    }

    /// The number of destinations.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pages as they are now; costs a reference count a book.
    pub fn share(&self) -> Vec<Arc<Book<K>>> {
        self.books.clone()
    }

    /// The page with an id, as it is now, and the first id on it. `None` above the last page. Costs a reference count.
    pub fn share_page(&self, id: Id) -> Option<(Id, Arc<Page<K>>)> {
        let (book, page, at) = place(id);
        let page = self.books.get(book)?.0[page].clone()?;
        Some((id - at as Id, page))
    }

    /// Bytes of pages and of the index.
    pub fn size(&self) -> (usize, usize) {
        // A reference count precedes each page.
        let page = allocated(size_of::<usize>() + PAGE * size_of::<Destination<K>>());
        let pages = pages(&self.books);
        let book = allocated(size_of::<usize>() + size_of::<Book<K>>());
        let list = allocated(self.books.capacity() * size_of::<Arc<Book<K>>>());
        let list = list + book * self.books.len();
        let free = allocated(self.free.capacity() * size_of::<Id>());
        let growth = self.growth.as_ref().map_or([0; 2], |growth| growth.sizes());
        let index = allocated(self.index.allocation_size());
        let index = index + growth.map(allocated).iter().sum::<usize>();
        (list + page * pages, index + free)
    }

    /// Bytes of route lists outside their destinations, for a range of ids.
    pub fn outgrown(&self, ids: Range<Id>) -> usize {
        let ids = ids.start..ids.end.min(self.end);
        ids.map(|id| self.get(id).routes.heap_size()).sum()
    }
}

/// The number of pages of some books, of which all but the last are full.
pub(crate) fn pages<K>(books: &[Arc<Book<K>>]) -> usize {
    books
        .last()
        .map_or(0, |last| (books.len() - 1) * BOOK + last.len())
}

/// The place of a destination: its book, the page in the book, the position on the page.
#[inline(always)]
fn place(id: Id) -> (usize, usize, usize) {
    let id = id as usize;
    (id / (BOOK * PAGE), id / PAGE % BOOK, id % PAGE)
}

#[inline(always)]
fn held<K>(books: &[Arc<Book<K>>], id: Id) -> &Destination<K> {
    let (book, page, at) = place(id);
    match books[book].page(page) {
        Some(page) => &page[at],
        None => unreachable!("an id that was given out"),
    }
}

#[inline(always)]
fn slot<K: Key>(books: &mut [Arc<Book<K>>], id: Id) -> &mut Destination<K> {
    let (book, page, at) = place(id);
    // Where a snapshot shares the book, its list of pages is copied first.
    let Some(page) = &mut Arc::make_mut(&mut books[book]).0[page] else {
        unreachable!("an id that was given out");
    };
    if !page.is_unique() {
        *page = page.iter().cloned().collect();
    }
    // This costs a load where the standard library's `Arc` would write twice.
    let Some(page) = Arc::get_mut(page) else {
        unreachable!("nobody else has a page that was just made");
    };
    &mut page[at]
}

/// Adds the page that begins with an id.
#[cold]
fn add_page<K: Key>(books: &mut Vec<Arc<Book<K>>>, id: Id, prefix: K) {
    let (book, page, _) = place(id);
    if book == books.len() {
        books.push(Arc::new(Book::empty()));
    }
    Arc::make_mut(&mut books[book]).0[page] = Some(empty_page(prefix));
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
        /// Removed destinations leave free ids, under which the index later grows or is cleaned.
        #[test]
        fn finds_what_it_holds(ops in proptest::collection::vec((any::<bool>(), 0u32..300), 0..2000)) {
            let mut table = Table::new(7, sync::Arc::default(), sync::Arc::default());
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
                prop_assert_eq!(table.find(prefix), twin.get(&prefix).copied());
            }
            let prefixes = (0..300u32).map(|number| Ipv4Prefix::new(number << 8, 24).unwrap());
            let mut found = Vec::new();
            table.find_all(prefixes.clone(), &mut found);
            let expected: Vec<Option<Id>> = prefixes.map(|prefix| twin.get(&prefix).copied()).collect();
            prop_assert_eq!(found, expected);
            for number in 0..300u32 {
                let prefix = Ipv4Prefix::new(number << 8, 24).unwrap();
                prop_assert_eq!(table.find(prefix), twin.get(&prefix).copied());
            }
        }
    }
}
