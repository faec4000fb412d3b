//! Path verification: published examples, rules as cases, and the draft's own procedure as a model.

use proptest::prelude::*;
use rutter_net::Asn;
use rutter_rpki::{
    Aspas, AspasBuilder, Authorization, PathExplanation, PathState, PathVerdict, ReceivedPath,
    Relation,
};

fn aspas(rows: &[(u32, &[u32])]) -> Aspas {
    let mut builder = AspasBuilder::new();
    for (customer, providers) in rows {
        let providers = providers.iter().copied().map(Asn);
        builder.add(Asn(*customer), providers).unwrap();
    }
    builder.build()
}

fn verify(aspas: &Aspas, relation: Relation, path: &[u32]) -> PathVerdict {
    aspas.verify(ReceivedPath {
        relation,
        neighbor: Asn(path.first().copied().unwrap_or(1)),
        has_set: false,
        asns: path.iter().copied().map(Asn),
    })
}

/// The procedure as the draft writes it: §5.2 to §5.6 of draft-ietf-sidrops-aspa-verification-28.
mod draft {
    use super::*;

    /// max_up_ramp, min_up_ramp, max_down_ramp, min_down_ramp, and N.
    pub fn ramps(aspas: &Aspas, path: &[u32]) -> [usize; 5] {
        let mut compressed = path.to_vec();
        compressed.dedup();
        compressed.reverse();
        let n = compressed.len();
        // AS(1) is the origin.
        let a = |i: usize| Asn(compressed[i - 1]);
        let denied = |x, y| aspas.authorization(x, y) == Authorization::NotProvider;
        let unattested = |x, y| aspas.authorization(x, y) != Authorization::Provider;
        let up = |fails: &dyn Fn(Asn, Asn) -> bool| {
            let first = (1..n).find(|i| fails(a(*i), a(i + 1)));
            first.unwrap_or(n)
        };
        let down = |fails: &dyn Fn(Asn, Asn) -> bool| {
            let last = (2..=n).rev().find(|j| fails(a(*j), a(j - 1)));
            last.map_or(n, |j| n - j + 1)
        };
        [
            up(&denied),
            up(&unattested),
            down(&denied),
            down(&unattested),
            n,
        ]
    }

    pub fn state(aspas: &Aspas, relation: Relation, path: &[u32]) -> PathState {
        let [max_up, min_up, mut max_down, mut min_down, n] = ramps(aspas, path);
        if relation != Relation::Provider {
            (max_down, min_down) = (0, 0);
        }
        if n == 0 || max_up + max_down < n {
            PathState::Invalid
        } else if min_up + min_down < n {
            PathState::Unknown
        } else {
            PathState::Valid
        }
    }
}

const A: u32 = 65_000;
const B: u32 = 65_010;
const C: u32 = 65_020;
const D: u32 = 65_030;
const E: u32 = 65_040;
const F: u32 = 65_050;
const G: u32 = 65_060;

/// The topology of NIST's examples (BGP-SRx, BRIO): A is a customer of C and D, B of E, C of F, D of F and G. G has no
/// provider. E and F have no ASPA. C and D are peers, and so are F and G.
fn nist() -> Aspas {
    aspas(&[(A, &[C, D]), (B, &[E]), (C, &[F]), (D, &[F, G]), (G, &[0])])
}

#[test]
fn examples_of_nist_have_the_published_ramps_and_states() {
    for (path, ramps, state) in [
        // Example 1: B receives the route from its provider E.
        (vec![E, G, F, C, A], [4, 3, 2, 1, 5], PathState::Unknown),
        // Examples 5 to 7: A receives the routes from its providers C and D.
        (vec![C, F, D, G], [1, 1, 4, 2, 4], PathState::Unknown),
        (vec![D, G, E, B], [3, 2, 2, 2, 4], PathState::Valid),
        (vec![C, D, G, E, B], [3, 2, 1, 1, 5], PathState::Invalid),
    ] {
        assert_eq!(draft::ramps(&nist(), &path), ramps, "{path:?}");
        let verdict = verify(&nist(), Relation::Provider, &path);
        assert_eq!(verdict.state(), state, "{path:?}");
    }
}

#[test]
fn a_leak_to_a_peer_is_invalid_from_every_neighbor_but_a_provider() {
    // A received the route from its provider C and leaked it to its provider D.
    let leak = [D, A, C];
    for relation in [
        Relation::Customer,
        Relation::Peer,
        Relation::RouteServerClient,
        Relation::RouteServer,
    ] {
        let verdict = verify(&nist(), relation, &leak);
        assert_eq!(verdict.state(), PathState::Invalid, "{relation:?}");
        assert_eq!(
            verify(&nist(), relation, &[G, D, A]).state(),
            PathState::Valid
        );
        // E has no ASPA.
        assert_eq!(
            verify(&nist(), relation, &[G, E, B]).state(),
            PathState::Unknown
        );
    }
    let from_provider = verify(&nist(), Relation::Provider, &leak);
    assert_eq!(
        from_provider.state(),
        PathState::Invalid,
        "neither C nor D has A as a provider"
    );
}

