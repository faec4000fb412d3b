//! A limit on log lines that a remote side can cause.

use std::time::{Duration, Instant};

/// Allows a number of log lines in each period and counts the suppressed ones.
#[derive(Clone, Debug)]
pub struct LogRateLimit {
    lines: u32,
    period: Duration,
    period_start: Option<Instant>,
    allowed: u32,
    suppressed: u64,
}

impl LogRateLimit {
    /// Allows at most `lines` lines in each `period`. A period starts with its first line.
    pub const fn new(lines: u32, period: Duration) -> Self {
        LogRateLimit {
            lines,
            period,
            period_start: None,
            allowed: 0,
            suppressed: 0,
        }
    }

    /// Returns the number of lines suppressed since the last allowed one, or `None` if this line is suppressed too.
    pub fn allow(&mut self, now: Instant) -> Option<u64> {
        if self.period_is_over(now) {
            self.period_start = Some(now);
            self.allowed = 0;
        }
        if self.allowed == self.lines {
            self.suppressed += 1;
            return None;
        }
        self.allowed += 1;
        Some(std::mem::take(&mut self.suppressed))
    }

    /// Returns whether the period of the last line is over.
    pub fn period_is_over(&self, now: Instant) -> bool {
        let started = self.period_start;
        started.is_none_or(|start| now.saturating_duration_since(start) >= self.period)
    }

    /// The number of lines suppressed since the last allowed one.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_allows_its_lines_and_the_rest_is_counted() {
        const PERIOD: Duration = Duration::from_secs(60);
        let mut limit = LogRateLimit::new(10, PERIOD);
        let start = Instant::now();
        let allowed = (0..25)
            .filter(|ms| limit.allow(start + Duration::from_millis(*ms)).is_some())
            .count();
        assert_eq!(allowed, 10);
        assert_eq!(limit.allow(start + PERIOD), Some(15));
        assert_eq!(limit.allow(start + PERIOD), Some(0));
    }
}
