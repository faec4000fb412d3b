//! Several routes a prefix, each of a *source*, for many writers and many readers.

mod intern;
mod shard;
mod view;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::epoch::Epochs;
use crate::net::{Bits, Net};
use crate::profile::Profile;
use crate::search::Shared;
use crate::sync::Arc as EpochsArc;

use shard::Shard;
pub use view::{Found, RoutesReader, RoutesView, Value};

/// Routes by prefix and source, with a value each.
///
/// A source is a number of the caller's: a peer, or a peer and a path identifier. A value is what is known of a route, as
/// words of 32 bits in a form of the caller's choice: numbers, a next hop, an AS path. Routes with equal values share
/// them.
///
/// Any number of threads may write: the table is divided into shards by the first address bits, each behind a lock of its
/// own. Any number of [`RoutesReader`]s look up, without a lock and without waiting for a writer.
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

/// What writers and readers share.
struct Inner<N: Net> {
    epochs: EpochsArc<Epochs>,
    shards: Box<[Mutex<Shard<N>>]>,
    /// The tables of the shards, for readers.
    tables: Box<[Arc<Shared<N>>]>,
}

/// What [`Routes`] hold and take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutesSize {
    /// Prefixes with a route.
    pub prefixes: usize,
    /// Routes of all sources.
    pub routes: usize,
    /// Distinct values, by shard.
    pub values: usize,
    /// Octets taken from the system.
    pub taken: usize,
}

/// A value has more than [`Routes::LONGEST_VALUE`] words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(usize);

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, most) = (self.0, intern::LONGEST);
        write!(
            f,
            "a value of {words} words: keep it elsewhere and store its number, or cut it to {most}"
        )
    }
}

impl std::error::Error for TooLong {}

impl<N: Net> Routes<N> {
    /// The most words of a value.
    pub const LONGEST_VALUE: usize = intern::LONGEST;

    /// No routes, in `shards` shards (at least one). As many as there are writers is enough.
    pub fn new(profile: Profile, shards: usize) -> Self {
        let epochs = EpochsArc::new(Epochs::new());
        let shard = |_| Shard::new(profile, EpochsArc::clone(&epochs));
        let shards: Vec<_> = (0..shards.max(1)).map(shard).collect();
        let tables = shards.iter().map(Shard::shared).collect();
        let inner = Inner {
            shards: shards.into_iter().map(Mutex::new).collect(),
            tables,
            epochs,
        };
        Routes {
            inner: Arc::new(inner),
        }
    }

    /// Sets the value of a source's route to a prefix. Returns whether the route is new.
    ///
    /// # Errors
    /// When the value is longer than [`Self::LONGEST_VALUE`].
    pub fn insert(&self, prefix: N, source: u32, value: &[u32]) -> Result<bool, TooLong> {
        if value.len() > intern::LONGEST {
            return Err(TooLong(value.len()));
        }
        let is_short = self.inner.is_short(prefix);
        let shards = self.shards_of(prefix);
        let each = shards.map(|mut shard| shard.insert(prefix, source, value, is_short));
        Ok(each.fold(false, |_, is_new| is_new))
    }

    /// Takes a source's route to a prefix out. Returns whether there was one.
    pub fn remove(&self, prefix: N, source: u32) -> bool {
        let is_short = self.inner.is_short(prefix);
        let shards = self.shards_of(prefix);
        let each = shards.map(|mut shard| shard.remove(prefix, source, is_short));
        each.fold(false, |_, was_there| was_there)
    }

    /// Takes all routes of a source out, one shard after another, and returns how many there were.
    pub fn remove_source(&self, source: u32) -> usize {
        let mut removed = 0;
        for number in 0..self.inner.shards.len() {
            let is_short = |prefix| self.inner.is_short(prefix);
            let (all, short) = self.inner.lock(number).remove_source(source, is_short);
            // Short prefixes are in every shard.
            removed += if number == 0 { all } else { all - short };
        }
        removed
    }

    /// A new reader, for another thread. Clone it for more.
    pub fn reader(&self) -> RoutesReader<N> {
        RoutesReader::new(Arc::clone(&self.inner))
    }

    /// What there is, and what it takes. Waits for writers.
    pub fn size(&self) -> RoutesSize {
        let mut size = RoutesSize::default();
        for number in 0..self.inner.shards.len() {
            self.inner.lock(number).add_to(&mut size, number == 0);
        }
        size
    }

    /// Frees what no reader can still hold; writers do so by themselves now and then.
    pub fn reclaim(&self) {
        (0..self.inner.shards.len()).for_each(|number| self.inner.lock(number).reclaim());
    }

    /// The shards that have a prefix: one, or all where the prefix is shorter than the bits that choose a shard.
    fn shards_of(&self, prefix: N) -> impl Iterator<Item = MutexGuard<'_, Shard<N>>> {
        let shards = if self.inner.is_short(prefix) {
            0..self.inner.shards.len()
        } else {
            let number = self.inner.shard(prefix.bits());
            number..number + 1
        };
        shards.map(|number| self.inner.lock(number))
    }
}

impl<N: Net> Inner<N> {
    /// The first address bits, that choose the shard.
    const BITS: u32 = if N::IS_IPV6 { 24 } else { 8 };

    fn is_short(&self, prefix: N) -> bool {
        u32::from(prefix.prefix_len()) < Self::BITS && self.shards.len() > 1
    }

    /// The number of the shard of an address.
    #[inline(always)]
    fn shard(&self, bits: N::Bits) -> usize {
        // Neighbours, by far the most alike in use, go to different shards.
        let spread = bits.head(Self::BITS).wrapping_mul(0x9e37_79b1);
        ((u64::from(spread) * self.tables.len() as u64) >> 32) as usize
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Shard<N>> {
        self.shards[number]
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<N: Net> fmt::Debug for Routes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
