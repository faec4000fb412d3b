//! Several routes a prefix, each of a *source*, for many writers and many readers.

mod batch_change;
mod found_route;
mod hash_index;
mod queued_shard;
mod route_list;
mod shard;
mod value_pool;
mod view;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::chunk_allocator::ChunkAllocator;
use crate::epoch::Epochs;
use crate::net::{Bits, Net};
use crate::profile::Profile;
use crate::shared_table::SharedTable;
use crate::sync::Arc as EpochsArc;

pub use batch_change::RouteChange;
use found_route::FoundRoute;
use queued_shard::{Change, QueuedShard};
use shard::Shard;
use value_pool::Seed;
pub use view::{Found, RoutesReader, RoutesView, Value};

/// Routes by prefix and source, with a value each.
///
/// A source is a number of the caller's: a peer, or a peer and a path identifier. A value describes a route as
/// words of 32 bits in a form of the caller's choice: numbers, a next hop, an AS path. Routes with equal values
/// share them.
///
/// Any number of threads may write: the first address bits divide the table into shards, each behind its own
/// lock. Any number of [`RoutesReader`]s look up, without a lock and without waiting for a writer.
///
/// ```
/// use rutter_lpm::{Profile, Routes};
/// use rutter_net::Ipv4Prefix;
///
/// let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 16);
/// std::thread::scope(|scope| {
///     for source in 0..4 {
///         let routes = &routes;
///         scope.spawn(move || {
///             let prefix = Ipv4Prefix::new(0xc000_0200, 24).expect("a length in range");
///             routes.insert(prefix, source, &[64500 + source]).expect("a short value");
///         });
///     }
/// });
/// let mut reader = routes.reader();             // to another thread; clone it for more
/// let mut view = reader.enter();
/// let found = view.lookup("192.0.2.1".parse()?).expect("covered");
/// assert_eq!(found.prefix_len(), 24);
/// let of_two = found.routes().find(|(source, _)| *source == 2).map(|(_, value)| value.word(0));
/// assert_eq!(of_two, Some(64502));
/// drop(view);
/// assert_eq!(routes.remove_source(2), 1);
/// assert_eq!(routes.size().routes, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Routes<N: Net> {
    inner: Arc<Inner<N>>,
}

/// The data that writers and readers share.
struct Inner<N: Net> {
    epochs: EpochsArc<Epochs>,
    queued_shards: Box<[QueuedShard<N>]>,
    seed: Seed,
    /// The tables of the shards, for readers.
    tables: Box<[Arc<SharedTable<N>>]>,
    /// Held while a thread changes all shards, so that all shards receive such changes in the same order.
    all: Mutex<()>,
}

/// The contents and the memory of [`Routes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutesSize {
    /// The prefixes with a route.
    pub prefixes: usize,
    /// The routes of all sources.
    pub routes: usize,
    /// The distinct values, counted by shard.
    pub values: usize,
    /// The bytes taken from the system.
    pub taken: usize,
}

/// A value has more than [`Routes::LONGEST_VALUE`] words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(usize);

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, most) = (self.0, value_pool::LONGEST);
        write!(
            f,
            "a value of {words} words: keep it elsewhere and store its number, or cut it to {most}"
        )
    }
}

impl std::error::Error for TooLong {}

/// The chunks of all shards before they share huge pages.
const SINGLE: usize = 64;

impl<N: Net> Routes<N> {
    /// The most words of a value.
    pub const LONGEST_VALUE: usize = value_pool::LONGEST;

    /// An empty table with `shards` shards (at least one). The number of writers is enough.
    ///
    /// [`Profile::Fastest`] is [`Profile::Fast`] here: direct tables hold one answer an address, and a prefix
    /// has several routes.
    pub fn new(profile: Profile, shards: usize) -> Self {
        let profile = match profile {
            Profile::Fastest => Profile::Fast,
            other => other,
        };
        let epochs = EpochsArc::new(Epochs::new());
        let chunk_allocator = Arc::new(ChunkAllocator::new(SINGLE));
        let seed = Seed::new();
        let shard = |_| {
            let (epochs, chunk_allocator) =
                (EpochsArc::clone(&epochs), Arc::clone(&chunk_allocator));
            Shard::new(profile, epochs, chunk_allocator, seed)
        };
        let shards: Vec<_> = (0..shards.max(1)).map(shard).collect();
        let tables = shards.iter().map(Shard::shared).collect();
        let inner = Inner {
            queued_shards: shards.into_iter().map(QueuedShard::new).collect(),
            seed,
            tables,
            epochs,
            all: Mutex::new(()),
        };
        Routes {
            inner: Arc::new(inner),
        }
    }

