//! Look-ups against the slow twin: after any history, and while other threads announce and withdraw a table.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use rutter_lpm::Profile;
use rutter_net::{PerFamily, Prefix};
use rutter_rib::{Batch, Lookup, PeerId, Retain, Rib, RouteFilter};

use crate::PEERS;
use crate::model::Model;
use crate::threads::Random;
use crate::world::{Attrs, Client, World, address, announcement, asn, withdrawal};

/// The result of a look-up: the prefix and the peer of its route.
type Found = Option<(Prefix, u16)>;

/// The routes that a writer's peer announces at present.
type Held = Mutex<BTreeMap<Prefix, Attrs>>;

const QUIET_POINTS: u32 = 3;

/// Nested prefixes, so that the longest match depends on the present routes.
fn nested(index: u8) -> Prefix {
    let len = [8, 12, 16, 20, 24, 32][usize::from(index % 6)];
    let addr = [10, 16 * (index / 6 % 3), 0, index / 18 % 2];
    Prefix::from_addr(addr.into(), len).unwrap()
}

/// An address in each of them, and one outside.
fn addresses(prefixes: u8) -> Vec<IpAddr> {
    let inside = (0..prefixes).map(|index| nested(index).addr());
    inside.chain([IpAddr::from([192, 0, 2, 1])]).collect()
}

fn best(lookup: &mut Lookup<'_>, addr: IpAddr) -> Found {
    lookup.best(addr, |prefix, route| (prefix, route.peer.0))
}

/// The longest prefix that contains the address and has a route of a wanted peer, and the best of these routes.
fn expected(model: &Model, addr: IpAddr, wanted: impl Fn(u16) -> bool) -> Found {
    let mut prefixes: Vec<Prefix> = model.routes.keys().map(|(prefix, _)| *prefix).collect();
    prefixes.retain(|prefix| prefix.contains(addr));
    prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    prefixes.dedup();
    let chosen = |prefix: &Prefix| {
        let ordered = model.ordered(*prefix, None).into_iter();
        Some((
            *prefix,
            ordered.map(|(peer, _)| peer).find(|peer| wanted(*peer))?,
        ))
    };
    prefixes.iter().find_map(chosen)
}

/// Every look-up of every address must give the twin's answer.
pub fn check(rib: &Rib, model: &Model, addresses: impl IntoIterator<Item = IpAddr>) {
    let mut lookup = rib.lookup();
    for addr in addresses {
        let expected_best = expected(model, addr, |_| true);
        assert_eq!(best(&mut lookup, addr), expected_best, "{addr}");
        let host = Prefix::from_addr(addr, if addr.is_ipv4() { 32 } else { 128 });
        assert_eq!(
            host.and_then(|host| rib.longest_match(host)),
            expected_best.map(|(prefix, _)| prefix),
            "{addr}"
        );
        for peer in 0..PEERS {
            let of_peer = RouteFilter {
                peers: vec![PeerId(peer)],
                ..RouteFilter::default()
            };
            let by_next_hop = RouteFilter {
                next_hops: vec![address(peer).into()],
                ..RouteFilter::default()
            };
            let wanted = expected(model, addr, |of| of == peer);
            let see = |prefix, route: rutter_rib::RouteView<'_>| (prefix, route.peer.0);
            assert_eq!(
                lookup.best_of(addr, &of_peer, see),
                wanted,
                "{addr} of {peer}"
            );
            if addr.is_ipv4() {
                assert_eq!(
                    lookup.best_of(addr, &by_next_hop, see),
                    wanted,
                    "{addr} via {peer}"
                );
            }
        }
    }
}

/// One writer: announces and withdraws nested prefixes, and loses its session now and then. It stops at each quiet
/// point.
fn write(world: &World, peer: u16, quiet: &Barrier, held: &Held, seed: u64) {
    let rib = &world.rib;
    let mut random = Random(seed ^ u64::from(peer) << 32);
    let mut batch = Batch::new();
    let mut client = Client::up(rib, peer, false);
    for step in 0..QUIET_POINTS * 1_000 {
        let prefix = nested(random.below(36) as u8);
        match random.below(40) {
            0 => {
                rib.session_down(PeerId(peer), PerFamily::both(Retain::Nothing));
                held.lock().unwrap().clear();
                client = Client::up(rib, peer, false);
            }
            1..=19 => {
                batch.push(rib, PeerId(peer), &withdrawal(&[prefix]), 0);
                held.lock().unwrap().remove(&prefix);
            }
            _ => {
                let attrs = Attrs {
                    path: vec![asn(peer), 1 + random.below(3) as u32],
                    origin: random.below(2) as u8,
                    med: None,
                    communities: vec![],
                };
                let body = announcement(peer, &[prefix], &attrs);
                batch.push(rib, PeerId(peer), &body, 0);
                held.lock().unwrap().insert(prefix, attrs);
            }
        }
        rib.commit(&mut batch);
        rib.flush();
        client.drain(rib, 0);
        if step % 1_000 == 999 {
            quiet.wait();
            quiet.wait();
        }
    }
}

