//! The clocks of the machine.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rutter_events::Now;

/// Wall time and a monotonic clock.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Now {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Now {
            unix_us: since.map_or(0, |since| since.as_micros() as u64),
            monotonic_us: self.0.elapsed().as_micros() as u64,
        }
    }
}
