//! One answer of a source, kept between refreshes.

use crate::unix_seconds;

/// The answer in force, and a newer one on which the shrink guard has not decided or that it refused.
#[derive(Clone, Debug)]
pub(crate) struct Record<T> {
    /// The answer in force.
    pub good: Option<T>,
    /// A newer answer that differs from it.
    pub pending: Option<T>,
    /// The error of the last attempt.
    pub error: Option<String>,
    /// Time of the last answer, Unix seconds. `None` for those of the copy on disk.
    pub answered_at: Option<u64>,
}

impl<T> Default for Record<T> {
    fn default() -> Self {
        Record {
            good: None,
            pending: None,
            error: None,
            answered_at: None,
        }
    }
}

impl<T: PartialEq> Record<T> {
    /// An answer that is in force.
    pub fn of(good: T) -> Self {
        Record {
            good: Some(good),
            ..Record::default()
        }
    }

    /// Takes an answer. It replaces an older pending one.
    pub fn offer(&mut self, answer: T) {
        self.confirm();
        self.pending = (self.good.as_ref() != Some(&answer)).then_some(answer);
    }

    /// Notes that the newest answer was given again.
    pub fn confirm(&mut self) {
        self.error = None;
        self.answered_at = Some(unix_seconds());
    }

    /// The answer in force, or with [`View::Next`] the newest one.
    pub fn get(&self, view: View) -> Option<&T> {
        match view {
            View::Good => self.good.as_ref(),
            View::Next => self.pending.as_ref().or(self.good.as_ref()),
        }
    }

    /// Puts the pending answer in force. Returns whether there was one.
    pub fn promote(&mut self) -> bool {
        let pending = self.pending.take();
        let changes = pending.is_some();
        if changes {
            self.good = pending;
        }
        changes
    }
}

/// A choice between the answers of a [`Record`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// The answer in force.
    Good,
    /// The newest answer.
    Next,
}
