//! Look-ups in routes that other threads write.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc as StdArc;

use crate::epoch::Mark;
use crate::memory::{Block, Memory};
use crate::net::Net;
use crate::sync::Arc;

use super::batch_change::{MAX_BATCH, RouteChange};
use super::route_list::{self, RoutesRef};
use super::{Inner, TooLong, value_pool};

/// Looks up in [`Routes`](super::Routes) that other threads write.
///
/// It takes no lock, never waits, and writes nothing that other threads write.
pub struct RoutesReader<N: Net> {
    inner: StdArc<Inner<N>>,
    mark: Arc<Mark>,
}

/// An active [`RoutesReader`]. Drop it when there is nothing to look up for a while, as with a
/// [`View`](crate::View).
pub struct RoutesView<'r, N: Net> {
    reader: &'r RoutesReader<N>,
    left: Cell<u32>,
}

/// The longest prefix that contains an address, and its routes.
#[derive(Clone, Copy)]
pub struct Found<'v> {
    memory: &'v Memory,
    number: RoutesRef,
    len: u8,
}

/// The value of a route: its words.
#[derive(Clone, Copy)]
pub struct Value<'v> {
    block: Block<'v>,
}

/// The look-ups between two announcements that the reader holds no reference.
const ANNOUNCE_EVERY: u32 = 64;

/// The number of changes that use the smaller buffers.
const FEW: usize = 16;

impl<N: Net> RoutesReader<N> {
    pub(super) fn new(inner: StdArc<Inner<N>>) -> Self {
        let mark = inner.epochs.join();
        RoutesReader { inner, mark }
    }

    /// Becomes active. This costs a memory fence, so one view should serve many look-ups.
    pub fn enter(&mut self) -> RoutesView<'_, N> {
        self.inner.epochs.enter(&self.mark);
        RoutesView {
            reader: self,
            left: Cell::new(ANNOUNCE_EVERY),
        }
    }
}

impl<N: Net> Clone for RoutesReader<N> {
    fn clone(&self) -> Self {
        RoutesReader::new(StdArc::clone(&self.inner))
    }
}

impl<N: Net> Drop for RoutesReader<N> {
    fn drop(&mut self) {
        self.inner.epochs.leave(&self.mark);
    }
}

