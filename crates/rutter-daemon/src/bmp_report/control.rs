//! Orders to the thread of one station.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rutter_server::LogRateLimit;

/// Orders to the thread of one station, and what limits its log lines.
pub(super) struct Control {
    is_stopping: Mutex<bool>,
    stops: Condvar,
    /// The station has had the whole table since [`Control::take_reached`] was last called.
    reached: AtomicBool,
    log_limit: Mutex<LogRateLimit>,
}

/// A station causes at most so many lines in this time.
const LINES: u32 = 5;
const LINES_PERIOD: Duration = Duration::from_secs(600);

impl Default for Control {
    fn default() -> Self {
        Control {
            is_stopping: Mutex::new(false),
            stops: Condvar::new(),
            reached: AtomicBool::new(false),
            log_limit: Mutex::new(LogRateLimit::new(LINES, LINES_PERIOD)),
        }
    }
}

impl Control {
    /// Orders the thread to end.
    pub(super) fn stop(&self) {
        *self.is_stopping.lock() = true;
        self.stops.notify_all();
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.is_stopping.lock()
    }

    /// Waits for this time, or until the order to end.
    pub(super) fn wait(&self, time: Duration) {
        let mut is_stopping = self.is_stopping.lock();
        if !*is_stopping {
            self.stops.wait_for(&mut is_stopping, time);
        }
    }

    /// The station has the whole table.
    pub(super) fn reached(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// Returns whether the station has had the whole table since the last call.
    pub(super) fn take_reached(&self) -> bool {
        self.reached.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of suppressed log lines, or `None` if this line is suppressed, too.
    pub(super) fn allow_log(&self) -> Option<u64> {
        self.log_limit.lock().allow(Instant::now())
    }
}
