//! rustbgpd-rib, used as its own benchmarks use it.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use harness::{Contestant, contestant, prepared};
use rustbgpd_rib::adj_rib_in::AdjRibIn;
use rustbgpd_rib::adj_rib_out::AdjRibOut;
use rustbgpd_rib::best_path::best_path_cmp;
use rustbgpd_rib::loc_rib::LocRib;
use rustbgpd_rib::route::{Route, RouteOrigin};
use rustbgpd_wire::{
    AsPath, AsPathSegment, AspaValidation, Ipv4Prefix, Origin, PathAttribute, Prefix,
    RpkiValidation,
};

const NAME: &str = "rustbgpd-rib";

fn prefix(index: u32) -> Prefix {
    let address = Ipv4Addr::from_bits(0x0100_0000 + (index << 8));
    Prefix::V4(Ipv4Prefix::new(address, 24))
}

fn address(peer: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0xc000_0200 + peer)
}

fn route(index: u32, peer: u32) -> Route {
    let attributes = vec![
        PathAttribute::Origin(Origin::Igp),
        PathAttribute::AsPath(AsPath {
            segments: vec![AsPathSegment::AsSequence(vec![
                1_000 + peer,
                65_100,
                65_200,
            ])],
        }),
        PathAttribute::NextHop(address(peer)),
        PathAttribute::Med(50),
    ];
    Route {
        prefix: prefix(index),
        next_hop: IpAddr::V4(address(peer)),
        peer: IpAddr::V4(address(peer)),
        attributes: Arc::new(attributes),
        received_at: Instant::now(),
        origin_type: RouteOrigin::Ebgp,
        peer_router_id: address(peer),
        is_stale: false,
        is_llgr_stale: false,
        path_id: 0,
        validation_state: RpkiValidation::NotFound,
        aspa_state: AspaValidation::Unknown,
    }
}

fn routes(count: u32, peer: u32) -> Vec<Route> {
    (0..count).map(|index| route(index, peer)).collect()
}

fn adj_rib_in(peer: u32) -> AdjRibIn {
    AdjRibIn::new(IpAddr::V4(address(peer)))
}

fn insert_all(rib: &mut AdjRibIn, routes: &[Route]) {
    for route in routes {
        rib.insert(route.clone());
    }
}

/// A thousand comparisons. Kind 0: equal; 1: LOCAL_PREF differs; 2: of different peers.
pub fn comparison(kind: u32) -> Contestant {
    let with_local_pref = |peer, local_pref| {
        let mut route = route(0, peer);
        let attributes = Arc::make_mut(&mut route.attributes);
        attributes.push(PathAttribute::LocalPref(local_pref));
        route
    };
    let first = with_local_pref(1, 100);
    let second = match kind {
        0 => with_local_pref(1, 100),
        1 => with_local_pref(2, 200),
        _ => with_local_pref(2, 100),
    };
    contestant(NAME, move || {
        for _ in 0..1_000 {
            black_box(best_path_cmp(black_box(&first), black_box(&second)));
        }
    })
}

/// Routes of one peer into an empty Adj-RIB-In.
pub fn insert(count: u32) -> Contestant {
    let routes = routes(count, 1);
    prepared(
        NAME,
        || adj_rib_in(1),
        move |mut rib| {
            insert_all(&mut rib, &routes);
            rib
        },
    )
}

/// A thousand prefixes with one candidate less; then each receives one more and is decided.
pub fn candidate(number: u32) -> Contestant {
    let last = routes(1_000, number);
    prepared(
        NAME,
        move || {
            let mut ribs: Vec<AdjRibIn> = (1..=number).map(adj_rib_in).collect();
            let mut loc = LocRib::new();
            for peer in 1..number {
                insert_all(&mut ribs[peer as usize - 1], &routes(1_000, peer));
            }
            for index in 0..1_000 {
                let prefix = prefix(index);
                loc.recompute(prefix, ribs.iter().flat_map(|rib| rib.iter_prefix(&prefix)));
            }
            (ribs, loc)
        },
        move |(mut ribs, mut loc)| {
            for route in &last {
                ribs[number as usize - 1].insert(route.clone());
                let candidates = ribs.iter().flat_map(|rib| rib.iter_prefix(&route.prefix));
                loc.recompute(route.prefix, candidates);
            }
            (ribs, loc)
        },
    )
}

/// Two peers' Adj-RIB-In, the choice, and one Adj-RIB-Out.
pub fn pipeline(count: u32) -> Contestant {
    let (first, second) = (routes(count, 1), routes(count, 2));
    prepared(
        NAME,
        || {
            let out = AdjRibOut::new(IpAddr::V4(address(3)));
            (adj_rib_in(1), adj_rib_in(2), LocRib::new(), out)
        },
        move |(mut one, mut two, mut loc, mut out)| {
            insert_all(&mut one, &first);
            insert_all(&mut two, &second);
            for index in 0..count {
                let prefix = prefix(index);
                let candidates = one.iter_prefix(&prefix).chain(two.iter_prefix(&prefix));
                if loc.recompute(prefix, candidates)
                    && let Some(best) = loc.get(&prefix)
                {
                    out.insert(best.clone());
                }
            }
            (one, two, loc, out)
        },
    )
}

/// Some of the 10,000 prefixes of one peer get a second candidate, which then is withdrawn.
pub fn churn(count: u32) -> Contestant {
    let churning = routes(count, 2);
    let base = routes(10_000, 1);
    prepared(
        NAME,
        move || {
            let mut one = adj_rib_in(1);
            let mut loc = LocRib::new();
            insert_all(&mut one, &base);
            for index in 0..10_000 {
                let prefix = prefix(index);
                loc.recompute(prefix, one.iter_prefix(&prefix));
            }
            (one, adj_rib_in(2), loc)
        },
        move |(one, mut two, mut loc)| {
            insert_all(&mut two, &churning);
            for index in 0..count {
                let prefix = prefix(index);
                let candidates = one.iter_prefix(&prefix).chain(two.iter_prefix(&prefix));
                loc.recompute(prefix, candidates);
            }
            for index in 0..count {
                two.withdraw(&prefix(index), 0);
            }
            for index in 0..count {
                let prefix = prefix(index);
                loc.recompute(prefix, one.iter_prefix(&prefix));
            }
            (one, two, loc)
        },
    )
}

/// Two peers' Adj-RIB-In and the Loc-RIB.
pub fn both_peers(count: u32) -> (AdjRibIn, AdjRibIn, LocRib) {
    let (mut one, mut two, mut loc) = (adj_rib_in(1), adj_rib_in(2), LocRib::new());
    for index in 0..count {
        one.insert(route(index, 1));
        two.insert(route(index, 2));
    }
    for index in 0..count {
        let prefix = prefix(index);
        let candidates = one.iter_prefix(&prefix).chain(two.iter_prefix(&prefix));
        loc.recompute(prefix, candidates);
    }
    (one, two, loc)
}
