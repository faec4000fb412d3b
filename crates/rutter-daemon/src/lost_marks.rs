//! Routes that lost their marks, because more combinations of marks and changes are in use than a route can name.

use std::time::{Duration, Instant};

use rutter_limits::LogRateLimit;

use crate::shared::Shared;

/// The time between two log lines, and between two walks over the table.
const PERIOD: Duration = Duration::from_secs(60);

/// Reports lost marks, and restores them once other combinations have no routes any more.
pub(crate) struct LostMarks {
    /// [`rutter_rib::Rib::unmarked_verdicts`] at the last line.
    reported: u64,
    /// The same at the last walk.
    restored: u64,
    lines: LogRateLimit,
    walks: LogRateLimit,
}

impl Default for LostMarks {
    fn default() -> Self {
        LostMarks {
            reported: 0,
            restored: 0,
            lines: LogRateLimit::new(1, PERIOD),
            walks: LogRateLimit::new(1, PERIOD),
        }
    }
}

impl LostMarks {
    /// Call it every now and then; `is_quiet`: the table has few changes.
    pub(crate) fn check(&mut self, shared: &Shared, now: Instant, is_quiet: bool) {
        let lost = shared.rib.unmarked_verdicts();
        if lost > self.reported && self.lines.allow(now).is_some() {
            tracing::warn!(
                routes = lost - self.reported,
                "routes were accepted without their communities, or rejected where filters change them: more combinations \
                 of `communities.tags`, custom communities and changes of filters are in use than the table can hold; use \
                 fewer of them"
            );
            self.reported = lost;
        }
        if lost > self.restored && is_quiet && self.walks.allow(now).is_some() {
            self.restored = lost;
            let had_room = shared.rib.restore_marks(|| shared.flush());
            shared.flush();
            if had_room {
                tracing::info!(
                    "all routes were evaluated again: there is room for their communities"
                );
            }
        }
    }
}
