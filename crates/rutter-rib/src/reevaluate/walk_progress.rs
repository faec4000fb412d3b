//! The progress of a long walk over the table: clients are sent its changes while it goes on.

use std::sync::atomic::Ordering;

use crate::Rib;

/// Watches the logs grow during a walk.
pub(crate) struct WalkProgress<'a> {
    notify: &'a mut dyn FnMut(),
    notified_at: u64,
}

/// The records that are worth encoding: enough that those with the same attributes or recipients come together.
const ENCODE_RECORDS: usize = 8 * 1024;
/// The bytes of the logs for which it is worth waking the writing threads: enough for one good write to each client.
const NOTIFY_BYTES: u64 = 64 * 1024;

impl<'a> WalkProgress<'a> {
    /// Calls `notify` now and then, while no lock is held.
    pub fn new(rib: &Rib, notify: &'a mut dyn FnMut()) -> Self {
        WalkProgress {
            notify,
            notified_at: appended(rib),
        }
    }

    /// Encodes and notifies as needed; call it between slices.
    pub fn after_slice(&mut self, rib: &Rib) {
        rib.encode_from(ENCODE_RECORDS, &rib.topology.read());
        let appended = appended(rib);
        // The sum shrinks when a group is removed.
        if appended.abs_diff(self.notified_at) >= NOTIFY_BYTES {
            self.notified_at = appended;
            (self.notify)();
        }
    }
}

/// The bytes ever appended to the logs of the present groups.
fn appended(rib: &Rib) -> u64 {
    let groups = rib.groups.read();
    groups.iter().map(|g| g.end.load(Ordering::Relaxed)).sum()
}
