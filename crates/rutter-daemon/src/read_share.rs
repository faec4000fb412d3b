//! The bytes that a neighbor sent lately: who sends little is served first.

/// The bytes read from one connection in the present period.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ReadShare {
    period: u64,
    bytes: usize,
}

/// The length of a period, milliseconds.
const PERIOD_MS: u64 = 100;
/// A neighbor that sends more than this in a period, bytes, waits while the clients are behind. Some hundred changes.
const FAIR_BYTES: usize = 16 * 1024;

impl ReadShare {
    /// Counts bytes.
    pub(crate) fn count(&mut self, bytes: usize, now_ms: u64) {
        let period = now_ms / PERIOD_MS;
        if self.period != period {
            *self = ReadShare { period, bytes: 0 };
        }
        self.bytes += bytes;
    }

    /// Returns whether the share of the present period is used up.
    pub(crate) fn is_used(&self, now_ms: u64) -> bool {
        self.period == now_ms / PERIOD_MS && self.bytes >= FAIR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
