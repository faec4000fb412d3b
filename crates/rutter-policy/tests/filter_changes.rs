//! Filters that change routes, as documents: a route and rules in, the changes and their descriptions out.

mod route;

use std::sync::Arc;

use proptest::prelude::*;
use route::{Route, addr, with};
use rutter_net::{Asn, Community, Prefix};
use rutter_policy::{
    AddedCommunity, COMBINATIONS, ChangesId, Class, CommunityList, CommunityPattern, Conditions,
    Filter, FilterAction, FilterChain, FilterDefault, FilterRule, ImportPolicy, ImportRule,
    ImportSettings, MedChange, NextHop, OutsideData, RejectReason, RemovedCommunities,
    RouteChanges, RouteVerdict,
};

const LOCAL: Asn = Asn(64_500);
const PEER: Asn = Asn(64_501);

fn pattern(text: &str) -> CommunityPattern {
    CommunityPattern::parse(text, LOCAL).unwrap()
}

fn added(communities: &[&str]) -> Vec<AddedCommunity> {
    let one = |text: &&str| AddedCommunity::new(pattern(text)).unwrap();
    communities.iter().map(one).collect()
}

fn removed(patterns: &[&str]) -> RemovedCommunities {
    RemovedCommunities::Matching(patterns.iter().map(|text| pattern(text)).collect())
}

fn local_pref(value: u32) -> RouteChanges {
    RouteChanges {
        local_pref: Some(value),
        ..RouteChanges::default()
    }
}

/// A rule for routes with this community, or for all.
fn rule(action: FilterAction, community: Option<&str>, changes: RouteChanges) -> FilterRule {
    let list = |text: &str| Arc::new(CommunityList::new("marks".into(), vec![pattern(text)]));
    FilterRule {
        conditions: Conditions {
            community_lists: community.map(list).into_iter().collect(),
            ..Conditions::default()
        },
        action,
        reason: None,
        changes,
    }
}

fn settings(rules: Vec<FilterRule>) -> ImportSettings {
    let filter = Filter {
        name: "customer".into(),
        rules,
        default: FilterDefault::Accept,
    };
    ImportSettings {
        rule: ImportRule::All,
        local_asn: LOCAL,
        peer_asn: PEER,
        filters: FilterChain::new(vec![Arc::new(filter)]),
        ..ImportSettings::default()
    }
}

/// The verdict on a route, and what `explain` says of its changes.
fn judge(policy: &ImportPolicy, route: &Route) -> (RouteVerdict, Vec<String>) {
    let (data, prefix): (_, Prefix) = (OutsideData::default(), "193.0.0.0/21".parse().unwrap());
    let next_hop = NextHop::from(addr("192.0.2.11"));
    let family = prefix.family();
    with(route, |attributes| {
        let of_set = policy.check_attributes(&data, attributes, next_hop, family);
        let described = policy.filter_changes(&data, prefix, attributes, next_hop, family);
        (policy.judge(&data, prefix, &of_set), described)
    })
}

fn class(verdict: RouteVerdict) -> Class {
    match verdict {
        RouteVerdict::Accepted { class, .. } => class,
        RouteVerdict::Rejected(reason) => panic!("rejected: {reason}"),
    }
}

#[test]
fn the_class_names_the_changes_and_explain_names_the_rule() {
    let policy = ImportPolicy::new(settings(vec![
        rule(
            FilterAction::Next,
            Some("64501:90"),
            RouteChanges {
                local_pref: Some(90),
                removed: removed(&["64501:*"]),
                ..RouteChanges::default()
            },
        ),
        rule(
            FilterAction::Accept,
            None,
            RouteChanges {
                med: Some(MedChange::Set(7)),
                prepend: 2,
                added: added(&["64500:1", "rt:64500:2", "64500:3:4", "no-export"]),
                ..RouteChanges::default()
            },
        ),
    ]));
    let (verdict, described) = judge(&policy, &Route::communities("64501:90"));
    let changes = class(verdict).changes.changes().unwrap();
    assert_eq!(changes.local_pref, Some(90));
    assert_eq!(changes.med, Some(MedChange::Set(7)));
    assert_eq!(changes.prepend, 2);
    assert_eq!(
        described,
        [
            "rule 1 of the filter `customer`: local-pref 90, remove-communities 64501:*",
            "rule 2 of the filter `customer`: med 7, prepend 2, add-communities 64500:1, \
             add-communities rt:64500:2, add-communities 64500:3:4, \
             add-communities 65535:65281",
        ]
    );
    let mut communities: Vec<Community> = ["64501:90", "64502:1"]
        .map(|text| text.parse().unwrap())
        .into();
    changes.change_standard(&mut communities);
    let expected = ["64502:1", "64500:1", "65535:65281"];
    assert_eq!(communities, expected.map(|text| text.parse().unwrap()));

    let (verdict, described) = judge(&policy, &Route::communities("64501:91"));
    assert_eq!(class(verdict).changes.changes().unwrap().local_pref, None);
    assert_eq!(described.len(), 1);
}

#[test]
fn a_route_without_a_rule_that_changes_it_is_plain() {
    let rules = vec![rule(FilterAction::Accept, Some("64501:90"), local_pref(90))];
    let policy = ImportPolicy::new(settings(rules));
    let (verdict, described) = judge(&policy, &Route::path("64501"));
    assert_eq!(verdict, RouteVerdict::PLAIN);
    assert!(described.is_empty());
}

