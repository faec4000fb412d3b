//! The signal at which all threads stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// A flag that is triggered once. Threads poll it or wait for it. Clones share the same flag.
#[derive(Clone, Default, Debug)]
pub struct ShutdownSignal(Arc<Flag>);

#[derive(Default, Debug)]
struct Flag {
    triggered_at: Mutex<Option<Instant>>,
    wake: Condvar,
}

impl ShutdownSignal {
    /// A signal that is not triggered.
    pub fn new() -> Self {
        ShutdownSignal::default()
    }

    /// Triggers the signal and wakes all waiting threads.
    pub fn trigger(&self) {
        self.0.triggered_at.lock().get_or_insert_with(Instant::now);
        self.0.wake.notify_all();
    }

    /// Returns whether the signal was triggered.
    pub fn is_triggered(&self) -> bool {
        self.triggered_at().is_some()
    }

    /// The time at which the signal was triggered.
    pub fn triggered_at(&self) -> Option<Instant> {
        *self.0.triggered_at.lock()
    }

    /// Waits until the signal is triggered or the timeout expires. Returns whether it is triggered.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut triggered_at = self.0.triggered_at.lock();
        if triggered_at.is_none() {
            self.0.wake.wait_for(&mut triggered_at, timeout);
        }
        triggered_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triggered_signal_stays_triggered_for_every_clone() {
        let signal = ShutdownSignal::new();
        let clone = signal.clone();
        assert!(!clone.wait(Duration::ZERO));
        signal.trigger();
        assert!(clone.is_triggered() && clone.wait(Duration::from_secs(3_600)));
    }
}
