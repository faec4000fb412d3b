//! A limit for the log lines that a neighbor can cause.

/// Passes a number of events in each minute and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogRateLimit {
    window_start_ms: u64,
    passed: u32,
    suppressed: u64,
}

const WINDOW_MS: u64 = 60_000;
const PER_WINDOW: u32 = 10;

impl LogRateLimit {
    /// Returns whether an event may be logged now, with the number of events before it that were not logged.
    pub(crate) fn pass(&mut self, now_ms: u64) -> Option<u64> {
        if now_ms >= self.window_start_ms + WINDOW_MS {
            self.window_start_ms = now_ms;
            self.passed = 0;
        }
        if self.passed == PER_WINDOW {
            self.suppressed += 1;
            return None;
        }
        self.passed += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_a_minute_pass_and_the_rest_is_counted() {
        let mut limit = LogRateLimit::default();
        let passed = (0..25).filter(|i| limit.pass(*i).is_some()).count();
        assert_eq!(passed, 10);
        assert_eq!(limit.pass(WINDOW_MS), Some(15));
        assert_eq!(limit.pass(WINDOW_MS), Some(0));
    }
}
