//! A limit on the bytes of answers that wait for their readers.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits the bytes of all answers that are in memory.
pub(crate) struct ByteBudget(Arc<Semaphore>);

/// The unit of the budget, bytes.
const UNIT: usize = 4_096;

impl ByteBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        ByteBudget(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    /// Waits for so many bytes of the budget.
    pub(crate) async fn reserve(&self, bytes: usize) -> ByteReservation {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.0).acquire_many_owned(units).await;
        ByteReservation(permit.expect("the semaphore is never closed"))
    }

    /// Makes a body that counts until it is sent or dropped. Returns `None` if the budget is used up.
    pub(crate) fn body(&self, bytes: Vec<u8>) -> Option<CountedBody> {
        let units = u32::try_from(bytes.len().div_ceil(UNIT)).ok()?;
        let permit = Arc::clone(&self.0).try_acquire_many_owned(units).ok()?;
        Some(CountedBody {
            bytes: Bytes::from(bytes),
            _permit: Some(permit),
        })
    }
}

/// A reserved part of the budget.
pub(crate) struct ByteReservation(OwnedSemaphorePermit);

impl ByteReservation {
    /// Makes bytes that hold the reservation until they are sent or dropped.
    pub(crate) fn bytes(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(ReservedBytes {
            bytes,
            _permit: self.0,
        })
    }
}

struct ReservedBytes {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body of known length.
pub(crate) struct CountedBody {
    /// The bytes that are not sent yet.
    bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

impl CountedBody {
    /// A body that costs no memory of its own.
    pub(crate) fn fixed(bytes: &'static [u8]) -> Self {
        CountedBody {
            bytes: Bytes::from_static(bytes),
            _permit: None,
        }
    }

    /// A short body, which does not count.
    pub(crate) fn short(bytes: Vec<u8>) -> Self {
        CountedBody {
            bytes: Bytes::from(bytes),
            _permit: None,
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
