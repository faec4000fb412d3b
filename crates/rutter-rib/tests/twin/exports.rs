//! The routes that a client is sent, as readers are shown them, against the routes that it holds and against `explain`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::ControlFlow;

use rutter_net::{Family, Prefix};
use rutter_rib::{
    DestinationPlace, ExportCount, ExportCounts, ExportedDestination, PeerId, RouteView, SentRoute,
    Withheld,
};

use crate::world::World;

/// Compares all peers. Every other destination is visited after a break, as by a reader that comes back.
pub fn check(world: &World) {
    let mut held = BTreeMap::new();
    let mut explained = Vec::new();
    for family in Family::ALL {
        visit(world, family, |destination| {
            let explanation = world.rib.explain(destination.prefix).unwrap();
            for peer in (0..world.clients.len() as u16).map(PeerId) {
                let verdict = explanation.clients.iter().find(|one| one.peer == peer);
                let (mut sent, mut withheld) = (Vec::new(), Vec::new());
                for route in destination.to(peer) {
                    let of_peer = |one: &rutter_rib::Candidate| {
                        (one.peer, one.path_id) == (route.route.peer, route.route.path_id)
                    };
                    let rank = explanation.candidates.iter().position(of_peer).unwrap();
                    assert_eq!(route.best, rank == 0);
                    match (route.withheld, route.sent()) {
                        (Some(why), None) => withheld.push((rank, why)),
                        (None, Some(as_sent)) => {
                            let path_id = as_sent.path_id.unwrap_or(0);
                            let key = (peer, destination.prefix, path_id);
                            assert_eq!(held.insert(key, block(&as_sent)), None);
                            sent.push(rank);
                        }
                        mixed => panic!("{mixed:?}"),
                    }
                }
                let expected = verdict.map(|one| (one.receives.clone(), one.skipped.clone()));
                let expected = expected.unwrap_or_default();
                explained.push((destination.prefix, peer));
                assert_eq!(
                    (sent, withheld),
                    expected,
                    "{peer:?} {}",
                    destination.prefix
                );
            }
        });
    }
    let mut really = BTreeMap::new();
    for (client, peer) in world.clients.iter().zip(0..) {
        for ((prefix, path), block) in client.iter().flat_map(|client| &client.held) {
            really.insert((PeerId(peer), *prefix, *path), block.clone());
        }
    }
    assert_eq!(held, really, "shown and held");
    assert_eq!(of_each_prefix(world, &explained), held, "one by one");
    let visited = explained.len();
    explained.sort();
    explained.dedup();
    assert_eq!(visited, explained.len(), "each destination once");
}

/// Compares the counts of many clients in one walk with the lists of each of them: of all, and of the routes that meet a
/// condition. The first clients alone are counted in two parts, as by a reader that comes back.
pub fn check_counts(world: &World) {
    let all: Vec<PeerId> = (0..world.clients.len() as u16).map(PeerId).collect();
    let condition = |route: &RouteView<'_>, best: bool| best || route.peer.0.is_multiple_of(2);
    for family in Family::ALL {
        let mut listed = BTreeMap::new();
        visit(world, family, |destination| {
            for peer in &all {
                let (every, some) = listed.entry(*peer).or_default();
                list(every, destination, *peer, |_, _| true);
                list(some, destination, *peer, condition);
            }
        });
        let listed = |peer: &PeerId| listed.get(peer).copied().unwrap_or_default();
        for clients in [&all[..], &all[..3]] {
            let mut every = ExportCounts::new(clients.iter().copied());
            let mut some = ExportCounts::new(clients.iter().copied());
            let mut next = Some(DestinationPlace::default());
            while let Some(place) = next {
                let rib = &world.rib;
                next = rib.count_exports(family, place, |_| true, None, &mut every);
                rib.count_exports(family, place, |_| true, Some(&condition), &mut some);
                if clients.len() < all.len() {
                    let so_far = clients.iter().map(|client| (*client, every.of(*client)));
                    every = ExportCounts::continued(so_far.collect::<Vec<_>>());
                }
            }
            for client in clients {
                let counted = (every.of(*client), some.of(*client));
                assert_eq!(counted, listed(client), "{client:?} {family}");
            }
        }
    }
}

/// Counts what a client is sent of a destination, and what not.
fn list(
    count: &mut ExportCount,
    destination: &ExportedDestination<'_>,
    client: PeerId,
    condition: impl Fn(&RouteView<'_>, bool) -> bool,
) {
    let before = count.routes;
    for route in destination.to(client) {
        match route.withheld {
            _ if !condition(&route.route, route.best) => {}
            None => count.routes += 1,
            Some(why) => {
                let place = Withheld::ALL.iter().position(|one| *one == why);
                count.withheld[place.unwrap()] += 1;
            }
        }
    }
    count.prefixes += u64::from(count.routes > before);
}

/// The same routes, destination by destination.
fn of_each_prefix(
    world: &World,
    explained: &[(Prefix, PeerId)],
) -> BTreeMap<(PeerId, Prefix, u32), Vec<u8>> {
    let mut held = BTreeMap::new();
    for (prefix, peer) in explained {
        let sent = world.rib.exports_of(*prefix, |destination| {
            let sent = destination.to(*peer).filter_map(|route| route.sent());
            sent.map(|sent| (sent.path_id.unwrap_or(0), block(&sent)))
                .collect()
        });
        let sent: Vec<(u32, Vec<u8>)> = sent.expect("a destination with accepted routes");
        held.extend(
            sent.into_iter()
                .map(|(path, block)| ((*peer, *prefix, path), block)),
        );
    }
    held
}

/// Visits all destinations with accepted routes.
fn visit(world: &World, family: Family, mut each: impl FnMut(&ExportedDestination<'_>)) {
    let mut next = Some(DestinationPlace::default());
    let mut returned_to = None;
    while let Some(place) = next {
        next = world.rib.visit_exports(
            family,
            place,
            |_| true,
            |destination| {
                if destination.place.slot % 2 == 1 && returned_to != Some(destination.place) {
                    returned_to = Some(destination.place);
                    return ControlFlow::Break(());
                }
                each(destination);
                ControlFlow::Continue(())
            },
        );
    }
}

/// The block as [`crate::world::Client`] keeps it.
fn block(route: &SentRoute) -> Vec<u8> {
    let mut block = route.block().to_vec();
    if let IpAddr::V6(next_hop) = route.next_hop {
        block.extend(next_hop.octets());
        let link_local = route.link_local_next_hop.iter();
        block.extend(link_local.flat_map(|address| address.octets()));
    }
    block
}

#[test]
fn reasons_have_names_of_their_own() {
    let mut names: Vec<&str> = Withheld::ALL.iter().map(|why| why.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Withheld::ALL.len());
}
