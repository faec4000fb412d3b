//! The table as its one writer sees it.

mod blocks;
mod heads;
mod nodes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::epoch::Epochs;
use crate::limbo::Limbo;
use crate::net::{Bits, Net};
use crate::node::{self, Eight, Four};
use crate::pages::Pages;
use crate::profile::{Profile, Stride};
use crate::reader::Reader;
use crate::search::{Shared, Spot};
use crate::supply::Supply;
use crate::wide::{Refresh, Tables};

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
    is_shard: bool,
    scratch: Scratch,
}

/// Reused between updates.
#[derive(Default)]
struct Scratch {
    parts: node::Scratch,
    words: Vec<u32>,
    path: Vec<(u32, u32)>,
}

/// Chunks of a table before it takes regions that may become huge pages: half a MiB.
const SINGLE: usize = 8;

impl<N: Net> Table<N> {
    /// An empty table.
    pub fn new(profile: Profile) -> Self {
        let epochs = crate::sync::Arc::new(Epochs::new());
        Self::with_epochs(profile, epochs, Arc::new(Supply::new(SINGLE)), false)
    }

    /// An empty table that shares its readers and its memory with other tables. `is_shard` says whether it is one of many, with gaps
    /// ([`Self::leave_gap`]): then its root is small, and its nodes begin where a line of the processor's cache does, which is a miss
    /// less, for an octet or two a prefix more.
    pub(crate) fn with_epochs(
        profile: Profile,
        epochs: crate::sync::Arc<Epochs>,
        supply: Arc<Supply>,
        is_shard: bool,
    ) -> Self {
        Table {
            shared: Arc::new(Shared::new(profile, epochs, supply, is_shard)),
            heads: BTreeMap::new(),
            pages: Pages::new(),
            limbo: Limbo::default(),
            tables: Tables::new(),
            len: 0,
            is_shard,
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
        let spot = self.seek(prefix);
        self.put(prefix, spot, value);
        spot.number
    }

    /// Takes a prefix out and returns its number.
    pub fn remove(&mut self, prefix: N) -> Option<u32> {
        let spot = self.seek(prefix);
        let number = spot.number?;
        self.pull(prefix, spot);
        Some(number)
    }

    /// Looks where a prefix is, or would be, for [`Self::put`] and [`Self::pull`].
    pub(crate) fn seek(&mut self, prefix: N) -> Spot {
        if self.is_head(prefix) {
            return self.seek_head(prefix);
        }
        match self.shared.profile.stride() {
            Stride::Four => self.seek_node::<Four>(prefix),
            Stride::Eight => self.seek_node::<Eight>(prefix),
        }
    }

    /// [`Self::seek`] where the prefix was before: see [`Shared::spot_again`].
    pub(crate) fn seek_again(&mut self, prefix: N, spot: Spot) -> Option<Spot> {
        let spot = self.shared.spot_again(prefix, spot);
        if spot.is_some() && !self.scratch.path.is_empty() {
            self.scratch.path.clear();
        }
        spot
    }

    /// Sets the number of a prefix whose spot was just found.
    pub(crate) fn put(&mut self, prefix: N, spot: Spot, number: u32) {
        if self.is_head(prefix) {
            self.put_head(prefix, spot, number);
        } else {
            match self.shared.profile.stride() {
                Stride::Four => self.put_in_node::<Four>(prefix, spot, number),
                Stride::Eight => self.put_in_node::<Eight>(prefix, spot, number),
            }
        }
        self.len += usize::from(spot.number.is_none());
        self.refresh_direct(prefix);
        self.tidy();
    }

    /// Takes out a prefix that is there, whose spot was just found.
    pub(crate) fn pull(&mut self, prefix: N, spot: Spot) {
        if self.is_head(prefix) {
            self.pull_head(prefix, spot);
        } else {
            match self.shared.profile.stride() {
                Stride::Four => self.pull_from_node::<Four>(prefix, spot),
                Stride::Eight => self.pull_from_node::<Eight>(prefix, spot),
            }
        }
        self.len -= 1;
        self.refresh_direct(prefix);
        self.tidy();
    }

    /// Takes a prefix that is there away but leaves it a place, a *gap*, if its node can have one more: most prefixes that go
    /// come again soon. The number in a gap is 0, so this is for tables that have no such number otherwise.
    pub(crate) fn leave_gap(&mut self, prefix: N, spot: Spot) -> bool {
        let is_gap = !self.is_head(prefix)
            && match self.shared.profile.stride() {
                Stride::Four => self.leave_gap_in_node::<Four>(prefix, spot),
                Stride::Eight => self.leave_gap_in_node::<Eight>(prefix, spot),
            };
        self.len -= usize::from(is_gap);
        is_gap
    }

    /// Puts a prefix into its gap, which was just found.
    pub(crate) fn fill_gap(&mut self, spot: Spot, number: u32) {
        match self.shared.profile.stride() {
            Stride::Four => self.fill_gap_in_node::<Four>(spot, number),
            Stride::Eight => self.fill_gap_in_node::<Eight>(spot, number),
        }
        self.len += 1;
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

    /// Notes that prefixes are gone.
    pub(crate) fn count_out(&mut self, prefixes: usize) {
        self.len -= prefixes;
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
