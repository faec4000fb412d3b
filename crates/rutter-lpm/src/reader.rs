//! Look-ups from other threads, while the table changes.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc as StdArc;

use crate::batch_lookup::LANES;
use crate::epoch::Mark;
use crate::net::Net;
use crate::shared_table::SharedTable;
use crate::sync::Arc;

/// Looks up in a [`Table`](crate::Table) that another thread writes.
///
/// A look-up takes no lock, never waits, and writes nothing that other threads write. Readers outlive the
/// table: they then use its last state.
pub struct Reader<N: Net> {
    shared: StdArc<SharedTable<N>>,
    mark: Arc<Mark>,
}

/// An active [`Reader`].
///
/// Enter it for a batch of look-ups, and drop it when there is nothing to look up for a while. The writer can
/// free removed nodes only as fast as views continue to look up (or [`pause`](Self::pause)).
pub struct View<'r, N: Net> {
    reader: &'r Reader<N>,
    /// The look-ups until the next announcement.
    left: Cell<u32>,
}

/// The look-ups between two announcements that the reader holds no reference.
const ANNOUNCE_EVERY: u32 = 64;

impl<N: Net> Reader<N> {
    pub(crate) fn new(shared: StdArc<SharedTable<N>>) -> Self {
        let mark = shared.epochs.join();
        Reader { shared, mark }
    }

    /// Becomes active. This costs a memory fence, so one view should serve many look-ups.
    pub fn enter(&mut self) -> View<'_, N> {
        self.shared.epochs.enter(&self.mark);
        View {
            reader: self,
            left: Cell::new(ANNOUNCE_EVERY),
        }
    }

    /// A single look-up: [`enter`](Self::enter) and [`View::lookup`].
    pub fn lookup(&mut self, addr: N::Addr) -> Option<u32> {
        self.enter().lookup(addr)
    }
}

impl<N: Net> Clone for Reader<N> {
    fn clone(&self) -> Self {
        Reader::new(StdArc::clone(&self.shared))
    }
}

impl<N: Net> Drop for Reader<N> {
    fn drop(&mut self) {
        self.shared.epochs.leave(&self.mark);
    }
}

impl<N: Net> fmt::Debug for Reader<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = self.shared.profile;
        f.debug_struct("Reader")
            .field("profile", &profile)
            .finish_non_exhaustive()
    }
}

impl<N: Net> View<'_, N> {
    /// The number of the longest prefix that contains the address.
    ///
    /// The prefix was the longest at one instant between call and return. The number is one that it had then or
    /// later, before the return ([how exact a look-up is](crate#how-exact-a-look-up-is)).
    #[inline]
    pub fn lookup(&self, addr: N::Addr) -> Option<u32> {
        let value = self.reader.shared.lookup(N::addr_bits(addr));
        self.count(1);
        value
    }

    /// The longest prefix that contains the address, and its number.
    #[inline]
    pub fn lookup_prefix(&self, addr: N::Addr) -> Option<(N, u32)> {
        let found = self.reader.shared.find_prefix(N::addr_bits(addr));
        self.count(1);
        found
    }

    /// [`lookup`](Self::lookup) for each of `addrs`, with overlapped cache misses.
    ///
    /// # Panics
    /// If `values` is shorter than `addrs`.
    pub fn lookup_many(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        assert!(values.len() >= addrs.len(), "a place for each answer");
        for (addrs, values) in addrs.chunks(LANES).zip(values.chunks_mut(LANES)) {
            crate::cpu::find_many(&self.reader.shared, addrs, values);
            self.count(LANES as u32);
        }
    }

    /// Announces to the writer that this view holds no reference now. Look-ups do this automatically from time
    /// to time.
    #[inline]
    pub fn pause(&self) {
        self.left.set(ANNOUNCE_EVERY);
        self.reader.shared.epochs.announce(&self.reader.mark);
    }

    #[inline]
    fn count(&self, lookups: u32) {
        match self.left.get().checked_sub(lookups) {
            Some(left) => self.left.set(left),
            None => self.pause(),
        }
    }
}

impl<N: Net> Drop for View<'_, N> {
    fn drop(&mut self) {
        self.reader.shared.epochs.exit(&self.reader.mark);
    }
}

impl<N: Net> fmt::Debug for View<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(self.reader).finish()
    }
}
