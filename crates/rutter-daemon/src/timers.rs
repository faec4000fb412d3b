//! When each connection's owner wants to be called again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Deadlines by slot: a binary heap with lazy deletion, at most a few entries a slot.
#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    /// The earliest entry of the heap per slot, `u64::MAX` where none.
    earliest: Vec<u64>,
}

impl Timers {
    /// The slot must be called at `deadline_ms` or before. A later deadline than the one known costs nothing:
    /// the early call finds that nothing is due and asks again.
    pub fn arm(&mut self, slot: usize, deadline_ms: Option<u64>) {
        let Some(deadline) = deadline_ms else { return };
        if self.earliest.len() <= slot {
            self.earliest.resize(slot + 1, u64::MAX);
        }
        if deadline < self.earliest[slot] {
            self.earliest[slot] = deadline;
            self.heap.push(Reverse((deadline, slot)));
        }
    }

    /// The slot is gone or reused; its entries are dropped as they come up.
    pub fn forget(&mut self, slot: usize) {
        if let Some(e) = self.earliest.get_mut(slot) {
            *e = u64::MAX;
        }
    }

    /// The next slot that is due, which must be armed again by the caller.
    pub fn pop_due(&mut self, now_ms: u64) -> Option<usize> {
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

    /// When the next slot is due.
    pub fn next_deadline(&mut self) -> Option<u64> {
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
    fn slots_come_up_in_order_and_once() {
        let mut timers = Timers::default();
        timers.arm(3, Some(30));
        timers.arm(1, Some(10));
        timers.arm(3, Some(5));
        timers.arm(2, None);
        assert_eq!(timers.next_deadline(), Some(5));
        assert_eq!(timers.pop_due(4), None);
        assert_eq!(timers.pop_due(40), Some(3));
        assert_eq!(timers.pop_due(40), Some(1));
        assert_eq!(timers.pop_due(40), None);
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn a_forgotten_slot_is_silent_until_armed_again() {
        let mut timers = Timers::default();
        timers.arm(0, Some(10));
        timers.forget(0);
        assert_eq!(timers.pop_due(100), None);
        timers.arm(0, Some(20));
        assert_eq!(timers.pop_due(100), Some(0));
    }
}
