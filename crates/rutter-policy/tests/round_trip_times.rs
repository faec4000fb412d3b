//! Action communities by round-trip time: the communities of a route, and the clients that receive it.

mod route;

use proptest::prelude::*;
use route::{Route, with};
use rutter_net::Asn;
use rutter_policy::{
    Action, ActionCommunity, AudienceSpec, ExportPolicy, ExportSettings, Recipient, Rtt,
    RttThresholds,
};

const RULES: [(Action, &str); 12] = [
    (Action::NotToAny, "0:self"),
    (Action::NotToPeer, "0:peer"),
    (Action::ToPeer, "self:peer"),
    (Action::NotToRttLower, "64530:rtt"),
    (Action::NotToRttHigher, "64531:rtt"),
    (Action::ToRttLower, "64532:rtt"),
    (Action::ToRttHigher, "self:64533:rtt"),
    (Action::PrependAny, "65501..65503:self"),
    (Action::PrependPeer, "65501..65503:peer"),
    (Action::PrependRttLower, "64537..64539:rtt"),
    (Action::PrependRttHigher, "rt:64541:rtt"),
    (Action::PrependRttHigher, "self:64542..64544:rtt"),
];

fn policy() -> ExportPolicy {
    let action = |(action, notation): (Action, &str)| {
        ActionCommunity::new(action, notation.parse().unwrap()).unwrap()
    };
    ExportPolicy::new(ExportSettings {
        local_asn: Asn(64_500),
        actions: RULES.map(action).to_vec(),
        ..ExportSettings::default()
    })
}

fn audience(communities: &str) -> AudienceSpec {
    with(&Route::communities(communities), |attributes| {
        policy().audience(attributes)
    })
}

/// A client with an AS and a round-trip time in milliseconds, if it is known.
fn client(asn: u32, ms: Option<u32>) -> Recipient {
    let rtt = ms.map(|ms| policy().rtt_class(Rtt::from_micros(ms * 1_000).unwrap()));
    Recipient { asn: Asn(asn), rtt }
}

/// The clients are AS 1 at 3 ms, AS 2 at 10 ms, AS 3 at 11 ms, AS 4 at 40 ms, AS 5 at 900 ms; the time of AS 6 is
/// unknown. The thresholds are those of ARouteServer: 5, 10, 15, 20, 30, 50, 100, 200, 500.
const CLIENTS: [(u32, Option<u32>); 6] = [
    (1, Some(3)),
    (2, Some(10)),
    (3, Some(11)),
    (4, Some(40)),
    (5, Some(900)),
    (6, None),
];

#[test]
fn clients_that_receive_a_route() {
    for (communities, expected) in [
        ("", &[1, 2, 3, 4, 5, 6][..]),
        // Not to peers with a time of at most 10 ms.
        ("64530:10", &[3, 4, 5, 6]),
        // Not to peers above 10 ms.
        ("64531:10", &[1, 2, 6]),
        // A time that is no threshold means nothing.
        ("64530:11", &[1, 2, 3, 4, 5, 6]),
        ("64530:0", &[1, 2, 3, 4, 5, 6]),
        // To nobody, except those up to 10 ms.
        ("0:64500 64532:10", &[1, 2]),
        ("0:64500 64500:64533:30", &[4, 5]),
        ("0:64500 64500:64533:30 64532:5", &[1, 4, 5]),
        // An AS takes precedence over a time, in both directions.
        ("0:64500 64532:10 0:1", &[2]),
        ("0:64500 64532:10 0:1 64500:6", &[2, 6]),
        ("64530:10 64500:1", &[1, 3, 4, 5, 6]),
        ("64530:10 64500:1 0:4", &[1, 3, 5, 6]),
        // "Not to" takes precedence over "to" among times.
        ("0:64500 64532:15 64530:5", &[2, 3]),
        ("64530:500 64531:500", &[6]),
        // Without `not-to-any`, "to" changes nothing.
        ("64532:5", &[1, 2, 3, 4, 5, 6]),
    ] {
        let audience = audience(communities);
        let receives = |(asn, ms): &&(u32, Option<u32>)| audience.allows(client(*asn, *ms));
        let found: Vec<u32> = CLIENTS
            .iter()
            .filter(receives)
            .map(|(asn, _)| *asn)
            .collect();
        assert_eq!(found, expected, "`{communities}` {audience:?}");
    }
}

