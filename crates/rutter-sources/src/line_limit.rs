//! A limit on log lines that a server can cause.

use std::time::{Duration, Instant};

use rutter_server::LogRateLimit;

/// Allows 10 lines of one kind a minute.
pub struct LineLimit(LogRateLimit);

impl Default for LineLimit {
    fn default() -> Self {
        LineLimit(LogRateLimit::new(10, Duration::from_secs(60)))
    }
}

impl LineLimit {
    /// Returns `None` if this line is left out. Else the number of lines that were left out since the last one, for a field that
    /// is absent where it is 0.
    pub fn allow(&mut self) -> Option<Option<u64>> {
        let not_logged = self.0.allow(Instant::now())?;
        Some(Some(not_logged).filter(|count| *count > 0))
    }
}
