//! The compiled checks against their slow counterparts, with random settings and routes.

mod route;

use proptest::collection::vec;
use proptest::prelude::*;
use route::{Route, addr, with};
use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, PerFamily, Prefix};
use rutter_policy::{
    Action, ActionCommunity, ExportPolicy, ExportSettings, Field, ImportPolicy, ImportRule,
    ImportSettings, LengthRange, NextHop, NextHopRule, Notation, OutsideData, PrefixMatch,
    RejectReason,
};

/// Prefixes close to each other and to special-purpose space, so that some cover others.
fn prefix() -> impl Strategy<Value = Prefix> {
    let first = prop_oneof![
        Just(10u32),
        Just(100),
        Just(192),
        Just(193),
        Just(224),
        Just(255),
        0..=255u32
    ];
    let v4 = (first, 0..4u32, any::<u16>(), 0..=32u8).prop_map(|(a, b, rest, len)| {
        Prefix::V4(Ipv4Prefix::new(a << 24 | b << 22 | u32::from(rest), len).unwrap())
    });
    let first = prop_oneof![
        Just(0x2001u128),
        Just(0xfe80),
        Just(0x2a00),
        Just(0),
        0..=0xffffu128
    ];
    let second = prop_oneof![Just(0xdb8u128), Just(2), Just(0), 0..=0xffffu128];
    let v6 = (first, second, any::<u8>(), 0..=128u8).prop_map(|(a, b, rest, len)| {
        let bits = a << 112 | b << 96 | u128::from(rest) << 88;
        Prefix::V6(Ipv6Prefix::new(bits, len).unwrap())
    });
    prop_oneof![v4, v6]
}

fn prefix_match() -> impl Strategy<Value = PrefixMatch> {
    (prefix(), 0..3u8, 0..12u8, 0..12u8).prop_map(|(prefix, kind, from, more)| {
        let whole = PrefixMatch::or_longer(prefix);
        match kind {
            0 => whole,
            1 => PrefixMatch::exact(prefix),
            _ => {
                let min_len = (prefix.len() + from).min(whole.max_len);
                PrefixMatch {
                    prefix,
                    min_len,
                    max_len: (min_len + more).min(whole.max_len),
                }
            }
        }
    })
}

fn settings() -> impl Strategy<Value = ImportSettings> {
    let rule = prop_oneof![
        4 => Just(ImportRule::Checks), 1 => Just(ImportRule::All), 1 => Just(ImportRule::Collect)
    ];
    (
        rule,
        any::<[bool; 4]>(),
        vec(prefix(), 0..3),
        vec(prefix_match(), 0..20),
        vec(prefix_match(), 0..20),
        vec(prefix_match(), 0..4),
        (0..20u8, 16..=32u8),
    )
        .prop_map(
            |(rule, on, lan, black, client, allow, (min, max))| ImportSettings {
                rule,
                reject_bogons: on[0],
                require_global_unicast: on[1],
                families: PerFamily::new(on[2] || on[3], true),
                lan,
                black_list: black,
                client_black_list: client,
                allow_prefixes: allow,
                prefix_length: PerFamily::new(
                    LengthRange { min, max },
                    LengthRange { min, max: max * 2 },
                ),
                peer_asn: Asn(3333),
                next_hop: NextHopRule::Any,
                blackhole: PerFamily::both(true),
                ..ImportSettings::default()
            },
        )
}

proptest! {
    #[test]
    fn the_fast_answer_is_one_of_the_slow_reasons(
        settings in settings(),
        prefixes in vec(prefix(), 1..40),
        blackhole: bool,
    ) {
        let policy = ImportPolicy::new(settings.clone());
        let route = Route {
            path: "3333".into(),
            communities: if blackhole { vec!["65535:666".into()] } else { vec![] },
            ..Route::default()
        };
        let own = settings.black_list.iter().chain(&settings.allow_prefixes).map(|m| m.prefix);
        for prefix in own.chain(settings.lan.clone()).chain(prefixes) {
            let next_hop = NextHop::from(addr("192.0.2.1"));
            let fast = policy.check_prefix(prefix, blackhole);
            let slow: Vec<RejectReason> = with(&route, |attributes| {
                policy.all_reasons(&OutsideData::default(), prefix, attributes, next_hop, prefix.family())
            }).iter().map(|f| f.reason).collect();
            match fast {
                None => prop_assert_eq!(slow, vec![], "{}", prefix),
                Some(reason) => prop_assert!(slow.contains(&reason), "{} {} {:?}", prefix, reason, slow),
            }
        }
    }

    #[test]
    fn the_first_reason_of_attributes_is_one_of_all(
        path in vec(prop_oneof![Just(3333u32), Just(6777), Just(174), Just(64512), Just(65), 1..200_000u32], 0..40),
        set: bool,
        next_hop in prop_oneof![Just("192.0.2.11"), Just("192.0.2.12"), Just("2001:db8::1")],
    ) {
        let mut text = path.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        if set {
            text.push_str(" {65 66}");
        }
        let policy = ImportPolicy::new(ImportSettings {
            local_asn: Asn(6777),
            peer_asn: Asn(3333),
            peer_address: Some(addr("192.0.2.11")),
            transit_free_asns: vec![Asn(174)],
            ..ImportSettings::default()
        });
        let next_hop = NextHop::from(addr(next_hop));
        let (fast, slow) = with(&Route::path(&text), |a| (
            policy.check_attributes(&OutsideData::default(), a, next_hop, Family::Ipv4Unicast).reject,
            policy.all_reasons(&OutsideData::default(), "193.0.0.0/21".parse().unwrap(), a, next_hop, Family::Ipv4Unicast),
        ));
        prop_assert_eq!(fast.is_none(), slow.is_empty(), "{:?} {:?}", fast, slow);
        prop_assert!(fast.is_none_or(|reason| slow.iter().any(|f| f.reason == reason)));
    }

    /// Compares audiences with the rules of the manual, one client at a time.
    #[test]
    fn audiences_follow_the_precedence(actions_of_route in vec((0..5u32, 1..5u32), 0..8)) {
        let [number, local, peer] = [Field::Number as fn(u32) -> Field, |_| Field::Local, |_| Field::Peer];
        let large = |kind, last| Notation::Large([local(0), number(kind), last]);
        let actions = [
            (Action::NotToAny, large(0, number(0))),
            (Action::NotToPeer, large(1, peer(0))),
            (Action::ToPeer, large(2, peer(0))),
            (Action::OnlyToPeer, large(3, peer(0))),
            (Action::PrependPeer, Notation::Large([local(0), Field::Range(4, 6), peer(0)])),
        ].map(|(action, notation)| ActionCommunity::new(action, notation).unwrap());
        let policy = ExportPolicy::new(ExportSettings {
            local_asn: Asn(64500),
            actions: actions.to_vec(),
            ..ExportSettings::default()
        });
        let text: Vec<String> = actions_of_route.iter()
            .map(|(kind, peer)| format!("64500:{kind}:{}", if *kind == 0 { 0 } else { *peer }))
            .collect();
        let found = with(&Route::communities(&text.join(" ")), |a| policy.audience(a));
        for client in 1..6 {
            let names = |kind| actions_of_route.contains(&(kind, client));
            let any = |kind| actions_of_route.iter().any(|(k, _)| *k == kind);
            let receives = !names(1) && (names(2) || names(3) || !(any(0) || any(3)));
            prop_assert_eq!(found.allows(Asn(client)), receives, "{} {:?}", client, &text);
            if receives {
                prop_assert_eq!(found.prepends_for(Asn(client)), u8::from(names(4)), "{:?}", &text);
            }
        }
    }
}
