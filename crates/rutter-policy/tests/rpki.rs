//! Checks by RPKI data as tables of cases: a route in, the verdict, its class and the evidence out.

mod route;

use std::sync::Arc;

use route::{Route, addr, with};
use rutter_net::{Asn, Family};
use rutter_policy::{
    CheckAction, Class, ImportPolicy, ImportSettings, NextHop, NextHopRule, OutsideData,
    RejectReason, RouteVerdict,
};
use rutter_rpki::{PathState, Relation, Rov, RpkiData};

/// AS 3333 may originate 193.0.0.0/21. It is the provider of AS 65; AS 66 has no ASPA.
fn data() -> OutsideData {
    let json = br#"{"roas":[{"asn":3333,"prefix":"193.0.0.0/21","maxLength":21}],
        "aspas":[{"customer":"AS65","providers":["AS3333"]},{"customer":"AS3333","providers":["AS0"]}]}"#;
    let parsed = RpkiData::parse(json).unwrap();
    OutsideData {
        vrps: parsed.vrps.map(Arc::new),
        aspas: parsed.aspas.map(Arc::new),
        ..OutsideData::default()
    }
}

fn neighbor() -> ImportSettings {
    ImportSettings {
        local_asn: Asn(6777),
        peer_asn: Asn(3333),
        next_hop: NextHopRule::Any,
        relation: Some(Relation::RouteServerClient),
        ..ImportSettings::default()
    }
}

/// An iBGP neighbor whose states count.
fn internal() -> ImportSettings {
    ImportSettings {
        peer_asn: Asn(6777),
        enforce_first_as: false,
        relation: None,
        obey_origin_state: true,
        marked_origins: vec![Rov::Valid, Rov::NotFound, Rov::Invalid],
        ..neighbor()
    }
}

/// The verdict on a route of 193.0.0.0/21, with the evidence against it.
fn judge(settings: &ImportSettings, data: &OutsideData, route: &Route) -> (RouteVerdict, String) {
    let policy = ImportPolicy::new(settings.clone());
    let next_hop = NextHop::from(addr("192.0.2.11"));
    let prefix = "193.0.0.0/21".parse().unwrap();
    with(route, |attributes| {
        let family = Family::Ipv4Unicast;
        let of_set = policy.check_attributes(data, attributes, next_hop, family);
        let verdict = policy.judge(data, prefix, &of_set);
        let found = policy.all_reasons(data, prefix, attributes, next_hop, family);
        let first = found.first().map(|finding| finding.reason);
        if let Some(reason) = verdict.reject() {
            assert_eq!(first, Some(reason), "{found:?}");
        }
        let evidence = found.into_iter().next().map(|finding| finding.evidence);
        (verdict, evidence.unwrap_or_default())
    })
}

fn class(settings: &ImportSettings, data: &OutsideData, route: &Route) -> Class {
    match judge(settings, data, route).0 {
        RouteVerdict::Accepted { class, .. } => class,
        RouteVerdict::Rejected(reason) => panic!("{reason}"),
    }
}

#[test]
fn the_action_for_invalid_paths() {
    let leak = Route::path("3333 64 65");
    let with_action = |aspa_invalid| ImportSettings {
        aspa_invalid,
        ..neighbor()
    };
    let (verdict, evidence) = judge(&with_action(CheckAction::Reject), &data(), &leak);
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::AspaInvalid));
    assert_eq!(
        evidence,
        "AS_PATH 3333 64 65: AS64 is not a provider of AS65, whose ASPA lists AS3333"
    );
    let (verdict, evidence) = judge(&with_action(CheckAction::Off), &data(), &leak);
    assert_eq!((verdict, evidence.as_str()), (RouteVerdict::PLAIN, ""));
    let tagged = class(&with_action(CheckAction::Tag), &data(), &leak);
    assert_eq!(tagged.path, Some(PathState::Invalid));
}

