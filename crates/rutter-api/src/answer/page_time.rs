//! The time of one page of an answer.

use std::time::Instant;

use crate::Backend;

/// A page that is being made. It ends when its time is over, with the rows that it has until then, but not before its first
/// step.
pub(super) struct PageTime {
    end: Instant,
    has_begun: bool,
}

impl PageTime {
    /// Starts a page.
    pub(super) fn start(backend: &dyn Backend) -> Self {
        PageTime {
            end: Instant::now() + backend.page_time(),
            has_begun: false,
        }
    }

    /// Returns whether the page must end before the next step.
    pub(super) fn is_over(&mut self) -> bool {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        has_begun && Instant::now() >= self.end
    }
}