#[test]
fn prepends_for_each_client() {
    for (communities, expected) in [
        ("", [0, 0, 0, 0, 0, 0]),
        ("64537:10", [1, 1, 0, 0, 0, 0]),
        ("rt:64541:10", [0, 0, 1, 1, 1, 0]),
        // The highest threshold above which a client is, then the lowest up to which it is.
        ("64500:64542:10 64500:64544:30", [0, 0, 1, 3, 3, 0]),
        ("64537:50 64539:5", [3, 1, 1, 1, 0, 0]),
        // "Higher" takes precedence over "lower", and the AS over both.
        ("64539:50 64500:64542:10", [3, 3, 1, 1, 1, 0]),
        ("64539:50 65501:2", [3, 1, 3, 3, 0, 0]),
        // The rest gets the prepends for all.
        ("64539:10 65502:64500", [3, 3, 2, 2, 2, 2]),
        ("64538:10 65502:64500 65502:1", [2, 2, 2, 2, 2, 2]),
        // The largest number with one threshold.
        ("64537:10 64538:10", [2, 2, 0, 0, 0, 0]),
    ] {
        let audience = audience(communities);
        let found = CLIENTS.map(|(asn, ms)| audience.prepends_for(client(asn, ms)));
        assert_eq!(found, expected, "`{communities}` {audience:?}");
        assert_eq!(audience.transforms(), found != [0; 6]);
    }
}

#[test]
fn communities_that_mean_the_same_are_one_audience() {
    for (one, other) in [
        ("64530:7", ""),
        ("64530:10 64530:5", "64530:10"),
        ("64531:10 64531:200", "64531:10"),
        ("0:64500 64530:10", "0:64500"),
        ("0:64500 64532:10 64530:10", "0:64500"),
        ("64530:10 0:1 64500:1", "64530:10 0:1"),
        ("64537:5 64537:10", "64537:10"),
        ("0:1 65501:1 64530:10", "0:1 64530:10"),
    ] {
        assert_eq!(audience(one), audience(other), "`{one}` | `{other}`");
    }
    assert_ne!(audience("64530:10 64500:1"), audience("64530:10"));
}

#[test]
fn all_of_them_are_removed_before_advertising() {
    let policy = policy();
    for text in ["64530:10", "64530:7", "64531:0", "64537:5", "64539:65535"] {
        assert!(policy.removes(text.parse().unwrap()), "{text}");
    }
    assert!(policy.removes_large("64500:64543:999999".parse().unwrap()));
    assert!(!policy.removes("64529:10".parse().unwrap()));
}

/// The route names 10 and 20 ms. With one threshold, either of them, its audience has one class: of other clients.
#[test]
fn other_thresholds_have_another_effect_even_where_the_classes_are_the_same() {
    let with_threshold = |ms: u32| {
        ExportPolicy::new(ExportSettings {
            rtt_thresholds: RttThresholds::new(vec![ms]).unwrap(),
            ..policy().settings().clone()
        })
    };
    let (ten, twenty) = (with_threshold(10), with_threshold(20));
    with(&Route::communities("64530:10 64530:20"), |attributes| {
        assert_eq!(ten.audience(attributes), twenty.audience(attributes));
        assert!(!ten.has_same_effect(&twenty, attributes));
        assert!(ten.has_same_effect(&with_threshold(10), attributes));
    });
    with(&Route::communities("0:1"), |attributes| {
        assert!(ten.has_same_effect(&twenty, attributes));
    });
}

