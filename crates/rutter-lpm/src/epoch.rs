//! When memory that was unlinked may be used again: quiescent-state reclamation.
//!
//! A writer unlinks blocks (a release store that readers see), then raises the epoch and *retires* them under the epoch
//! that it raised. A reader has_words in a word of its own (never written by anybody else, read only by the writer)
//! at which epoch it last held nothing. A block retired under epoch `e` is free when every reader at work has
//! said `e + 1` or more, because who has seen the raised epoch sees the unlinking too: whoever raised it further did so
//! after, by a read-modify-write that carries the first writer's release on. So several tables, each with a writer
//! of its own, may share epochs and readers. Readers do one
//! load of the shared epoch and one store to their own word each few dozen look-ups; no read-modify-write, no wait.

use crate::sync::{Arc, AtomicU64, Mutex, Ordering, fence};

/// The epoch and the readers of one table.
pub(crate) struct Epochs {
    /// On lines of its own: the writer raises it, readers poll it.
    now: Line<AtomicU64>,
    readers: Mutex<Vec<Arc<Mark>>>,
}

/// A reader's word: 0 at rest, else the epoch at which it last held nothing.
pub(crate) type Mark = Line<AtomicU64>;

/// Keeps what neighbours write off this line (two lines, as processors fetch pairs).
#[repr(align(128))]
pub(crate) struct Line<T>(pub T);

impl Epochs {
    pub fn new() -> Self {
        Epochs {
            now: Line(AtomicU64::new(1)),
            readers: Mutex::new(Vec::new()),
        }
    }

    /// A new reader, at rest.
    pub fn join(&self) -> Arc<Mark> {
        let mark = Arc::new(Line(AtomicU64::new(0)));
        self.lock().push(Arc::clone(&mark));
        mark
    }

    /// The reader is gone.
    pub fn leave(&self, mark: &Arc<Mark>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, mark));
    }

    /// Reader: goes to work. What it loads from now on is not freed under it.
    pub fn enter(&self, mark: &Mark) {
        let now = self.now.0.load(Ordering::Acquire);
        mark.0.store(now, Ordering::Relaxed);
        // Either the writer's scan sees the mark, or the loads after this see what the writer unlinked before its scan.
        fence(Ordering::SeqCst);
    }

    /// Reader at work: holds nothing at this moment.
    #[inline]
    pub fn announce(&self, mark: &Mark) {
        let now = self.now.0.load(Ordering::Acquire);
        mark.0.store(now, Ordering::Release);
    }

    /// Reader: goes to rest, holding nothing.
    pub fn exit(&self, mark: &Mark) {
        mark.0.store(0, Ordering::Release);
    }

    /// Writer: raises the epoch and returns the one before, under which what was unlinked until now is retired.
    pub fn raise(&self) -> u64 {
        self.now.0.fetch_add(1, Ordering::AcqRel)
    }

    /// Writer: the epoch below which everything retired is free.
    pub fn safe(&self) -> u64 {
        let next = self.now_for_a_scan();
        self.least(next, &self.lock())
    }

    /// [`Self::safe`], unless another thread holds the list of readers.
    pub fn try_safe(&self) -> Option<u64> {
        let next = self.now_for_a_scan();
        let readers = self.readers.try_lock().ok()?;
        Some(self.least(next, &readers))
    }

    fn now_for_a_scan(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.now.0.load(Ordering::Relaxed)
    }

    /// The least epoch at which a reader at work last held nothing.
    fn least(&self, next: u64, readers: &[Arc<Mark>]) -> u64 {
        let marks = readers.iter().map(|mark| mark.0.load(Ordering::Acquire));
        marks.filter(|mark| *mark != 0).min().unwrap_or(next)
    }

    fn lock(&self) -> impl std::ops::DerefMut<Target = Vec<Arc<Mark>>> {
        self.readers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p rutter-lpm --release --lib` explores every interleaving of these.
#[cfg(all(test, loom))]
mod explored {
    use super::*;
    use loom::thread;

    /// A slot that publishes one of two blocks; a freed block is overwritten at once.
    struct Model {
        epochs: Epochs,
        slot: AtomicU64,
        blocks: [AtomicU64; 2],
    }

    const GOOD: u64 = 7;
    const FREED: u64 = 13;

    fn model() -> Arc<Model> {
        Arc::new(Model {
            epochs: Epochs::new(),
            slot: AtomicU64::new(0),
            blocks: [AtomicU64::new(GOOD), AtomicU64::new(0)],
        })
    }

    fn look_up(model: &Model) {
        let block = model.slot.load(Ordering::Acquire) as usize;
        assert_eq!(model.blocks[block].load(Ordering::Relaxed), GOOD);
    }

    /// Publishes block 1, and overwrites block 0 if it may.
    fn replace(model: &Model) {
        model.blocks[1].store(GOOD, Ordering::Relaxed);
        model.slot.store(1, Ordering::Release);
        let retired = model.epochs.raise();
        if model.epochs.safe() > retired {
            model.blocks[0].store(FREED, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_a_reader_holds_is_not_freed() {
        loom::model(|| {
            let model = model();
            let mark = model.epochs.join();
            let other = Arc::clone(&model);
            let reader = thread::spawn(move || {
                other.epochs.enter(&mark);
                look_up(&other);
                other.epochs.announce(&mark);
                look_up(&other);
                other.epochs.exit(&mark);
                other.epochs.enter(&mark);
                look_up(&other);
                other.epochs.exit(&mark);
            });
            replace(&model);
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_reader_that_joins_late_sees_the_new_state() {
        loom::model(|| {
            let model = model();
            let other = Arc::clone(&model);
            let reader = thread::spawn(move || {
                let mark = other.epochs.join();
                other.epochs.enter(&mark);
                look_up(&other);
                other.epochs.exit(&mark);
                other.epochs.leave(&mark);
            });
            replace(&model);
            reader.join().unwrap();
        });
    }

    #[test]
    #[should_panic]
    fn freeing_without_asking_is_found_out() {
        loom::model(|| {
            let model = model();
            let mark = model.epochs.join();
            let other = Arc::clone(&model);
            let reader = thread::spawn(move || {
                other.epochs.enter(&mark);
                look_up(&other);
                other.epochs.exit(&mark);
            });
            model.blocks[1].store(GOOD, Ordering::Relaxed);
            model.slot.store(1, Ordering::Release);
            model.blocks[0].store(FREED, Ordering::Relaxed);
            reader.join().unwrap();
        });
    }
}
