//! Clients hear what a long walk over the table changes while it goes on.

use std::sync::atomic::Ordering;

use crate::Rib;

/// Watches the logs grow during a walk.
pub(crate) struct WalkProgress<'a> {
    notify: &'a mut dyn FnMut(),
    notified_at: u64,
}

/// Records that are worth encoding: enough for those with the same attributes, or the same recipients, to come together.
const ENCODE_RECORDS: usize = 8 * 1024;
/// Octets of the logs that are worth waking those who write them out: enough for each client to get them in one piece.
const NOTIFY_BYTES: u64 = 64 * 1024;

impl<'a> WalkProgress<'a> {
    /// `notify` is called now and then, while no lock is held.
    pub fn new(rib: &Rib, notify: &'a mut dyn FnMut()) -> Self {
        WalkProgress {
            notify,
            notified_at: appended(rib),
        }
    }

    /// To be called between slices.
    pub fn after_slice(&mut self, rib: &Rib) {
        rib.encode_from(ENCODE_RECORDS, &rib.topology.read());
        let appended = appended(rib);
        // It shrinks when a group goes.
        if appended.abs_diff(self.notified_at) >= NOTIFY_BYTES {
            self.notified_at = appended;
            (self.notify)();
        }
    }
}

/// Octets that were ever appended to the logs there are.
fn appended(rib: &Rib) -> u64 {
    let groups = rib.groups.read();
    groups.iter().map(|g| g.end.load(Ordering::Relaxed)).sum()
}
