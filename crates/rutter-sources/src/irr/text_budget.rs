//! A bound on the bytes of all files that threads hold at the same time.

use parking_lot::{Condvar, Mutex};

/// Lets threads hold files up to a sum of bytes. A thread whose file does not fit waits for the others.
#[derive(Debug)]
pub(crate) struct TextBudget {
    limit: u64,
    taken: Mutex<u64>,
    returned: Condvar,
}

impl TextBudget {
    /// A budget of so many bytes.
    pub fn new(limit: u64) -> Self {
        TextBudget {
            limit,
            taken: Mutex::new(0),
            returned: Condvar::new(),
        }
    }

    /// Takes bytes, at most the whole budget, until the guard is dropped. A thread must not hold two guards.
    pub fn take(&self, bytes: u64) -> TakenBytes<'_> {
        let bytes = bytes.min(self.limit);
        let mut taken = self.taken.lock();
        while *taken + bytes > self.limit {
            self.returned.wait(&mut taken);
        }
        *taken += bytes;
        TakenBytes {
            budget: self,
            bytes,
        }
    }
}

/// Bytes of a [`TextBudget`]. They return when this is dropped.
#[derive(Debug)]
pub(crate) struct TakenBytes<'a> {
    budget: &'a TextBudget,
    bytes: u64,
}

impl Drop for TakenBytes<'_> {
    fn drop(&mut self) {
        *self.budget.taken.lock() -= self.bytes;
        self.budget.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn threads_never_hold_more_than_the_limit() {
        let budget = TextBudget::new(100);
        let held = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (budget, held) = (&budget, &held);
                scope.spawn(move || {
                    for round in 0..200 {
                        // Also more than there is: then the thread is alone.
                        let bytes = (thread * 31 + round * 17) % 130;
                        let taken = budget.take(bytes);
                        let sum = held.fetch_add(taken.bytes, Ordering::Relaxed) + taken.bytes;
                        assert!(sum <= 100, "{sum}");
                        held.fetch_sub(taken.bytes, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(*budget.taken.lock(), 0);
    }
}
