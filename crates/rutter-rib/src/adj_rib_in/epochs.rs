//! Epochs: the numbers that divide a peer's routes into present, stale, and waiting for removal, without a walk.
//!
//! A route keeps the epoch in which it came. The peer says what each epoch means. So a whole session's routes become
//! stale or leave by one change of a number, and the next session can begin while a sweeper still removes the routes of
//! those before.

use crate::adj_rib_in::route::State;

/// The number of epochs.
pub(crate) const EPOCHS: usize = 4;

/// In place of the present epoch: all are in use.
pub(crate) const NO_EPOCH: u8 = EPOCHS as u8;

/// A set of epochs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EpochSet(u8);

impl EpochSet {
    /// All epochs.
    pub const ALL: EpochSet = EpochSet(0b1111);

    /// One epoch.
    pub fn of(epoch: u8) -> Self {
        EpochSet(1 << epoch)
    }

    /// The set as bits.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set of some bits; others are left out.
    pub fn from_bits(bits: u8) -> Self {
        EpochSet(bits).and(EpochSet::ALL)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, epoch: u8) -> bool {
        self.0 >> epoch & 1 != 0
    }

    pub fn and(self, other: Self) -> Self {
        EpochSet(self.0 & other.0)
    }

    pub fn or(self, other: Self) -> Self {
        EpochSet(self.0 | other.0)
    }

    pub fn minus(self, other: Self) -> Self {
        EpochSet(self.0 & !other.0)
    }

    /// The epochs in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..EPOCHS as u8).filter(move |epoch| self.contains(*epoch))
    }
}

/// The epochs of a peer's routes in one family.
///
/// Invariant: the present epoch is neither stale nor being removed, and no epoch is both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epochs {
    /// The epoch of the routes that come now, or [`NO_EPOCH`]. Then no session may begin.
    pub present: u8,
    /// The routes of these epochs are kept as stale (RFC 4724, RFC 7313).
    pub stale: EpochSet,
    /// The routes of these epochs wait to be removed. Nobody sees them.
    pub removing: EpochSet,
    /// The number of the neighbor among all that were ever added: a sweeper must not take one for another with its id.
    pub neighbor: u32,
}

impl Epochs {
    /// Those of the neighbor with this number among all that were ever added.
    pub fn of_neighbor(number: u32) -> Self {
        Epochs {
            neighbor: number,
            ..Epochs::default()
        }
    }

    /// Returns whether a route is not of the present epoch.
    pub fn is_stale(&self, state: State) -> bool {
        state.epoch() != self.present
    }

    /// Returns whether a route waits to be removed.
    pub fn is_being_removed(&self, state: State) -> bool {
        self.removing.contains(state.epoch())
    }

    /// Begins an unused epoch, if there is one. The routes that came before are no longer of the present epoch.
    pub fn begin_next(&mut self) -> bool {
        let used = self.stale.or(self.removing).or(EpochSet::of(self.present));
        let Some(unused) = EpochSet::ALL.minus(used).iter().next() else {
            return false;
        };
        self.present = unused;
        true
    }

    /// Ends the present epoch. Without an unused one, the next begins when a sweeper has emptied one: see
    /// [`Epochs::emptied`].
    pub fn end_present(&mut self) {
        if !self.begin_next() {
            self.present = NO_EPOCH;
        }
    }

    /// The routes of these epochs are removed.
    pub fn emptied(&mut self, epochs: EpochSet) {
        self.removing = self.removing.minus(epochs);
        if self.present == NO_EPOCH {
            self.begin_next();
        }
    }

    /// Makes the routes of these epochs leave.
    pub fn remove(&mut self, epochs: EpochSet) {
        self.stale = self.stale.minus(epochs);
        self.removing = self.removing.or(epochs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_used_again_once_it_is_empty() {
        let mut epochs = Epochs::default();
        let mut ended = Vec::new();
        while {
            ended.push(epochs.present);
            epochs.remove(EpochSet::of(epochs.present));
            epochs.begin_next()
        } {}
        assert_eq!(ended, [0, 1, 2, 3]);
        epochs.end_present();
        assert_eq!(epochs.present, NO_EPOCH);
        epochs.emptied(EpochSet::of(2));
        assert_eq!(epochs.present, 2);
        for epoch in 0..EPOCHS as u8 {
            let state = State(0xff).in_epoch(epoch);
            assert_eq!(state.epoch(), epoch);
            assert_eq!(epochs.is_stale(state), epoch != 2);
            assert_eq!(epochs.is_being_removed(state), epoch != 2);
        }
    }
}
