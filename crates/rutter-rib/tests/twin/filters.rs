//! Filters that change routes, for the table and for its twin.

use std::sync::Arc;

use proptest::prelude::*;
use rutter_net::{Asn, Prefix};
use rutter_policy::{
    AddedCommunity, CommunityList, CommunityPattern, Conditions, Filter, FilterAction, FilterChain,
    FilterDefault, FilterRule, MedChange, PrefixList, PrefixMatch, RemovedCommunities,
    RouteChanges,
};

use crate::world::{Attrs, LOCAL};

/// A rule: a route that satisfies its conditions is rejected, or changed and left to the next rule.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    pub prefix: Option<Prefix>,
    pub origin: Option<u32>,
    pub community: Option<u32>,
    pub rejects: bool,
    pub local_pref: Option<u32>,
    /// Another MULTI_EXIT_DISC, or none.
    pub med: Option<Option<u32>>,
    pub prepends: bool,
    /// All communities `65000:*` are removed.
    pub removes: bool,
    pub adds: Option<u32>,
}

/// A route as filters leave it.
#[derive(Clone, Debug)]
pub struct Filtered {
    pub attrs: Attrs,
    pub local_pref: Option<u32>,
}

/// A community of the first half 65,000, which routes have and rules remove.
pub const MARK: u32 = 65_000 << 16 | 1;
/// A community that rules add.
const ADDED: [u32; 2] = [65_003 << 16 | 1, 65_000 << 16 | 2];

pub fn rules(
    prefix: impl Fn(u8) -> Prefix + Clone + 'static,
    origin: impl Strategy<Value = u32> + Clone + 'static,
    prefixes: u8,
) -> impl Strategy<Value = Vec<Rule>> {
    let conditions = (
        proptest::option::weighted(0.3, (0..prefixes).prop_map(prefix)),
        proptest::option::weighted(0.4, origin),
        proptest::option::weighted(0.3, proptest::sample::select(vec![MARK, ADDED[0]])),
        proptest::bool::weighted(0.2),
    );
    let changes = (
        proptest::option::of(proptest::sample::select(vec![50u32, 100, 150])),
        proptest::option::of(proptest::option::of(0u32..3)),
        any::<bool>(),
        any::<bool>(),
        proptest::option::of(proptest::sample::select(ADDED.to_vec())),
    );
    let rule = (conditions, changes).prop_map(|(conditions, changes)| Rule {
        prefix: conditions.0,
        origin: conditions.1,
        community: conditions.2,
        rejects: conditions.3,
        local_pref: changes.0,
        med: changes.1,
        prepends: changes.2,
        removes: changes.3,
        adds: changes.4,
    });
    proptest::collection::vec(rule, 0..3)
}

/// The route that the rules leave, `None` if they reject it.
pub fn apply(rules: &[Rule], prefix: Prefix, attrs: &Attrs) -> Option<Filtered> {
    let applied = applied(rules, prefix, attrs)?;
    Some(change(&applied, attrs))
}

/// The rules that apply to a route, `None` if one rejects it.
pub fn applied<'r>(rules: &'r [Rule], prefix: Prefix, attrs: &Attrs) -> Option<Vec<&'r Rule>> {
    let applies = |rule: &&Rule| {
        rule.prefix.is_none_or(|of| of == prefix)
            && rule
                .origin
                .is_none_or(|origin| attrs.path.last() == Some(&origin))
            && rule
                .community
                .is_none_or(|c| attrs.communities.contains(&c))
    };
    let applied: Vec<&Rule> = rules.iter().filter(applies).collect();
    let rejects = applied.iter().any(|rule| rule.rejects);
    (!rejects).then_some(applied)
}

/// The route after the changes of these rules.
pub fn change(rules: &[&Rule], attrs: &Attrs) -> Filtered {
    let mut out = Filtered {
        attrs: attrs.clone(),
        local_pref: None,
    };
    for rule in rules {
        out.local_pref = rule.local_pref.or(out.local_pref);
        if let Some(med) = rule.med {
            out.attrs.med = med;
        }
        if rule.prepends {
            out.attrs.path.insert(0, attrs.path[0]);
        }
        let communities = &mut out.attrs.communities;
        if rule.removes {
            communities.retain(|community| community >> 16 != 65_000);
        }
        let added = rule.adds.filter(|added| !communities.contains(added));
        communities.extend(added);
    }
    out
}

/// The same rules as the table has them.
pub fn chain(rules: &[Rule]) -> FilterChain {
    if rules.is_empty() {
        return FilterChain::default();
    }
    let filter = Filter {
        name: "twin".into(),
        rules: rules.iter().map(filter_rule).collect(),
        default: FilterDefault::Accept,
    };
    FilterChain::new(vec![Arc::new(filter)])
}

fn filter_rule(rule: &Rule) -> FilterRule {
    let list = |prefix: Prefix| {
        let entry = PrefixMatch {
            prefix,
            min_len: prefix.len(),
            max_len: prefix.len(),
        };
        Arc::new(PrefixList::new("one".into(), vec![entry]))
    };
    let marks = |c: u32| Arc::new(CommunityList::new("one".into(), vec![pattern(c)]));
    FilterRule {
        conditions: Conditions {
            prefix_lists: rule.prefix.into_iter().map(list).collect(),
            origin_asns: rule.origin.into_iter().map(Asn).collect(),
            community_lists: rule.community.into_iter().map(marks).collect(),
            ..Conditions::default()
        },
        action: match rule.rejects {
            true => FilterAction::Reject,
            false => FilterAction::Next,
        },
        reason: None,
        changes: RouteChanges {
            local_pref: rule.local_pref,
            med: rule
                .med
                .map(|med| med.map_or(MedChange::Remove, MedChange::Set)),
            prepend: u8::from(rule.prepends),
            removed: match rule.removes {
                true => RemovedCommunities::Matching(vec![parse("65000:*")]),
                false => RemovedCommunities::default(),
            },
            added: { rule.adds.into_iter() }
                .filter_map(|c| AddedCommunity::new(pattern(c)))
                .collect(),
        },
    }
}

fn pattern(community: u32) -> CommunityPattern {
    parse(&format!("{}:{}", community >> 16, community & 0xffff))
}

fn parse(text: &str) -> CommunityPattern {
    CommunityPattern::parse(text, Asn(LOCAL)).unwrap()
}
