//! Limits for the log lines that neighbors cause, by neighbor and kind of line.

use std::collections::HashMap;
use std::mem::Discriminant;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use rutter_server::LogRateLimit;
use rutter_session::SessionEvent;

/// The kind of a log line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LineKind {
    /// An event of the session.
    Event(Discriminant<SessionEvent>),
    /// The session was established.
    Established,
    /// The session went down.
    Down,
    /// A malformed UPDATE.
    Malformed,
    /// A prefix limit was exceeded.
    PrefixLimit,
    /// A limit on memory was exceeded.
    MemoryLimit,
    /// Paths were not kept.
    PathsNotKept,
}

/// The limits of a thread's neighbors. They outlive a dynamic neighbor that leaves and returns.
///
/// Invariant: there is at most one limit for each neighbor and kind, and at most [`MAX_LIMITS`]. Further neighbors share
/// one limit.
pub(crate) struct PeerLogLimits {
    /// The time 0 of `now_ms`.
    start: Instant,
    limits: HashMap<(IpAddr, LineKind), LogRateLimit>,
    shared: LogRateLimit,
    next_report_ms: Option<u64>,
}

const MAX_LIMITS: usize = 16_384;
/// The lines of one neighbor and kind in each period.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_millis(REPORT_MS);
/// The time between two reports of lines that were left out.
const REPORT_MS: u64 = 60_000;

impl Default for PeerLogLimits {
    fn default() -> Self {
        PeerLogLimits {
            start: Instant::now(),
            limits: HashMap::new(),
            shared: LogRateLimit::new(LINES, PERIOD),
            next_report_ms: None,
        }
    }
}

impl PeerLogLimits {
    /// Returns whether a line may be logged now, with the number of lines before it that were left out.
    pub(crate) fn pass(&mut self, peer: IpAddr, kind: LineKind, now_ms: u64) -> Option<u64> {
        self.next_report_ms.get_or_insert(now_ms + REPORT_MS);
        let now = self.start + Duration::from_millis(now_ms);
        let key = (peer, kind);
        if self.limits.len() >= MAX_LIMITS && !self.limits.contains_key(&key) {
            return self.shared.allow(now);
        }
        let limit = self.limits.entry(key);
        let limit = limit.or_insert(LogRateLimit::new(LINES, PERIOD));
        limit.allow(now)
    }

    /// Returns the neighbors with lines that were left out, and their number; drops limits that are not in use.
    fn expire(&mut self, now_ms: u64) -> HashMap<IpAddr, u64> {
        let now = self.start + Duration::from_millis(now_ms);
        let mut left_out = HashMap::new();
        self.limits.retain(|(peer, _), limit| {
            let is_over = limit.period_is_over(now);
            if is_over && limit.suppressed() > 0 {
                *left_out.entry(*peer).or_default() += limit.suppressed();
            }
            !is_over
        });
        left_out
    }

    /// Logs the number of lines that were left out, once a minute.
    pub(crate) fn report(&mut self, now_ms: u64) {
        if self.next_report_ms.is_none_or(|at| now_ms < at) {
            return;
        }
        for (peer, count) in self.expire(now_ms) {
            tracing::warn!(%peer, not_logged = count, "log lines of this neighbor were left out");
        }
        self.next_report_ms = (!self.limits.is_empty()).then_some(now_ms + REPORT_MS);
    }

    /// The time of the next report.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.next_report_ms
    }
}

/// The number of lines that were left out, for a field that is absent where it is 0.
pub(crate) fn some(not_logged: u64) -> Option<u64> {
    Some(not_logged).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_and_kinds_have_limits_of_their_own() {
        let mut limits = PeerLogLimits::default();
        let (one, two) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let mut passed = |peer, kind| (0..100).filter_map(|_| limits.pass(peer, kind, 0)).count();
        assert_eq!(passed(one, LineKind::Down), 10);
        assert_eq!(passed(one, LineKind::Established), 10);
        assert_eq!(passed(two, LineKind::Down), 10);
        assert_eq!(limits.next_deadline(), Some(REPORT_MS));
        assert!(limits.expire(REPORT_MS - 1).is_empty());
        let left_out = limits.expire(REPORT_MS);
        assert_eq!(left_out, HashMap::from([(one, 180), (two, 90)]));
        limits.report(REPORT_MS);
        assert_eq!(limits.next_deadline(), None);
    }

    #[test]
    fn the_number_of_limits_is_bounded() {
        let mut limits = PeerLogLimits::default();
        let address = |n: u32| IpAddr::from(std::net::Ipv4Addr::from(n));
        let all = 0..MAX_LIMITS as u32 + 1_000;
        let passed = all.filter_map(|n| limits.pass(address(n), LineKind::Down, 0));
        assert_eq!(passed.count(), MAX_LIMITS + 10);
        assert_eq!(limits.limits.len(), MAX_LIMITS);
    }
}
