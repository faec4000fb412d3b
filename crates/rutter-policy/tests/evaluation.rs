//! Many routes side by side against one after the other, and the shortest way to a verdict against the full one.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use rutter_irr::{IrrBuilder, IrrKind, IrrMember, IrrRules, ListEntry};
use rutter_net::{Asn, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_policy::{
    AttrVerdict, CheckAction, Class, CustomMarks, DataPrefix, ImportPolicy, ImportSettings, LANES,
    OutsideData, RejectReason, RouteVerdict,
};
use rutter_rpki::{PathState, Rov, Vrp, Vrps};

const MEMBER: IrrMember = IrrMember(1);

/// Few bits vary, so that prefixes are often nested.
fn ipv4() -> impl Strategy<Value = Ipv4Prefix> {
    (0_u32..16, 0_u8..=32).prop_map(|(bits, len)| Ipv4Prefix::new(bits << 26, len).unwrap())
}

fn ipv6() -> impl Strategy<Value = Ipv6Prefix> {
    (0_u128..16, 0_u8..=64).prop_map(|(bits, len)| Ipv6Prefix::new(bits << 120, len).unwrap())
}

fn any_prefix() -> impl Strategy<Value = Prefix> {
    prop_oneof![ipv4().prop_map(Prefix::V4), ipv6().prop_map(Prefix::V6)]
}

/// A registration: prefix, origin, and whether it is a VRP, a route object or a row of the member's list.
type Row = (Prefix, u32, u8);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec((any_prefix(), 0_u32..6, 0_u8..3), 0..60)
}

fn data(rows: &[Row], rules: Option<IrrRules>) -> OutsideData {
    let of_kind = |wanted: u8| rows.iter().filter(move |(.., kind)| *kind == wanted);
    let vrp = |(prefix, asn, _): &Row| Vrp {
        prefix: *prefix,
        max_len: prefix.len(),
        asn: *asn,
    };
    let mut builder = IrrBuilder::new();
    if let Some(rules) = rules {
        builder.add_member(MEMBER, ImportSettings::default().peer_asn.0, rules);
        builder.add_origins(MEMBER, "AS-ONE", [1, 2, 3]);
        builder.add_white_origins(MEMBER, [4]);
        let row = |(prefix, origin, _): &Row| ListEntry {
            origin: Some(*origin).filter(|origin| *origin > 0),
            ..(*prefix).into()
        };
        builder.add_list(MEMBER, "list", of_kind(2).map(row));
    }
    let source = builder.add_source("RIPE");
    for (prefix, origin, _) in of_kind(1) {
        builder.add_route_object(*prefix, *origin, IrrKind::RouteObject, source);
    }
    OutsideData {
        vrps: Some(Arc::new(Vrps::from_vrps(of_kind(0).map(vrp)).unwrap())),
        irr: Some(Arc::new(builder.build().unwrap())),
        aspas: None,
    }
}

fn rules() -> impl Strategy<Value = IrrRules> {
    any::<[bool; 5]>().prop_map(|[origin, prefix, bound, longer, roas]| IrrRules {
        origin,
        prefix,
        bound,
        longer,
        roas,
    })
}

fn settings() -> impl Strategy<Value = ImportSettings> {
    let action = || {
        prop_oneof![
            Just(CheckAction::Off),
            Just(CheckAction::Tag),
            Just(CheckAction::LeastPreferred),
            Just(CheckAction::Reject)
        ]
    };
    (action(), action(), any::<[bool; 3]>()).prop_map(|(rpki, irr, [marks, irr_marks, tags])| {
        ImportSettings {
            rpki_invalid: rpki,
            aspa_invalid: rpki,
            marked_origins: if marks { vec![Rov::Valid] } else { vec![] },
            irr_member: Some(MEMBER),
            irr_invalid: irr,
            mark_irr_state: irr_marks,
            tag_rejected: tags,
            ..ImportSettings::default()
        }
    })
}

