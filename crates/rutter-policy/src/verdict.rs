//! The verdict of an import policy on a route.

use crate::{Class, RejectReason};

/// The verdict of an import policy on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteVerdict {
    /// The route takes no part in the decision process, for this first reason.
    Rejected(RejectReason),
    /// The route takes part in the decision process.
    Accepted {
        /// The difference that the policy makes for clients.
        class: Class,
        /// The route counts as one with LOCAL_PREF 0.
        least_preferred: bool,
    },
}

// It is returned in two registers.
const _: () = assert!(size_of::<RouteVerdict>() <= 16);

impl RouteVerdict {
    /// The route is accepted without any difference for clients.
    pub const PLAIN: RouteVerdict = RouteVerdict::Accepted {
        class: Class::PLAIN,
        least_preferred: false,
    };

    /// The reason of rejection, if any.
    pub fn reject(self) -> Option<RejectReason> {
        match self {
            RouteVerdict::Rejected(reason) => Some(reason),
            RouteVerdict::Accepted { .. } => None,
        }
    }
}

/// The action for a route that fails a check of outside data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CheckAction {
    /// The check is not evaluated.
    #[default]
    Off,
    /// The route is accepted and marked with its state.
    Tag,
    /// The route is accepted, marked with its state, and least preferred: any other route of the prefix is better.
    LeastPreferred,
    /// The route is rejected.
    Reject,
}
