//! The change feed: the updates of peers in order, for readers that store or forward them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use rutter_net::{PerFamily, Prefix};

use crate::read::feed_batch::Body;
use crate::{PeerId, PeerSummary};

/// An event. Events of one peer are in order; a reader receives each once, or a gap in its place.
#[derive(Clone, Debug)]
pub enum FeedEvent {
    /// An UPDATE of a peer was taken into the table.
    Update {
        /// The peer that sent it.
        peer: PeerId,
        /// Wall time in microseconds since 1970.
        unix_us: u64,
        /// The message body as received.
        body: Body,
    },
    /// A session was established.
    PeerUp {
        /// The neighbor, with the parameters of its session: they decide how the following updates are parsed.
        peer: Arc<PeerSummary>,
        /// Wall time in microseconds since 1970.
        unix_us: u64,
    },
    /// A session ended. The routes of families that are not retained are removed with it.
    PeerDown {
        /// The peer of the session.
        peer: PeerId,
        /// Wall time in microseconds since 1970.
        unix_us: u64,
        /// Per family (index order): whether its routes stay as stale, until [`FeedEvent::Swept`] or announced again.
        retained: PerFamily<bool>,
        /// The reason in words.
        reason: Arc<str>,
    },
    /// Routes were removed without a withdrawal: they were stale, or their neighbor was removed.
    Swept {
        /// The peer of the routes.
        peer: PeerId,
        /// The prefix and path identifier of each.
        routes: Arc<[(Prefix, u32)]>,
    },
    /// The reader was too slow: it has lost this many events.
    Gap {
        /// The number of lost events.
        lost: u64,
    },
}

impl FeedEvent {
    /// The bytes that the event keeps in memory besides its fixed size.
    fn bytes(&self) -> usize {
        match self {
            FeedEvent::Update { body, .. } => body.len(),
            FeedEvent::Swept { routes, .. } => size_of_val(&**routes),
            FeedEvent::PeerUp { .. } | FeedEvent::PeerDown { .. } | FeedEvent::Gap { .. } => 0,
        }
    }
}

/// All readers.
#[derive(Default)]
pub(crate) struct Feed {
    active: AtomicBool,
    readers: Mutex<Vec<Arc<Queue>>>,
}

struct Queue {
    state: Mutex<QueueState>,
    /// Notified of each event.
    wake: Condvar,
    /// Notified when the queue holds a whole batch.
    batch_full: Condvar,
    /// The largest number of events.
    capacity: usize,
    /// Further events are lost while those in the queue have so many bytes.
    max_bytes: usize,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<FeedEvent>,
    /// The bytes of the events besides their fixed size.
    bytes: usize,
    lost: u64,
    closed: bool,
}

impl QueueState {
    /// Returns whether there are neither events nor a gap.
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.lost == 0
    }
}

/// One reader of the change feed; dropping it ends the subscription.
pub struct FeedReader {
    queue: Arc<Queue>,
    /// Events taken from the queue and not returned yet.
    taken: RefCell<VecDeque<FeedEvent>>,
    /// True if the last look at the queue found events.
    busy: Cell<bool>,
}

/// The bytes for each event of a queue's capacity. Nearly all UPDATEs are shorter, but a neighbor may send longer ones only.
const BYTES_PER_EVENT: usize = 1_024;
/// The events that are taken at once: a publishing thread does not wait for the reader in between.
const TAKE_BATCH: usize = 256;
/// A reader that just had events waits this long for a whole batch. A wake-up for each event would take time from the
/// publishing thread, which has clients to serve.
const LINGER: Duration = Duration::from_millis(2);

impl Feed {
    /// Returns whether anybody reads: without readers no events are made.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    pub fn subscribe(&self, capacity: usize) -> FeedReader {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            wake: Condvar::new(),
            batch_full: Condvar::new(),
            capacity: capacity.max(1),
            max_bytes: capacity.max(1) * BYTES_PER_EVENT,
        });
        self.readers.lock().push(Arc::clone(&queue));
        self.active.store(true, Ordering::Relaxed);
        FeedReader {
            queue,
            taken: RefCell::default(),
            busy: Cell::new(false),
        }
    }

    /// Hands an event to all readers. It never waits: a full queue counts the event as lost.
    pub fn publish(&self, event: FeedEvent) {
        let mut readers = self.readers.lock();
        readers.retain(|queue| queue.push(&event));
        self.active.store(!readers.is_empty(), Ordering::Relaxed);
    }
}

