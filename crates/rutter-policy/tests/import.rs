//! The import policy as tables of cases: the routes of a member and their verdicts.

mod route;

use route::{Route, addr, with};
use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{
    AttrVerdict, ImportPolicy, ImportRule, ImportSettings, NextHop, NextHopRule, OutsideData,
    PrefixMatch, RejectReason, Role,
};

/// A member of a public exchange: AS3333 at 192.0.2.11 and 2001:db8:1::11, at the route server AS6777.
fn member() -> ImportSettings {
    ImportSettings {
        local_asn: Asn(6777),
        peer_asn: Asn(3333),
        peer_address: Some(addr("192.0.2.11")),
        member_addresses: vec![addr("192.0.2.11"), addr("2001:db8:1::11")],
        same_as_addresses: vec![
            addr("192.0.2.11"),
            addr("192.0.2.12"),
            addr("2001:db8:1::11"),
        ],
        authorized_addresses: vec![addr("192.0.2.99")],
        transit_free_asns: vec![Asn(174), Asn(3356)],
        never_via_route_servers: vec![Asn(15169)],
        lan: vec!["80.249.208.0/21".parse().unwrap()],
        ..ImportSettings::default()
    }
}

fn verdict(settings: ImportSettings, route: &Route, next_hop: &str) -> AttrVerdict {
    let policy = ImportPolicy::new(settings);
    let next_hop = NextHop::from(addr(next_hop));
    with(route, |attributes| {
        let verdict = policy.check_attributes(
            &OutsideData::default(),
            attributes,
            next_hop,
            Family::Ipv4Unicast,
        );
        let prefix = "193.0.0.0/21".parse().unwrap();
        let all = policy.all_reasons(
            &OutsideData::default(),
            prefix,
            attributes,
            next_hop,
            Family::Ipv4Unicast,
        );
        match verdict.reject {
            None => assert_eq!(all, [], "{route:?}"),
            Some(reason) => assert!(all.iter().any(|f| f.reason == reason), "{reason} {all:?}"),
        }
        verdict
    })
}

fn reject(settings: ImportSettings, route: &Route) -> Option<RejectReason> {
    verdict(settings, route, "192.0.2.11").reject
}

#[test]
fn paths() {
    let long = format!("3333 {}", "65 ".repeat(32));
    let limit = format!("3333 {}", "65 ".repeat(31));
    for (path, expected) in [
        ("3333", None),
        ("3333 65 66", None),
        ("3333 3333 3333", None),
        ("3333 64495 131072", None),
        (&limit, None),
        (&long, Some(RejectReason::AsPathTooLong)),
        ("", Some(RejectReason::FirstAs)),
        ("65 3333", Some(RejectReason::FirstAs)),
        ("3333 6777 65", Some(RejectReason::AsLoop)),
        ("3333 64512", Some(RejectReason::InvalidAsn)),
        ("3333 23456 65", Some(RejectReason::InvalidAsn)),
        ("3333 4294967295", Some(RejectReason::InvalidAsn)),
        ("3333 174 65", Some(RejectReason::TransitFreeAsn)),
        ("3333 3356", Some(RejectReason::TransitFreeAsn)),
        ("3333 15169", Some(RejectReason::NeverViaRouteServers)),
        ("3333 {65 66}", Some(RejectReason::AsSet)),
    ] {
        let route = Route {
            path: path.into(),
            ..Route::default()
        };
        assert_eq!(reject(member(), &route), expected, "{path}");
    }
}

#[test]
fn a_transit_free_member_may_announce_itself() {
    let settings = ImportSettings {
        peer_asn: Asn(174),
        ..member()
    };
    assert_eq!(reject(settings.clone(), &Route::path("174 65")), None);
    let other = Some(RejectReason::TransitFreeAsn);
    assert_eq!(reject(settings, &Route::path("174 3356 65")), other);
}

#[test]
fn reserved_numbers_can_be_allowed() {
    let settings = ImportSettings {
        allowed_bogon_asns: vec![Asn(64512)],
        ..member()
    };
    assert_eq!(reject(settings.clone(), &Route::path("3333 64512")), None);
    let other = Some(RejectReason::InvalidAsn);
    assert_eq!(reject(settings, &Route::path("3333 64512 64513")), other);
}

