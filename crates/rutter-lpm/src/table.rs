//! The table as its one writer sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::epoch::Epochs;
use crate::limbo::Limbo;
use crate::net::{Bits, Net};
use crate::node::{self, Eight, Four, Key, Node, Parts};
use crate::pages::Pages;
use crate::profile::{Profile, Stride};
use crate::reader::Reader;
use crate::search::Shared;
use crate::supply::Supply;
use crate::wide::{RETIRED_TABLE, Refresh, Tables};

/// Prefixes with a number each, for one writer and any number of [`Reader`]s.
///
/// The number is the caller's: an index into what it knows of the prefix, an AS number, a next hop.
/// [`PrefixMap`](crate::PrefixMap) keeps values of any type instead.
///
/// ```
/// use rutter_lpm::{Profile, Table};
/// use rutter_net::Ipv4Prefix;
///
/// let mut table = Table::<Ipv4Prefix>::new(Profile::Fast);
/// table.insert("192.0.2.0/24".parse()?, 64500);
/// table.insert("192.0.2.128/25".parse()?, 64501);
///
/// let mut reader = table.reader();
/// let answers = std::thread::spawn(move || {
///     let view = reader.enter();
///     ["192.0.2.1", "192.0.2.200", "198.51.100.1"].map(|addr| view.lookup(addr.parse().unwrap()))
/// });
/// table.insert("203.0.113.0/24".parse()?, 64502); // while the reader reads
/// assert_eq!(answers.join().unwrap(), [Some(64500), Some(64501), None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table<N: Net> {
    pub(crate) shared: Arc<Shared<N>>,
    /// The records of the prefixes that the root has, in order.
    pub(crate) heads: BTreeMap<N, u32>,
    pages: Pages,
    limbo: Limbo,
    tables: Tables,
    len: usize,
    scratch: Scratch,
}

/// Reused between updates.
#[derive(Default)]
struct Scratch {
    parts: node::Scratch,
    words: Vec<u32>,
    path: Vec<(u32, u32)>,
}

/// Chunks of a table before it takes huge pages: from 16 MiB on these may waste an eighth.
const SINGLE: usize = 64;

impl<N: Net> Table<N> {
    /// An empty table.
    pub fn new(profile: Profile) -> Self {
        let epochs = crate::sync::Arc::new(Epochs::new());
        Self::with_epochs(profile, epochs, Arc::new(Supply::new(SINGLE)))
    }

    /// An empty table that shares its readers and its memory with other tables.
    pub(crate) fn with_epochs(
        profile: Profile,
        epochs: crate::sync::Arc<Epochs>,
        supply: Arc<Supply>,
    ) -> Self {
        Table {
            shared: Arc::new(Shared::new(profile, epochs, supply)),
            heads: BTreeMap::new(),
            pages: Pages::new(),
            limbo: Limbo::default(),
            tables: Tables::new(),
            len: 0,
            scratch: Scratch::default(),
        }
    }

    /// How address bits are divided.
    pub fn profile(&self) -> Profile {
        self.shared.profile
    }

    /// How many prefixes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A new reader, for another thread. Clone it for more.
    pub fn reader(&self) -> Reader<N> {
        Reader::new(Arc::clone(&self.shared))
    }

    /// Sets the number of a prefix and returns the one it had.
    ///
    /// Readers see it at once, whole: a new number of a prefix that is already there costs one store.
    ///
    /// # Panics
    /// When the nodes would take more than 1 GiB, about a hundred million prefixes.
    pub fn insert(&mut self, prefix: N, value: u32) -> Option<u32> {
        let old = if u32::from(prefix.prefix_len()) <= self.shared.root.bits() {
            self.insert_head(prefix, value)
        } else {
            match self.shared.profile.stride() {
                Stride::Four => self.insert_node::<Four>(prefix, value),
                Stride::Eight => self.insert_node::<Eight>(prefix, value),
            }
        };
        self.len += usize::from(old.is_none());
        self.refresh_direct(prefix);
        self.tidy();
        old
    }

    /// Takes a prefix out and returns its number.
    pub fn remove(&mut self, prefix: N) -> Option<u32> {
        let old = if u32::from(prefix.prefix_len()) <= self.shared.root.bits() {
            self.remove_head(prefix)
        } else {
            match self.shared.profile.stride() {
                Stride::Four => self.remove_node::<Four>(prefix),
                Stride::Eight => self.remove_node::<Eight>(prefix),
            }
        }?;
        self.len -= 1;
        self.refresh_direct(prefix);
        self.tidy();
        Some(old)
    }

    /// Frees what no reader can still hold; updates do so by themselves now and then.
    pub fn reclaim(&mut self) {
        self.limbo.close(&self.shared.epochs);
        let (pages, tables) = (&mut self.pages, &mut self.tables);
        let free = |index| release(pages, tables, index);
        self.limbo.free_into(&self.shared.epochs, free);
    }

