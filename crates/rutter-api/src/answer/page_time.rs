//! The time of one page of an answer.

use std::time::Instant;

use super::RowWriter;
use crate::Backend;

/// A page that is being made. It ends when its time is over, with the rows that it has until then, but not before its first
/// step.
pub(super) struct PageTime {
    end: Instant,
    has_begun: bool,
}

impl PageTime {
    /// Starts a page. It has the time of the backend, or less where other clients of the transport wait.
    pub(super) fn start(backend: &dyn Backend, rows: &RowWriter<'_>) -> Self {
        PageTime {
            end: Instant::now() + backend.page_time().min(rows.longest_page()),
            has_begun: false,
        }
    }

    /// Returns whether the page must end before the next step.
    pub(super) fn is_over(&mut self) -> bool {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        has_begun && Instant::now() >= self.end
    }
}
