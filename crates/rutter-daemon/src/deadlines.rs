//! The deadlines of the sessions of a thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The deadlines by slot: a binary heap with lazy deletion, with a few entries a slot at most.
#[derive(Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// The earliest entry of the heap per slot, `u64::MAX` where none.
    earliest: Vec<u64>,
}

impl Deadlines {
    /// Sets the deadline of a slot. A deadline later than the one before costs nothing: the slot becomes due early, and
    /// its owner arms it again.
    pub(crate) fn arm(&mut self, slot: usize, deadline_ms: Option<u64>) {
        let Some(deadline) = deadline_ms else { return };
        if self.earliest.len() <= slot {
            self.earliest.resize(slot + 1, u64::MAX);
        }
        if deadline < self.earliest[slot] {
            self.earliest[slot] = deadline;
            self.heap.push(Reverse((deadline, slot)));
        }
    }

    /// Removes the deadline of a slot. Its entries in the heap are dropped when they become due.
    pub(crate) fn forget(&mut self, slot: usize) {
        if let Some(e) = self.earliest.get_mut(slot) {
            *e = u64::MAX;
        }
    }

    /// The next slot that is due. The caller must arm it again.
    pub(crate) fn pop_due(&mut self, now_ms: u64) -> Option<usize> {
        while let Some(&Reverse((deadline, slot))) = self.heap.peek() {
            let current = self.earliest[slot] == deadline;
            if current && deadline > now_ms {
                return None;
            }
            self.heap.pop();
            if current {
                self.earliest[slot] = u64::MAX;
                return Some(slot);
            }
        }
        None
    }

    /// The time at which the next slot is due.
    pub(crate) fn next_deadline(&mut self) -> Option<u64> {
        while let Some(&Reverse((deadline, slot))) = self.heap.peek() {
            if self.earliest[slot] == deadline {
                return Some(deadline);
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_become_due_in_order_and_once() {
        let mut deadlines = Deadlines::default();
        deadlines.arm(3, Some(30));
        deadlines.arm(1, Some(10));
        deadlines.arm(3, Some(5));
        deadlines.arm(2, None);
        assert_eq!(deadlines.next_deadline(), Some(5));
        assert_eq!(deadlines.pop_due(4), None);
        assert_eq!(deadlines.pop_due(40), Some(3));
        assert_eq!(deadlines.pop_due(40), Some(1));
        assert_eq!(deadlines.pop_due(40), None);
        assert_eq!(deadlines.next_deadline(), None);
    }

    #[test]
    fn a_removed_deadline_is_not_due() {
        let mut deadlines = Deadlines::default();
        deadlines.arm(0, Some(10));
        deadlines.forget(0);
        assert_eq!(deadlines.pop_due(100), None);
        deadlines.arm(0, Some(20));
        assert_eq!(deadlines.pop_due(100), Some(0));
    }
}
