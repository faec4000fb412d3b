//! Origin validation: RFC 6811 as cases, and a naive model.

use proptest::prelude::*;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_rpki::{Rov, Vrp, Vrps};

#[test]
fn routes_are_validated_by_covering_vrps() {
    let vrps = Vrps::parse(
        br#"{"metadata":{"n":1},"roas":[
            {"asn":"AS64500","prefix":"10.0.0.0/8","maxLength":16,"ta":"x"},
            {"asn":64501,"prefix":"10.1.0.0/16","maxLength":24},
            {"asn":0,"prefix":"2001:db8::/32","maxLength":128}]}"#,
    )
    .unwrap();
    let rov = |prefix: &str, origin| vrps.validate(prefix.parse().unwrap(), origin);
    assert_eq!(vrps.len(), 3);
    assert_eq!(rov("10.1.0.0/16", Some(64_500)), Rov::Valid);
    assert_eq!(rov("10.1.0.0/16", Some(64_501)), Rov::Valid);
    assert_eq!(rov("10.1.1.0/24", Some(64_500)), Rov::Invalid);
    assert_eq!(rov("10.1.1.0/24", None), Rov::Invalid);
    assert_eq!(rov("0.0.0.0/0", Some(64_500)), Rov::NotFound);
    assert_eq!(rov("2001:db8::/32", Some(0)), Rov::Invalid);
}

#[test]
fn a_max_length_that_does_not_fit_is_refused() {
    let vrp = |prefix: &str, max_len| {
        let prefix = prefix.parse().unwrap();
        Vrps::from_vrps([Vrp {
            prefix,
            max_len,
            asn: 1,
        }])
    };
    assert!(vrp("10.0.0.0/8", 8).is_ok());
    assert!(vrp("10.0.0.0/8", 32).is_ok());
    let error = vrp("10.0.0.0/8", 33).unwrap_err().to_string();
    assert_eq!(
        error,
        "the maximum length of 10.0.0.0/8 is 33, but must be 8 to 32"
    );
    assert!(vrp("10.0.0.0/8", 7).is_err());
    assert!(vrp("2001:db8::/32", 128).is_ok());
    assert!(vrp("2001:db8::/32", 129).is_err());
}

/// Few bits vary, so that prefixes nest and repeat.
fn prefix() -> impl Strategy<Value = Prefix> {
    let v4 = (0_u32..16, 4_u8..=12).prop_map(|(bits, len)| {
        Prefix::V4(Ipv4Prefix::new(bits << 22 | 0x0a00_0000, len).unwrap())
    });
    let v6 = (0_u128..16, 28_u8..=36).prop_map(|(bits, len)| {
        Prefix::V6(Ipv6Prefix::new(bits << 92 | 0x2001 << 112, len).unwrap())
    });
    prop_oneof![v4, v6]
}

fn vrp() -> impl Strategy<Value = Vrp> {
    (prefix(), 0_u8..4, 0_u32..4).prop_map(|(prefix, longer, asn)| Vrp {
        prefix,
        max_len: prefix.len() + longer,
        asn,
    })
}

/// RFC 6811 §2, word by word.
fn naive(vrps: &[Vrp], prefix: Prefix, origin: Option<u32>) -> Rov {
    let covering: Vec<&Vrp> = vrps
        .iter()
        .filter(|vrp| vrp.prefix.covers(prefix))
        .collect();
    let matched = |vrp: &&Vrp| {
        prefix.len() <= vrp.max_len && origin.is_some_and(|origin| origin == vrp.asn && origin != 0)
    };
    match covering.iter().copied().find(matched) {
        Some(_) => Rov::Valid,
        None if covering.is_empty() => Rov::NotFound,
        None => Rov::Invalid,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn states_are_those_of_a_naive_search(
        vrps in proptest::collection::vec(vrp(), 0..60),
        routes in proptest::collection::vec((prefix(), proptest::option::of(0_u32..4)), 60),
    ) {
        let set = Vrps::from_vrps(vrps.iter().copied()).unwrap();
        for (prefix, origin) in routes {
            prop_assert_eq!(set.validate(prefix, origin), naive(&vrps, prefix, origin));
            let mut covering: Vec<Vrp> = set.covering(prefix).collect();
            covering.sort_unstable();
            let mut expected: Vec<Vrp> =
                vrps.iter().copied().filter(|vrp| vrp.prefix.covers(prefix)).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(covering, expected);
        }
    }

    #[test]
    fn equal_sets_are_equal_in_any_order(
        (vrps, shuffled) in proptest::collection::vec(vrp(), 0..40)
            .prop_flat_map(|vrps| (Just(vrps.clone()), Just(vrps).prop_shuffle())),
    ) {
        let set = Vrps::from_vrps(vrps.iter().copied()).unwrap();
        let other = Vrps::from_vrps(shuffled.into_iter().chain(vrps)).unwrap();
        prop_assert_eq!(&set, &other);
        prop_assert_eq!(Vrps::changed_prefixes(&set, &other), []);
        prop_assert_eq!(set.iter().count(), set.len());
    }

    #[test]
    fn routes_outside_the_changed_prefixes_keep_their_state(
        old in proptest::collection::vec(vrp(), 0..30),
        removed in proptest::collection::vec(any::<bool>(), 30),
        added in proptest::collection::vec(vrp(), 0..3),
        routes in proptest::collection::vec((prefix(), proptest::option::of(0_u32..4)), 60),
    ) {
        let kept = old.iter().zip(&removed).filter(|(_, removed)| !**removed);
        let new: Vec<Vrp> = kept.map(|(vrp, _)| *vrp).chain(added).collect();
        let [old, new] = [&old, &new].map(|vrps| Vrps::from_vrps(vrps.iter().copied()).unwrap());
        let changed = Vrps::changed_prefixes(&old, &new);
        prop_assert_eq!(changed.is_empty(), old == new);
        for (prefix, origin) in routes {
            let covered = changed.iter().any(|changed| changed.covers(prefix));
            let same = old.validate(prefix, origin) == new.validate(prefix, origin);
            prop_assert!(covered || same, "{prefix} {origin:?}");
        }
        for prefix in &changed {
            let of = |set: &Vrps| -> Vec<Vrp> {
                set.iter().filter(|vrp| vrp.prefix == *prefix).collect()
            };
            prop_assert_ne!(of(&old), of(&new));
        }
    }
}