#[test]
fn the_conditions_of_later_rules_see_the_route_as_received() {
    let policy = ImportPolicy::new(settings(vec![
        rule(
            FilterAction::Next,
            None,
            RouteChanges {
                added: added(&["64500:1"]),
                ..RouteChanges::default()
            },
        ),
        rule(FilterAction::Accept, Some("64500:1"), local_pref(200)),
    ]));
    let (verdict, _) = judge(&policy, &Route::path("64501"));
    assert_eq!(class(verdict).changes.changes().unwrap().local_pref, None);
}

#[test]
fn graceful_shutdown_beats_a_preference() {
    let rules = vec![rule(FilterAction::Accept, None, local_pref(200))];
    let policy = ImportPolicy::new(settings(rules));
    let (verdict, _) = judge(&policy, &Route::communities("65535:0"));
    let changes = class(verdict).changes.changes().unwrap();
    assert_eq!(changes.local_pref, Some(0));
}

/// A peer selects the rules that apply by its communities: it must not use up memory or classes.
#[test]
fn a_peer_that_meets_many_combinations_of_rules_is_rejected() {
    let marks: Vec<String> = (0..7).map(|bit| format!("64501:{bit}")).collect();
    let rules = marks.iter().map(|mark| {
        let changes = RouteChanges {
            added: added(&[&mark.replace("64501", "64500")]),
            ..RouteChanges::default()
        };
        rule(FilterAction::Next, Some(mark), changes)
    });
    let policy = ImportPolicy::new(settings(rules.collect()));
    let verdicts = (1..128_usize).map(|number| {
        let chosen = (0..7).filter(|bit| number >> bit & 1 != 0);
        let chosen: Vec<&str> = chosen.map(|bit| marks[bit].as_str()).collect();
        judge(&policy, &Route::communities(&chosen.join(" "))).0
    });
    let rejected = RouteVerdict::Rejected(RejectReason::Filter);
    let accepted = verdicts.filter(|verdict| *verdict != rejected).count();
    assert_eq!(accepted, COMBINATIONS);
    let last = Route::communities(&marks.join(" "));
    let (data, prefix): (_, Prefix) = (OutsideData::default(), "193.0.0.0/21".parse().unwrap());
    let next_hop = NextHop::from(addr("192.0.2.11"));
    let found = with(&last, |attributes| {
        policy.all_reasons(&data, prefix, attributes, next_hop, prefix.family())
    });
    assert_eq!(found[0].reason, RejectReason::Filter);
    assert!(
        found[0]
            .evidence
            .contains("another combination than the 64")
    );
}

#[test]
fn equal_changes_have_one_number() {
    let one = ChangesId::of(&local_pref(4_711)).unwrap();
    assert_eq!(ChangesId::of(&local_pref(4_711)), Some(one));
    assert_ne!(ChangesId::of(&local_pref(4_712)), Some(one));
    assert_eq!(*one.changes().unwrap(), local_pref(4_711));
    assert_eq!(
        ChangesId::of(&RouteChanges::default()),
        Some(ChangesId::NONE)
    );
}

/// Communities that changes name, and the communities of routes.
const COMMUNITIES: [&str; 4] = ["64500:1", "64500:2", "64501:1", "64502:3"];

fn changes() -> impl Strategy<Value = RouteChanges> {
    let some = |all: Vec<&'static str>| proptest::sample::subsequence(all, 0..3);
    (
        proptest::option::of(0u32..3),
        proptest::option::of(proptest::option::of(0u32..3)),
        0u8..3,
        some(vec!["64500:*", "64501:1", "*:*"]),
        some(COMMUNITIES.to_vec()),
    )
        .prop_map(|(local_pref, med, prepend, remove, add)| RouteChanges {
            local_pref,
            med: med.map(|med| med.map_or(MedChange::Remove, MedChange::Set)),
            prepend,
            removed: removed(&remove),
            added: added(&add),
        })
}

proptest! {
    /// Changes one after the other, and the same as one set of changes.
    #[test]
    fn composed_changes_do_what_one_after_the_other_does(
        all in proptest::collection::vec(changes(), 0..4),
        received in proptest::sample::subsequence(COMMUNITIES.to_vec(), 0..4),
        med in proptest::option::of(0u32..3),
    ) {
        let received: Vec<Community> = received.iter().map(|text| text.parse().unwrap()).collect();
        let (mut communities, mut expected_med, mut prepends) = (received.clone(), med, 0);
        let mut composed = RouteChanges::default();
        for one in &all {
            one.change_standard(&mut communities);
            expected_med = one.med_of(expected_med);
            prepends += one.prepend;
            composed.then(one);
        }
        let mut at_once = received;
        composed.change_standard(&mut at_once);
        communities.sort();
        at_once.sort();
        prop_assert_eq!(communities, at_once);
        prop_assert_eq!(composed.med_of(med), expected_med);
        prop_assert_eq!(composed.prepend, prepends);
        let last = all.iter().rev().find_map(|one| one.local_pref);
        prop_assert_eq!(composed.local_pref, last);
    }
}
