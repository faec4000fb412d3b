//! Routes that lost their marks, because more combinations of marks and changes are in use than a route can name.

use std::time::{Duration, Instant};

use rutter_server::LogRateLimit;

use crate::shared::Shared;

/// The time between two log lines, and from a walk over the table that helped to the next.
const PERIOD: Duration = Duration::from_secs(60);
/// The longest time between two walks. It doubles with each walk after which marks are still lost.
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

/// Reports lost marks, and restores them once other combinations have no routes any more.
pub(crate) struct LostMarks {
    /// [`rutter_rib::Rib::unmarked_verdicts`] at the last line.
    reported: u64,
    /// The same after the last walk that helped.
    restored: u64,
    lines: LogRateLimit,
    /// The last walk, and the time to the next one.
    last_walk: Option<(Instant, Duration)>,
}

impl Default for LostMarks {
    fn default() -> Self {
        LostMarks {
            reported: 0,
            restored: 0,
            lines: LogRateLimit::new(1, PERIOD),
            last_walk: None,
        }
    }
}

impl LostMarks {
    /// Call it every now and then; `is_quiet`: the table has few changes.
    pub(crate) fn check(&mut self, shared: &Shared, now: Instant, is_quiet: bool) {
        let lost = shared.rib.unmarked_verdicts();
        if lost > self.reported && self.lines.allow(now).is_some() {
            tracing::warn!(
                verdicts = lost - self.reported,
                "routes were accepted without their communities, or rejected where filters change them: more combinations \
                 of `communities.tags`, custom communities and changes of filters are in use than the table can hold; use \
                 fewer of them"
            );
            self.reported = lost;
        }
        if lost > self.restored && is_quiet && self.may_walk(now) {
            let had_room = shared.rib.restore_marks(|| shared.flush());
            shared.flush();
            // The walk itself loses marks where the room is too small. Another one follows, but later.
            let helped = had_room && shared.rib.unmarked_verdicts() == lost;
            self.last_walk = Some((now, next_pause(self.last_walk.map(|walk| walk.1), helped)));
            if helped {
                self.restored = lost;
                tracing::info!(
                    "all routes were evaluated again: there is room for their communities"
                );
            }
        }
    }

    fn may_walk(&self, now: Instant) -> bool {
        self.last_walk
            .is_none_or(|(at, pause)| now.saturating_duration_since(at) >= pause)
    }
}

/// The time from a walk to the next one. `last`: the one before.
fn next_pause(last: Option<Duration>, helped: bool) -> Duration {
    match last {
        Some(last) if !helped => LONGEST_PAUSE.min(2 * last),
        _ => PERIOD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_that_do_not_help_become_rare() {
        let first = next_pause(None, false);
        assert_eq!(first, PERIOD);
        let second = next_pause(Some(first), false);
        assert_eq!(second, 2 * PERIOD);
        assert_eq!(next_pause(Some(LONGEST_PAUSE), false), LONGEST_PAUSE);
        assert_eq!(next_pause(Some(second), true), PERIOD);
    }
}
