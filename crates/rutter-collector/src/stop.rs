//! The wish that everything shall end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// A flag that is set once; threads poll it or sleep on it. Clones are the same flag.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<Flag>);

#[derive(Default, Debug)]
struct Flag {
    set: Mutex<Option<Instant>>,
    wake: Condvar,
}

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Sets the flag and wakes all that sleep on it.
    pub fn set(&self) {
        self.0.set.lock().get_or_insert_with(Instant::now);
        self.0.wake.notify_all();
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.since().is_some()
    }

    /// When it was set.
    pub fn since(&self) -> Option<Instant> {
        *self.0.set.lock()
    }

    /// Sleeps until it is set, at most so long. Whether it is set.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut set = self.0.set.lock();
        if set.is_none() {
            self.0.wake.wait_for(&mut set, timeout);
        }
        set.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_flag_stays_set_for_every_clone() {
        let stop = Stop::new();
        let clone = stop.clone();
        assert!(!clone.wait(Duration::ZERO));
        stop.set();
        assert!(clone.is_set() && clone.wait(Duration::from_secs(3_600)));
    }
}
