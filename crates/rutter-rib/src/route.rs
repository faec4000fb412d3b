//! A route: one peer's word about one prefix, in sixteen octets.

use rutter_policy::RejectReason;

use crate::{AttrSet, PeerId};

/// One route of the Adj-RIB-In, with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub attrs: AttrSet,
    pub path_id: u32,
    pub peer: PeerId,
    pub state: State,
    /// The first reason of rejection; a rejected route stays but takes no part in the decision.
    pub reject: Option<RejectReason>,
}

const _: () = assert!(size_of::<Route>() == 16);

/// What is true of a route beyond its attributes, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct State(pub u8);

impl State {
    /// Which of its peer's two epochs the route is of. Routes of the other epoch are stale: marking all of
    /// a peer's routes stale is one flip, not a walk.
    pub const EPOCH: u8 = 1;
    /// Kept under RFC 9494: least preferred, sent with LLGR_STALE.
    pub const LONG_LIVED_STALE: u8 = 2;
    /// RFC 8326: counts as LOCAL_PREF 0.
    pub const GRACEFUL_SHUTDOWN: u8 = 4;
    /// RFC 7999.
    pub const BLACKHOLE: u8 = 8;

    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub fn with(self, bit: u8, on: bool) -> Self {
        State(if on { self.0 | bit } else { self.0 & !bit })
    }
}

impl Route {
    pub fn is_accepted(&self) -> bool {
        self.reject.is_none()
    }

    /// Whether clients would hear the same of both.
    pub fn sends_as(&self, other: &Route) -> bool {
        self.attrs.same(&other.attrs)
            && self.peer == other.peer
            && self.state.has(State::LONG_LIVED_STALE) == other.state.has(State::LONG_LIVED_STALE)
    }
}
