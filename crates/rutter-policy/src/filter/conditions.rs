//! The conditions of a rule.

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;

use rutter_net::{Asn, Family, Prefix};
use rutter_rpki::Rov;
use rutter_wire::attr::{Attributes, code};

use super::{AsPathList, CommunityList, PrefixList};
use crate::NextHop;

/// The conditions of a rule. A route must satisfy each that is present; of the entries of one condition, any is enough.
/// Without conditions a rule applies to every route.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conditions {
    /// The family of the prefix.
    pub family: Option<Family>,
    /// The AS of the neighbor that announced the route.
    pub neighbor_asns: Vec<Asn>,
    /// Lists of prefixes.
    pub prefix_lists: Vec<Arc<PrefixList>>,
    /// Lists of expressions over the AS path.
    pub as_path_lists: Vec<Arc<AsPathList>>,
    /// Lists of communities.
    pub community_lists: Vec<Arc<CommunityList>>,
    /// Origins, the last AS of the path.
    pub origin_asns: Vec<Asn>,
    /// Networks of the next hop.
    pub next_hops: Vec<Prefix>,
    /// The length of the path.
    pub path_length: Option<PathLength>,
    /// Validation states of the origin (RFC 6811).
    pub origin_states: Vec<Rov>,
}

/// Lengths of AS paths, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathLength {
    /// The smallest number of AS numbers.
    pub min: u16,
    /// The largest number of AS numbers.
    pub max: u16,
}

/// The attributes of a route and what belongs to them, for the conditions that do not depend on its prefix.
pub(crate) struct AttributeView<'a> {
    pub(crate) attributes: &'a Attributes<'a>,
    pub(crate) next_hop: NextHop,
    pub(crate) family: Family,
    pub(crate) neighbor: Asn,
    /// The text of the path, where a rule compares it.
    pub(crate) path_text: String,
    /// The octets that were compared: see [`super::FilterChain::compare`].
    pub(crate) compared: Cell<usize>,
}

impl AttributeView<'_> {
    fn count(&self, octets: usize) {
        self.compared.set(self.compared.get() + octets);
    }

    fn has_any(&self, list: &CommunityList) -> bool {
        let codes = [
            code::COMMUNITIES,
            code::EXTENDED_COMMUNITIES,
            code::LARGE_COMMUNITIES,
        ];
        let value = |code| self.attributes.value(code).map_or(0, <[u8]>::len);
        self.count(list.patterns().len() * codes.into_iter().map(value).sum::<usize>());
        list.matches(self.attributes)
    }

    fn has_path(&self, list: &AsPathList) -> bool {
        self.count(self.path_text.len() * OCTETS_TO_MATCH);
        list.matches(&self.path_text)
    }
}

/// An octet of the path's text is matched in the time in which so many octets of communities are compared.
const OCTETS_TO_MATCH: usize = 4;

impl Conditions {
    /// Returns whether attributes satisfy the conditions that depend on them alone.
    pub(crate) fn hold_for(&self, view: &AttributeView<'_>) -> bool {
        let path = view.attributes.as_path();
        let path_len = || path.map_or(0, |path| path.path_len());
        let origin = || path.and_then(|path| path.origin());
        let is_near = |hop: IpAddr| self.next_hops.iter().any(|network| network.contains(hop));
        self.family.is_none_or(|family| family == view.family)
            && allows(&self.neighbor_asns, |asn| *asn == view.neighbor)
            && allows(&self.origin_asns, |asn| Some(*asn) == origin())
            && self.path_length.is_none_or(|range| {
                (usize::from(range.min)..=usize::from(range.max)).contains(&path_len())
            })
            && (self.next_hops.is_empty() || is_near(view.next_hop.addr()))
            && allows(&self.community_lists, |list| view.has_any(list))
            && allows(&self.as_path_lists, |list| view.has_path(list))
    }

    /// Returns whether a route satisfies the conditions that do not depend on attributes alone.
    #[inline]
    pub(crate) fn hold_for_route(
        &self,
        prefix: Prefix,
        origin_state: impl FnOnce() -> Option<Rov>,
    ) -> bool {
        allows(&self.prefix_lists, |list| list.matches(prefix))
            && (self.origin_states.is_empty()
                || origin_state().is_some_and(|state| self.origin_states.contains(&state)))
    }
}

/// Returns whether a condition is absent, or one of its entries matches.
fn allows<T>(entries: &[T], matches: impl Fn(&T) -> bool) -> bool {
    entries.is_empty() || entries.iter().any(matches)
}
