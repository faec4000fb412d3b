//! The settings of the RPKI source.

use std::path::PathBuf;
use std::time::Duration;

use crate::rtr::{RtrClientSettings, RtrIntervals, RtrLimits};

/// The settings of the RPKI source, as the section `[rpki]` of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RpkiSettings {
    /// JSON files of VRPs and ASPAs. Their contents are merged. They count where no cache has data.
    pub vrps: Vec<PathBuf>,
    /// RTR caches, `host:port`, in order of preference.
    pub rtr: Vec<String>,
    /// Time between queries, seconds. `None`: as the cache sends.
    pub refresh_s: Option<u32>,
    /// Longest time between attempts to reach a cache that fails, seconds. `None`: as the cache sends.
    pub retry_s: Option<u32>,
    /// The age at which data of a cache that fails are no longer used, seconds. `None`: as the cache sends.
    pub expire_s: Option<u32>,
    /// Also use ASPAs.
    pub aspa: bool,
    /// The largest loss of VRPs or ASPAs that is not refused, percent. `None` refuses nothing.
    pub refuse_shrink: Option<u8>,
    /// The time between checks whether the files have changed.
    pub file_poll: Duration,
    /// The limits on each cache.
    pub limits: RtrLimits,
}

impl Default for RpkiSettings {
    /// No source; 20 percent, 10 s.
    fn default() -> Self {
        RpkiSettings {
            vrps: Vec::new(),
            rtr: Vec::new(),
            refresh_s: None,
            retry_s: None,
            expire_s: None,
            aspa: false,
            refuse_shrink: Some(20),
            file_poll: Duration::from_secs(10),
            limits: RtrLimits::default(),
        }
    }
}

impl RpkiSettings {
    pub(super) fn client(&self) -> RtrClientSettings {
        RtrClientSettings {
            refresh_s: self.refresh_s,
            retry_s: self.retry_s,
            expire_s: self.expire_s,
            aspa: self.aspa,
            limits: self.limits,
        }
    }

    /// The age at which data expire that did not come with intervals: those of files and of the last good copy.
    pub(super) fn expire(&self) -> Duration {
        let expire_s = self.expire_s.unwrap_or(RtrIntervals::default().expire_s);
        Duration::from_secs(expire_s.into())
    }
}
