//! Action communities as tables of cases: the communities of a route and its audience.

mod route;

use route::{Route, with};
use rutter_net::Asn;
use rutter_policy::{
    Action, ActionCommunity, AudienceSpec, ExportPolicy, ExportSettings, WellKnown,
};

fn settings(rules: &[(&str, &str)]) -> ExportSettings {
    let mut actions = Vec::new();
    for (key, notations) in rules {
        let action = Action::ALL.iter().find(|(_, name)| name == key).unwrap().0;
        for notation in notations.split_whitespace() {
            actions.push(ActionCommunity::new(action, notation.parse().unwrap()).unwrap());
        }
    }
    ExportSettings {
        local_asn: Asn(64500),
        actions,
        ..ExportSettings::default()
    }
}

/// The scheme of many exchanges, with standard, extended and large communities.
fn exchange() -> ExportSettings {
    settings(&[
        ("not-to-any", "0:self self:0:0 rt:0:self"),
        ("not-to-peer", "0:peer self:0:peer rt:0:peer"),
        ("to-any", "self:self"),
        ("to-peer", "self:peer self:1:peer rt:self:peer"),
        ("prepend-any", "65501..65503:self self:101..103:0"),
        ("prepend-peer", "65501..65503:peer self:101..103:peer"),
        ("no-export-any", "65281:self"),
        ("no-export-peer", "65281:peer"),
        ("no-advertise-peer", "65282:peer"),
    ])
}

fn audience(settings: ExportSettings, communities: &str) -> AudienceSpec {
    let policy = ExportPolicy::new(settings);
    with(&Route::communities(communities), |attributes| {
        let audience = policy.audience(attributes);
        if policy.advertises_unchanged(attributes) {
            assert!(audience.is_everyone() && !policy.has_action_community(attributes));
        }
        audience
    })
}

#[test]
fn clients_that_receive_a_route() {
    let big = 4_200_000_001;
    for (communities, receive, do_not) in [
        ("", &[1, 2, 65000, big][..], &[][..]),
        ("65535:65281 3333:1 64501:2:3", &[1, 2], &[]),
        ("64500:64500", &[1, 2], &[]),
        ("0:64500", &[], &[1, 2, 64500]),
        ("0:1", &[2, big], &[1]),
        ("0:1 0:2 64500:0:4200000001", &[3], &[1, 2, big]),
        ("0:64500 64500:1 64500:2", &[1, 2], &[3, big]),
        ("64500:1 64500:2 0:64500", &[1, 2], &[3, big]),
        ("64500:1", &[1, 2], &[]),
        ("64500:0:0 64500:1:4200000001", &[big], &[1, 2]),
        ("0:64500 64500:1 0:1", &[], &[1, 2]),
        ("rt:0:4200000001", &[1], &[big]),
        ("rt:0:64500 rt:64500:4200000001", &[big], &[1]),
        ("0:64500 64500:64500", &[], &[1]),
    ] {
        let audience = audience(exchange(), communities);
        for asn in receive {
            assert!(
                audience.allows(Asn(*asn)),
                "`{communities}` {asn} {audience:?}"
            );
        }
        for asn in do_not {
            assert!(
                !audience.allows(Asn(*asn)),
                "`{communities}` {asn} {audience:?}"
            );
        }
    }
}

/// A route target and a route origin with equal numbers are different communities.
#[test]
fn a_route_origin_may_be_an_action() {
    let actions = || settings(&[("not-to-any", "rt:0:self"), ("not-to-peer", "ro:0:peer")]);
    let not_to_7 = audience(actions(), "ro:0:7");
    assert!(!not_to_7.allows(Asn(7)) && not_to_7.allows(Asn(8)));
    assert!(audience(actions(), "rt:0:7").is_everyone());
    assert!(audience(actions(), "ro:0:64500").allows(Asn(7)));
    assert!(!audience(actions(), "rt:0:64500").allows(Asn(7)));
}

#[test]
fn only_to_peer_excludes_the_others() {
    let only = settings(&[("only-to-peer", "self:1:peer"), ("not-to-peer", "0:peer")]);
    let found = audience(only.clone(), "64500:1:7 64500:1:8 0:8");
    assert!(found.allows(Asn(7)) && !found.allows(Asn(8)) && !found.allows(Asn(9)));
    assert!(audience(only, "").is_everyone());
}

#[test]
fn prepends_take_the_most_specific_then_the_largest() {
    for (communities, one, two) in [
        ("", 0, 0),
        ("65501:64500", 1, 1),
        ("65503:1", 3, 0),
        ("65502:64500 65501:1", 1, 2),
        ("65501:1 65503:1 64500:102:1", 3, 0),
        ("64500:103:0", 3, 3),
    ] {
        let found = audience(exchange(), communities);
        let times = (found.prepends_for(Asn(1)), found.prepends_for(Asn(2)));
        assert_eq!(times, (one, two), "{communities}");
        assert_eq!(found.transforms(), (one, two) != (0, 0));
    }
}

