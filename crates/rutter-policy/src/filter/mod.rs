//! Operator filters: ordered rules that compare routes with lists of prefixes, AS paths and communities.
//!
//! A filter is written in the configuration. [`FilterChain`] is what one neighbor's routes pass: its filters one after
//! the other. A rule has conditions on attributes, which are evaluated once per attribute set, and conditions on the
//! prefix, which are evaluated once per route. A rule may also change routes: the class of a route then names a set of
//! changes ([`ChangesId`]), which the decision process and the encoder apply.

mod as_path_list;
mod chain;
mod change_sets;
mod community_list;
mod community_pattern;
mod conditions;
mod prefix_list;
mod route_changes;
mod trial;

pub use as_path_list::{AsPathList, AsPathPatternError};
pub use chain::{FilterChain, FilterDecision, RuleSet};
pub use change_sets::{COMBINATIONS, ChangesId, Combinations};
pub use community_list::CommunityList;
pub use community_pattern::{CommunityPattern, ParsePatternError};
pub use conditions::{Conditions, PathLength};
pub use prefix_list::PrefixList;
pub use route_changes::{AddedCommunity, MAX_PREPEND, MedChange, RemovedCommunities, RouteChanges};
pub use trial::{Trial, TrialRoute};

/// A named filter of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The name.
    pub name: String,
    /// The rules, in the order in which they are tried.
    pub rules: Vec<FilterRule>,
    /// The decision on a route that no rule decides.
    pub default: FilterDefault,
}

/// One rule of a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterRule {
    /// The routes that the rule applies to.
    pub conditions: Conditions,
    /// The decision on them.
    pub action: FilterAction,
    /// The operator's own words for a rejection.
    pub reason: Option<String>,
    /// The changes to the routes that the rule does not reject.
    pub changes: RouteChanges,
}

/// The decision of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FilterAction {
    /// The filter accepts the route.
    Accept,
    /// The route is rejected.
    Reject,
    /// The next rule decides.
    Next,
}

/// The decision on a route that no rule of a filter decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FilterDefault {
    /// The filter accepts the route.
    Accept,
    /// The route is rejected.
    Reject,
}

impl FilterRule {
    /// Returns whether the rule changes the routes to which it applies.
    pub fn changes_routes(&self) -> bool {
        self.action != FilterAction::Reject && !self.changes.is_empty()
    }
}

impl Filter {
    /// Returns whether a rule compares validation states of origins.
    pub fn uses_origin_states(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| !rule.conditions.origin_states.is_empty())
    }

    /// The number of rules whose changes routes may meet in any combination.
    pub fn combined_changes(&self) -> usize {
        let combines = |rule: &&FilterRule| {
            rule.action == FilterAction::Next
                && rule.changes_routes()
                && rule.conditions != Conditions::default()
        };
        self.rules.iter().filter(combines).count()
    }

    /// The position of the first rule that applies to every route and decides on it, if rules follow it that are never
    /// reached.
    pub fn last_reached_rule(&self) -> Option<usize> {
        let ends = |rule: &FilterRule| {
            rule.action != FilterAction::Next && rule.conditions == Conditions::default()
        };
        let end = self.rules.iter().position(ends)?;
        (end + 1 < self.rules.len()).then_some(end)
    }
}