fn attributes() -> impl Strategy<Value = AttrVerdict> {
    (0_u32..6, 0_usize..4, any::<[bool; 3]>()).prop_map(
        |(origin, path, [blackhole, received, reject])| AttrVerdict {
            origin: Some(Asn(origin)).filter(|asn| asn.0 > 0),
            origin_state: received.then_some(Rov::Invalid),
            reject: reject.then_some(RejectReason::FirstAs),
            path: [
                None,
                Some(PathState::Unknown),
                Some(PathState::Invalid),
                Some(PathState::Valid),
            ][path],
            blackhole,
            ..AttrVerdict::default()
        },
    )
}

fn together<K: DataPrefix>(
    policy: &ImportPolicy,
    data: &OutsideData,
    routes: &[(K, AttrVerdict)],
) -> Vec<RouteVerdict> {
    let evaluation = policy.under(data);
    let mut attributes: Vec<AttrVerdict> = routes.iter().map(|route| route.1).collect();
    evaluation.find_origins(&mut attributes);
    let prefixes: Vec<K> = routes.iter().map(|route| route.0).collect();
    let places = prefixes.chunks(LANES).flat_map(|prefixes| {
        let places = evaluation.locate_all(prefixes);
        (0..prefixes.len()).map(move |lane| places.of(lane))
    });
    let routes = prefixes.iter().zip(&attributes).zip(places);
    let conclude = |((prefix, attributes), places): ((&K, &AttrVerdict), _)| {
        let other = evaluation.conclude((*prefix).into(), places, attributes, attributes.reject);
        other.unwrap_or(RouteVerdict::PLAIN)
    };
    routes.map(conclude).collect()
}

fn one_by_one<K: DataPrefix>(
    policy: &ImportPolicy,
    data: &OutsideData,
    routes: &[(K, AttrVerdict)],
) -> Vec<RouteVerdict> {
    let conclude = |(prefix, attributes): &(K, AttrVerdict)| {
        policy.conclude(data, (*prefix).into(), attributes, attributes.reject)
    };
    routes.iter().map(conclude).collect()
}

proptest! {
    #[test]
    fn routes_side_by_side_have_the_verdicts_of_single_ones(
        rows in rows(),
        rules in proptest::option::weighted(0.9, rules()),
        settings in settings(),
        ipv4 in vec((ipv4(), attributes()), 0..100),
        ipv6 in vec((ipv6(), attributes()), 0..100),
    ) {
        let (data, policy) = (data(&rows, rules), ImportPolicy::new(settings));
        prop_assert_eq!(together(&policy, &data, &ipv4), one_by_one(&policy, &data, &ipv4));
        prop_assert_eq!(together(&policy, &data, &ipv6), one_by_one(&policy, &data, &ipv6));
    }

    /// A policy with a mark finds out all facts of a route; one without marks takes the shortest way.
    #[test]
    fn the_shortest_way_leads_to_the_same_verdict(
        rows in rows(),
        rules in proptest::option::weighted(0.9, rules()),
        settings in settings(),
        ipv4 in vec((ipv4(), attributes()), 0..100),
        ipv6 in vec((ipv6(), attributes()), 0..100),
    ) {
        let data = data(&rows, rules);
        let marked = ImportPolicy::new(ImportSettings {
            custom_marks: CustomMarks::of(0),
            ..settings.clone()
        });
        let policy = ImportPolicy::new(settings);
        let unmarked = |verdict: RouteVerdict| match verdict {
            RouteVerdict::Accepted { class, least_preferred } => RouteVerdict::Accepted {
                class: Class { custom: CustomMarks::NONE, ..class },
                least_preferred,
            },
            rejected => rejected,
        };
        let in_full = |verdicts: Vec<RouteVerdict>| -> Vec<RouteVerdict> {
            verdicts.into_iter().map(unmarked).collect()
        };
        prop_assert_eq!(together(&policy, &data, &ipv4), in_full(together(&marked, &data, &ipv4)));
        prop_assert_eq!(together(&policy, &data, &ipv6), in_full(together(&marked, &data, &ipv6)));
    }
}
