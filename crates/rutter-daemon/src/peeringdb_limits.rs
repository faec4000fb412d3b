//! Prefix limits that follow PeeringDB's data.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::privileges;
use crate::reload;
use crate::shared::Shared;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Puts limits in force when PeeringDB's data change. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        if !shared.upgrades.is_preparing() {
            follow(shared);
        }
    }
}

/// Puts the limits in force that the source has now. Sessions continue; a neighbor above its new limit is found with the
/// next prefix that it announces.
pub(crate) fn follow(shared: &Arc<Shared>) {
    let limits = shared.sources.prefix_limits();
    if limits.as_ref() == shared.config.read().prefix_limits() {
        return;
    }
    let _one_at_a_time = shared.reloading.lock();
    let old = Arc::clone(&shared.config.read());
    let new = Arc::new(old.with_prefix_limits(limits));
    *shared.config.write() = Arc::clone(&new);
    let sessions = reload::change_prefix_limits(shared, &old, &new);
    if sessions > 0 {
        shared.flush();
        tracing::info!(sessions, "prefix limits changed with PeeringDB's data");
    }
}
