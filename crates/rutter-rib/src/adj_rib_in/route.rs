//! A route: the attributes that one peer announced for one prefix, in sixteen bytes.

use crate::adj_rib_in::verdict::Verdict;
use crate::{AttrSet, PeerId};

/// One route of the Adj-RIB-In, with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub attrs: AttrSet,
    pub path_id: u32,
    pub peer: PeerId,
    pub state: State,
    /// A rejected route stays but takes no part in the decision.
    pub verdict: Verdict,
}

const _: () = assert!(size_of::<Route>() == 16);

/// The state of a route beyond its attributes, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct State(pub u8);

impl State {
    /// The two bits of the route's epoch: see [`crate::adj_rib_in::epochs`].
    const EPOCH_LOW: u8 = 1;
    const EPOCH_HIGH: u8 = 8;
    /// Kept under RFC 9494: least preferred, sent with LLGR_STALE.
    pub const LONG_LIVED_STALE: u8 = 2;
    /// The decision process compares other values than those of the set: those that filters changed, see
    /// [`rutter_policy::RouteChanges`]. Without such changes the route counts as one with LOCAL_PREF 0:
    /// GRACEFUL_SHUTDOWN (RFC 8326), or the import policy asks for it.
    pub const OTHER_PREFERENCE: u8 = 4;

    /// The bits that do not follow from the attribute set.
    pub const OF_ROUTE: u8 = 0x8f;

    /// The route has a MULTI_EXIT_DISC above 0.
    const MED: u8 = 0x80;
    /// Three bits of a hash of the neighbouring AS.
    const NEIGHBOUR: u8 = 0x70;

    /// The bits that summarise a set, so that [`State::classes_with_med`] need not read the sets of most routes.
    pub fn of_set(neighbour_as: u32, multi_exit_disc: u32) -> Self {
        let hash = (neighbour_as.wrapping_mul(0x9e37_79b9) >> 25) as u8 & Self::NEIGHBOUR;
        State(hash).with(Self::MED, multi_exit_disc > 0)
    }

    /// Returns a bit for each of eight classes of neighbouring ASes that has two routes, one of them with
    /// MULTI_EXIT_DISC. In the other classes no two routes of one AS differ in it. O(routes).
    pub fn classes_with_med(states: impl Iterator<Item = State>) -> u8 {
        let (mut some, mut two, mut med) = (0_u8, 0, 0);
        for state in states {
            let class = 1 << state.class();
            two |= some & class;
            some |= class;
            med |= if state.has(Self::MED) { class } else { 0 };
        }
        two & med
    }

    /// The same state with another MULTI_EXIT_DISC.
    pub fn with_med(self, multi_exit_disc: u32) -> Self {
        self.with(Self::MED, multi_exit_disc > 0)
    }

    /// Returns whether the route has a MULTI_EXIT_DISC above 0.
    pub fn has_med(self) -> bool {
        self.has(Self::MED)
    }

    /// The class of the neighbouring AS, 0 to 7.
    pub fn class(self) -> u8 {
        (self.0 & Self::NEIGHBOUR) >> 4
    }

    /// The epoch in which the route came, 0 to 3.
    pub fn epoch(self) -> u8 {
        self.0 & Self::EPOCH_LOW | (self.0 & Self::EPOCH_HIGH) >> 2
    }

    /// Returns whether two states differ in their epochs at most.
    pub fn is_same_but_epoch(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(Self::EPOCH_LOW | Self::EPOCH_HIGH) == 0
    }

    /// The same state in another epoch.
    pub fn in_epoch(self, epoch: u8) -> Self {
        let others = self.0 & !(Self::EPOCH_LOW | Self::EPOCH_HIGH);
        State(others | epoch & 1 | (epoch & 2) << 2)
    }

    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub fn with(self, bit: u8, on: bool) -> Self {
        State(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl Route {
    pub fn is_accepted(&self) -> bool {
        self.verdict.is_accepted()
    }

    /// Returns whether clients would receive the same for both.
    pub fn is_sent_like(&self, other: &Route) -> bool {
        self.attrs.same(&other.attrs)
            && self.peer == other.peer
            && self.verdict.class() == other.verdict.class()
            && self.state.has(State::LONG_LIVED_STALE) == other.state.has(State::LONG_LIVED_STALE)
    }
}
