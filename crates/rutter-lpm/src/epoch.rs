//! Quiescent-state reclamation: decides when unlinked memory may be reused.
//!
//! A writer unlinks blocks with a release store that readers see. Then it raises the epoch and *retires* the
//! blocks under the previous epoch. Each reader has a word of its own. Only the reader writes it, and only the
//! writer reads it. It holds the epoch at which the reader last held no reference.
//!
//! A block retired under epoch `e` is free when every active reader has announced `e + 1` or more. A reader
//! that has seen the raised epoch also sees the unlinking. Later raises are read-modify-writes, which continue
//! the release sequence of the first writer. So several tables, each with its own writer, may share epochs and
//! readers.
//!
//! Every few dozen look-ups, a reader does one load of the shared epoch and one store to its own word. It does
//! no read-modify-write and never waits.

use crate::sync::{Arc, AtomicU64, Mutex, Ordering, fence};

/// The epoch and the readers of one table.
pub(crate) struct Epochs {
    /// On its own cache lines: the writer raises it, and readers poll it.
    now: Line<AtomicU64>,
    readers: Mutex<Vec<Arc<Mark>>>,
}

/// A reader's word: 0 at rest, else the epoch at which the reader last held no reference.
pub(crate) type Mark = Line<AtomicU64>;

/// Keeps other data off this cache line. Two lines, since processors fetch pairs.
#[repr(align(128))]
pub(crate) struct Line<T>(pub T);

impl Epochs {
    pub fn new() -> Self {
        Epochs {
            now: Line(AtomicU64::new(1)),
            readers: Mutex::new(Vec::new()),
        }
    }

    /// Adds a reader, at rest.
    pub fn join(&self) -> Arc<Mark> {
        let mark = Arc::new(Line(AtomicU64::new(0)));
        self.lock().push(Arc::clone(&mark));
        mark
    }

    /// Removes a reader.
    pub fn leave(&self, mark: &Arc<Mark>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, mark));
    }

    /// Reader: becomes active. From now on, nothing that it loads is freed.
    pub fn enter(&self, mark: &Mark) {
        let now = self.now.0.load(Ordering::Acquire);
        mark.0.store(now, Ordering::Relaxed);
        // Either the writer's scan sees the mark, or later loads see what the writer unlinked before its scan.
        fence(Ordering::SeqCst);
    }

    /// Active reader: announces that it holds no reference at this moment.
    #[inline]
    pub fn announce(&self, mark: &Mark) {
        let now = self.now.0.load(Ordering::Acquire);
        mark.0.store(now, Ordering::Release);
    }

    /// Reader: goes to rest, holding no reference.
    pub fn exit(&self, mark: &Mark) {
        mark.0.store(0, Ordering::Release);
    }

    /// Writer: raises the epoch and returns the previous one, under which the blocks unlinked so far are
    /// retired.
    pub fn raise(&self) -> u64 {
        self.now.0.fetch_add(1, Ordering::AcqRel)
    }

    /// Writer: the epoch below which all retired blocks are free.
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

    /// The smallest epoch that an active reader has announced.
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

    /// A slot that publishes one of two blocks. A freed block is overwritten at once.
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

    /// Publishes block 1, and overwrites block 0 if that is allowed.
    fn replace(model: &Model) {
        model.blocks[1].store(GOOD, Ordering::Relaxed);
        model.slot.store(1, Ordering::Release);
        let retired = model.epochs.raise();
        if model.epochs.safe() > retired {
            model.blocks[0].store(FREED, Ordering::Relaxed);
        }
    }

    #[test]
    fn blocks_in_use_are_not_freed() {
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
    fn freeing_without_a_scan_is_detected() {
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