impl<N: Net> RoutesView<'_, N> {
    /// The routes to the longest prefix that contains the address.
    ///
    /// The result is the state at one instant between call and return, except for values: each is the one that
    /// its route has when it is read. The result stays valid until the next look-up, whatever writers do.
    #[inline]
    pub fn lookup(&mut self, addr: N::Addr) -> Option<Found<'_>> {
        self.count();
        let inner = &self.reader.inner;
        let bits = N::addr_bits(addr);
        let table = &inner.tables[inner.shard(bits)];
        let (number, extra_len) = table.find_with_len(bits)?;
        let number = RoutesRef(number);
        Some(Found {
            memory: &table.memory,
            number,
            len: extra_len.wrapping_add(number.extra_len()),
        })
    }

    /// As [`Routes::insert`](super::Routes::insert), but a route that already has this value is found without a
    /// lock and not changed. Neighbors often announce their routes again.
    ///
    /// # Errors
    /// If the value is too long.
    pub fn insert(&mut self, prefix: N, source: u32, value: &[u32]) -> Result<(), TooLong> {
        self.apply_one(&RouteChange::set(prefix, source, value))
    }

    /// As [`Routes::remove`](super::Routes::remove), but a missing route is detected without a lock.
    pub fn remove(&mut self, prefix: N, source: u32) {
        // A removal is never too long.
        let _ = self.apply_one(&RouteChange::remove(prefix, source));
    }

    fn apply_one(&mut self, change: &RouteChange<'_, N>) -> Result<(), TooLong> {
        self.count();
        self.reader.inner.apply_one_change(change)
    }

    /// Applies changes, one after the other, as [`Self::insert`] and [`Self::remove`] do.
    ///
    /// This is faster than single changes if the table is larger than the caches: the memory for up to 64
    /// changes is prefetched at once. A message with several prefixes is such a batch.
    ///
    /// ```
    /// use rutter_lpm::{Profile, RouteChange, Routes};
    /// use rutter_net::Ipv4Prefix;
    ///
    /// let routes = Routes::<Ipv4Prefix>::new(Profile::Fast, 16);
    /// let mut reader = routes.reader();
    /// let path = [64500, 64501];
    /// let message = [
    ///     RouteChange::remove("192.0.2.0/25".parse()?, 1),
    ///     RouteChange::set("192.0.2.0/24".parse()?, 1, &path),
    ///     RouteChange::set("198.51.100.0/24".parse()?, 1, &path),
    /// ];
    /// reader.enter().apply(&message).expect("a short value");
    /// assert_eq!(routes.size().routes, 2);
    /// # Ok::<(), rutter_net::ParsePrefixError>(())
    /// ```
    ///
    /// # Errors
    /// If a value is too long: the changes before it are applied.
    pub fn apply(&mut self, changes: &[RouteChange<'_, N>]) -> Result<(), TooLong> {
        if let [change] = changes {
            return self.apply_one(change);
        }
        for some in changes.chunks(MAX_BATCH) {
            self.pause();
            let inner = &self.reader.inner;
            match some.len() {
                ..=FEW => inner.apply_some::<FEW>(some)?,
                _ => inner.apply_some::<MAX_BATCH>(some)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn count(&mut self) {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => self.pause(),
        }
    }

    /// Announces to the writers that this view holds no reference now. Look-ups do this automatically from time
    /// to time.
    pub fn pause(&mut self) {
        self.left.set(ANNOUNCE_EVERY);
        self.reader.inner.epochs.announce(&self.reader.mark);
    }
}

impl<N: Net> Drop for RoutesView<'_, N> {
    fn drop(&mut self) {
        self.reader.inner.epochs.exit(&self.reader.mark);
    }
}

impl<'v> Found<'v> {
    /// The length of the prefix.
    #[inline]
    pub fn prefix_len(self) -> u8 {
        self.len
    }

    /// The routes: source and value of each, the oldest first.
    pub fn routes(self) -> impl Iterator<Item = (u32, Value<'v>)> {
        let memory = self.memory;
        route_list::values(memory, self.number).map(move |(place, _)| {
            let block = memory.block(place);
            (value_pool::source(block), Value { block })
        })
    }

    /// The first route for which `wanted` returns `true`, else the oldest.
    #[inline]
    pub fn prefer(self, wanted: impl Fn(u32, Value<'v>) -> bool) -> Option<(u32, Value<'v>)> {
        let mut routes = self.routes();
        let (source, value) = routes.next()?;
        if wanted(source, value) {
            return Some((source, value));
        }
        let later = routes.find(|(source, value)| wanted(*source, *value));
        Some(later.unwrap_or((source, value)))
    }
}

impl<'v> Value<'v> {
    /// The number of words.
    #[inline]
    pub fn len(self) -> usize {
        value_pool::len(self.block) as usize
    }

    /// Returns whether there are no words.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Word number `at`.
    ///
    /// # Panics
    /// If there are not more than `at` words.
    #[inline]
    pub fn word(self, at: usize) -> u32 {
        assert!(at < self.len(), "word {at} of {}", self.len());
        self.block.word(value_pool::HEAD + at as u32)
    }

    /// All words.
    pub fn words(self) -> impl ExactSizeIterator<Item = u32> + 'v {
        value_pool::words(self.block)
    }
}

impl<N: Net> fmt::Debug for RoutesReader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutesReader").finish_non_exhaustive()
    }
}

impl<N: Net> fmt::Debug for RoutesView<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutesView").finish_non_exhaustive()
    }
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.routes()).finish()
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}