#[test]
fn origins_can_be_listed() {
    let settings = ImportSettings {
        allow_origins: vec![Asn(3333), Asn(65)],
        ..member()
    };
    assert_eq!(reject(settings.clone(), &Route::path("3333 1 65")), None);
    let other = Some(RejectReason::OriginNotAllowed);
    assert_eq!(reject(settings, &Route::path("3333 65 66")), other);
}

#[test]
fn next_hops() {
    use NextHopRule::{Any, Authorized, SameAs, Strict};
    for (rule, next_hop, accepted) in [
        (Strict, "192.0.2.11", true),
        (Strict, "192.0.2.12", false),
        (Strict, "2001:db8:1::11", true), // RFC 8950, or IPv6 routes on an IPv4 session
        (Strict, "2001:db8:1::12", false),
        (Strict, "fe80::1", false),
        (SameAs, "192.0.2.11", true),
        (SameAs, "192.0.2.12", true),
        (SameAs, "192.0.2.99", false),
        (Authorized, "192.0.2.11", true),
        (Authorized, "192.0.2.99", true),
        (Authorized, "192.0.2.12", false),
        (Any, "203.0.113.77", true),
    ] {
        let settings = ImportSettings {
            next_hop: rule,
            ..member()
        };
        let found = verdict(settings, &Route::path("3333"), next_hop).reject;
        let expected = (!accepted).then_some(RejectReason::NextHop);
        assert_eq!(found, expected, "{rule:?} {next_hop}");
    }
}

#[test]
fn our_own_address_is_never_a_next_hop() {
    for (rule, next_hop) in [
        (ImportRule::Checks, NextHopRule::Any),
        (ImportRule::Checks, NextHopRule::Authorized),
        (ImportRule::All, NextHopRule::Strict),
    ] {
        let settings = ImportSettings {
            rule,
            next_hop,
            own_addresses: vec![addr("192.0.2.99")],
            ..member()
        };
        let found = verdict(settings.clone(), &Route::path("3333"), "192.0.2.99").reject;
        assert_eq!(found, Some(RejectReason::NextHop), "{rule:?} {next_hop:?}");
        let found = verdict(settings, &Route::path("3333"), "192.0.2.11").reject;
        assert_eq!(found, None, "{rule:?} {next_hop:?}");
    }
}

#[test]
fn routes_that_were_reflected_back_are_rejected() {
    let settings = ImportSettings {
        rule: ImportRule::All,
        router_id: Some([192, 0, 2, 1].into()),
        cluster_id: Some([10, 0, 0, 1].into()),
        ..member()
    };
    let reflected = |originator: [u8; 4], clusters: &[[u8; 4]]| Route {
        originator: Some(originator),
        clusters: clusters.to_vec(),
        ..Route::path("65")
    };
    for (route, expected) in [
        (reflected([192, 0, 2, 9], &[[10, 0, 0, 2]]), None),
        (
            reflected([192, 0, 2, 1], &[[10, 0, 0, 2]]),
            Some(RejectReason::OriginatorLoop),
        ),
        (
            reflected([192, 0, 2, 9], &[[10, 0, 0, 2], [10, 0, 0, 1]]),
            Some(RejectReason::ClusterLoop),
        ),
    ] {
        assert_eq!(reject(settings.clone(), &route), expected, "{route:?}");
        let collector = ImportSettings {
            rule: ImportRule::Collect,
            ..settings.clone()
        };
        assert_eq!(reject(collector, &route), None, "{route:?}");
    }
}

#[test]
fn a_link_local_next_hop_beside_a_global_one_is_tolerated() {
    let policy = ImportPolicy::new(member());
    let next_hop = NextHop::V6 {
        global: "2001:db8:1::11".parse().unwrap(),
        link_local: Some("fe80::1".parse().unwrap()),
    };
    with(&Route::path("3333"), |attributes| {
        let verdict = policy.check_attributes(
            &OutsideData::default(),
            attributes,
            next_hop,
            Family::Ipv6Unicast,
        );
        assert_eq!(verdict.reject, None);
    });
}