impl Queue {
    /// Returns `false` when the reader is gone.
    fn push(&self, event: &FeedEvent) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        let is_full = state.events.len() >= self.capacity || state.bytes >= self.max_bytes;
        if state.lost > 0 || is_full {
            state.lost += 1;
        } else {
            state.bytes += event.bytes();
            state.events.push_back(event.clone());
        }
        if state.events.len() == TAKE_BATCH {
            self.batch_full.notify_one();
        }
        self.wake.notify_one();
        true
    }
}

impl FeedReader {
    /// Returns the next event, waiting at most `timeout`; `None` when there was none.
    pub fn next(&self, timeout: Duration) -> Option<FeedEvent> {
        let mut taken = self.taken.borrow_mut();
        if let Some(event) = taken.pop_front() {
            return Some(event);
        }
        let mut left = timeout;
        let mut state = self.queue.state.lock();
        if state.is_empty() && self.busy.take() {
            let linger = LINGER.min(timeout);
            self.queue.batch_full.wait_for(&mut state, linger);
            left -= linger;
        }
        if state.is_empty() {
            self.queue.wake.wait_for(&mut state, left);
        }
        let some = state.events.len().min(TAKE_BATCH);
        taken.extend(state.events.drain(..some));
        state.bytes -= taken.iter().map(FeedEvent::bytes).sum::<usize>();
        match taken.pop_front() {
            Some(event) => {
                self.busy.set(true);
                Some(event)
            }
            None if state.lost > 0 => Some(FeedEvent::Gap {
                lost: std::mem::take(&mut state.lost),
            }),
            None => None,
        }
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.closed = true;
        state.events.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn event(unix_us: u64) -> FeedEvent {
        FeedEvent::Update {
            peer: PeerId(0),
            unix_us,
            body: Body::from(&[][..]),
        }
    }

    /// The time of an update, or the number of events that a gap has lost.
    fn number(event: Option<FeedEvent>) -> Option<Result<u64, u64>> {
        event.map(|event| match event {
            FeedEvent::Update { unix_us, .. } => Ok(unix_us),
            FeedEvent::Gap { lost } => Err(lost),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_slow_reader_is_told_of_its_gap_in_place() {
        let feed = Feed::default();
        let reader = feed.subscribe(2);
        (0..5).for_each(|n| feed.publish(event(n)));
        let next = || number(reader.next(Duration::ZERO));
        assert_eq!(next(), Some(Ok(0)));
        feed.publish(event(5));
        assert_eq!(next(), Some(Ok(1)));
        assert_eq!(next(), Some(Err(4)));
        feed.publish(event(6));
        assert_eq!(next(), Some(Ok(6)));
        assert_eq!(next(), None);
        drop(reader);
        feed.publish(event(7));
        assert!(!feed.is_active());
    }

    #[test]
    fn long_events_fill_a_queue_before_its_number_does() {
        let feed = Feed::default();
        let reader = feed.subscribe(100);
        let long = |unix_us| FeedEvent::Update {
            peer: PeerId(0),
            unix_us,
            body: Body::from(&[0; 10 * BYTES_PER_EVENT][..]),
        };
        (0..30).for_each(|n| feed.publish(long(n)));
        let next = || number(reader.next(Duration::ZERO));
        for n in 0..10 {
            assert_eq!(next(), Some(Ok(n)));
        }
        assert_eq!(next(), Some(Err(20)));
        feed.publish(long(30));
        assert_eq!(next(), Some(Ok(30)));
    }

    /// Publishes more than a reader takes at once, while it reads.
    #[test]
    fn a_reader_has_each_event_once_and_in_order() {
        const EVENTS: u64 = 20 * TAKE_BATCH as u64;
        let feed = Feed::default();
        let reader = feed.subscribe(EVENTS as usize);
        thread::scope(|threads| {
            threads.spawn(|| (0..EVENTS).for_each(|n| feed.publish(event(n))));
            for n in 0..EVENTS {
                let next = reader.next(Duration::from_secs(60));
                assert_eq!(number(next), Some(Ok(n)));
            }
        });
        assert_eq!(number(reader.next(Duration::ZERO)), None);
    }
}
