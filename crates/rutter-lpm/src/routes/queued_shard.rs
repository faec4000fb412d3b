//! A shard behind its lock, with a queue for writers that find it locked.
//!
//! If the holder of a lock is preempted, each waiting thread waits for a whole time slice. Here a thread puts
//! its change into the queue and continues. The holder of the lock checks the queue before it returns.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire};
use std::sync::atomic::{AtomicU16, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::epoch::Line;
use crate::net::{Bits, Net};

use super::batch_change::MAX_BATCH;
use super::found_route::FoundRoute;
use super::hash_index::IndexLines;
use super::shard::Shard;

/// A shard, its lock and its queue.
pub(super) struct QueuedShard<N: Net> {
    state: Mutex<State<N>>,
    queue: Sender<Change<N, QueuedValue>>,
    /// The index lines in which the shard searches values.
    pub lines: Arc<IndexLines>,
    /// The number of queued changes. On its own cache line, which locking does not write.
    waiting: Line<AtomicUsize>,
    /// The number of queued changes for each hash of a prefix.
    of_hash: Box<[AtomicU16]>,
}

struct State<N: Net> {
    shard: Shard<N>,
    queue: Receiver<Change<N, QueuedValue>>,
    /// Changes taken from the queue that are not applied yet.
    taken: VecDeque<Change<N, QueuedValue>>,
}

/// A change for a shard.
pub(super) struct Change<N, V> {
    pub prefix: N,
    pub source: u32,
    /// `None` removes the route.
    pub value: Option<V>,
    pub is_short: bool,
    /// The hash of the value, see [`Seed::hash`](super::value_pool::Seed::hash); 0 for a removal.
    pub hash: u64,
}

/// A value in the queue.
enum QueuedValue {
    /// The number of words, and the words. Most values are short. They need no allocation, for which threads
    /// might wait.
    Inline(u8, [u32; INLINE_WORDS]),
    Boxed(Box<[u32]>),
}

const INLINE_WORDS: usize = 19;

/// The queue lengths at which writers wait for the lock after all: for all changes, and for those with long
/// values. About 2 MiB.
const MAX_QUEUED: usize = 1 << 14;
/// The bits of the hash by which queued changes are counted.
const HASH_BITS: u32 = 12;
const MAX_BOXED: usize = 1 << 8;

impl<N: Net> QueuedShard<N> {
    pub fn new(shard: Shard<N>) -> Self {
        let (sender, receiver) = channel();
        let lines = shard.lines();
        let state = State {
            shard,
            queue: receiver,
            taken: VecDeque::new(),
        };
        QueuedShard {
            state: Mutex::new(state),
            queue: sender,
            lines,
            waiting: Line(AtomicUsize::new(0)),
            of_hash: (0..1_usize << HASH_BITS)
                .map(|_| AtomicU16::new(0))
                .collect(),
        }
    }

    /// Applies a change, or leaves it to the thread that holds the lock. `seen` is the route that this thread
    /// found before.
    pub fn submit(&self, change: &Change<N, &[u32]>, seen: Option<FoundRoute>) {
        let is_long = change.value.is_some_and(|value| value.len() > INLINE_WORDS);
        let most = if is_long { MAX_BOXED } else { MAX_QUEUED };
        match self.try_lock() {
            Some(mut state) => self.apply(&mut state, change, seen),
            None if self.waiting.0.load(Ordering::Relaxed) < most => {
                self.of_hash(change.prefix).fetch_add(1, Ordering::Relaxed);
                self.waiting.0.fetch_add(1, AcqRel);
                // The receiver is alive: `self` owns it.
                let _ = self.queue.send(change.owned());
            }
            None => {
                let state = self.state.lock();
                let mut state = state.unwrap_or_else(|poisoned| poisoned.into_inner());
                self.apply(&mut state, change, seen);
            }
        }
        self.help();
    }

    /// Returns whether all changes are applied that this thread has submitted or knows of.
    fn is_up_to_date(&self) -> bool {
        self.waiting.0.load(Ordering::Acquire) == 0
    }

    /// Returns whether all such changes of a prefix are applied.
    pub fn is_up_to_date_on(&self, prefix: N) -> bool {
        // A change is counted before it is queued, and until it is applied.
        self.is_up_to_date() || self.of_hash(prefix).load(Ordering::Acquire) == 0
    }

    fn of_hash(&self, prefix: N) -> &AtomicU16 {
        &self.of_hash[spread(prefix, HASH_BITS)]
    }

    /// Runs `work` on the shard after all earlier changes are applied.
    pub fn with<T>(&self, work: impl FnOnce(&mut Shard<N>) -> T) -> T {
        let state = self.state.lock();
        let mut state = state.unwrap_or_else(|poisoned| poisoned.into_inner());
        self.drain(&mut state);
        let result = work(&mut state.shard);
        drop(state);
        self.help();
        result
    }

    fn apply(&self, state: &mut State<N>, change: &Change<N, &[u32]>, seen: Option<FoundRoute>) {
        // A change that this thread queued is counted.
        if !self.is_up_to_date() {
            self.drain(state);
        }
        state.shard.apply(change, seen);
    }

    fn drain(&self, state: &mut State<N>) {
        loop {
            if state.taken.is_empty() {
                state.taken.extend(state.queue.try_iter().take(MAX_BATCH));
                let changes = state.taken.iter().map(Change::borrowed);
                state.shard.prefetch(changes);
            }
            let Some(change) = state.taken.pop_front() else {
                return;
            };
            // Counted until it is applied or dropped by a panic. Otherwise threads would wait for it for ever.
            let _counted = Counted(&self.waiting.0, self.of_hash(change.prefix));
            state.shard.apply(&change.borrowed(), None);
        }
    }

    /// Applies the changes queued while the lock was held, or leaves them to its next holder.
    fn help(&self) {
        loop {
            // A write, although the value stays 0. A thread that queues a change later writes after it, and so
            // finds the lock released.
            let none = self.waiting.0.compare_exchange(0, 0, AcqRel, Acquire);
            if none.is_ok() {
                return;
            }
            let Some(mut state) = self.try_lock() else {
                return;
            };
            self.drain(&mut state);
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, State<N>>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A change that was taken from the queue.
struct Counted<'l>(&'l AtomicUsize, &'l AtomicU16);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Release);
        self.0.fetch_sub(1, AcqRel);
    }
}

/// A hash of a prefix with this number of bits.
pub(super) fn spread<N: Net>(prefix: N, bits: u32) -> usize {
    (prefix.bits().high().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

impl<N: Net> Change<N, &[u32]> {
    fn owned(&self) -> Change<N, QueuedValue> {
        Change {
            prefix: self.prefix,
            source: self.source,
            value: self.value.map(QueuedValue::new),
            is_short: self.is_short,
            hash: self.hash,
        }
    }
}

impl<N: Net> Change<N, QueuedValue> {
    fn borrowed(&self) -> Change<N, &[u32]> {
        Change {
            prefix: self.prefix,
            source: self.source,
            value: self.value.as_ref().map(QueuedValue::words),
            is_short: self.is_short,
            hash: self.hash,
        }
    }
}

impl QueuedValue {
    fn new(value: &[u32]) -> Self {
        let mut words = [0; INLINE_WORDS];
        match words.get_mut(..value.len()) {
            Some(first) => {
                first.copy_from_slice(value);
                QueuedValue::Inline(value.len() as u8, words)
            }
            None => QueuedValue::Boxed(value.into()),
        }
    }

    fn words(&self) -> &[u32] {
        match self {
            QueuedValue::Inline(len, words) => &words[..usize::from(*len)],
            QueuedValue::Boxed(words) => words,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::chunk_allocator::ChunkAllocator;
    use crate::epoch::Epochs;
    use crate::profile::Profile;
    use crate::routes::value_pool::Seed;
    use crate::routes::{RoutesSize, value_pool};
    use crate::sync::Arc;
    use rutter_net::Ipv4Prefix;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::OnceLock;

    fn change(number: u32, value: &[u32]) -> Change<Ipv4Prefix, &[u32]> {
        Change {
            prefix: Ipv4Prefix::new(number << 8, 24).expect("a length in range"),
            source: 1,
            value: Some(value),
            is_short: false,
            hash: seed().hash(1, value),
        }
    }

    fn seed() -> Seed {
        static SEED: OnceLock<Seed> = OnceLock::new();
        *SEED.get_or_init(Seed::new)
    }

    fn queued_shard() -> QueuedShard<Ipv4Prefix> {
        let epochs = Arc::new(Epochs::new());
        let chunk_allocator = ChunkAllocator::new(1).into();
        QueuedShard::new(Shard::new(Profile::Fast, epochs, chunk_allocator, seed()))
    }

    #[test]
    fn a_queued_change_delays_only_look_ups_of_its_prefix() {
        let queued_shard = queued_shard();
        let (one, two) = (change(1, &[7]), change(2, &[7]));
        queued_shard.with(|_| {
            std::thread::scope(|scope| {
                scope
                    .spawn(|| queued_shard.submit(&one, None))
                    .join()
                    .expect("it is queued")
            });
            assert!(!queued_shard.is_up_to_date_on(one.prefix));
            assert!(queued_shard.is_up_to_date_on(two.prefix));
        });
        assert!(queued_shard.is_up_to_date_on(one.prefix));
    }

    #[test]
    fn a_change_that_panics_does_not_block_later_ones() {
        let queued_shard = queued_shard();
        let too_long = vec![0; value_pool::LONGEST + 3];
        let result = catch_unwind(AssertUnwindSafe(|| {
            queued_shard.with(|_| {
                let others = || {
                    queued_shard.submit(&change(1, &too_long), None);
                    queued_shard.submit(&change(3, &[7]), None);
                };
                std::thread::scope(|scope| scope.spawn(others).join().expect("it is queued"));
            });
        }));
        assert!(result.is_err(), "the value does not fit into a block");
        queued_shard.submit(&change(2, &[7]), None);
        assert!(queued_shard.is_up_to_date());
        let mut size = RoutesSize::default();
        queued_shard.with(|shard| shard.add_size_to(&mut size, true));
        assert_eq!(size.routes, 2);
    }
}

/// The protocol of [`QueuedShard::submit`] and [`QueuedShard::help`], with a number for the shard, and the
/// count for the queue.
#[cfg(all(test, loom))]
mod explored {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering::*};
    use loom::thread;

    struct Model {
        is_locked: AtomicUsize,
        made: AtomicUsize,
        waiting: AtomicUsize,
        /// True if a thread reads the count after unlocking; false if it writes the count.
        reads: bool,
    }

    impl Model {
        fn try_lock(&self) -> bool {
            let locked = self.is_locked.compare_exchange(0, 1, Acquire, Relaxed);
            locked.is_ok()
        }

        fn drain(&self) {
            let left = self.waiting.swap(0, AcqRel);
            self.made.fetch_add(left, Relaxed);
        }

        fn submit(&self) {
            if self.try_lock() {
                self.drain();
                self.made.fetch_add(1, Relaxed);
                self.is_locked.store(0, Release);
            } else {
                self.waiting.fetch_add(1, AcqRel);
            }
            while self.someone_waits() && self.try_lock() {
                self.drain();
                self.is_locked.store(0, Release);
            }
        }

        fn someone_waits(&self) -> bool {
            match self.reads {
                true => self.waiting.load(SeqCst) > 0,
                false => self
                    .waiting
                    .compare_exchange(0, 0, AcqRel, Acquire)
                    .is_err(),
            }
        }
    }

    fn explore(reads: bool) {
        loom::model(move || {
            let model = Arc::new(Model {
                is_locked: AtomicUsize::new(0),
                made: AtomicUsize::new(0),
                waiting: AtomicUsize::new(0),
                reads,
            });
            let other = Arc::clone(&model);
            let writer = thread::spawn(move || other.submit());
            model.submit();
            writer.join().unwrap();
            assert_eq!(model.made.load(Relaxed), 2);
        });
    }

    #[test]
    fn no_change_is_left_in_the_queue() {
        explore(false);
    }

    #[test]
    #[should_panic]
    fn a_thread_that_only_reads_the_count_may_leave_a_change() {
        explore(true);
    }
}
