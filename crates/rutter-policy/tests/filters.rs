//! Operator filters as documents: a route in, and the decision, the rule and its words out.

mod route;

use std::sync::Arc;

use proptest::prelude::*;
use route::{Route, addr, with};
use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{
    AsPathList, CommunityList, CommunityPattern, Conditions, Filter, FilterAction, FilterChain,
    FilterDefault, FilterRule, ImportPolicy, ImportRule, ImportSettings, NextHop, OutsideData,
    PathLength, PrefixList, PrefixMatch, RejectReason, RouteChanges, RouteVerdict,
};
use rutter_rpki::{Rov, Vrp, VrpsBuilder};

const LOCAL: Asn = Asn(64_500);
const PEER: Asn = Asn(64_501);

fn prefixes(entries: &[(&str, u8, u8)]) -> Vec<Arc<PrefixList>> {
    let entry = |(prefix, min_len, max_len): &(&str, u8, u8)| PrefixMatch {
        prefix: prefix.parse().unwrap(),
        min_len: *min_len,
        max_len: *max_len,
    };
    let entries = entries.iter().map(entry).collect();
    vec![Arc::new(PrefixList::new("own".into(), entries))]
}

fn paths(patterns: &[&str]) -> Vec<Arc<AsPathList>> {
    let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
    vec![Arc::new(AsPathList::new("paths".into(), patterns).unwrap())]
}

fn communities(patterns: &[&str]) -> Vec<Arc<CommunityList>> {
    let parse = |p: &&str| CommunityPattern::parse(p, LOCAL).unwrap();
    let patterns = patterns.iter().map(parse).collect();
    vec![Arc::new(CommunityList::new("marks".into(), patterns))]
}

fn rule(action: FilterAction, conditions: Conditions) -> FilterRule {
    FilterRule {
        conditions,
        action,
        reason: None,
        changes: RouteChanges::default(),
    }
}

fn filter(name: &str, rules: Vec<FilterRule>, default: FilterDefault) -> Arc<Filter> {
    Arc::new(Filter {
        name: name.into(),
        rules,
        default,
    })
}