#[test]
fn checks_of_other_rules() {
    let wild = Route::path("65 174 64512 15169 {66}");
    let looped = Route::path("65 6777");
    for (rule, for_wild, for_looped) in [
        (ImportRule::All, None, Some(RejectReason::AsLoop)),
        (ImportRule::Collect, None, None),
        (
            ImportRule::None,
            Some(RejectReason::NoImportPolicy),
            Some(RejectReason::NoImportPolicy),
        ),
    ] {
        let settings = ImportSettings { rule, ..member() };
        assert_eq!(
            verdict(settings.clone(), &wild, "203.0.113.1").reject,
            for_wild,
            "{rule:?}"
        );
        assert_eq!(
            verdict(settings, &looped, "203.0.113.1").reject,
            for_looped,
            "{rule:?}"
        );
    }
}

#[test]
fn a_disabled_family_is_rejected() {
    let settings = ImportSettings {
        families: PerFamily::new(false, true),
        ..member()
    };
    assert_eq!(
        reject(settings, &Route::path("3333")),
        Some(RejectReason::WrongFamily)
    );
}

#[test]
fn roles_reject_leaks_and_add_the_attribute() {
    let with_role = |role| ImportSettings {
        role: Some(role),
        ..member()
    };
    let leak = Route {
        otc: Some(65),
        ..Route::path("3333 65")
    };
    let plain = Route::path("3333 65");
    assert_eq!(
        reject(with_role(Role::RouteServer), &leak),
        Some(RejectReason::RoleLeak)
    );
    assert_eq!(reject(with_role(Role::Customer), &leak), None);
    let added = |role| verdict(with_role(role), &plain, "192.0.2.11").add_otc;
    assert!(added(Role::Customer));
    assert!(!added(Role::RouteServer));
}

#[test]
fn well_known_communities() {
    let mut route = Route::communities("65535:0 65535:666");
    route.path = "3333".into();
    let found = verdict(member(), &route, "192.0.2.11");
    assert!(found.graceful_shutdown && !found.blackhole);
    let settings = ImportSettings {
        blackhole: PerFamily::new(true, false),
        graceful_shutdown: false,
        ..member()
    };
    let found = verdict(settings, &route, "192.0.2.11");
    assert!(!found.graceful_shutdown && found.blackhole);
}

#[test]
fn prefixes() {
    let settings = ImportSettings {
        black_list: vec![PrefixMatch::or_longer("193.0.64.0/18".parse().unwrap())],
        client_black_list: vec![PrefixMatch::exact("193.1.0.0/16".parse().unwrap())],
        ..member()
    };
    let policy = ImportPolicy::new(settings);
    for (prefix, expected) in [
        ("193.0.0.0/21", None),
        ("8.0.0.0/8", None),
        ("193.0.0.0/24", None),
        ("193.0.0.0/25", Some("prefix-length")),
        ("8.0.0.0/7", Some("prefix-length")),
        ("0.0.0.0/0", Some("bogon")),
        ("0.0.0.0/1", Some("prefix-length")),
        ("10.0.0.0/8", Some("bogon")),
        ("10.255.1.0/24", Some("bogon")),
        ("100.64.0.0/10", Some("bogon")),
        ("100.128.0.0/10", None),
        ("192.0.2.0/24", Some("bogon")),
        ("192.0.3.0/24", None),
        ("230.1.2.0/24", Some("bogon")),
        ("255.255.255.255/32", Some("bogon")),
        ("80.249.208.0/21", Some("own-lan")),
        ("80.249.209.0/24", Some("own-lan")),
        ("80.249.0.0/16", None),
        ("193.0.64.0/18", Some("global-black-list")),
        ("193.0.100.0/24", Some("global-black-list")),
        ("193.1.0.0/16", Some("client-black-list")),
        ("193.1.0.0/17", None),
        ("2001:67c:2e8::/48", None),
        ("2001:67c:2e8::/49", Some("prefix-length")),
        ("2a00::/12", None),
        ("2a00::/11", Some("prefix-length")),
        ("::/0", Some("bogon")),
        ("::1/128", Some("bogon")),
        ("fc00:1::/48", Some("bogon")),
        ("2001:db8::/32", Some("bogon")),
        ("2001:db8:1::/48", Some("bogon")),
        ("2002::/16", Some("bogon")),
        ("4000::/16", Some("not-global-unicast")),
        ("1000::/16", Some("not-global-unicast")),
        ("4000::/2", Some("not-global-unicast")),
    ] {
        let prefix: Prefix = prefix.parse().unwrap();
        let found = policy.check_prefix(prefix, false).map(RejectReason::name);
        assert_eq!(found, expected, "{prefix}");
    }
}

