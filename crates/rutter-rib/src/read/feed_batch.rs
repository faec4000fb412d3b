//! A batch of events for the feed: the bodies of UPDATEs, many in one allocation.
//!
//! Readers of the feed free the bodies on their own threads, and long-lived attribute sets lie between them. Bodies
//! allocated one by one would leave hundreds of thousands of small holes after a load. The system's allocator tidies
//! them 10,000 at a time, which takes milliseconds, when a routing thread next wants a larger piece.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::PeerId;
use crate::read::feed::FeedEvent;

/// The bytes of an UPDATE's body. Bodies of one batch share an allocation.
#[derive(Clone)]
pub struct Body {
    block: Arc<[u8]>,
    range: Range<u32>,
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.block[self.range.start as usize..self.range.end as usize]
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Body {
            range: 0..bytes.len() as u32,
            block: bytes.into(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Events in order, to be published later.
#[derive(Default)]
pub(crate) struct FeedBatch {
    events: Vec<FeedEvent>,
    /// The updates whose bytes have no allocation of their own yet.
    open: Vec<Update>,
    bytes: Vec<u8>,
}

struct Update {
    peer: PeerId,
    unix_us: u64,
    range: Range<u32>,
}

impl FeedBatch {
    /// Adds an UPDATE.
    pub fn push(&mut self, peer: PeerId, unix_us: u64, body: &[u8]) {
        if self.bytes.len() + body.len() > BLOCK {
            self.close();
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(body);
        self.open.push(Update {
            peer,
            unix_us,
            range: start..self.bytes.len() as u32,
        });
    }

    /// Takes all events out of the batch.
    pub fn take(&mut self) -> impl Iterator<Item = FeedEvent> + '_ {
        self.close();
        self.events.drain(..)
    }

    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let block: Arc<[u8]> = self.bytes.as_slice().into();
        self.bytes.clear();
        let events = self.open.drain(..).map(|update| FeedEvent::Update {
            peer: update.peer,
            unix_us: update.unix_us,
            body: Body {
                block: Arc::clone(&block),
                range: update.range,
            },
        });
        self.events.extend(events);
    }
}

/// The bytes of an allocation, unless one body is longer.
const BLOCK: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_told_in_order_and_share_allocations() {
        let mut batch = FeedBatch::default();
        assert_eq!(batch.take().count(), 0);
        let body = |n: usize| vec![n as u8; [100, 4_077, 65_516, 0][n % 4]];
        for n in 0..40 {
            batch.push(PeerId(7), n as u64, &body(n));
        }
        let events: Vec<_> = batch.take().collect();
        let mut blocks = Vec::new();
        for (n, event) in events.iter().enumerate() {
            let FeedEvent::Update {
                peer,
                unix_us,
                body: batch,
            } = event
            else {
                panic!("{event:?}");
            };
            assert_eq!((*peer, *unix_us), (PeerId(7), n as u64));
            assert_eq!(**batch, *body(n));
            blocks.push(batch.block.as_ptr());
        }
        assert_eq!(events.len(), 40);
        blocks.dedup();
        assert_eq!(blocks.len(), 21, "short ones together, long ones alone");
        assert_eq!(batch.take().count(), 0);
    }
}
