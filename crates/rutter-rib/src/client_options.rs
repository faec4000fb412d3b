//! The options of one client.

use rutter_policy::{FilterChain, Rtt};

/// The properties of a client that decide which routes it receives, and in which form, besides the rules for its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientOptions {
    /// The round-trip time, which action communities refer to.
    pub rtt: Option<Rtt>,
    /// Whether it receives the routes that were accepted for BLACKHOLE (RFC 7999).
    pub receives_blackhole: bool,
    /// Prepend our own AS, for route server clients that require it as the left-most one (RFC 7947 §2.2.2.1). Routers
    /// prepend it in any case.
    pub prepends_own_as: bool,
    /// The filters that decide which routes are advertised to this neighbor, and in which form. They compare no validation
    /// states.
    pub export_filters: FilterChain,
}

impl Default for ClientOptions {
    /// All routes, as they were received.
    fn default() -> Self {
        ClientOptions {
            rtt: None,
            receives_blackhole: true,
            prepends_own_as: false,
            export_filters: FilterChain::default(),
        }
    }
}