    /// Sets the value of a source's route to a prefix.
    ///
    /// Readers see the change when this returns, unless another thread is writing to the shard at the moment.
    /// Then that thread applies the change soon, before any later one.
    ///
    /// # Errors
    /// If the value is longer than [`Self::LONGEST_VALUE`].
    ///
    /// # Panics
    /// If a shard would take more than 1 GiB, or have more than 40 million values, in the thread that applies
    /// the change. The change is lost; all others are applied.
    pub fn insert(&self, prefix: N, source: u32, value: &[u32]) -> Result<(), TooLong> {
        let change = RouteChange::set(prefix, source, value);
        self.inner.make(&change, self.inner.ask(&change).hash, None)
    }

    /// Removes a source's route to a prefix, if there is one. Readers see the change as with [`Self::insert`].
    pub fn remove(&self, prefix: N, source: u32) {
        // A removal is never too long.
        let _ = self
            .inner
            .make(&RouteChange::remove(prefix, source), 0, None);
    }

    /// Removes all routes of a source, one shard after another, and returns their number. This thread's earlier
    /// changes are all applied then.
    pub fn remove_source(&self, source: u32) -> usize {
        let mut removed = 0;
        let _all = self.inner.lock_all();
        for (number, queued_shard) in self.inner.queued_shards.iter().enumerate() {
            let is_short = |prefix| self.inner.is_short(prefix);
            let (all, short) = queued_shard.with(|shard| shard.remove_source(source, is_short));
            // Short prefixes are in every shard.
            removed += if number == 0 { all } else { all - short };
        }
        removed
    }

    /// A new reader, for another thread. Clone it for more.
    pub fn reader(&self) -> RoutesReader<N> {
        RoutesReader::new(Arc::clone(&self.inner))
    }

    /// The contents and the memory. Waits for writers, and applies all earlier changes.
    pub fn size(&self) -> RoutesSize {
        let mut size = RoutesSize::default();
        for (number, queued_shard) in self.inner.queued_shards.iter().enumerate() {
            queued_shard.with(|shard| shard.add_size_to(&mut size, number == 0));
        }
        size
    }

    /// Frees all blocks that no reader can use any more. Writers do this automatically from time to time.
    pub fn reclaim(&self) {
        let queued_shards = self.inner.queued_shards.iter();
        queued_shards.for_each(|queued_shard| queued_shard.with(Shard::reclaim));
    }
}

impl<N: Net> Inner<N> {
    /// The number of first address bits that choose the shard.
    const BITS: u32 = if N::IS_IPV6 { 24 } else { 8 };

    /// Submits a change to the shard of the prefix, or to all shards if the prefix is too short to choose one.
    /// `hash` comes from [`Self::ask`]. `seen` is the route that this thread found before and that its active
    /// reader protects.
    fn make(
        &self,
        change: &RouteChange<'_, N>,
        hash: u64,
        seen: Option<FoundRoute>,
    ) -> Result<(), TooLong> {
        let words = change.value.map_or(0, <[u32]>::len);
        if words > value_pool::LONGEST {
            return Err(TooLong(words));
        }
        let is_short = self.is_short(change.prefix);
        let change = Change {
            prefix: change.prefix,
            source: change.source,
            value: change.value,
            is_short,
            hash,
        };
        if is_short {
            let _all = self.lock_all();
            let queued_shards = self.queued_shards.iter();
            queued_shards.for_each(|queued_shard| queued_shard.submit(&change, None));
        } else {
            self.queued_shards[self.shard(change.prefix.bits())].submit(&change, seen);
        }
        Ok(())
    }

    fn lock_all(&self) -> MutexGuard<'_, ()> {
        self.all
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn is_short(&self, prefix: N) -> bool {
        u32::from(prefix.prefix_len()) < Self::BITS && self.queued_shards.len() > 1
    }

    /// The number of the shard of an address.
    #[inline(always)]
    fn shard(&self, bits: N::Bits) -> usize {
        // Neighbouring prefixes, which are often used alike, go to different shards.
        let spread = bits.head(Self::BITS).wrapping_mul(0x9e37_79b1);
        ((u64::from(spread) * self.tables.len() as u64) >> 32) as usize
    }
}

impl<N: Net> fmt::Debug for Routes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