/// One reader: every prefix that it finds contains the address and is announced by some peer.
fn read(rib: &Rib, stop: &AtomicBool) -> u64 {
    let mut lookup = rib.lookup();
    let mut found = 0;
    while !stop.load(Ordering::Relaxed) {
        for addr in addresses(36) {
            if let Some((prefix, peer)) = best(&mut lookup, addr) {
                assert!(
                    prefix.contains(addr) && peer < PEERS,
                    "{addr}: {prefix} of {peer}"
                );
                found += 1;
            }
        }
    }
    found
}

/// Runs writers and readers, and at each quiet point the twin. Look-ups are enabled while all of them run.
fn threads_and_readers(seed: u64, enable: Option<Profile>) {
    let world = World::new(PEERS, 4, 1 << 20);
    let quiet = Barrier::new(usize::from(PEERS) + 1);
    let stop = AtomicBool::new(false);
    let held: Vec<Held> = (0..PEERS).map(|_| Held::default()).collect();
    std::thread::scope(|scope| {
        for (peer, held) in held.iter().enumerate() {
            let (world, quiet) = (&world, &quiet);
            scope.spawn(move || write(world, peer as u16, quiet, held, seed));
        }
        let start = |_| scope.spawn(|| read(&world.rib, &stop));
        let readers: Vec<_> = (0..2).map(start).collect();
        if let Some(profile) = enable {
            world.rib.enable_lookup(profile);
        }
        for _ in 0..QUIET_POINTS {
            quiet.wait();
            check(&world.rib, &twin(&held), addresses(36));
            quiet.wait();
        }
        stop.store(true, Ordering::Relaxed);
        let found = readers.into_iter().map(|reader| reader.join().unwrap());
        assert!(found.sum::<u64>() > 0, "the readers were at work");
    });
}

fn twin(held: &[Held]) -> Model {
    let mut model = Model::default();
    for (peer, held) in held.iter().enumerate() {
        for (prefix, attrs) in &*held.lock().unwrap() {
            model.announce(peer as u16, *prefix, attrs);
        }
    }
    model
}

#[test]
fn threads_and_readers_agree_with_the_twin_at_every_quiet_point() {
    threads_and_readers(1, Some(Profile::Compact));
    threads_and_readers(2, Some(Profile::Fast));
}

#[test]
fn threads_and_readers_agree_without_a_mirror() {
    threads_and_readers(3, None);
}

#[test]
fn stale_routes_are_found_and_known_as_such() {
    let mut world = World::new(2, 2, 1 << 20);
    world.rib.enable_lookup(Profile::Compact);
    world.up(0, false);
    let attrs = Attrs {
        path: vec![asn(0)],
        origin: 0,
        med: None,
        communities: vec![],
    };
    world.announce(0, &[nested(0)], &attrs);
    let mut lookup = world.rib.lookup();
    let addr = nested(0).addr();
    let mut stale = || lookup.best(addr, |_, route| route.stale);
    assert_eq!(stale(), Some(false));
    let family = rutter_net::Family::Ipv4Unicast;
    world.rib.mark_stale(PeerId(0), family);
    assert_eq!(stale(), Some(true));
    world.rib.sweep_stale(PeerId(0), family);
    assert_eq!(stale(), None);
}

#[test]
fn ipv4_addresses_in_ipv6_form_are_ipv4_addresses() {
    for profile in [None, Some(Profile::Compact)] {
        let mut world = World::new(2, 2, 1 << 20);
        if let Some(profile) = profile {
            world.rib.enable_lookup(profile);
        }
        world.up(0, false);
        let attrs = Attrs {
            path: vec![asn(0)],
            origin: 0,
            med: None,
            communities: vec![],
        };
        world.announce(0, &[nested(0)], &attrs);
        let mut lookup = world.rib.lookup();
        let addr = "::ffff:10.1.2.3".parse().unwrap();
        assert_eq!(best(&mut lookup, addr), Some((nested(0), 0)));
        let of_peer = RouteFilter {
            peers: vec![PeerId(0)],
            ..RouteFilter::default()
        };
        let see = |prefix, route: rutter_rib::RouteView<'_>| (prefix, route.peer.0);
        assert_eq!(lookup.best_of(addr, &of_peer, see), Some((nested(0), 0)));
    }
}