#[test]
fn notations_must_fit_their_action() {
    for (action, notation, why) in [
        (Action::NotToRttLower, "64530:peer", "needs a field `rtt`"),
        (Action::NotToPeer, "0:rtt", "needs a field `peer`"),
        (Action::NotToAny, "0:rtt", "no field may be `rtt`"),
        (Action::ToRttLower, "1..2:rtt", "a range is for prepends"),
    ] {
        let error = ActionCommunity::new(action, notation.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// ARouteServer's rules, one after the other, for one client.
fn naive(communities: &[(u32, u32)], client: (u32, Option<u32>)) -> (bool, u8) {
    let thresholds = [5, 10, 15, 20, 30, 50, 100, 200, 500];
    let (asn, rtt) = client;
    let has = |high: u32, low: u32| communities.contains(&(high, low));
    let asked = |high: u32, higher: bool| {
        let applies = |ms: &&u32| has(high, **ms) && rtt.is_some_and(|rtt| (rtt > **ms) == higher);
        thresholds.iter().any(|ms| applies(&ms))
    };
    let receives = match () {
        () if has(0, asn) => false,
        () if has(64_500, asn) => true,
        () if asked(64_531, true) || asked(64_530, false) => false,
        () if asked(64_533, true) || asked(64_532, false) => true,
        () => !has(0, 64_500),
    };
    let most = |of: &dyn Fn(u32) -> bool| (1..=3).rev().find(|n| of(*n)).map(|n| n as u8);
    let higher = thresholds
        .iter()
        .rev()
        .filter(|ms| rtt.is_some_and(|rtt| rtt > **ms));
    let lower = thresholds
        .iter()
        .filter(|ms| rtt.is_some_and(|rtt| rtt <= **ms));
    let prepends = most(&|n| has(65_500 + n, asn))
        .or_else(|| {
            higher
                .copied()
                .find_map(|ms| most(&|n| has(64_541 + n, ms)))
        })
        .or_else(|| lower.copied().find_map(|ms| most(&|n| has(64_536 + n, ms))))
        .or_else(|| most(&|n| has(65_500 + n, 64_500)));
    (receives, prepends.unwrap_or(0))
}

proptest! {
    #[test]
    fn audiences_agree_with_the_rules_one_by_one(
        chosen in proptest::collection::vec((0..13_usize, 0..6_usize, 0..4_usize), 0..7),
        asn in 1..4_u32,
        ms in proptest::option::of(0..40_u32),
    ) {
        let highs = [
            0, 64_500, 64_530, 64_531, 64_532, 64_533, 64_537, 64_538, 64_539, 64_542, 64_543, 65_501, 65_503,
        ];
        let communities: Vec<(u32, u32)> = chosen.iter().map(|(high, ms, asn)| match highs[*high] {
            high @ (0 | 64_500 | 65_501 | 65_503) => {
                let low = [1, 2, 3, 64_500][*asn];
                // 64500:64500 is no community of these rules.
                (high, if high == 64_500 { low % 64_500 } else { low })
            }
            high => (high, [5, 10, 15, 20, 30, 7][*ms]),
        }).filter(|(high, low)| (*high, *low) != (64_500, 0)).collect();
        let text = communities.iter().map(|(high, low)| match high {
            64_533 | 64_542 | 64_543 => format!("64500:{high}:{low}"),
            _ => format!("{high}:{low}"),
        });
        let text: Vec<String> = text.collect();
        let audience = audience(&text.join(" "));
        let client_of = client(asn, ms);
        let found = audience.allows(client_of);
        let (receives, prepends) = naive(&communities, (asn, ms));
        prop_assert_eq!(found, receives, "{:?}", text);
        if receives {
            prop_assert_eq!(audience.prepends_for(client_of), prepends, "{:?}", text);
        }
    }
}
