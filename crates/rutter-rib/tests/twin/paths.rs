//! Many paths of one prefix (RFC 7911) against a naive list, and the limits on them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rutter_net::{Family, Ipv4Prefix, PerFamily, Prefix};
use rutter_policy::RejectReason;
use rutter_rib::{PeerId, Retain};
use rutter_wire::nlri;

use crate::model::best_of;
use crate::world::{Attrs, Client, World, asn, block, body};

/// Peers 0 and 1 send and take several paths; 2 takes several; 3 sends and takes one; 4 takes one.
const PEERS: u16 = 5;
const SENDERS: [u16; 3] = [0, 1, 3];
const PATHS: u32 = 40;
const PREFIXES: u8 = 2;

fn prefix(index: u8) -> Ipv4Prefix {
    Ipv4Prefix::new(u32::from_be_bytes([10, index, 0, 0]), 16).unwrap()
}

fn takes_paths(peer: u16) -> bool {
    peer < 3
}

fn sends_paths(peer: u16) -> bool {
    peer < 2
}

/// An announcement of paths of a prefix, or a withdrawal.
#[derive(Clone, Debug)]
struct Change {
    prefix: u8,
    paths: Vec<u32>,
    attrs: Option<Attrs>,
}

impl Change {
    fn attrs_of(&self, peer: u16) -> Option<Attrs> {
        let mut attrs = self.attrs.clone()?;
        attrs.path.insert(0, asn(peer));
        Some(attrs)
    }

