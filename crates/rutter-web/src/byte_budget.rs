//! A limit on the bytes of answers that wait for their readers.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use rutter_server::network;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits the bytes of all answers that are in memory, and of those to one network: clients that read nothing leave room
/// for the others.
pub(crate) struct ByteBudget {
    total: Arc<Semaphore>,
    units_of_network: usize,
    /// The shares of the networks that have answers, and of some that had.
    networks: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// The unit of the budget, bytes.
const UNIT: usize = 4_096;
/// A network has this part of the budget.
const NETWORKS: usize = 4;
/// With more shares than this, those that nobody uses are dropped.
const MAX_IDLE_SHARES: usize = 256;

impl ByteBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        ByteBudget {
            total: Arc::new(Semaphore::new(bytes / UNIT)),
            units_of_network: bytes / UNIT / NETWORKS,
            networks: Mutex::default(),
        }
    }

    /// Waits for so many bytes of the budget.
    pub(crate) async fn reserve(&self, bytes: usize, client: IpAddr) -> ByteReservation {
        let share = self.share(client);
        let units = self.units(bytes);
        let own = share.acquire_many_owned(units).await;
        let total = Arc::clone(&self.total).acquire_many_owned(units).await;
        const NEVER: &str = "the semaphore is never closed";
        ByteReservation {
            _own: own.expect(NEVER),
            _total: total.expect(NEVER),
        }
    }

    /// Makes a body that counts until it is sent or dropped. Returns `None` if the budget, or the share of the client's
    /// network, is used up.
    ///
    /// Bytes that several clients receive count for each of them.
    pub(crate) fn body(&self, bytes: impl Into<Bytes>, client: IpAddr) -> Option<CountedBody> {
        let bytes = bytes.into();
        let units = self.units(bytes.len());
        let own = self.share(client).try_acquire_many_owned(units).ok()?;
        let total = Arc::clone(&self.total).try_acquire_many_owned(units);
        let reservation = ByteReservation {
            _own: own,
            _total: total.ok()?,
        };
        let bytes = reservation.bytes(bytes);
        Some(CountedBody { bytes })
    }

    /// An answer longer than the share of a network takes all of it.
    fn units(&self, bytes: usize) -> u32 {
        let units = bytes.div_ceil(UNIT).min(self.units_of_network);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    fn share(&self, client: IpAddr) -> Arc<Semaphore> {
        // No thread panics while it holds the lock.
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if networks.len() > MAX_IDLE_SHARES {
            // A permit holds its semaphore.
            networks.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let new = || Arc::new(Semaphore::new(self.units_of_network));
        Arc::clone(networks.entry(network(client)).or_insert_with(new))
    }
}

/// A reserved part of the budget.
pub(crate) struct ByteReservation {
    _own: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
}

impl ByteReservation {
    /// Makes bytes that hold the reservation until they are sent or dropped.
    pub(crate) fn bytes(self, bytes: impl Into<Bytes>) -> Bytes {
        Bytes::from_owner(ReservedBytes {
            bytes: bytes.into(),
            _reservation: self,
        })
    }
}

struct ReservedBytes {
    bytes: Bytes,
    _reservation: ByteReservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body of known length.
pub(crate) struct CountedBody {
    /// The bytes that are not sent yet. They hold their part of the budget themselves: the connection may keep them long
    /// after it has dropped the body.
    bytes: Bytes,
}

impl CountedBody {
    /// A body that costs no memory of its own.
    pub(crate) fn fixed(bytes: &'static [u8]) -> Self {
        CountedBody {
            bytes: Bytes::from_static(bytes),
        }
    }

    /// A short body, which does not count.
    pub(crate) fn short(bytes: Vec<u8>) -> Self {
        CountedBody {
            bytes: Bytes::from(bytes),
        }
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::task::Waker;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    #[test]
    fn bytes_count_until_the_connection_has_sent_them() {
        let budget = ByteBudget::new(NETWORKS * 2 * UNIT);
        let body = |bytes| budget.body(vec![0; bytes], CLIENT);
        let mut first = body(2 * UNIT).expect("a body");
        let context = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut first).poll_frame(context) else {
            panic!("no bytes");
        };
        drop(first);
        assert!(body(1).is_none());
        drop(frame);
        assert!(body(1).is_some());
    }

    #[test]
    fn a_network_leaves_room_for_others() {
        let budget = ByteBudget::new(NETWORKS * UNIT);
        let body = |host: u8| budget.body(vec![0], Ipv4Addr::new(192, 0, 2, host).into());
        let held: Vec<_> = (1..=4).map(|host| body(host).expect("a body")).collect();
        assert!(body(5).is_none(), "the budget of all");
        drop(held);
        let long = budget
            .body(vec![0; 3 * UNIT], CLIENT)
            .expect("all of its share");
        assert!(body(1).is_none() && body(2).is_some());
        drop(long);
        assert!(body(1).is_some());
    }

    #[test]
    fn shares_that_nobody_uses_are_dropped() {
        let budget = ByteBudget::new(NETWORKS * UNIT);
        let held = budget.body(vec![0], CLIENT);
        for host in 0..2 * MAX_IDLE_SHARES as u32 {
            budget.body(vec![0], Ipv4Addr::from_bits(host).into());
        }
        let networks = budget.networks.lock().expect("a lock").len();
        assert!(networks <= MAX_IDLE_SHARES + 1, "{networks}");
        assert!(held.is_some() && budget.body(vec![0], CLIENT).is_none());
    }
}
