//! The filters that one neighbor's routes pass, one after the other.

use std::cell::Cell;
use std::sync::Arc;

use rutter_net::{Asn, Family, Prefix};
use rutter_rpki::Rov;
use rutter_wire::attr::Attributes;

use super::conditions::AttributeView;
use super::{Filter, FilterAction, FilterDefault, FilterRule, RouteChanges};
use crate::NextHop;

/// The filters of a neighbor. A route is accepted if every filter accepts it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FilterChain {
    filters: Vec<Arc<Filter>>,
    /// The rules that change routes.
    changing: RuleSet,
}

/// A set of rules of a chain, by their number over all its filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RuleSet(u128);

impl RuleSet {
    /// The most rules that the filters of a neighbor may have together.
    pub const MAX: usize = 128;

    /// Returns whether the set has no rule.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rules that are in both sets.
    #[must_use]
    pub fn and(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & other.0)
    }

    fn insert(&mut self, rule: usize) {
        self.0 |= 1_u128.checked_shl(rule as u32).unwrap_or(0);
    }

    fn has(self, rule: usize) -> bool {
        self.0.checked_shr(rule as u32).unwrap_or(0) & 1 != 0
    }
}

/// The decision of a chain on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterDecision {
    /// Every filter accepts the route. These rules applied to it.
    Accepted(RuleSet),
    /// A filter rejects the route: its position in the chain, and that of its rule; `None`: the default of the filter.
    Rejected {
        /// The position of the filter.
        filter: usize,
        /// The position of the rule.
        rule: Option<usize>,
    },
}

/// An octet of the path's text is written in the time in which so many octets of communities are compared.
const OCTETS_TO_WRITE: usize = 8;

impl FilterChain {
    /// A chain of these filters. At most [`RuleSet::MAX`] rules take part.
    pub fn new(filters: Vec<Arc<Filter>>) -> Self {
        let mut changing = RuleSet::default();
        let rules = filters.iter().flat_map(|filter| &filter.rules);
        for (number, _) in rules.enumerate().filter(|(_, rule)| rule.changes_routes()) {
            changing.insert(number);
        }
        FilterChain { filters, changing }
    }

    /// The rules that change routes.
    pub fn changing(&self) -> RuleSet {
        self.changing
    }

    /// The changes that these rules make together, in their order.
    pub fn changes_of(&self, applied: RuleSet) -> RouteChanges {
        let mut all = RouteChanges::default();
        for (number, rule) in self.rules().enumerate() {
            if applied.and(self.changing).has(number) {
                all.then(&rule.changes);
            }
        }
        all
    }

    /// Describes the changes that these rules make: one line for each rule.
    pub fn describe_changes(&self, applied: RuleSet) -> Vec<String> {
        let numbered = self.filters.iter().flat_map(|filter| {
            let rules = filter.rules.iter().enumerate();
            rules.map(move |(number, rule)| (&filter.name, number, rule))
        });
        let changing = applied.and(self.changing);
        let applied = numbered.zip(0..).filter(|(_, at)| changing.has(*at));
        let line = |((name, number, rule), _): ((&String, usize, &FilterRule), _)| {
            format!(
                "rule {} of the filter `{name}`: {}",
                number + 1,
                rule.changes
            )
        };
        applied.map(line).collect()
    }

    /// Returns whether there is no filter.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// The filters in their order.
    pub fn filters(&self) -> &[Arc<Filter>] {
        &self.filters
    }

    /// Returns whether a rule compares validation states of origins.
    pub fn uses_origin_states(&self) -> bool {
        self.filters
            .iter()
            .any(|filter| filter.uses_origin_states())
    }

    fn rules(&self) -> impl Iterator<Item = &FilterRule> {
        self.filters.iter().flat_map(|filter| &filter.rules)
    }

    /// The rules whose conditions on attributes hold. Once per attribute set.
    pub fn matching(
        &self,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
        neighbor: Asn,
    ) -> RuleSet {
        self.compare(attributes, next_hop, family, neighbor).0
    }

    /// As [`Self::matching`], with the octets of communities that were compared, once for each pattern. Octets of the path's
    /// text count several times, as they cost more.
    pub fn compare(
        &self,
        attributes: &Attributes<'_>,
        next_hop: NextHop,
        family: Family,
        neighbor: Asn,
    ) -> (RuleSet, usize) {
        let mut found = RuleSet::default();
        if self.is_empty() {
            return (found, 0);
        }
        let compares_text = |rule: &FilterRule| !rule.conditions.as_path_lists.is_empty();
        let path_text = match self.rules().any(compares_text) {
            true => attributes
                .as_path()
                .map_or_else(String::new, |path| path.to_string()),
            false => String::new(),
        };
        let view = AttributeView {
            attributes,
            next_hop,
            family,
            neighbor,
            compared: Cell::new(path_text.len() * OCTETS_TO_WRITE),
            path_text,
        };
        for (number, rule) in self.rules().enumerate() {
            if rule.conditions.hold_for(&view) {
                found.insert(number);
            }
        }
        (found, view.compared.get())
    }

    /// Decides on a route. `matching` is the result of [`Self::matching`]; `origin_state` is called only if a rule
    /// compares it.
    pub fn decide(
        &self,
        matching: RuleSet,
        prefix: Prefix,
        origin_state: impl Fn() -> Option<Rov>,
    ) -> FilterDecision {
        let mut applied = RuleSet::default();
        let mut first = 0;
        for (position, filter) in self.filters.iter().enumerate() {
            let applies = |(number, rule): &(usize, &FilterRule)| {
                matching.has(first + number)
                    && rule.conditions.hold_for_route(prefix, &origin_state)
            };
            let mut decision = None;
            for (number, rule) in filter.rules.iter().enumerate().filter(applies) {
                applied.insert(first + number);
                if rule.action != FilterAction::Next {
                    decision = Some((rule.action, number));
                    break;
                }
            }
            let rejected = match decision {
                Some((FilterAction::Reject, rule)) => Some(Some(rule)),
                Some(_) => None,
                None => (filter.default == FilterDefault::Reject).then_some(None),
            };
            if let Some(rule) = rejected {
                return FilterDecision::Rejected {
                    filter: position,
                    rule,
                };
            }
            first += filter.rules.len();
        }
        FilterDecision::Accepted(applied)
    }

    /// Describes a rejection: the filter, its rule and the operator's words.
    pub fn describe(&self, filter: usize, rule: Option<usize>) -> String {
        let Some(found) = self.filters.get(filter) else {
            return String::new();
        };
        let name = &found.name;
        let Some(number) = rule else {
            return format!("no rule of the filter `{name}` accepts it");
        };
        let place = format!("rule {} of the filter `{name}`", number + 1);
        match found
            .rules
            .get(number)
            .and_then(|rule| rule.reason.as_ref())
        {
            Some(reason) => format!("{place}: {reason}"),
            None => place,
        }
    }
}