    fn body(&self, peer: u16) -> Vec<u8> {
        let mut octets = Vec::new();
        for path in &self.paths {
            let path = sends_paths(peer).then_some(*path);
            nlri::write_ipv4(&mut octets, path, prefix(self.prefix));
        }
        match self.attrs_of(peer) {
            None => body(&octets, &[], &[]),
            Some(attrs) => body(&[], &block(peer, &attrs, Family::Ipv4Unicast), &octets),
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// UPDATEs that are read at once.
    Send(u16, Vec<Change>),
    /// Some of the routes that former commits left.
    CommitSome(u16, usize),
    Flap(u16),
    Read(u16, usize),
    Wait,
    Refresh(u16),
}

/// The AS of the sender is put before the path.
fn attrs() -> impl Strategy<Value = Attrs> {
    let tail = proptest::collection::vec(1u32..3, 0..2);
    (tail, proptest::option::of(0u32..3)).prop_map(|(path, med)| Attrs {
        path,
        origin: 0,
        med,
        communities: Vec::new(),
    })
}

fn change() -> impl Strategy<Value = Change> {
    let paths = proptest::collection::vec(0..PATHS, 1..30);
    let attrs = prop_oneof![3 => attrs().prop_map(Some), 1 => Just(None)];
    (0..PREFIXES, paths, attrs).prop_map(|(prefix, paths, attrs)| Change {
        prefix,
        paths,
        attrs,
    })
}

fn event() -> impl Strategy<Value = Event> {
    let changes = proptest::collection::vec(change(), 1..12);
    let sender = || proptest::sample::select(SENDERS.to_vec());
    prop_oneof![
        12 => (sender(), changes).prop_map(|(peer, changes)| Event::Send(peer, changes)),
        8 => (sender(), 1usize..20).prop_map(|(peer, n)| Event::CommitSome(peer, n)),
        1 => sender().prop_map(Event::Flap),
        4 => (0..PEERS, 1usize..2_000).prop_map(|(peer, n)| Event::Read(peer, n)),
        1 => Just(Event::Wait),
        1 => (0..PEERS).prop_map(Event::Refresh),
    ]
}

/// The latest attributes by prefix, peer and path identifier.
type Naive = BTreeMap<(u8, u16, u32), Attrs>;

fn up(world: &mut World, peer: u16) {
    let client = match sends_paths(peer) {
        true => Client::up_with_paths(&world.rib, peer),
        false => Client::up(&world.rib, peer, takes_paths(peer)),
    };
    world.clients[usize::from(peer)] = Some(client);
}

fn send(world: &mut World, naive: &mut Naive, peer: u16, changes: &[Change]) {
    let bodies: Vec<Vec<u8>> = changes.iter().map(|change| change.body(peer)).collect();
    world.send_at_once(peer, &bodies);
    for change in changes {
        for path in &change.paths {
            let path = if sends_paths(peer) { *path } else { 0 };
            let key = (change.prefix, peer, path);
            match change.attrs_of(peer) {
                Some(attrs) => naive.insert(key, attrs),
                None => naive.remove(&key),
            };
        }
    }
}

fn expected(naive: &Naive, client: u16) -> BTreeMap<(Prefix, u32), Vec<u8>> {
    let mut all = BTreeMap::new();
    for index in 0..PREFIXES {
        let visible: Vec<_> = naive
            .iter()
            .filter(|((of, peer, _), _)| *of == index && *peer != client)
            .map(|((_, peer, path), attrs)| (*peer, *path, attrs))
            .collect();
        let key = |path| (Prefix::from(prefix(index)), path);
        let bytes = |peer, attrs| block(peer, attrs, Family::Ipv4Unicast);
        if takes_paths(client) {
            for (peer, path, attrs) in visible {
                let sent = (u32::from(peer) + 1) << 16 | path;
                all.insert(key(sent), bytes(peer, attrs));
            }
        } else if !visible.is_empty() {
            let routes: Vec<(u16, &Attrs)> = visible.iter().map(|(p, _, a)| (*p, *a)).collect();
            let (peer, attrs) = routes[best_of(&routes)];
            all.insert(key(0), bytes(peer, attrs));
        }
    }
    all
}

fn run(events: &[Event], shards: usize, log_limit: usize, max_steps: Option<usize>) {
    let mut world = World::new(PEERS, shards, log_limit);
    world.max_steps = max_steps;
    let mut naive = Naive::new();
    (0..PEERS).for_each(|peer| up(&mut world, peer));
    for event in events {
        match event {
            Event::Send(peer, changes) => send(&mut world, &mut naive, *peer, changes),
            Event::CommitSome(peer, max_steps) => world.commit_some(*peer, *max_steps),
            Event::Flap(peer) => {
                world.down(*peer, Retain::Nothing);
                naive.retain(|(_, of, _), _| of != peer);
                up(&mut world, *peer);
            }
            Event::Read(peer, bytes) => world.read(*peer, *bytes),
            Event::Wait => world.wait(),
            Event::Refresh(peer) => world.refresh(*peer, Family::Ipv4Unicast),
        }
    }
    world.settle();
    for peer in 0..PEERS {
        let client = world.clients[usize::from(peer)].as_ref().unwrap();
        client.must_hold(&expected(&naive, peer));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn clients_hold_the_latest_paths(
        events in proptest::collection::vec(event(), 1..30),
        shards in 1usize..3,
        log_limit in proptest::sample::select(vec![300, 1 << 20]),
        max_steps in proptest::option::of(1usize..20),
    ) {
        run(&events, shards, log_limit, max_steps);
    }
}

fn some_attrs(med: u32) -> Attrs {
    Attrs {
        path: Vec::new(),
        origin: 0,
        med: Some(med),
        communities: Vec::new(),
    }
}

fn announce(world: &mut World, peer: u16, paths: std::ops::Range<u32>, med: u32) {
    let paths: Vec<u32> = paths.collect();
    let change = |paths: &[u32]| Change {
        prefix: 0,
        paths: paths.to_vec(),
        attrs: Some(some_attrs(med)),
    };
    let bodies: Vec<Vec<u8>> = paths
        .chunks(400)
        .map(|some| change(some).body(peer))
        .collect();
    world.send_at_once(peer, &bodies);
}

#[test]
fn a_neighbor_has_a_bounded_number_of_paths_of_a_prefix() {
    let mut world = World::new(PEERS, 2, 1 << 20);
    (0..PEERS).for_each(|peer| up(&mut world, peer));
    // At once, in many turns, and one by one.
    announce(&mut world, 0, 0..30_000, 0);
    for first in (30_000..40_000).step_by(1_000) {
        announce(&mut world, 0, first..first + 1_000, 0);
    }
    (40_000..40_100).for_each(|path| announce(&mut world, 0, path..path + 1, 0));
    announce(&mut world, 1, 0..10, 0);
    let counts = |world: &World, peer| world.rib.counts(PeerId(peer))[Family::Ipv4Unicast];
    assert_eq!(counts(&world, 0).received, 1_024);
    assert_eq!(counts(&world, 0).accepted, 256);
    assert_eq!(world.rib.intake(PeerId(0)).not_kept.paths, 40_100 - 1_024);
    assert_eq!(counts(&world, 1).accepted, 10);
    assert_eq!(world.rib.intake(PeerId(1)).not_kept.paths, 0);
    let rejected = world.rib.destination(prefix(0).into(), |view| {
        let of_paths =
            |route: &&rutter_rib::RouteView<'_>| route.reject == Some(RejectReason::Paths);
        view.routes.iter().filter(of_paths).count()
    });
    assert_eq!(rejected, Some(1_024 - 256));
    // Kept paths can change and go; then there is room again.
    announce(&mut world, 0, 0..1_024, 7);
    assert_eq!(counts(&world, 0).accepted, 256);
    let gone = Change {
        prefix: 0,
        paths: (0..500).collect(),
        attrs: None,
    };
    world.send_at_once(0, &[gone.body(0)]);
    assert_eq!(counts(&world, 0).received, 524);
    announce(&mut world, 0, 50_000..50_010, 0);
    assert_eq!(counts(&world, 0).received, 534);
    world.settle();
    assert_eq!(
        world.clients[2].as_ref().unwrap().held.len(),
        counts(&world, 0).accepted as usize + 10
    );
    world.down(0, Retain::Nothing);
    world.settle();
    assert_eq!(counts(&world, 0).received, 0);
    assert_eq!(world.clients[2].as_ref().unwrap().held.len(), 10);
}

/// Changes that are read at once cost the clients one change each.
#[test]
fn paths_that_flap_within_a_turn_are_sent_once() {
    let mut world = World::new(PEERS, 1, 1 << 20);
    (0..PEERS).for_each(|peer| up(&mut world, peer));
    announce(&mut world, 0, 0..200, 0);
    world.settle();
    let messages = |world: &World, peer: usize| world.clients[peer].as_ref().unwrap().messages;
    let before = [messages(&world, 2), messages(&world, 4)];
    let flap = |round: u32| {
        let change = move |path| Change {
            prefix: 0,
            paths: vec![path],
            attrs: Some(some_attrs(round)),
        };
        (0..200).map(move |path| change(path).body(0))
    };
    let bodies: Vec<Vec<u8>> = (1..20).flat_map(flap).collect();
    world.send_at_once(0, &bodies);
    world.settle();
    assert_eq!(messages(&world, 2) - before[0], 1);
    assert_eq!(messages(&world, 4) - before[1], 1);
    assert_eq!(
        world.rib.counts(PeerId(0)),
        PerFamily::from_fn(|family| {
            let all = if family == Family::Ipv4Unicast {
                200
            } else {
                0
            };
            rutter_rib::RouteCounts {
                received: all,
                accepted: all,
            }
        })
    );
}
