//! The group of a client, which counts the client.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::advertise::group::Group;

/// A group that one of its clients holds. While this exists, [`Group::clients`] counts the client, [`Group::slow`] if it
/// is slow, and [`Group::backlogged`] if it has a backlog.
pub(super) struct JoinedGroup {
    group: Arc<Group>,
    slow_since_ms: Option<u64>,
    is_backlogged: bool,
}

impl JoinedGroup {
    pub fn new(group: Arc<Group>) -> Self {
        group.clients.fetch_add(1, Ordering::Relaxed);
        JoinedGroup {
            group,
            slow_since_ms: None,
            is_backlogged: false,
        }
    }

    pub fn shared(&self) -> &Arc<Group> {
        &self.group
    }

    /// The time since which the client is slow.
    pub fn slow_since_ms(&self) -> Option<u64> {
        self.slow_since_ms
    }

    #[inline]
    pub fn set_slow(&mut self, since_ms: Option<u64>) {
        match (self.slow_since_ms, since_ms) {
            (None, Some(_)) => self.group.slow.fetch_add(1, Ordering::Relaxed),
            (Some(_), None) => self.group.slow.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        self.slow_since_ms = since_ms;
    }

    #[inline]
    pub fn set_backlogged(&mut self, is: bool) {
        match (std::mem::replace(&mut self.is_backlogged, is), is) {
            (false, true) => self.group.backlogged.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.group.backlogged.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

impl Deref for JoinedGroup {
    type Target = Group;

    #[inline]
    fn deref(&self) -> &Group {
        &self.group
    }
}

impl Drop for JoinedGroup {
    fn drop(&mut self) {
        self.set_slow(None);
        self.set_backlogged(false);
        self.group.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
