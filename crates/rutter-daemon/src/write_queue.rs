//! The neighbors that a thread writes to next.

/// The slots to write to in this turn and the next.
///
/// Invariant: a slot that was queued stays queued until [`WriteQueue::take`] returns it.
#[derive(Default)]
pub(crate) struct WriteQueue {
    slots: Vec<usize>,
    /// Every slot may have new bytes.
    all: bool,
    /// The slot that comes first the next time.
    first: usize,
}

impl WriteQueue {
    /// Queues one slot.
    pub(crate) fn push(&mut self, slot: usize) {
        self.slots.push(slot);
    }

    /// Queues every slot: the streams of all clients may have grown.
    pub(crate) fn push_all(&mut self) {
        self.all = true;
    }

    /// Makes a slot the first the next time.
    pub(crate) fn begin_with(&mut self, slot: usize) {
        self.first = slot;
    }

    /// Returns whether single slots are queued. The next turn takes [`WriteQueue::push_all`] along.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Takes the queued slots, each once. When all are queued, a different slot comes first each time: the first
    /// client receives its routes earlier than the others.
    pub(crate) fn take(&mut self, slot_count: usize) -> Vec<usize> {
        let mut slots = std::mem::take(&mut self.slots);
        if std::mem::take(&mut self.all) {
            slots.clear();
            let first = self.first.checked_rem(slot_count).unwrap_or(0);
            slots.extend((first..slot_count).chain(0..first));
            self.first = first + 1;
        } else {
            slots.sort_unstable();
            slots.dedup();
            let later = slots.partition_point(|slot| *slot < self.first);
            slots.rotate_left(later);
        }
        slots
    }

    /// Returns the allocation of [`WriteQueue::take`]; slots queued since then stay.
    pub(crate) fn recycle(&mut self, mut slots: Vec<usize>) {
        slots.clear();
        slots.append(&mut self.slots);
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_comes_once_and_all_take_turns() {
        let mut queue = WriteQueue::default();
        [3, 1, 3].into_iter().for_each(|slot| queue.push(slot));
        assert_eq!(queue.take(4), [1, 3]);
        queue.push(2);
        queue.push_all();
        assert_eq!(queue.take(3), [0, 1, 2]);
        assert!(queue.is_empty());
        queue.push_all();
        assert_eq!(queue.take(3), [1, 2, 0]);
        queue.push_all();
        assert_eq!(queue.take(0), [0; 0]);
    }

    #[test]
    fn slots_queued_during_a_turn_stay() {
        let mut queue = WriteQueue::default();
        queue.push(1);
        let slots = queue.take(2);
        queue.push(0);
        queue.recycle(slots);
        assert!(!queue.is_empty());
        assert_eq!(queue.take(2), [0]);
    }

    #[test]
    fn a_slot_that_was_postponed_comes_first() {
        let mut queue = WriteQueue::default();
        let mut served = Vec::new();
        // Two of five slots are served in a turn; all of them always have more.
        (0..5).for_each(|slot| queue.push(slot));
        for _ in 0..5 {
            let mut slots = queue.take(5);
            served.extend_from_slice(&slots[..2]);
            let postponed = slots[2];
            slots.iter().for_each(|slot| queue.push(*slot));
            slots.clear();
            queue.recycle(slots);
            queue.begin_with(postponed);
        }
        assert_eq!(served, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    }
}
