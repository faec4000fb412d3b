//! The decision process of RFC 4271 §9.1.2.2, as far as clients of a route server can observe it.

use std::cmp::Ordering;

use rutter_net::Asn;

use crate::workload::{Peer, Route};

/// Compares two routes without MED, by path length, ORIGIN, BGP Identifier and peer address. Lower is better.
pub fn compare(a: &Route, b: &Route, peers: &[Peer]) -> Ordering {
    before_med(a, b).then_with(|| after_med(a, b, peers))
}

fn before_med(a: &Route, b: &Route) -> Ordering {
    (a.path_len, a.origin).cmp(&(b.path_len, b.origin))
}

fn after_med(a: &Route, b: &Route, peers: &[Peer]) -> Ordering {
    let key = |route: &Route| {
        let peer = &peers[route.peer as usize];
        (peer.router_id, peer.address)
    };
    key(a).cmp(&key(b))
}

/// The neighboring AS of a route.
pub fn neighbor_as(route: &Route, peers: &[Peer]) -> Asn {
    peers[route.peer as usize].asn
}

/// The best of all routes to one destination. MED counts only between routes of the same neighboring AS: a route loses
/// if another with the same AS, path length and ORIGIN has a lower MED (§9.1.2.2 c). The result does not depend on the
/// order.
pub fn best<'a>(
    routes: impl Iterator<Item = &'a Route> + Clone,
    peers: &[Peer],
) -> Option<&'a Route> {
    let equal_up_to_med: Vec<&Route> = {
        let first = routes.clone().min_by(|a, b| before_med(a, b))?;
        routes
            .filter(|route| before_med(route, first).is_eq())
            .collect()
    };
    equal_up_to_med
        .iter()
        .filter(|route| {
            !equal_up_to_med.iter().any(|other| {
                neighbor_as(other, peers) == neighbor_as(route, peers) && other.med < route.med
            })
        })
        .min_by(|a, b| after_med(a, b, peers))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Origin, Settings, Shape, Workload};

    fn route(peer: u32, path_len: u8, origin: Origin, med: u32) -> Route {
        Route {
            group: 0,
            peer,
            fingerprint: 0,
            path_len,
            origin,
            med,
            withheld: false,
            rejected: [false; 2],
        }
    }

    #[test]
    fn steps_in_order_and_med_only_within_an_as() {
        let settings = Settings {
            peers_per_asn: 2,
            ..Settings::default()
        };
        let peers = Workload::generate(Shape::unique(4, 1), None, settings).peers;
        let of = |routes: &[Route]| best(routes.iter(), &peers).unwrap().peer;
        assert_eq!(
            of(&[
                route(0, 3, Origin::Igp, 0),
                route(2, 2, Origin::Incomplete, 9)
            ]),
            2
        );
        assert_eq!(
            of(&[
                route(0, 2, Origin::Incomplete, 0),
                route(2, 2, Origin::Igp, 9)
            ]),
            2
        );
        assert_eq!(
            of(&[route(0, 2, Origin::Igp, 5), route(1, 2, Origin::Igp, 1)]),
            1
        );
        let lowest = if peers[0].router_id < peers[2].router_id {
            0
        } else {
            2
        };
        assert_eq!(
            of(&[route(0, 2, Origin::Igp, 5), route(2, 2, Origin::Igp, 1)]),
            lowest
        );
    }
}
