//! Clients hear what a long walk over the table changes while it goes on.

use std::sync::atomic::Ordering;

use crate::Rib;

/// Watches the logs grow during a walk.
pub(crate) struct News<'a> {
    tell: &'a mut dyn FnMut(),
    told: u64,
}

/// Records that are worth encoding: enough for those with the same attributes, or the same recipients, to come together.
const MANY: usize = 8 * 1024;
/// Octets of the logs that are worth waking those who write them out: enough for each client to get them in one piece.
const A_GOOD_DEAL: u64 = 64 * 1024;

impl<'a> News<'a> {
    /// `tell` is called now and then, while no lock is held.
    pub fn new(rib: &Rib, tell: &'a mut dyn FnMut()) -> Self {
        News {
            tell,
            told: appended(rib),
        }
    }

    /// To be called between slices.
    pub fn after_slice(&mut self, rib: &Rib) {
        rib.encode_from(MANY, &rib.topology.read());
        let appended = appended(rib);
        // It shrinks when a group goes.
        if appended.abs_diff(self.told) >= A_GOOD_DEAL {
            self.told = appended;
            (self.tell)();
        }
    }
}

/// Octets that were ever appended to the logs there are.
fn appended(rib: &Rib) -> u64 {
    let groups = rib.groups.read();
    groups.iter().map(|g| g.end.load(Ordering::Relaxed)).sum()
}
