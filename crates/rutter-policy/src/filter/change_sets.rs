//! The sets of changes in use, each with a number, so that the class of a route names its changes.

use std::sync::{Arc, PoisonError, RwLock};

use super::{FilterChain, RouteChanges, RuleSet};

/// The number of a set of changes. Equal sets have equal numbers in one process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ChangesId(u16);

/// All sets of changes that the process has used. Filters determine how many there are: each adds the combinations of its
/// rules that routes meet, at most [`COMBINATIONS`]. A set is a few dozen bytes, and none is ever removed, so that a number
/// keeps its meaning for every route, snapshot and message that names it.
static CHANGE_SETS: RwLock<Vec<Arc<RouteChanges>>> = RwLock::new(Vec::new());

impl ChangesId {
    /// No change.
    pub const NONE: ChangesId = ChangesId(0);

    /// The largest number.
    const MAX: u16 = (1 << 15) - 1;

    /// Returns whether nothing changes.
    pub fn is_none(self) -> bool {
        self == ChangesId::NONE
    }

    /// The number of a set of changes. `None` if all numbers are in use.
    pub fn of(changes: &RouteChanges) -> Option<Self> {
        if changes.is_empty() {
            return Some(ChangesId::NONE);
        }
        let place = |sets: &[Arc<RouteChanges>]| sets.iter().position(|held| **held == *changes);
        let known = place(&CHANGE_SETS.read().unwrap_or_else(PoisonError::into_inner));
        let index = known.or_else(|| {
            let mut sets = CHANGE_SETS.write().unwrap_or_else(PoisonError::into_inner);
            place(&sets).or_else(|| {
                let is_full = sets.len() >= usize::from(Self::MAX);
                (!is_full).then(|| {
                    sets.push(Arc::new(changes.clone()));
                    sets.len() - 1
                })
            })
        })?;
        Some(ChangesId(index as u16 + 1))
    }

    /// The changes of this number, `None` for [`ChangesId::NONE`].
    pub fn changes(self) -> Option<Arc<RouteChanges>> {
        let index = usize::from(self.0.checked_sub(1)?);
        let sets = CHANGE_SETS.read().unwrap_or_else(PoisonError::into_inner);
        sets.get(index).cloned()
    }

    /// The number, below 2¹⁵.
    pub(crate) fn to_bits(self) -> u16 {
        self.0
    }

    /// The id of a number from [`Self::to_bits`].
    pub(crate) fn from_bits(bits: u16) -> Self {
        ChangesId(bits)
    }
}

/// The most combinations of changing rules that the filters of one neighbor may apply to its routes. A peer selects the
/// rules that apply, so their number is limited.
pub const COMBINATIONS: usize = 64;

/// The combinations of rules that routes of one neighbor met so far, with their changes.
#[derive(Debug, Default)]
pub struct Combinations(RwLock<Vec<(Combination, ChangesId)>>);

type Combination = (RuleSet, bool);

impl Combinations {
    /// The changes that these rules of a chain make together. A route that is `least_preferred` keeps that place, whatever
    /// the rules say. `None` if there are too many combinations.
    pub fn changes(
        &self,
        chain: &FilterChain,
        applied: RuleSet,
        least_preferred: bool,
    ) -> Option<ChangesId> {
        let wanted = (applied, least_preferred);
        let held = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = held.iter().find(|(one, _)| *one == wanted);
        if let Some((_, id)) = known {
            return Some(*id);
        }
        if held.len() >= COMBINATIONS {
            return None;
        }
        drop(held);
        let mut changes = chain.changes_of(applied);
        if least_preferred && changes.concern_decision() {
            changes.local_pref = Some(0);
        }
        let id = ChangesId::of(&changes)?;
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.push((wanted, id));
        Some(id)
    }
}
