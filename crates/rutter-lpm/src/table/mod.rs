//! The table as its one writer uses it.

mod allocation;
mod node_prefixes;
mod root_prefixes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::block_allocator::BlockAllocator;
use crate::chunk_allocator::ChunkAllocator;
use crate::direct_ipv6::{Refresh, Tables};
use crate::epoch::Epochs;
use crate::net::{Bits, Net};
use crate::node::{self, Stride4, Stride8};
use crate::profile::{Profile, Stride};
use crate::reader::Reader;
use crate::retired_nodes::RetiredNodes;
use crate::shared_table::{Location, SharedTable};

/// Prefixes with a number each, for one writer and any number of [`Reader`]s.
///
/// The number is the caller's: an index into data about the prefix, an AS number, a next hop.
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
    pub(crate) shared: Arc<SharedTable<N>>,
    /// The records of the root's prefixes, in order.
    pub(crate) root_prefixes: BTreeMap<N, u32>,
    blocks: BlockAllocator,
    retired_nodes: RetiredNodes,
    tables: Tables,
    len: usize,
    is_shard: bool,
    scratch: Scratch,
}

/// Buffers that updates reuse.
#[derive(Default)]
struct Scratch {
    parts: node::Scratch,
    words: Vec<u32>,
    path: Vec<(u32, u32)>,
}

/// The chunks of a table before it uses regions that may become huge pages: half a MiB.
const SINGLE: usize = 8;

impl<N: Net> Table<N> {
    /// An empty table.
    pub fn new(profile: Profile) -> Self {
        let epochs = crate::sync::Arc::new(Epochs::new());
        Self::with_epochs(
            profile,
            epochs,
            Arc::new(ChunkAllocator::new(SINGLE)),
            false,
        )
    }

    /// An empty table that shares readers and memory with other tables. `is_shard` says whether it is one of
    /// many tables, with gaps ([`Self::leave_gap`]). Its root is then small, and its nodes are aligned to cache
    /// lines. That saves a miss, for a byte or two more per prefix.
    pub(crate) fn with_epochs(
        profile: Profile,
        epochs: crate::sync::Arc<Epochs>,
        chunk_allocator: Arc<ChunkAllocator>,
        is_shard: bool,
    ) -> Self {
        Table {
            shared: Arc::new(SharedTable::new(profile, epochs, chunk_allocator, is_shard)),
            root_prefixes: BTreeMap::new(),
            blocks: BlockAllocator::new(),
            retired_nodes: RetiredNodes::default(),
            tables: Tables::new(),
            len: 0,
            is_shard,
            scratch: Scratch::default(),
        }
    }

    /// The division of address bits.
    pub fn profile(&self) -> Profile {
        self.shared.profile
    }

    /// The number of prefixes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A new reader, for another thread. Clone it for more.
    pub fn reader(&self) -> Reader<N> {
        Reader::new(Arc::clone(&self.shared))
    }

    /// Sets the number of a prefix and returns the previous one.
    ///
    /// Readers see the change atomically when this returns. A new number of an existing prefix costs one store.
    ///
    /// # Panics
    /// If the nodes would take more than 1 GiB, about a hundred million prefixes.
    pub fn insert(&mut self, prefix: N, value: u32) -> Option<u32> {
        let location = self.seek(prefix);
        self.put(prefix, location, value);
        location.number
    }

    /// Removes a prefix and returns its number.
    pub fn remove(&mut self, prefix: N) -> Option<u32> {
        let location = self.seek(prefix);
        let number = location.number?;
        self.pull(prefix, location);
        Some(number)
    }

    /// Finds the location of a prefix, or where it would be, for [`Self::put`] and [`Self::pull`].
    pub(crate) fn seek(&mut self, prefix: N) -> Location {
        if self.is_in_root(prefix) {
            return self.seek_in_root(prefix);
        }
        match self.shared.profile.stride() {
            Stride::Stride4 => self.seek_node::<Stride4>(prefix),
            Stride::Stride8 => self.seek_node::<Stride8>(prefix),
        }
    }