/// A plain neighbor without checks.
fn settings(filters: Vec<Arc<Filter>>) -> ImportSettings {
    ImportSettings {
        rule: ImportRule::All,
        local_asn: LOCAL,
        peer_asn: PEER,
        filters: FilterChain::new(filters),
        ..ImportSettings::default()
    }
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

/// The verdict, and the evidence against the route. The compiled filters and the evidence must agree.
fn judge(settings: &ImportSettings, data: &OutsideData, route: &Route, to: &str) -> (bool, String) {
    let policy = ImportPolicy::new(settings.clone());
    let next_hop = NextHop::from(addr("192.0.2.11"));
    let family = prefix(to).family();
    with(route, |attributes| {
        let of_set = policy.check_attributes(data, attributes, next_hop, family);
        let verdict = policy.judge(data, prefix(to), &of_set);
        let all = policy.all_reasons(data, prefix(to), attributes, next_hop, family);
        let reason = all.first().map(|finding| finding.reason);
        assert_eq!(verdict.reject(), reason, "{route:?} {to}");
        let evidence = all.first().map(|finding| finding.evidence.clone());
        (verdict.reject().is_none(), evidence.unwrap_or_default())
    })
}

fn accepts(filters: Vec<Arc<Filter>>, route: &Route, to: &str) -> bool {
    judge(&settings(filters), &OutsideData::default(), route, to).0
}

/// A filter that accepts only routes with these conditions.
fn only(conditions: Conditions) -> Vec<Arc<Filter>> {
    let rules = vec![rule(FilterAction::Accept, conditions)];
    vec![filter("only", rules, FilterDefault::Reject)]
}

#[test]
fn each_condition_selects_routes() {
    let any = Conditions::default;
    let path = Route::path;
    let cases = [
        (
            Conditions {
                prefix_lists: prefixes(&[("193.0.0.0/16", 20, 24)]),
                ..any()
            },
            [
                (path("64501"), "193.0.0.0/21", true),
                (path("64501"), "193.0.0.0/16", false),
            ],
        ),
        (
            Conditions {
                as_path_lists: paths(&["_65001$", "^64501 7_"]),
                ..any()
            },
            [
                (path("64501 65001"), "193.0.0.0/21", true),
                (path("64501 65001 8"), "193.0.0.0/21", false),
            ],
        ),
        (
            Conditions {
                community_lists: communities(&["self:100..199", "64501:*:*"]),
                ..any()
            },
            [
                (Route::communities("64500:150"), "193.0.0.0/21", true),
                (
                    Route::communities("64500:200 64502:1:1"),
                    "193.0.0.0/21",
                    false,
                ),
            ],
        ),
        (
            Conditions {
                community_lists: communities(&["rt:64501:*"]),
                ..any()
            },
            [
                (Route::communities("rt:64501:7"), "193.0.0.0/21", true),
                (Route::communities("rt:64502:7"), "193.0.0.0/21", false),
            ],
        ),
        (
            Conditions {
                origin_asns: vec![Asn(65_001)],
                ..any()
            },
            [
                (path("64501 65001"), "193.0.0.0/21", true),
                (path("65001 64501"), "193.0.0.0/21", false),
            ],
        ),
        (
            Conditions {
                neighbor_asns: vec![PEER],
                ..any()
            },
            [
                (path("7"), "193.0.0.0/21", true),
                (path("7"), "2a00::/32", true),
            ],
        ),
        (
            Conditions {
                neighbor_asns: vec![Asn(7)],
                ..any()
            },
            [
                (path("7"), "193.0.0.0/21", false),
                (path("7"), "2a00::/32", false),
            ],
        ),
        (
            Conditions {
                next_hops: vec![prefix("192.0.2.0/24")],
                ..any()
            },
            [
                (path("7"), "193.0.0.0/21", true),
                (path("8"), "193.0.0.0/21", true),
            ],
        ),
        (
            Conditions {
                next_hops: vec![prefix("192.0.3.0/24")],
                ..any()
            },
            [
                (path("7"), "193.0.0.0/21", false),
                (path("8"), "193.0.0.0/21", false),
            ],
        ),
        (
            Conditions {
                path_length: Some(PathLength { min: 1, max: 2 }),
                ..any()
            },
            [
                (path("7 8"), "193.0.0.0/21", true),
                (path("7 8 9"), "193.0.0.0/21", false),
            ],
        ),
        (
            Conditions {
                family: Some(Family::Ipv6Unicast),
                ..any()
            },
            [
                (path("7"), "2a00::/32", true),
                (path("7"), "193.0.0.0/21", false),
            ],
        ),
    ];
    for (conditions, routes) in cases {
        for (route, to, expected) in routes {
            let found = accepts(only(conditions.clone()), &route, to);
            assert_eq!(found, expected, "{conditions:?} {route:?} {to}");
        }
    }
}

#[test]
fn a_rule_applies_where_all_its_conditions_hold() {
    let both = Conditions {
        prefix_lists: prefixes(&[("193.0.0.0/16", 16, 32)]),
        origin_asns: vec![Asn(65_001)],
        ..Conditions::default()
    };
    let filters = only(both);
    assert!(accepts(
        filters.clone(),
        &Route::path("64501 65001"),
        "193.0.0.0/21"
    ));
    assert!(!accepts(
        filters.clone(),
        &Route::path("64501 65001"),
        "194.0.0.0/21"
    ));
    assert!(!accepts(
        filters,
        &Route::path("64501 65002"),
        "193.0.0.0/21"
    ));
}

#[test]
fn the_first_rule_that_decides_counts_and_names_itself() {
    let origin = |asn| Conditions {
        origin_asns: vec![Asn(asn)],
        ..Conditions::default()
    };
    let customers = filter(
        "customers",
        vec![
            rule(FilterAction::Next, origin(1)),
            rule(FilterAction::Accept, origin(2)),
            FilterRule {
                reason: Some("no routes of networks that left".into()),
                changes: RouteChanges::default(),
                ..rule(FilterAction::Reject, origin(1))
            },
            rule(FilterAction::Reject, origin(2)),
        ],
        FilterDefault::Reject,
    );
    let chain = settings(vec![customers]);
    let evidence = |path: &str| {
        let data = OutsideData::default();
        judge(&chain, &data, &Route::path(path), "193.0.0.0/21")
    };
    assert_eq!(evidence("2"), (true, String::new()));
    let (accepted, why) = evidence("1");
    assert!(!accepted);
    assert_eq!(
        why,
        "rule 3 of the filter `customers`: no routes of networks that left"
    );
    assert_eq!(
        evidence("3").1,
        "no rule of the filter `customers` accepts it"
    );
}

#[test]
fn every_filter_of_a_neighbor_must_accept() {
    let origin = |asn| Conditions {
        origin_asns: vec![Asn(asn)],
        ..Conditions::default()
    };
    let not = |name, asn| {
        filter(
            name,
            vec![rule(FilterAction::Reject, origin(asn))],
            FilterDefault::Accept,
        )
    };
    let chain = || vec![not("one", 1), not("two", 2)];
    assert!(accepts(chain(), &Route::path("3"), "193.0.0.0/21"));
    assert!(!accepts(chain(), &Route::path("1"), "193.0.0.0/21"));
    assert!(!accepts(chain(), &Route::path("2"), "193.0.0.0/21"));
}

#[test]
fn validation_states_are_those_of_the_data_in_force() {
    let invalid = Conditions {
        origin_states: vec![Rov::Invalid],
        ..Conditions::default()
    };
    let not_invalid = filter(
        "rov",
        vec![rule(FilterAction::Reject, invalid)],
        FilterDefault::Accept,
    );
    let settings = settings(vec![not_invalid]);
    assert!(settings.depends_on_vrps());
    let vrp = Vrp {
        prefix: prefix("193.0.0.0/21"),
        max_len: 21,
        asn: 7,
    };
    let mut vrps = VrpsBuilder::new();
    vrps.add(vrp).unwrap();
    let data = OutsideData {
        vrps: Some(Arc::new(vrps.build())),
        ..OutsideData::default()
    };
    assert!(judge(&settings, &data, &Route::path("7"), "193.0.0.0/21").0);
    assert!(!judge(&settings, &data, &Route::path("8"), "193.0.0.0/21").0);
    assert!(
        judge(
            &settings,
            &OutsideData::default(),
            &Route::path("8"),
            "193.0.0.0/21"
        )
        .0
    );
}

#[test]
fn filters_see_only_what_the_checks_accept() {
    let all = filter("all", Vec::new(), FilterDefault::Accept);
    let route = Route::path("64501 64500 7");
    let policy = ImportPolicy::new(settings(vec![all]));
    let verdict = with(&route, |attributes| {
        let next_hop = NextHop::from(addr("192.0.2.11"));
        let data = OutsideData::default();
        let of_set = policy.check_attributes(&data, attributes, next_hop, Family::Ipv4Unicast);
        policy.judge(&data, prefix("193.0.0.0/21"), &of_set)
    });
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::AsLoop));
}