#[test]
fn marks_have_the_state_of_the_path_and_a_policy_without_marks_has_none() {
    let marking = ImportSettings {
        marked_paths: vec![PathState::Valid, PathState::Unknown, PathState::Invalid],
        ..neighbor()
    };
    for (path, state) in [
        ("3333", PathState::Valid),
        ("3333 3333 65 65", PathState::Valid),
        ("3333 66", PathState::Unknown),
        ("3333 66 65", PathState::Invalid),
    ] {
        let route = Route::path(path);
        assert_eq!(class(&marking, &data(), &route).path, Some(state), "{path}");
    }
    let route = Route::path("3333 66");
    let only_invalid = ImportSettings {
        marked_paths: vec![PathState::Invalid],
        ..neighbor()
    };
    let found = class(&only_invalid, &data(), &route);
    assert!(found.is_plain(), "no mark distinguishes unknown paths");
    let rejecting = ImportSettings {
        aspa_invalid: CheckAction::Reject,
        ..neighbor()
    };
    assert!(class(&rejecting, &data(), &route).is_plain());
    let none = OutsideData::default();
    assert!(class(&marking, &none, &route).is_plain(), "no ASPAs");
}

#[test]
fn paths_with_sets_are_invalid_where_they_are_accepted_at_all() {
    let settings = ImportSettings {
        aspa_invalid: CheckAction::Reject,
        ..neighbor()
    };
    let route = Route::path("3333 {65 66}");
    let (verdict, _) = judge(&settings, &data(), &route);
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::AsSet));
    let lenient = ImportSettings {
        reject_as_set: false,
        ..settings
    };
    let (verdict, evidence) = judge(&lenient, &data(), &route);
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::AspaInvalid));
    assert!(
        evidence.ends_with("the AS_PATH contains an AS_SET"),
        "{evidence}"
    );
}

#[test]
fn an_invalid_origin_comes_before_an_invalid_path() {
    let settings = ImportSettings {
        rpki_invalid: CheckAction::Reject,
        aspa_invalid: CheckAction::Reject,
        ..neighbor()
    };
    let (verdict, _) = judge(&settings, &data(), &Route::path("3333 64 65"));
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::RpkiInvalid));
    let (verdict, _) = judge(&settings, &data(), &Route::path("3333"));
    assert_eq!(verdict.reject(), None);
}

/// A route of AS 65 with Origin Validation State communities (RFC 8097) of these values. Our own VRPs call it invalid.
fn with_states(values: &[u8]) -> Route {
    Route {
        origin_states: values.to_vec(),
        ..Route::path("65")
    }
}

#[test]
fn the_state_that_an_ibgp_neighbor_sends_counts_as_our_own() {
    for (values, state) in [
        (&[0][..], Rov::Valid),
        (&[1], Rov::NotFound),
        (&[2], Rov::Invalid),
        (&[0, 2, 1], Rov::Invalid), // the greatest value
        (&[0, 3], Rov::Valid),      // values above 2 are discarded
        (&[], Rov::Invalid),        // our own data
        (&[200], Rov::Invalid),
    ] {
        let found = class(&internal(), &data(), &with_states(values));
        assert_eq!(found.origin, Some(state), "{values:?}");
    }
    let deaf = ImportSettings {
        obey_origin_state: false,
        ..internal()
    };
    let found = class(&deaf, &data(), &with_states(&[0]));
    assert_eq!(found.origin, Some(Rov::Invalid));
    let without_data = class(&internal(), &OutsideData::default(), &with_states(&[1]));
    assert_eq!(without_data.origin, Some(Rov::NotFound));
    let neither = class(&internal(), &OutsideData::default(), &with_states(&[]));
    assert_eq!(neither.origin, None);
}

#[test]
fn a_route_that_the_neighbor_calls_invalid_is_rejected_with_that_as_evidence() {
    let settings = ImportSettings {
        rpki_invalid: CheckAction::Reject,
        ..internal()
    };
    let (verdict, evidence) = judge(&settings, &OutsideData::default(), &with_states(&[2]));
    assert_eq!(verdict, RouteVerdict::Rejected(RejectReason::RpkiInvalid));
    assert_eq!(
        evidence,
        "the neighbor sends the community of invalid origins (RFC 8097)"
    );
}
