//! The bytes that a neighbor sent lately, and the work that they caused: who sends little is served first.

/// The bytes read from one connection in the present period, and the work beyond what these bytes usually cause.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ReadShare {
    period: u64,
    bytes: usize,
    /// The steps of its routes besides one for each, of this period and former ones.
    steps: usize,
    /// The steps that each of its routes took lately, besides one.
    steps_per_route: usize,
}

/// The length of a period, milliseconds.
const PERIOD_MS: u64 = 100;
/// A neighbor that sends more than this in a period, bytes, waits while the clients are behind. Some hundred changes.
const FAIR_BYTES: usize = 16 * 1024;
/// The steps of a period that count as much, about two milliseconds. What exceeds them counts in the next periods.
const FAIR_STEPS: usize = 4 * 1024;
/// Nobody waits for more periods than this.
const MAX_PERIODS: usize = 16;

impl ReadShare {
    /// Counts bytes.
    pub(crate) fn count(&mut self, bytes: usize, now_ms: u64) {
        self.begin_period(now_ms);
        self.bytes += bytes;
    }

    /// Notes that a commit of so many routes took so many steps besides one for each.
    pub(crate) fn note_steps(&mut self, routes: usize, steps: usize, now_ms: u64) {
        self.begin_period(now_ms);
        self.steps = (self.steps + steps).min(MAX_PERIODS * FAIR_STEPS);
        self.steps_per_route = self.steps_per_route.max(steps / routes.max(1));
    }

    /// The routes of a commit of about so many steps.
    pub(crate) fn routes_in(&self, steps: usize) -> usize {
        steps / (1 + self.steps_per_route)
    }

    /// Returns whether the share of the present period is used up.
    pub(crate) fn is_used(&self, now_ms: u64) -> bool {
        let now = self.at(now_ms);
        now.bytes >= FAIR_BYTES || now.steps >= FAIR_STEPS
    }

    fn begin_period(&mut self, now_ms: u64) {
        *self = self.at(now_ms);
    }

    /// The share at this time, if nothing more comes.
    fn at(self, now_ms: u64) -> Self {
        let period = now_ms / PERIOD_MS;
        let passed = period.saturating_sub(self.period).min(MAX_PERIODS as u64) as usize;
        if passed == 0 {
            return self;
        }
        ReadShare {
            period,
            bytes: 0,
            steps: self.steps.saturating_sub(passed * FAIR_STEPS),
            steps_per_route: self.steps_per_route >> passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_fewer_routes_while_they_take_many_steps() {
        let mut share = ReadShare::default();
        assert_eq!(share.routes_in(1_024), 1_024);
        share.note_steps(100, 6_300, 0);
        share.note_steps(100, 0, 10);
        assert_eq!(share.routes_in(1_024), 16);
        share.count(1, 8 * PERIOD_MS);
        assert_eq!(share.routes_in(1_024), 1_024);
    }

    #[test]
    fn a_share_is_used_up_until_the_next_period() {
        let mut share = ReadShare::default();
        assert!(!share.is_used(0));
        share.count(FAIR_BYTES - 1, 50);
        assert!(!share.is_used(60));
        share.count(1, 70);
        assert!(share.is_used(99) && !share.is_used(100));
        share.count(1, 100);
        assert!(!share.is_used(100));
    }

    #[test]
    fn much_work_for_few_bytes_counts_in_later_periods() {
        let mut share = ReadShare::default();
        share.note_steps(500, 3 * FAIR_STEPS, 0);
        assert!(share.is_used(0) && share.is_used(2 * PERIOD_MS));
        assert!(!share.is_used(3 * PERIOD_MS));
        share.note_steps(500, 100 * FAIR_STEPS, 3 * PERIOD_MS);
        assert!(!share.is_used((3 + MAX_PERIODS as u64) * PERIOD_MS));
    }
}
