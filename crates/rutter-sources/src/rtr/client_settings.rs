//! The settings and limits of an RTR client.

use std::time::Duration;

use super::HIGHEST_VERSION;
use super::intervals::RtrIntervals;

/// The settings of an RTR client. An interval that is `None` is the cache's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtrClientSettings {
    /// Time between queries, seconds.
    pub refresh_s: Option<u32>,
    /// Longest time between attempts, seconds.
    pub retry_s: Option<u32>,
    /// The age at which data are no longer used, seconds.
    pub expire_s: Option<u32>,
    /// Offer version 2, which has ASPAs.
    pub aspa: bool,
    /// The limits.
    pub limits: RtrLimits,
}

impl RtrClientSettings {
    /// The highest version that the client offers.
    pub fn highest_version(&self) -> u8 {
        if self.aspa { HIGHEST_VERSION } else { 1 }
    }

    /// The intervals in use, when the cache sent these.
    pub(super) fn intervals(&self, of_cache: RtrIntervals) -> RtrIntervals {
        let intervals = RtrIntervals {
            refresh_s: self.refresh_s.unwrap_or(of_cache.refresh_s),
            retry_s: self.retry_s.unwrap_or(of_cache.retry_s),
            expire_s: self.expire_s.unwrap_or(of_cache.expire_s),
        };
        intervals.clamped()
    }
}

/// The limits on one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtrLimits {
    /// The most records: VRPs, ASPAs and providers of ASPAs together.
    pub max_records: usize,
    /// The time without any byte, while the cache owes an answer.
    pub idle_timeout: Duration,
    /// The time for a complete answer.
    pub answer_timeout: Duration,
    /// The shortest time between the end of an answer and a query that a Serial Notify causes.
    pub notify_gap: Duration,
    /// The time until the first attempt after a failure. Each further failure doubles it, up to the retry interval.
    pub first_retry: Duration,
    /// The time after which the client offers the highest version again to a cache that agreed to a lower one.
    pub version_probe: Duration,
}

impl Default for RtrLimits {
    /// 5 million records, 60 s, 10 min, 5 s, 1 s, 1 h.
    fn default() -> Self {
        RtrLimits {
            max_records: 5_000_000,
            idle_timeout: Duration::from_secs(60),
            answer_timeout: Duration::from_secs(600),
            notify_gap: Duration::from_secs(5),
            first_retry: Duration::from_secs(1),
            version_probe: Duration::from_secs(3_600),
        }
    }
}
