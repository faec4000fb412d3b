//! Members, and the checks that each of them has.

/// A member of the exchange, as a small dense number.
///
/// The caller assigns the numbers and keeps them from one [`IrrData`](crate::IrrData) to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IrrMember(pub u16);

impl IrrMember {
    /// The largest number that a member can have.
    pub const MAX: IrrMember = IrrMember(u16::MAX - 2);

    /// The number of members that have none of their own: there never are data for it.
    pub const WITHOUT_DATA: IrrMember = IrrMember(u16::MAX - 1);

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The checks of a member. The default enforces nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct IrrRules {
    /// Reject a route whose origin is not in the member's AS-SETs.
    pub origin: bool,
    /// Reject a route whose prefix is not registered for the member, under any origin.
    pub prefix: bool,
    /// Reject a route whose prefix is not registered with exactly the route's origin, for the member. A list without
    /// origins never satisfies this rule.
    pub bound: bool,
    /// Accept longer prefixes: every registered prefix matches up to the family's longest length.
    pub longer: bool,
    /// A valid ROA counts as a route object if the route's origin is in the member's set.
    pub roas: bool,
}

impl IrrRules {
    /// Enforces nothing.
    pub(crate) const NONE: IrrRules = IrrRules {
        origin: false,
        prefix: false,
        bound: false,
        longer: false,
        roas: false,
    };
}