    /// What the table takes from memory.
    pub fn size(&self) -> Size {
        let shared = &self.shared;
        let direct = shared.direct.as_ref().map_or(0, |direct| direct.size());
        let direct = direct + shared.wide.as_ref().map_or(0, |_| self.tables.size());
        // A B-tree's leaves hold up to 11 entries and are about three quarters full.
        let heads = self.heads.len() * size_of::<(N, u32)>() * 4 / 3;
        Size {
            root: shared.root.size() + direct,
            nodes: self.pages.used() * 4,
            taken: shared.root.size()
                + direct
                + shared.memory.size()
                + heads
                + self.pages.own_size(),
            retired: self.limbo.len(),
        }
    }

    fn insert_head(&mut self, prefix: N, value: u32) -> Option<u32> {
        if let Some(record) = self.heads.get(&prefix) {
            let old = self.shared.memory.word(*record);
            self.shared.memory.set(*record, value);
            return Some(old);
        }
        let len = u32::from(prefix.prefix_len());
        let record = self.store(&[value, len]);
        self.heads.insert(prefix, record);
        let (first, last) = self.root_range(prefix);
        let memory = &self.shared.memory;
        self.shared.root.change_best(first, last, |best| {
            let longer = best != 0 && memory.block(best).word(1) > len;
            if longer { best } else { record }
        });
        None
    }

    fn remove_head(&mut self, prefix: N) -> Option<u32> {
        let record = self.heads.remove(&prefix)?;
        let old = self.shared.memory.word(record);
        let shorter = (0..prefix.prefix_len()).rev();
        let outer = shorter.filter_map(|len| self.heads.get(&prefix.shortened(len)));
        let outer = outer.copied().next().unwrap_or(0);
        let (first, last) = self.root_range(prefix);
        let root = &self.shared.root;
        root.change_best(
            first,
            last,
            |best| if best == record { outer } else { best },
        );
        self.retire(record);
        Some(old)
    }

    /// The root slots that a prefix covers, or the one it is in.
    pub(crate) fn root_range(&self, prefix: N) -> (u32, u32) {
        let bits = self.shared.root.bits();
        (prefix.bits().head(bits), prefix.last_bits().head(bits))
    }

    fn insert_node<S: Node>(&mut self, prefix: N, value: u32) -> Option<u32> {
        let (target, mut depth) = self.descend::<S>(prefix);
        let bits = prefix.bits();
        let last_depth = self.home::<S>(prefix);
        let key = key_of::<N, S>(prefix, last_depth);
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        parts.clear();
        if target != 0 {
            let block = self.shared.memory.block(target);
            if let Some(at) = S::entry(block, key) {
                *S::scratch(&mut self.scratch.parts) = parts;
                let old = block.word(at);
                S::each_value(block, key, |at| self.shared.memory.set(target + at, value));
                return Some(old);
            }
            S::take_apart(block, &mut parts);
            depth = last_depth;
        }
        parts.insert(key, value);
        let mut new = self.store_node::<S>(&parts);
        let mut at = last_depth;
        while at > depth {
            at -= S::BITS;
            parts.clear();
            parts.set_child((bits << at).head(S::BITS), new);
            new = self.store_node::<S>(&parts);
        }
        *S::scratch(&mut self.scratch.parts) = parts;
        self.relink::<S>(bits, target, new);
        None
    }

    fn remove_node<S: Node>(&mut self, prefix: N) -> Option<u32> {
        let (target, _) = self.descend::<S>(prefix);
        if target == 0 {
            return None;
        }
        let key = key_of::<N, S>(prefix, self.home::<S>(prefix));
        let block = self.shared.memory.block(target);
        let old = self.shared.memory.word(target + S::entry(block, key)?);
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        S::take_apart(block, &mut parts);
        parts.remove(key);
        let new = self.store_node::<S>(&parts);
        *S::scratch(&mut self.scratch.parts) = parts;
        self.relink::<S>(prefix.bits(), target, new);
        Some(old)
    }

    /// The depth of the node that has a prefix longer than the root's.
    pub(crate) fn home<S: Node>(&self, prefix: N) -> u32 {
        let below = u32::from(prefix.prefix_len()) - self.shared.root.bits() - 1;
        self.shared.root.bits() + below / S::BITS * S::BITS
    }

    /// Walks to the node of a prefix and notes the nodes passed. Returns the node (0 where there is none) and the depth
    /// reached.
    fn descend<S: Node>(&mut self, prefix: N) -> (u32, u32) {
        let home = self.home::<S>(prefix);
        let bits = prefix.bits();
        let mut depth = self.shared.root.bits();
        let mut node = self.shared.root.slot(bits.head(depth)).child;
        self.scratch.path.clear();
        while node != 0 && depth < home {
            let slot = (bits << depth).head(S::BITS);
            self.scratch.path.push((node, slot));
            node = S::step(self.shared.memory.block(node), slot).child;
            depth += S::BITS;
        }
        (node, depth)
    }

