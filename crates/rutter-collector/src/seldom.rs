//! Log lines that anybody could cause: one in a while, with the number of those left out.

use std::time::{Duration, Instant};

/// Lets one line through in a while.
#[derive(Default)]
pub(crate) struct Seldom {
    last: Option<Instant>,
    left_out: u64,
}

const WHILE: Duration = Duration::from_secs(10);

impl Seldom {
    /// Whether a line may be written now, and then how many were not since the one before.
    pub fn may(&mut self) -> Option<u64> {
        if self.last.is_some_and(|last| last.elapsed() < WHILE) {
            self.left_out += 1;
            return None;
        }
        self.last = Some(Instant::now());
        Some(std::mem::take(&mut self.left_out))
    }
}