#[test]
fn a_rule_that_decides_on_everything_hides_the_others() {
    let end = || rule(FilterAction::Accept, Conditions::default());
    let some = rule(
        FilterAction::Reject,
        Conditions {
            origin_asns: vec![Asn(1)],
            ..Conditions::default()
        },
    );
    let last = |rules| filter("x", rules, FilterDefault::Accept).last_reached_rule();
    assert_eq!(last(vec![some.clone(), end()]), None);
    assert_eq!(last(vec![some.clone(), end(), some]), Some(1));
}

/// A rule as numbers, for the naive model: origins, shortest and longest length, action.
type PlainRule = (Vec<u32>, u8, u8, u8);

fn naive(rules: &[PlainRule], default: bool, origin: u32, len: u8) -> bool {
    for (origins, min, max, action) in rules {
        let applies =
            (origins.is_empty() || origins.contains(&origin)) && (*min..=*max).contains(&len);
        match (applies, action) {
            (true, 0) => return true,
            (true, 1) => return false,
            _ => {}
        }
    }
    default
}

proptest! {
    /// The compiled chain decides like a loop over the rules of each filter.
    #[test]
    fn a_chain_decides_like_a_plain_loop(
        filters in proptest::collection::vec(
            (proptest::collection::vec((proptest::collection::vec(1..5_u32, 0..3), 16..22_u8, 18..25_u8, 0..3_u8), 0..12), any::<bool>()),
            0..4,
        ),
        origin in 1..6_u32,
        len in 16..25_u8,
    ) {
        let compiled = filters.iter().map(|(rules, default)| {
            let rules = rules.iter().map(|(origins, min, max, action)| {
                let conditions = Conditions {
                    origin_asns: origins.iter().map(|asn| Asn(*asn)).collect(),
                    prefix_lists: prefixes(&[("193.0.0.0/16", *min, *max)]),
                    ..Conditions::default()
                };
                let action = [FilterAction::Accept, FilterAction::Reject, FilterAction::Next][usize::from(*action)];
                rule(action, conditions)
            });
            let default = if *default { FilterDefault::Accept } else { FilterDefault::Reject };
            filter("x", rules.collect(), default)
        });
        let to = format!("193.0.0.0/{len}");
        let expected = filters.iter().all(|(rules, default)| naive(rules, *default, origin, len));
        prop_assert_eq!(accepts(compiled.collect(), &Route::path(&origin.to_string()), &to), expected);
    }
}