#[test]
fn longer_routes_pass_with_the_blackhole_community_only() {
    let allowed = PrefixMatch::exact("193.0.0.0/21".parse().unwrap());
    let settings = ImportSettings {
        allow_prefixes: vec![allowed],
        ..member()
    };
    let policy = ImportPolicy::new(settings);
    for (prefix, blackhole, expected) in [
        ("193.0.0.0/21", false, None),
        ("193.0.0.0/24", false, Some(RejectReason::PrefixNotAllowed)),
        ("193.0.1.1/32", false, Some(RejectReason::PrefixLength)),
        ("193.0.1.1/32", true, None),
        ("193.0.1.0/31", true, None),
        ("193.0.1.0/31", false, Some(RejectReason::PrefixLength)),
        ("192.0.0.0/7", true, Some(RejectReason::PrefixLength)),
        ("193.0.8.1/32", true, Some(RejectReason::PrefixNotAllowed)),
        ("10.0.0.1/32", true, Some(RejectReason::Bogon)),
    ] {
        let found = policy.check_prefix(prefix.parse().unwrap(), blackhole);
        assert_eq!(found, expected, "{prefix} {blackhole}");
    }
}

#[test]
fn without_checks_only_martians_are_rejected() {
    let policy = ImportPolicy::new(ImportSettings {
        rule: ImportRule::All,
        ..member()
    });
    for (prefix, expected) in [
        ("0.0.0.0/0", None),
        ("10.0.0.0/25", None),
        ("::/0", None),
        ("fc00::/7", None),
        ("127.0.0.0/8", Some(RejectReason::Martian)),
        ("224.0.0.0/24", Some(RejectReason::Martian)),
        ("fe80::/64", Some(RejectReason::Martian)),
        ("::1/128", Some(RejectReason::Martian)),
    ] {
        assert_eq!(
            policy.check_prefix(prefix.parse().unwrap(), false),
            expected,
            "{prefix}"
        );
    }
    let policy = ImportPolicy::new(ImportSettings {
        rule: ImportRule::Collect,
        ..member()
    });
    assert_eq!(
        policy.check_prefix("127.0.0.0/8".parse().unwrap(), false),
        None
    );
}

#[test]
fn every_reason_comes_with_its_evidence() {
    let settings = ImportSettings {
        role: Some(Role::RouteServer),
        ..member()
    };
    let policy = ImportPolicy::new(settings);
    let route = Route {
        otc: Some(65),
        ..Route::path("65 174 64512 15169 6777")
    };
    let next_hop = NextHop::from(addr("192.0.2.12"));
    let prefix = "10.1.0.0/25".parse().unwrap();
    let found = with(&route, |attributes| {
        policy.all_reasons(
            &OutsideData::default(),
            prefix,
            attributes,
            next_hop,
            Family::Ipv4Unicast,
        )
    });
    let text: String = found
        .iter()
        .map(|f| format!("{}: {}\n", f.reason, f.evidence))
        .collect();
    let expected = "\
as-loop: AS_PATH 65 174 64512 15169 6777 contains 6777
invalid-asn: AS_PATH 65 174 64512 15169 6777 contains 64512
transit-free-asn: AS_PATH 65 174 64512 15169 6777 contains 174
never-via-route-servers: AS_PATH 65 174 64512 15169 6777 contains 15169
first-as: AS_PATH starts with AS65, the neighbor is AS3333
next-hop: next hop is 192.0.2.12, allowed: 192.0.2.11, 2001:db8:1::11
role-leak: ONLY_TO_CUSTOMER is 65 and our role is route-server
bogon: 10.1.0.0/25 is in 10.0.0.0/8
prefix-length: length is 25, accepted: 8-24
";
    assert_eq!(text, expected);
}
