//! Every reason against a route, with the evidence, for the member who asks.

use crate::RejectReason;

/// One reason against a route and what in the route it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The reason.
    pub reason: RejectReason,
    /// What was found and what was wanted, in words.
    pub evidence: String,
}
