//! A member of the exchange, as the IRR source needs it.

use rutter_irr::{IrrRules, ListEntry};

/// A member whose routes are compared with IRR data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IrrMemberSettings {
    /// The member's AS. It always is an origin of the member.
    pub asn: u32,
    /// Its AS-SETs, such as `AS-FOO`, `RIPE::AS-FOO` or `AS64500`. If there are none, the AS-SETs in PeeringDB count.
    pub as_sets: Vec<String>,
    /// A neighbor that is a member while it is connected, and whose AS the configuration does not name. Its routes are
    /// rejected until its data arrive, also before the first data of all. The last good copy is not written for it alone.
    pub is_unnamed: bool,
    /// The rules for its routes.
    pub rules: IrrRules,
    /// Origins that count as members of the AS-SETs.
    pub white_asns: Vec<u32>,
    /// Prefixes that count as registered.
    pub white_prefixes: Vec<ListEntry>,
    /// Routes that pass the checks. A row without an origin allows all origins.
    pub white_routes: Vec<ListEntry>,
}