    /// Puts `new` (or nothing) where `old` (or nothing) was: at the end of the path. The nodes on the path are
    /// copied, and the root's slot publishes all of it at once; where nobody reads they are changed in place.
    fn relink<S: Node>(&mut self, bits: N::Bits, mut old: u32, mut new: u32) {
        let alone = self.is_alone();
        while let Some((parent, slot)) = self.scratch.path.pop() {
            let next = if old == 0 || new == 0 {
                self.with_child::<S>(parent, slot, new)
            } else if alone {
                let block = self.shared.memory.block(parent);
                let at =
                    S::child(block, slot).unwrap_or_else(|| unreachable!("a child to replace"));
                self.shared
                    .memory
                    .set(parent + at, S::pointer(block.word(at), new));
                self.retire(old);
                return;
            } else {
                self.copy_with_child::<S>(parent, slot, new)
            };
            if old != 0 {
                self.retire(old);
            }
            (old, new) = (parent, next);
        }
        let root = &self.shared.root;
        root.set_child(bits.head(root.bits()), new);
        if old != 0 {
            self.retire(old);
        }
    }

    fn with_child<S: Node>(&mut self, parent: u32, slot: u32, child: u32) -> u32 {
        let mut parts = std::mem::take(S::scratch(&mut self.scratch.parts));
        S::take_apart(self.shared.memory.block(parent), &mut parts);
        parts.set_child(slot, child);
        let new = self.store_node::<S>(&parts);
        *S::scratch(&mut self.scratch.parts) = parts;
        new
    }

    fn copy_with_child<S: Node>(&mut self, parent: u32, slot: u32, child: u32) -> u32 {
        let len = S::len(self.shared.memory.block(parent));
        let new = self.alloc(len);
        self.shared.memory.copy(parent, new, len);
        let block = self.shared.memory.block(new);
        let at = S::child(block, slot).unwrap_or_else(|| unreachable!("a child to replace"));
        self.shared
            .memory
            .set(new + at, S::pointer(block.word(at), child));
        new
    }

    /// Lays a node out; 0 for one without parts.
    pub(crate) fn store_node<S: Node>(&mut self, parts: &S::Parts) -> u32 {
        if parts.is_empty() {
            return 0;
        }
        let mut words = std::mem::take(&mut self.scratch.words);
        words.clear();
        S::write(parts, &mut words);
        let index = self.store(&words);
        self.scratch.words = words;
        index
    }

    /// Keeps words beside the nodes; [`Self::retire`] lets them go.
    pub(crate) fn store(&mut self, words: &[u32]) -> u32 {
        let index = self.alloc(words.len() as u32);
        self.shared.memory.write(index, words);
        index
    }

    fn alloc(&mut self, len: u32) -> u32 {
        let memory = &self.shared.memory;
        self.pages.alloc(len, |chunk| memory.grow(chunk))
    }

    /// Whether there is no reader; none can appear while the table is borrowed for an update.
    fn is_alone(&self) -> bool {
        let alone = Arc::strong_count(&self.shared) == 1;
        if alone {
            // What the last reader loaded was loaded before it went.
            fence(Ordering::Acquire);
        }
        alone
    }

    /// Notes that prefixes are gone.
    pub(crate) fn count_out(&mut self, prefixes: usize) {
        self.len -= prefixes;
    }

    /// Frees a block when no reader can hold it any more.
    pub(crate) fn retire(&mut self, index: u32) {
        if self.is_alone() {
            release(&mut self.pages, &mut self.tables, index);
        } else {
            self.limbo.push(index);
        }
    }

    pub(crate) fn tidy(&mut self) {
        if self.limbo.is_due() {
            self.reclaim();
        }
    }

    fn refresh_direct(&mut self, prefix: N) {
        if let Some(direct) = &self.shared.direct {
            let last = prefix.last_bits().head(24);
            direct.refresh(&self.shared, prefix.bits().head(24), last);
        }
        if let Some(wide) = &self.shared.wide {
            let mut refresh = Refresh {
                shared: &self.shared,
                wide,
                tables: &mut self.tables,
            };
            refresh.prefix(prefix);
            while let Some(table) = self.tables.retired.pop() {
                self.retire(table);
            }
        }
    }
}

/// Frees a node, or a table of [`Tables`].
fn release(pages: &mut Pages, tables: &mut Tables, index: u32) {
    match index.checked_sub(RETIRED_TABLE) {
        Some(table) => tables.free(table),
        None => pages.free(index),
    }
}

/// Where in a node at `depth` a prefix is.
pub(crate) fn key_of<N: Net, S: Node>(prefix: N, depth: u32) -> Key {
    let slot = (prefix.bits() << depth).head(S::BITS);
    Key::new(slot, u32::from(prefix.prefix_len()) - depth)
}

impl<N: Net> fmt::Debug for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// What a table takes from memory, in octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The root, with the direct array where there is one.
    pub root: usize,
    /// Nodes in use.
    pub nodes: usize,
    /// All that was taken from the system for root, nodes and book-keeping.
    pub taken: usize,
    /// Nodes (not octets) that wait for a reader to let them go.
    pub retired: usize,
}
