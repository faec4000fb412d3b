//! Counts of a peer's routes during an edit, and the limit on them.

use crate::adj_rib_in::epochs::{EPOCHS, EpochSet};
use crate::adj_rib_in::route::{Route, State};
use crate::neighbor::BlockAbove;

/// The change of one peer's route counts, by epoch.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub received: [i32; EPOCHS],
    pub accepted: [i32; EPOCHS],
    /// The paths that were not kept: see [`MAX_HELD_PATHS`].
    ///
    /// [`MAX_HELD_PATHS`]: crate::adj_rib_in::path_limits::MAX_HELD_PATHS
    pub not_kept: u32,
    /// The routes above a limit on prefixes that were not kept.
    pub blocked: u32,
}

impl Tally {
    /// Counts a route that comes (1) or goes (-1).
    #[inline(always)]
    pub fn count(&mut self, route: Option<&Route>, by: i32) {
        if let Some(route) = route {
            let epoch = usize::from(route.state.epoch());
            self.received[epoch] += by;
            self.accepted[epoch] += if route.is_accepted() { by } else { 0 };
        }
    }

    /// Counts an accepted route that comes.
    #[inline(always)]
    pub fn add_accepted(&mut self, state: State) {
        let epoch = usize::from(state.epoch());
        self.received[epoch] += 1;
        self.accepted[epoch] += 1;
    }

    /// Counts a held route whose state changes, also to one of another epoch.
    pub fn move_epoch(&mut self, held: &Route, state: State) {
        let (from, to) = (held.state.epoch(), state.epoch());
        if from != to {
            let accepted = i32::from(held.is_accepted());
            self.received[usize::from(from)] -= 1;
            self.received[usize::from(to)] += 1;
            self.accepted[usize::from(from)] -= accepted;
            self.accepted[usize::from(to)] += accepted;
        }
    }
}

/// The limit of `max-prefix` with action `block`, and the number of routes when the batch began.
#[derive(Default)]
pub(crate) struct Limit {
    pub prefixes: Option<BlockAbove>,
    /// Without routes that wait to be removed.
    pub held: u32,
    /// The epochs of the routes that wait to be removed.
    pub removing: EpochSet,
}

/// The fate of a route under the limit on prefixes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    Admitted,
    /// It stays in the table, rejected.
    Rejected,
    NotKept,
}

impl Limit {
    /// Returns the fate of a route that is new, or held (`known`) but not accepted. A held one stays in any case.
    pub fn admit(&self, known: bool, tally: &mut Tally) -> Admission {
        let Some(prefixes) = self.prefixes else {
            return Admission::Admitted;
        };
        let counted = EpochSet::ALL.minus(self.removing).iter();
        let more: i32 = counted
            .map(|epoch| tally.received[usize::from(epoch)])
            .sum();
        let with_it = i64::from(self.held) + i64::from(more) + i64::from(!known);
        if with_it <= i64::from(prefixes.limit) {
            Admission::Admitted
        } else if known || prefixes.keeps {
            Admission::Rejected
        } else {
            tally.blocked += 1;
            Admission::NotKept
        }
    }
}
