//! The judgement of one route.

use crate::IrrRules;

/// The statement of the IRR data about the origin of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OriginState {
    /// There are no data for this member.
    Unchecked,
    /// The origin is in the member's AS-SETs.
    InSet,
    /// The origin is not in the AS-SETs, but a white list allows it.
    WhiteListed(WhiteList),
    /// The origin is neither in the AS-SETs nor in a white list. A route without an origin is always here.
    NotInSet,
}

/// The statement of the IRR data about the prefix of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrefixState {
    /// There are no data for this member.
    Unchecked,
    /// The prefix is registered with exactly this origin.
    Registered(RegisteredBy),
    /// The prefix is in a list of the member that has no origins.
    AnyOrigin,
    /// The prefix is registered for the member, but only with other origins.
    OtherOrigin,
    /// The prefix is not registered as the rules require, but a white list allows it.
    WhiteListed(WhiteList),
    /// The prefix is not registered for the member.
    NotRegistered,
}

/// The data that register a prefix with an origin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegisteredBy {
    /// A route object of an IRR, or a list of the member with origins.
    RouteObject,
    /// A valid ROA, whose origin is in the member's set.
    Roa,
    /// ARIN's whois dump.
    Arin,
    /// registro.br's dump.
    RegistroBr,
}

/// A kind of white list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WhiteList {
    /// The list of AS numbers: it allows the origin.
    Asn,
    /// The list of prefixes: it allows the prefix.
    Prefix,
    /// The list of routes: it allows both.
    Route,
}

/// The judgement of a route: the facts, and with the member's rules the faults.
///
/// The facts are stated whether a rule enforces them or not, so that a caller can tag a route that it accepts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IrrVerdict {
    /// The state of the origin.
    pub origin: OriginState,
    /// The state of the prefix.
    pub prefix: PrefixState,
    /// The rules of the member; none if there are no data for it.
    pub rules: IrrRules,
}

impl IrrVerdict {
    /// The judgement without data.
    pub(crate) const UNCHECKED: IrrVerdict = IrrVerdict {
        origin: OriginState::Unchecked,
        prefix: PrefixState::Unchecked,
        rules: IrrRules::NONE,
    };

    /// Returns whether a rule rejects the origin (ARouteServer's reason 9).
    #[inline]
    pub fn origin_fault(self) -> bool {
        self.rules.origin && self.origin == OriginState::NotInSet
    }

    /// Returns whether a rule rejects the prefix (ARouteServer's reason 12).
    #[inline]
    pub fn prefix_fault(self) -> bool {
        match self.prefix {
            PrefixState::Unchecked | PrefixState::Registered(_) | PrefixState::WhiteListed(_) => {
                false
            }
            PrefixState::AnyOrigin | PrefixState::OtherOrigin => self.rules.bound,
            PrefixState::NotRegistered => self.rules.bound || self.rules.prefix,
        }
    }

    /// Returns whether a rule rejects the route.
    #[inline]
    pub fn is_rejected(self) -> bool {
        self.origin_fault() || self.prefix_fault()
    }
}