    /// [`Self::seek`] with an earlier location: see [`SharedTable::location_again`].
    pub(crate) fn seek_again(&mut self, prefix: N, location: Location) -> Option<Location> {
        let location = self.shared.location_again(prefix, location);
        if location.is_some() && !self.scratch.path.is_empty() {
            self.scratch.path.clear();
        }
        location
    }

    /// Sets the number of a prefix whose location was just found.
    pub(crate) fn put(&mut self, prefix: N, location: Location, number: u32) {
        if self.is_in_root(prefix) {
            self.put_in_root(prefix, location, number);
        } else {
            match self.shared.profile.stride() {
                Stride::Stride4 => self.put_in_node::<Stride4>(prefix, location, number),
                Stride::Stride8 => self.put_in_node::<Stride8>(prefix, location, number),
            }
        }
        self.len += usize::from(location.number.is_none());
        self.refresh_direct(prefix);
        self.reclaim_if_due();
    }

    /// Removes an existing prefix whose location was just found.
    pub(crate) fn pull(&mut self, prefix: N, location: Location) {
        if self.is_in_root(prefix) {
            self.pull_from_root(prefix, location);
        } else {
            match self.shared.profile.stride() {
                Stride::Stride4 => self.pull_from_node::<Stride4>(prefix, location),
                Stride::Stride8 => self.pull_from_node::<Stride8>(prefix, location),
            }
        }
        self.len -= 1;
        self.refresh_direct(prefix);
        self.reclaim_if_due();
    }

    /// Removes an existing prefix but leaves a *gap* if its node can have one more: most removed prefixes come
    /// back soon. The number in a gap is 0, so this is for tables that do not use that number.
    pub(crate) fn leave_gap(&mut self, prefix: N, location: Location) -> bool {
        let is_gap = !self.is_in_root(prefix)
            && match self.shared.profile.stride() {
                Stride::Stride4 => self.leave_gap_in_node::<Stride4>(prefix, location),
                Stride::Stride8 => self.leave_gap_in_node::<Stride8>(prefix, location),
            };
        self.len -= usize::from(is_gap);
        is_gap
    }

    /// Puts a prefix into its gap, which was just found.
    pub(crate) fn fill_gap(&mut self, location: Location, number: u32) {
        match self.shared.profile.stride() {
            Stride::Stride4 => self.fill_gap_in_node::<Stride4>(location, number),
            Stride::Stride8 => self.fill_gap_in_node::<Stride8>(location, number),
        }
        self.len += 1;
    }

    /// The memory of the table.
    pub fn size(&self) -> Size {
        let shared = &self.shared;
        let direct = shared.direct.as_ref().map_or(0, |direct| direct.size());
        let direct = direct
            + shared
                .direct_ipv6
                .as_ref()
                .map_or(0, |_| self.tables.size());
        // A B-tree's leaves hold up to 11 entries and are about three quarters full.
        let root_prefixes = self.root_prefixes.len() * size_of::<(N, u32)>() * 4 / 3;
        Size {
            root: shared.root.size() + direct,
            nodes: self.blocks.used() * 4,
            taken: shared.root.size()
                + direct
                + shared.memory.size()
                + root_prefixes
                + self.blocks.own_size(),
            retired: self.retired_nodes.len(),
        }
    }

    /// Subtracts removed prefixes from the number of prefixes.
    pub(crate) fn count_out(&mut self, prefixes: usize) {
        self.len -= prefixes;
    }

    fn refresh_direct(&mut self, prefix: N) {
        if let Some(direct) = &self.shared.direct {
            let last = prefix.last_bits().head(24);
            direct.refresh(&self.shared, prefix.bits().head(24), last);
        }
        if let Some(direct_ipv6) = &self.shared.direct_ipv6 {
            let mut refresh = Refresh {
                shared: &self.shared,
                direct_ipv6,
                tables: &mut self.tables,
            };
            refresh.prefix(prefix);
            while let Some(table) = self.tables.retired.pop() {
                self.retire(table);
            }
        }
    }
}

impl<N: Net> fmt::Debug for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The memory of a table, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The root, with the direct array if there is one.
    pub root: usize,
    /// The nodes in use.
    pub nodes: usize,
    /// All memory taken from the system for root, nodes and book-keeping.
    pub taken: usize,
    /// The number of nodes (not bytes) that wait until no reader uses them.
    pub retired: usize,
}
