//! The import policy of one neighbor.

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::Attributes;

use crate::{Finding, ImportSettings, NextHop, RejectReason};

/// What the attributes alone decide; once per attribute set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrVerdict {
    /// The first reason against every route with these attributes.
    pub reject: Option<RejectReason>,
    /// GRACEFUL_SHUTDOWN is present: LOCAL_PREF becomes 0 (RFC 8326).
    pub graceful_shutdown: bool,
    /// BLACKHOLE is present and taken from this neighbor (RFC 7999): pass it on to `check_prefix`.
    pub blackhole: bool,
    /// ONLY_TO_CUSTOMER must be added with this AS number (RFC 9234 §5).
    pub add_otc: Option<Asn>,
}

/// The import policy of one neighbor: immutable, shared between threads.
#[derive(Debug)]
pub struct ImportPolicy {
    settings: ImportSettings,
}

impl ImportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ImportSettings) -> Self {
        ImportPolicy { settings }
    }

    /// What the policy was built from.
    pub fn settings(&self) -> &ImportSettings {
        &self.settings
    }

    /// Checks what depends on attributes alone.
    pub fn check_attributes(
        &self,
        _attributes: &Attributes<'_>,
        _next_hop: NextHop,
        _family: Family,
    ) -> AttrVerdict {
        todo!()
    }

    /// Checks the prefix; `blackhole` as [`AttrVerdict::blackhole`] said.
    pub fn check_prefix(&self, prefix: Prefix, blackhole: bool) -> Option<RejectReason> {
        match prefix {
            Prefix::V4(prefix) => self.check_ipv4(prefix, blackhole),
            Prefix::V6(prefix) => self.check_ipv6(prefix, blackhole),
        }
    }

    /// As [`Self::check_prefix`].
    pub fn check_ipv4(&self, _prefix: Ipv4Prefix, _blackhole: bool) -> Option<RejectReason> {
        todo!()
    }

    /// As [`Self::check_prefix`].
    pub fn check_ipv6(&self, _prefix: Ipv6Prefix, _blackhole: bool) -> Option<RejectReason> {
        todo!()
    }

    /// Whether [`Self::check_origin`] can reject anything.
    pub fn has_route_checks(&self) -> bool {
        self.settings.route_checks.is_some()
    }

    /// Asks the checks that need outside data (none unless the settings bring one).
    pub fn check_origin(&self, prefix: Prefix, origin: Option<Asn>) -> Option<RejectReason> {
        self.settings.route_checks.as_ref()?.check(prefix, origin)
    }

    /// Every reason against the route, with evidence; empty for a route that is accepted.
    pub fn all_reasons(
        &self,
        _prefix: Prefix,
        _attributes: &Attributes<'_>,
        _next_hop: NextHop,
        _family: Family,
    ) -> Vec<Finding> {
        todo!()
    }
}