#[test]
fn two_apexes_may_be_peers_but_no_more() {
    let top = aspas(&[(1, &[2]), (2, &[0]), (3, &[0]), (4, &[3]), (5, &[0])]);
    let state = |path: &[u32]| verify(&top, Relation::Provider, path).state();
    assert_eq!(state(&[4, 3, 2, 1]), PathState::Valid, "2 and 3 are peers");
    assert_eq!(
        state(&[4, 3, 5, 2, 1]),
        PathState::Invalid,
        "5 is between two peers"
    );
    assert_eq!(
        state(&[4, 3, 7, 2, 1]),
        PathState::Invalid,
        "7 has no ASPA, but 2 and 3 deny it"
    );
}

#[test]
fn repetitions_of_an_as_count_once() {
    let path = [G, G, D, D, D, A, A];
    assert_eq!(
        verify(&nist(), Relation::Peer, &path).state(),
        PathState::Valid
    );
    let again = [D, G, D];
    assert_eq!(
        verify(&nist(), Relation::Peer, &again).state(),
        PathState::Invalid
    );
}

#[test]
fn paths_that_cannot_be_are_invalid_without_any_aspa() {
    let none = Aspas::default();
    let path = |has_set, relation, asns: &'static [u32]| ReceivedPath {
        relation,
        neighbor: Asn(1),
        has_set,
        asns: asns.iter().copied().map(Asn),
    };
    let rows = [
        (path(false, Relation::Peer, &[]), "the AS_PATH is empty"),
        (
            path(true, Relation::Peer, &[1, 2]),
            "the AS_PATH contains an AS_SET",
        ),
        (
            path(false, Relation::Peer, &[2, 1]),
            "the AS_PATH starts with AS2, the neighbor is AS1",
        ),
        (
            path(false, Relation::Provider, &[2, 1]),
            "the AS_PATH starts with AS2, the neighbor is AS1",
        ),
    ];
    for (path, expected) in rows {
        let PathVerdict::Invalid(fault) = none.verify(path.clone()) else {
            panic!("{path:?}");
        };
        let explanation = PathExplanation {
            fault,
            aspas: &none,
        };
        assert_eq!(explanation.to_string(), expected);
    }
    let by_route_server = path(false, Relation::RouteServer, &[2, 1]);
    assert_eq!(
        none.verify(by_route_server),
        PathVerdict::Unknown,
        "it does not add its AS"
    );
    let single = path(false, Relation::Peer, &[1, 1]);
    assert_eq!(none.verify(single), PathVerdict::Valid);
}

#[test]
fn an_explanation_names_the_pair_and_the_aspa() {
    let explain = |aspas: &Aspas, relation, path: &[u32]| match verify(aspas, relation, path) {
        PathVerdict::Invalid(fault) => PathExplanation { fault, aspas }.to_string(),
        verdict => panic!("{verdict:?}"),
    };
    assert_eq!(
        explain(&nist(), Relation::RouteServerClient, &[C, D, A]),
        "AS65020 is not a provider of AS65030, whose ASPA lists AS65050, AS65060"
    );
    assert_eq!(
        explain(&nist(), Relation::Provider, &[C, D, G, E, B]),
        "AS65030 is not a provider of AS65020, whose ASPA lists AS65050; \
         and beyond it AS65030 is not a provider of AS65060, whose ASPA lists none"
    );
    let many: Vec<u32> = (10..30).collect();
    assert_eq!(
        explain(&aspas(&[(2, &many)]), Relation::Peer, &[1, 2]),
        "AS1 is not a provider of AS2, whose ASPA lists AS10, AS11, AS12, AS13, AS14, AS15, AS16, AS17 and 12 more"
    );
}

fn relation() -> impl Strategy<Value = Relation> {
    prop_oneof![
        1 => Just(Relation::Customer),
        1 => Just(Relation::Peer),
        1 => Just(Relation::RouteServerClient),
        1 => Just(Relation::RouteServer),
        3 => Just(Relation::Provider),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn states_are_those_of_the_draft(
        rows in proptest::collection::vec((1_u32..6, proptest::collection::vec(0_u32..6, 1..5)), 0..6),
        relation in relation(),
        path in proptest::collection::vec(1_u32..6, 0..9),
    ) {
        let rows: Vec<(u32, &[u32])> = rows.iter().map(|(c, p)| (*c, p.as_slice())).collect();
        let aspas = aspas(&rows);
        let verdict = verify(&aspas, relation, &path);
        prop_assert_eq!(verdict.state(), draft::state(&aspas, relation, &path));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn only_paths_with_a_changed_customer_have_another_state(
        old in proptest::collection::vec((1_u32..8, 0_u32..8), 0..20),
        new in proptest::collection::vec((1_u32..8, 0_u32..8), 0..3),
        kept in 0_usize..20,
        relation in relation(),
        paths in proptest::collection::vec(proptest::collection::vec(1_u32..8, 0..6), 50),
    ) {
        let set = |pairs: &[(u32, u32)]| {
            let mut builder = AspasBuilder::new();
            for (customer, provider) in pairs {
                builder.add(Asn(*customer), [Asn(*provider)]).unwrap();
            }
            builder.build()
        };
        let new: Vec<_> = old.iter().take(kept).chain(&new).copied().collect();
        let (old, new) = (set(&old), set(&new));
        let changed = Aspas::changed_customers(&old, &new);
        prop_assert_eq!(changed.is_empty(), old == new);
        for path in paths {
            let contains = path.iter().any(|asn| changed.contains(&Asn(*asn)));
            let same = verify(&old, relation, &path) == verify(&new, relation, &path);
            prop_assert!(contains || same, "{path:?}");
        }
    }
}