#[test]
fn added_communities() {
    let found = audience(exchange(), "65281:1 65282:2");
    assert!(found.adds_no_export_for(Asn(1)) && !found.adds_no_export_for(Asn(2)));
    assert!(found.adds_no_advertise_for(Asn(2)) && !found.adds_no_advertise_for(Asn(1)));
    let found = audience(exchange(), "65281:64500 65281:1");
    assert!(found.add_no_export && found.add_no_export_to.is_empty());
}

#[test]
fn rfc_1997_is_passed_on_or_honoured() {
    assert!(audience(exchange(), "65535:65281 65535:65282").is_everyone());
    let honour = ExportSettings {
        well_known: WellKnown::Honour,
        ..exchange()
    };
    let found = audience(honour.clone(), "65535:65281");
    assert!(found.no_export && !found.is_everyone() && found.allows(Asn(1)));
    assert!(!audience(honour, "65535:65282").allows(Asn(1)));
}

#[test]
fn equal_actions_are_equal_audiences() {
    for (a, b) in [
        ("0:1 0:2", "0:2 64500:0:1 0:2"),
        ("0:64500", "0:64500 64500:1 0:1 65501:7"),
        ("65501:64500 65501:9", "64500:101:0"),
        ("0:1 65502:1", "0:1"),
        ("", "64500:1 64500:64500"),
    ] {
        assert_eq!(
            audience(exchange(), a),
            audience(exchange(), b),
            "{a} | {b}"
        );
    }
}

#[test]
fn aliases_name_members_with_32_bit_numbers_in_standard_communities() {
    let settings = ExportSettings {
        aliases: vec![(64600, Asn(4_200_000_001))],
        ..exchange()
    };
    let found = audience(settings, "0:64600");
    assert!(!found.allows(Asn(4_200_000_001)) && found.allows(Asn(64600)));
}

#[test]
fn a_server_with_a_32_bit_number_uses_large_communities() {
    let settings = ExportSettings {
        local_asn: Asn(4_200_000_000),
        ..exchange()
    };
    let found = audience(settings.clone(), "4200000000:0:0 4200000000:1:5");
    assert!(found.allows(Asn(5)) && !found.allows(Asn(6)));
    assert!(audience(settings, "0:59904").default_allow); // the low half of our AS is not our AS
}

#[test]
fn action_communities_are_scrubbed_and_others_are_not() {
    let policy = ExportPolicy::new(exchange());
    assert!(policy.scrub());
    assert!(!ExportPolicy::default().scrub());
    for (text, action) in [
        ("0:1", true),
        ("64500:1", true),
        ("3333:1", false),
        ("0:0", false),
    ] {
        assert_eq!(
            policy.is_action_community(text.parse().unwrap()),
            action,
            "{text}"
        );
    }
    assert!(policy.is_action_large("64500:102:9".parse().unwrap()));
    assert!(!policy.is_action_large("64500:2:9".parse().unwrap()));
    for (communities, any) in [
        ("rt:0:9", true),
        ("rt:7:9 1:2 1:2:3", false),
        ("64500:0:9", true),
    ] {
        let found = with(&Route::communities(communities), |a| {
            policy.has_action_community(a)
        });
        assert_eq!(found, any, "{communities}");
    }
}

#[test]
fn notations_must_fit_their_action() {
    for (action, notation, why) in [
        (Action::NotToPeer, "0:64500", "needs a field `peer`"),
        (Action::NotToAny, "0:peer", "no field may be `peer`"),
        (Action::ToPeer, "self:1..2:peer", "a range is for prepends"),
    ] {
        let error = ActionCommunity::new(action, notation.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_server_that_is_about_to_stop_marks_every_route() {
    let settings = ExportSettings {
        graceful_shutdown: true,
        ..exchange()
    };
    for communities in ["", "3333:1", "0:1"] {
        let found = audience(settings.clone(), communities);
        assert!(
            found.add_graceful_shutdown && found.transforms(),
            "{communities}"
        );
    }
    assert!(
        !audience(settings, "0:64500").add_graceful_shutdown,
        "nobody receives it"
    );
}

#[test]
fn routes_with_blackhole_have_an_audience_where_they_are_accepted() {
    let settings = ExportSettings {
        accepts_blackhole: true,
        ..exchange()
    };
    let found = audience(settings.clone(), "65535:666");
    assert!(found.blackhole && !found.transforms() && found.allows(Asn(1)));
    assert!(audience(settings, "65535:667").is_everyone());
    assert!(audience(exchange(), "65535:666").is_everyone());
}
