//! The table against a naive twin. After any history every client must hold exactly the expected routes, for any
//! number of shards, although clients read slowly, leave, come back and ask for refreshes.

mod exports;
mod filters;
mod handover;
mod lookup;
mod model;
mod paths;
mod threads;
mod world;

use proptest::prelude::*;
use rutter_lpm::Profile;
use rutter_net::{Family, Prefix};
use rutter_rib::{PeerId, Retain};

use filters::{Rule, rules};
use handover::HandOver;
use model::Model;
use world::{Actions, Attrs, LOCAL, World, asn};

const PEERS: u16 = 6;
const PREFIXES: u8 = 12;

#[derive(Clone, Debug)]
enum Event {
    Up(u16),
    Down(u16),
    Restart(u16),
    EndOfRib(u16),
    Announce(u16, Vec<u8>, Attrs),
    Withdraw(u16, Vec<u8>),
    /// Some of the routes that former commits left.
    CommitSome(u16, usize),
    Read(u16, usize),
    Wait,
    Refresh(u16, Family),
    SetActions(Actions),
    /// Longer paths are rejected from these peers.
    LimitPaths(Vec<u16>, u16),
    /// The VRPs: indices of prefixes with an origin.
    SetVrps(Vec<(u8, u32)>),
    /// Round-trip times of these peers, in milliseconds.
    SetRtts(Vec<(u16, u32)>),
    /// The ASPAs: pairs of customer and provider.
    SetAspas(Vec<(u32, u32)>),
    /// The import filters of these peers.
    SetFilters(Vec<u16>, Vec<Rule>),
    /// The export filters of a client, while its session goes on.
    SetExportFilters(u16, Vec<Rule>),
    /// The limit on paths of a client, and whether it receives routes at all, while its session goes on.
    Restyle(u16, Option<u16>, bool),
    SendStage,
    HandOver(HandOver),
    Settle,
}

const ACTIONS: [Actions; 3] = [Actions::Sent, Actions::Scrubbed, Actions::Unknown];

fn prefix(index: u8) -> Prefix {
    match index % 3 {
        0 => format!("2001:db8:{index:x}::/48").parse().unwrap(),
        _ => format!("10.{index}.0.0/16").parse().unwrap(),
    }
}

fn attrs(peer: u16) -> impl Strategy<Value = Attrs> {
    let community = prop_oneof![
        4 => Just(65_000 << 16 | 1),
        1 => (0..PEERS).prop_map(asn),
        1 => Just(LOCAL),
        1 => (0..PEERS).prop_map(|peer| LOCAL << 16 | asn(peer)),
        2 => (64u32..68, proptest::sample::select(vec![10u32, 20, 30]))
            .prop_map(|(high, ms)| high << 16 | ms),
    ];
    let tail = proptest::collection::vec(1u32..4, 0..3);
    let communities = proptest::collection::btree_set(community, 0..3);
    let med = proptest::option::of(0u32..3);
    (tail, 0u8..2, med, communities).prop_map(move |(tail, origin, med, communities)| Attrs {
        path: std::iter::once(asn(peer)).chain(tail).collect(),
        origin,
        med,
        communities: communities.into_iter().collect(),
    })
}

/// The last AS of the paths in these tests.
fn origin() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![(0..PEERS).prop_map(asn), 1u32..4]
}

/// A peer and its round-trip time, on and around the thresholds.
fn rtt() -> impl Strategy<Value = (u16, u32)> {
    (
        0..PEERS,
        proptest::sample::select(vec![5u32, 10, 11, 20, 25]),
    )
}

fn event() -> impl Strategy<Value = Event> {
    let peer = 0..PEERS;
    let prefixes = || proptest::collection::vec(0..PREFIXES, 1..8);
    let announce = peer.clone().prop_flat_map(move |peer| {
        (prefixes(), attrs(peer)).prop_map(move |(p, a)| Event::Announce(peer, p, a))
    });
    let several = proptest::sample::subsequence((0..PEERS).collect::<Vec<_>>(), 1..=6);
    prop_oneof![
        3 => peer.clone().prop_map(Event::Up),
        1 => peer.clone().prop_map(Event::Down),
        1 => peer.clone().prop_map(Event::Restart),
        1 => peer.clone().prop_map(Event::EndOfRib),
        12 => announce,
        4 => (peer.clone(), prefixes()).prop_map(|(peer, p)| Event::Withdraw(peer, p)),
        4 => (peer.clone(), 1usize..3).prop_map(|(peer, n)| Event::CommitSome(peer, n)),
        4 => (peer.clone(), 1usize..300).prop_map(|(peer, n)| Event::Read(peer, n)),
        1 => Just(Event::Wait),
        3 => (several.clone(), rules(prefix, origin(), PREFIXES))
            .prop_map(|(peers, rules)| Event::SetFilters(peers, rules)),
        3 => (peer.clone(), rules(prefix, origin(), PREFIXES))
            .prop_map(|(peer, rules)| Event::SetExportFilters(peer, rules)),
        1 => (peer, any::<bool>()).prop_map(|(peer, v4)| {
            Event::Refresh(peer, Family::ALL[usize::from(v4)])
        }),
        1 => proptest::sample::select(ACTIONS.to_vec()).prop_map(Event::SetActions),
        2 => (several, 1u16..5).prop_map(|(peers, longest)| Event::LimitPaths(peers, longest)),
        2 => proptest::collection::vec((0..PREFIXES, origin()), 0..6).prop_map(Event::SetVrps),
        2 => proptest::collection::vec(rtt(), 1..4).prop_map(Event::SetRtts),
        2 => proptest::collection::vec((1u32..4, origin()), 0..6).prop_map(Event::SetAspas),
        3 => (0..PEERS, proptest::option::of(0u16..4), proptest::bool::weighted(0.7))
            .prop_map(|(peer, limit, export)| Event::Restyle(peer, limit, export)),
        4 => Just(Event::SendStage),
        3 => (proptest::sample::select(vec![1usize, 2, 4]), any::<bool>(), any::<bool>())
            .prop_map(|(shards, has_mirror, fails)| {
                Event::HandOver(HandOver { shards, has_mirror, fails })
            }),
        1 => Just(Event::Settle),
    ]
}

/// Peers with these numbers take Add-Path, where any peer does.
fn add_path(peer: u16) -> bool {
    peer % 3 == 2
}

fn run(events: &[Event], shards: usize, log_limit: usize, mirror: bool) {
    run_in(World::new(PEERS, shards, log_limit), events, mirror);
}

fn run_in(mut world: World, events: &[Event], mirror: bool) {
    if mirror {
        world.rib.enable_lookup(Profile::Compact);
    }
    let mut model = Model::default();
    for event in events {
        step(&mut world, &mut model, event);
    }
    check(&mut world, &model);
}

fn step(world: &mut World, model: &mut Model, event: &Event) {
    let is_up = |world: &World, peer: u16| world.clients[usize::from(peer)].is_some();
    match event {
        Event::Up(peer) if !is_up(world, *peer) => {
            world.up(*peer, world.has_add_path && add_path(*peer))
        }
        Event::Down(peer) if is_up(world, *peer) => {
            restyle(world, model, *peer, None, true);
            world.down(*peer, Retain::Nothing);
            model.drop_all(*peer);
        }
        Event::Restart(peer) if is_up(world, *peer) => {
            restyle(world, model, *peer, None, true);
            world.down(*peer, Retain::Stale);
            model.make_stale(*peer);
        }
        Event::EndOfRib(peer) => {
            world.commit_rest(*peer);
            for family in Family::ALL {
                world.rib.sweep_stale(PeerId(*peer), family);
            }
            world.rib.flush();
            model.sweep(*peer);
        }
        Event::Announce(peer, prefixes, attrs) if is_up(world, *peer) => {
            let of = |ipv6: bool| -> Vec<Prefix> {
                let all = prefixes.iter().map(|index| prefix(*index));
                all.filter(|p| matches!(p, Prefix::V6(_)) == ipv6).collect()
            };
            for prefixes in [of(false), of(true)] {
                if !prefixes.is_empty() {
                    world.announce(*peer, &prefixes, attrs);
                }
            }
            prefixes
                .iter()
                .for_each(|p| model.announce(*peer, prefix(*p), attrs));
        }
        Event::Withdraw(peer, prefixes) if is_up(world, *peer) => {
            let prefixes: Vec<Prefix> = prefixes.iter().map(|p| prefix(*p)).collect();
            world.withdraw(*peer, &prefixes);
            prefixes.iter().for_each(|p| model.withdraw(*peer, *p));
        }
        Event::CommitSome(peer, max_steps) => world.commit_some(*peer, *max_steps),
        Event::Read(peer, octets) => world.read(*peer, *octets),
        Event::Wait => world.wait(),
        Event::Refresh(peer, family) => world.refresh(*peer, *family),
        Event::SetActions(actions) => {
            // The daemon refuses to hand over under another configuration.
            world.transfer = None;
            world.set_actions(*actions);
            model.actions = *actions;
        }
        Event::LimitPaths(peers, longest) => {
            world.limit_paths(peers, *longest);
            let all = peers.iter().map(|peer| (*peer, *longest));
            model.longest_paths.extend(all);
        }
        Event::SetFilters(peers, rules) => {
            world.set_filters(peers, rules);
            let all = peers.iter().map(|peer| (*peer, rules.clone()));
            model.filters.extend(all);
        }
        Event::SetExportFilters(peer, rules) => {
            world.set_export_filters(*peer, rules);
            model.export_filters.insert(*peer, rules.clone());
        }
        Event::SetVrps(vrps) => {
            let of = |(index, asn): &(u8, u32)| (prefix(*index), *asn);
            let vrps: Vec<(Prefix, u32)> = vrps.iter().map(of).collect();
            world.set_vrps(&vrps);
            model.vrps = Some(vrps);
        }
        Event::SetRtts(rtts) => {
            // The last of two times for one peer counts.
            let rtts: std::collections::BTreeMap<u16, u32> = rtts.iter().copied().collect();
            let rtts: Vec<(u16, u32)> = rtts.into_iter().collect();
            world.set_rtts(&rtts);
            model.rtts.extend(rtts);
        }
        Event::SetAspas(aspas) => {
            world.set_aspas(aspas);
            model.aspas = Some(aspas.clone());
        }
        Event::Restyle(peer, limit, export) => {
            restyle(world, model, *peer, *limit, *export || !is_up(world, *peer));
        }
        Event::SendStage => world.send_stage(),
        Event::HandOver(how) => world.hand_over(*how, model.actions),
        Event::Settle => check(world, model),
        _ => {}
    }
}

fn restyle(world: &mut World, model: &mut Model, peer: u16, limit: Option<u16>, export: bool) {
    world.restyle(peer, limit, export);
    match limit {
        Some(limit) => model.path_limits.insert(peer, limit),
        None => model.path_limits.remove(&peer),
    };
    match export {
        true => model.without_export.remove(&peer),
        false => model.without_export.insert(peer),
    };
}

/// All clients read to the end; then each must hold the twin's routes.
fn check(world: &mut World, model: &Model) {
    world.settle();
    for (peer, client) in world.clients.iter().enumerate() {
        let Some(client) = client else { continue };
        let expected = model.expected(peer as u16, world.has_add_path && add_path(peer as u16));
        client.must_hold(&expected);
        assert!(client.end_of_rib >= 2, "End-of-RIB for both families");
    }
    check_counts(world);
    exports::check(world);
    exports::check_counts(world);
    check_snapshot(world, model);
    let addresses = (0..PREFIXES).map(|index| prefix(index).addr());
    lookup::check(&world.rib, model, addresses);
}

/// The counts of advertised prefixes are those of the prefixes that the clients hold.
fn check_counts(world: &World) {
    let peers: Vec<PeerId> = (0..PEERS).map(PeerId).collect();
    for family in Family::ALL {
        let counts = world.rib.advertised_prefixes(family, &peers);
        let held = |peer: &PeerId| {
            let client = world.clients[peer.index()].as_ref();
            let held = client.map_or_else(Default::default, |client| client.held.clone());
            let mut prefixes: Vec<Prefix> = held.into_keys().map(|(prefix, _)| prefix).collect();
            prefixes.retain(|prefix| prefix.family() == family);
            prefixes.dedup();
            prefixes.len() as u32
        };
        let held: Vec<u32> = peers.iter().map(held).collect();
        assert_eq!(counts, held);
        assert!(
            held.iter()
                .all(|held| *held <= world.rib.most_prefixes(family))
        );
    }
}

fn check_snapshot(world: &World, model: &Model) {
    let snapshot = world.rib.snapshot();
    let mut seen: Vec<(Prefix, u16, bool)> = Vec::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            let routes = destination.routes.iter();
            seen.extend(routes.map(|r| (destination.prefix, r.peer.0, r.stale)));
        }
    }
    seen.sort();
    let is_stale = |key: &(Prefix, u16)| model.stale.contains(key);
    let expected: Vec<(Prefix, u16, bool)> = model
        .routes
        .keys()
        .map(|key| (key.0, key.1, is_stale(key)))
        .collect();
    assert_eq!(seen, expected);
    let held: u32 = (0..PEERS)
        .flat_map(|peer| world.rib.counts(PeerId(peer)))
        .map(|counts| counts.received)
        .sum();
    assert_eq!(held as usize, expected.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_client_holds_the_routes_that_it_should(
        events in proptest::collection::vec(event(), 1..80),
        shards in prop_oneof![Just(1usize), Just(4)],
        log_limit in prop_oneof![Just(200usize), Just(1 << 20)],
        mirror in any::<bool>(),
    ) {
        run(&events, shards, log_limit, mirror);
    }

    /// UPDATEs come into the table in parts, between which anything else happens.
    #[test]
    fn every_client_holds_the_routes_that_it_should_after_commits_in_parts(
        events in proptest::collection::vec(event(), 1..80),
        shards in prop_oneof![Just(1usize), Just(2)],
        log_limit in prop_oneof![Just(200usize), Just(1 << 20)],
        has_add_path in any::<bool>(),
    ) {
        let mut world = World::new(PEERS, shards, log_limit);
        world.has_add_path = has_add_path;
        world.max_steps = Some(1);
        run_in(world, &events, false);
    }

    /// Without Add-Path, as in most exchanges, changes take the fast path: see `advertise/fast_path.rs`.
    #[test]
    fn every_client_holds_the_routes_that_it_should_without_add_path(
        events in proptest::collection::vec(event(), 1..80),
        mirror in any::<bool>(),
    ) {
        let mut world = World::new(PEERS, 2, 1 << 20);
        world.has_add_path = false;
        run_in(world, &events, mirror);
    }
}

/// The last client stops reading in the middle of a message of the log, as a full socket does. It may have asked for
/// a refresh before.
fn stops_inside_a_message(refreshes: bool) {
    let mut world = World::new(PEERS, 2, 2_000);
    let mut model = Model::default();
    for peer in 0..PEERS {
        world.up(peer, add_path(peer));
    }
    world.settle();
    let slow = PEERS - 1;
    for round in 0..200u32 {
        for index in 0..PREFIXES {
            let attrs = Attrs {
                path: vec![asn(0), 1 + round % 3],
                origin: 0,
                med: Some(round),
                communities: vec![],
            };
            world.announce(0, &[prefix(index)], &attrs);
            model.announce(0, prefix(index), &attrs);
        }
        if round == 0 {
            if refreshes {
                world.refresh(slow, Family::Ipv4Unicast);
            }
            world.read(slow, 30);
        }
        (0..slow).for_each(|peer| world.drain(peer));
        world.wait();
        world.wait();
        assert!(!world.rib.congested(), "round {round}");
    }
    check(&mut world, &model);
}

#[test]
fn a_client_that_stops_inside_a_message_does_not_hold_the_log() {
    stops_inside_a_message(false);
}

#[test]
fn a_client_that_stops_after_a_refresh_does_not_hold_the_log() {
    stops_inside_a_message(true);
}

#[test]
fn a_client_that_reads_nothing_leaves_the_log_and_is_exact_afterwards() {
    let mut world = World::new(PEERS, 2, 2_000);
    let mut model = Model::default();
    for peer in 0..PEERS {
        world.up(peer, add_path(peer));
    }
    world.settle();
    for round in 0..200u32 {
        for index in 0..PREFIXES {
            let attrs = Attrs {
                path: vec![asn(0), 1 + round % 3],
                origin: 0,
                med: Some(round),
                communities: vec![],
            };
            world.announce(0, &[prefix(index)], &attrs);
            model.announce(0, prefix(index), &attrs);
        }
        (0..PEERS - 1).for_each(|peer| world.drain(peer));
        world.wait();
    }
    assert!(world.rib.demotions() > 0);
    let log = world
        .rib
        .memory()
        .into_iter()
        .find(|row| row.what == "outbound logs");
    assert!(log.unwrap().bytes < 8_000, "the log is bounded: {log:?}");
    check(&mut world, &model);
    let messages = |peer: usize| world.clients[peer].as_ref().unwrap().messages;
    assert!(messages(usize::from(PEERS) - 1) * 4 < messages(1));
}

/// The log that a client left unread may be long. It is not turned into marks in one go: others wait.
/// The limit of a log that takes many slices to discard, in bytes.
const LONG_LOG: usize = 2 << 20;

/// 5,000 prefixes of member 0.
fn many_prefixes() -> Vec<Prefix> {
    (0..5_000u32)
        .map(|number| format!("10.{}.{}.0/24", number / 256, number % 256))
        .map(|text| text.parse().unwrap())
        .collect()
}

/// Other attributes in each round.
fn attrs_of_round(round: u32) -> Attrs {
    Attrs {
        path: vec![asn(0), 1 + round],
        origin: 0,
        med: None,
        communities: vec![],
    }
}

#[test]
fn a_long_log_is_discarded_in_slices() {
    let mut world = World::new(3, 1, LONG_LOG);
    (0..3).for_each(|peer| world.up(peer, false));
    world.settle();
    let prefixes = many_prefixes();
    let mut round = 0;
    while !world.rib.congested() {
        round += 1;
        world.announce_many(0, &prefixes, &attrs_of_round(round));
        world.drain(0);
        world.drain(2);
        if round == 1 {
            // The rest of what the client gathers here waits until the end.
            world.read(1, 1);
        }
    }
    let (mut slices, mut waiting) = (0_u64, 0);
    while world.rib.demotions() == 0 {
        slices += 1;
        assert!(slices < 1_000, "the client leaves the log");
        let client = world.clients[1].as_mut().unwrap();
        client.check_lag(&world.rib, 60_000 + slices * 500);
        waiting += u64::from(client.stream().is_discarding() && world.rib.congested());
    }
    assert!(slices > 10, "{slices} slices of {LONG_LOG} bytes");
    assert!(
        waiting * 20 <= slices,
        "input waits while {waiting} of {slices} slices are discarded"
    );
    world.settle();
    let clients = [1, 2].map(|peer: usize| world.clients[peer].as_ref().unwrap());
    assert_eq!(clients[0].held.len(), prefixes.len());
    assert_eq!(clients[0].held, clients[1].held);
}

/// It is the first of its group, and its socket accepts bytes all the time: only the others show that it is slow.
#[test]
fn slow_clients_of_a_group_of_their_own_leave_the_log_before_it_is_full() {
    const SLOW: [u16; 2] = [6, 7];
    let mut world = World::new(8, 1, LONG_LOG);
    (0..8).for_each(|peer| world.up(peer, SLOW.contains(&peer)));
    world.settle();
    let prefixes = many_prefixes();
    for round in 0..400 {
        world.announce_many(0, &prefixes, &attrs_of_round(round));
        (0..6).for_each(|peer| world.drain(peer));
        SLOW.iter().for_each(|peer| world.read(*peer, 100));
        world.check_lags(20);
        assert!(!world.rib.congested(), "input waits in round {round}");
    }
    assert!(world.rib.demotions() >= 2);
    world.settle();
    let held = |peer: u16| {
        let held = world.clients[usize::from(peer)]
            .as_ref()
            .unwrap()
            .held
            .iter();
        held.map(|((prefix, _), attributes)| (*prefix, attributes.clone()))
    };
    assert!(held(SLOW[0]).eq(held(1)));
}

/// The log could be full long before a client counts as slow: one neighbor sends much that only this client is sent.
#[test]
fn a_client_that_stops_reading_leaves_a_log_that_grows_fast() {
    let mut world = World::new(8, 1, LONG_LOG);
    (0..8).for_each(|peer| world.up(peer, false));
    world.settle();
    let prefixes = many_prefixes();
    for round in 0..40 {
        for part in 0..12 {
            world.announce_many(0, &prefixes, &attrs_of_round(12 * round + part));
        }
        (0..7).for_each(|peer| world.drain(peer));
        (0..10).for_each(|_| world.check_lags(2));
        assert!(!world.rib.congested(), "input waits in round {round}");
    }
    assert!(world.rib.demotions() >= 1);
    world.settle();
    let held = [1, 7].map(|peer: usize| &world.clients[peer].as_ref().unwrap().held);
    assert_eq!(held[0], held[1]);
}

/// A thread waits for a processor: its clients, not quite half of all, are far behind at once, and all others keep up.
#[test]
fn clients_of_a_late_thread_stay_in_the_log_for_two_seconds() {
    for is_late in [false, true] {
        let mut world = World::new(21, 1, LONG_LOG);
        (0..21).for_each(|peer| world.up(peer, false));
        world.settle();
        world.is_late = is_late;
        let prefixes = many_prefixes();
        let mut round = 0;
        let mut turns = |world: &mut World, turns: u32| {
            for _ in 0..turns {
                for _ in 0..40 {
                    if world.rib.congested() {
                        break;
                    }
                    round += 1;
                    world.announce_many(0, &prefixes, &attrs_of_round(round));
                    (0..21).step_by(2).for_each(|peer| world.drain(peer));
                }
                (1..21).step_by(2).for_each(|peer| world.read(peer, 100));
                world.check_lags(20);
            }
        };
        turns(&mut world, 10);
        let discards = |world: &mut World| {
            let client = world.clients[1].as_mut().unwrap();
            client.stream().is_discarding()
        };
        assert_eq!(discards(&mut world), !is_late);
        turns(&mut world, 50);
        assert_eq!(discards(&mut world) || world.rib.demotions() > 0, !is_late);
        turns(&mut world, 10);
        world.settle();
        assert_ne!(world.rib.demotions(), 0, "in the end they leave");
        let held = [1, 2].map(|peer: usize| &world.clients[peer].as_ref().unwrap().held);
        assert_eq!(held[0], held[1]);
    }
}

/// The other one keeps up, but in another group.
#[test]
fn the_slow_one_of_two_clients_does_not_set_the_pace_of_the_input() {
    let mut world = World::new(2, 1, LONG_LOG);
    (0..2).for_each(|peer| world.up(peer, peer == 1));
    world.settle();
    let prefixes = many_prefixes();
    for round in 0..400 {
        world.announce_many(0, &prefixes, &attrs_of_round(round));
        world.drain(0);
        world.read(1, 100);
        world.check_lags(20);
        assert!(!world.rib.congested(), "input waits in round {round}");
    }
    assert!(world.rib.demotions() >= 1);
    world.settle();
    let held = &world.clients[1].as_ref().unwrap().held;
    assert_eq!(held.len(), prefixes.len());
}

/// Peers could otherwise make any number of destinations, which no neighbor is charged for.
#[test]
fn prefixes_that_come_and_go_beside_a_client_that_reads_nothing_leave_nothing() {
    for has_add_path in [false, true] {
        let mut world = World::new(4, 2, 20_000);
        (0..4).for_each(|peer| world.up(peer, has_add_path));
        world.settle();
        let present = &many_prefixes()[..40];
        let others = [0, 2, 3];
        for round in 0.. {
            assert!(round < 400, "the client leaves the log");
            world.announce(0, present, &attrs_of_round(round));
            others.iter().for_each(|peer| world.drain(*peer));
            world.check_lags(100);
            if world.rib.demotions() > 0 {
                break;
            }
        }
        let destinations = |world: &World| {
            let rows = world.rib.memory();
            let row = rows.iter().find(|row| row.what == "ipv4 prefix index");
            row.unwrap().count
        };
        for round in 0..100 {
            let prefixes: Vec<Prefix> = (0..50)
                .map(|number| format!("20.{round}.{number}.0/24").parse().unwrap())
                .collect();
            world.announce(0, &prefixes, &attrs_of_round(1));
            world.announce(0, &prefixes[..9], &attrs_of_round(2));
            world.withdraw(0, &prefixes);
            others.iter().for_each(|peer| world.drain(*peer));
        }
        assert_eq!(destinations(&world), 40, "Add-Path: {has_add_path}");
        // The prefixes that the client holds stay until it was sent their withdrawal.
        world.withdraw(0, &present[..20]);
        assert_eq!(destinations(&world), 40);
        world.settle();
        assert_eq!(destinations(&world), 20);
        let held = |peer: usize| &world.clients[peer].as_ref().unwrap().held;
        assert_eq!((held(1).len(), held(1)), (20, held(2)));
    }
}

#[test]
fn where_all_are_slow_they_share_the_log_instead_of_leaving_it() {
    const CLIENTS: u16 = 64;
    let mut world = World::new(CLIENTS, 2, 2_000);
    (0..CLIENTS).for_each(|peer| world.up(peer, false));
    world.settle();
    let attrs = Attrs {
        path: vec![asn(0), 1],
        origin: 0,
        med: None,
        communities: vec![],
    };
    let prefixes: Vec<Prefix> = (0..512)
        .map(|number| format!("10.{}.{}.0/24", number / 256, number % 256))
        .map(|text| text.parse().unwrap())
        .collect();
    prefixes
        .chunks(100)
        .for_each(|some| world.announce(0, some, &attrs));
    assert!(world.rib.congested());
    (0..3).for_each(|_| world.wait());
    assert!(!world.rib.congested(), "64 clients cost more outside of it");
    assert_eq!(world.rib.demotions(), 0);
    world.settle();
    let held = |peer: u16| {
        world.clients[usize::from(peer)]
            .as_ref()
            .unwrap()
            .held
            .len()
    };
    assert!((1..CLIENTS).all(|peer| held(peer) == prefixes.len()));
}

/// A client that reads nothing must not block the others for ever, wherever in the log it stopped.
#[test]
fn a_client_that_stopped_anywhere_leaves_a_log_that_lies_in_files() {
    for octets in [0, 1, 5_000] {
        let mut world = World::new(12, 1, 400_000);
        world.rib.use_files(world::file);
        (0..12).for_each(|peer| world.up(peer, false));
        world.settle();
        for round in 0..40u32 {
            let attrs = Attrs {
                path: vec![asn(0), 1 + round],
                origin: 0,
                med: None,
                communities: vec![],
            };
            let prefixes: Vec<Prefix> = (0..5_000u32)
                .map(|number| format!("10.{}.{}.0/24", number / 256, number % 256))
                .map(|text| text.parse().unwrap())
                .collect();
            world.announce_many(0, &prefixes, &attrs);
            if round == 0 {
                world.read(11, octets);
            }
            (0..11).for_each(|peer| world.drain(peer));
            world.wait();
            world.wait();
            assert!(!world.rib.congested(), "{octets} octets, round {round}");
        }
        assert!(world.rib.demotions() > 0);
        world.settle();
        let held = world.clients[11].as_ref().unwrap().held.len();
        assert_eq!(held, 5_000);
    }
}

/// Two routes are of one AS: the one with the lower MED is better. By its BGP Identifier the third, of another AS, is
/// worse than the first and better than the second. So the best route without a client's own is not the first of the
/// order.
#[test]
fn a_route_between_two_of_one_as_is_not_the_best_for_all() {
    let (first, between, lower_med) = (3, 1, 0);
    let mut world = World::new(PEERS, 1, 1 << 20);
    world.has_add_path = false;
    let mut model = Model::default();
    (0..PEERS).for_each(|peer| world.up(peer, false));
    for (peer, med) in [(first, Some(384)), (lower_med, None), (between, None)] {
        let attrs = Attrs {
            path: vec![asn(peer), 7],
            origin: 0,
            med,
            communities: vec![],
        };
        world.announce(peer, &[prefix(1)], &attrs);
        model.announce(peer, prefix(1), &attrs);
        (0..PEERS).for_each(|peer| world.drain(peer));
    }
    check(&mut world, &model);
}

/// A batch is evaluated before a policy changes, and committed after the walk over the table.
#[test]
fn queued_routes_are_evaluated_under_the_policy_at_commit() {
    let mut world = World::new(2, 1, 1 << 20);
    (0..2).for_each(|peer| world.up(peer, false));
    let attrs = Attrs {
        path: vec![asn(0), 7],
        origin: 0,
        med: None,
        communities: vec![],
    };
    world.announce_around(0, &[prefix(1)], &attrs, |rib| {
        rib.replace_neighbor(PeerId(0), world::closed_neighbor(0));
    });
    let counts = world.rib.counts(PeerId(0))[Family::Ipv4Unicast];
    assert_eq!((counts.received, counts.accepted), (1, 0));
    world.settle();
    assert!(world.clients[1].as_ref().unwrap().held.is_empty());
}

/// Client 1 has another round-trip time. It alone is sent something: the routes whose communities distinguish the two
/// times, once each.
#[test]
fn another_round_trip_time_re_advertises_only_what_changes_for_its_client() {
    let mut world = World::new(PEERS, 2, 1 << 20);
    let mut model = Model::default();
    let all: Vec<(u16, u32)> = (0..PEERS).map(|peer| (peer, 5)).collect();
    world.set_rtts(&all);
    model.rtts.extend(all);
    (0..PEERS).for_each(|peer| world.up(peer, peer == 5));
    let sets: [(u8, &[u32]); 6] = [
        (1, &[]),
        (2, &[64 << 16 | 10]),
        (4, &[64 << 16 | 20]),
        (5, &[67 << 16 | 10]),
        (7, &[LOCAL, 65 << 16 | 10]),
        (8, &[67 << 16 | 20, asn(3)]),
    ];
    for (index, communities) in sets {
        let attrs = Attrs {
            path: vec![asn(2), u32::from(index)],
            origin: 0,
            med: None,
            communities: communities.to_vec(),
        };
        world.announce(2, &[prefix(index)], &attrs);
        model.announce(2, prefix(index), &attrs);
    }
    world.settle();
    let changed = |world: &mut World, model: &Model| -> Vec<(u16, u64)> {
        let before: Vec<u64> = world.clients.iter().flatten().map(|c| c.messages).collect();
        world.settle();
        let now = world.clients.iter().flatten().map(|c| c.messages);
        let sent = (0..)
            .zip(now.zip(before))
            .map(|(peer, (now, before))| (peer, now - before));
        let sent = sent.filter(|(_, messages)| *messages > 0).collect();
        for peer in 0..PEERS {
            let client = world.clients[usize::from(peer)].as_ref().unwrap();
            client.must_hold(&model.expected(peer, peer == 5));
        }
        sent
    };
    // Three routes change for the client: 2, 5 and 7. Each has attributes of its own, and two are withdrawn together.
    for (ms, messages) in [(6, 0), (10, 0), (11, 3), (19, 0), (20, 0), (3, 2)] {
        world.set_rtts(&[(1, ms)]);
        model.rtts.insert(1, ms);
        let expected: Vec<(u16, u64)> = if messages > 0 {
            vec![(1, messages)]
        } else {
            vec![]
        };
        assert_eq!(changed(&mut world, &model), expected, "{ms} ms");
    }
    // A client with Add-Path is sent as little.
    world.set_rtts(&[(5, 11)]);
    model.rtts.insert(5, 11);
    assert_eq!(changed(&mut world, &model), [(5, 3)]);
}

/// Announces three routes for which the order of all does not decide what each client receives. `first` and `other`
/// are of one AS and differ in MULTI_EXIT_DISC. `third` is of another AS, and between them by its BGP Identifier.
fn three_routes(world: &mut World, model: &mut Model) {
    let (first, other, third) = (0, 3, 1);
    world.has_add_path = false;
    (0..PEERS).for_each(|peer| world.up(peer, false));
    for (peer, med, communities) in [
        (first, 10, vec![9_999]),
        (other, 20, vec![]),
        (third, 10, vec![]),
    ] {
        let attrs = Attrs {
            path: vec![asn(peer), 7],
            origin: 0,
            med: Some(med),
            communities,
        };
        world.announce(peer, &[prefix(1)], &attrs);
        model.announce(peer, prefix(1), &attrs);
    }
    world.settle();
}

#[test]
fn a_new_export_policy_is_applied_per_client_where_med_matters() {
    for around in [false, true] {
        let mut world = World::new(PEERS, 1, 1 << 20);
        let mut model = Model::default();
        three_routes(&mut world, &mut model);
        for actions in [Actions::Unknown, Actions::Scrubbed, Actions::Sent] {
            world.set_actions(actions);
            model.actions = actions;
            if around {
                (0..PEERS).for_each(|peer| world.drain(peer));
            }
        }
        check(&mut world, &model);
    }
}

#[test]
fn a_new_local_preference_is_advertised_where_med_matters() {
    let mut world = World::new(PEERS, 1, 1 << 20);
    three_routes(&mut world, &mut Model::default());
    let preferred = rutter_rib::Neighbor {
        default_local_pref: 200,
        ..world::neighbor(0)
    };
    world.rib.replace_neighbor(PeerId(0), preferred);
    world.rib.flush();
    world.settle();
    let held = |peer: u16| &world.clients[usize::from(peer)].as_ref().unwrap().held;
    let of = |peer: u16| held(peer).get(&(prefix(1), 0)).cloned();
    assert!(
        (1..PEERS).all(|peer| of(peer) == of(1)),
        "all hear the first"
    );
    assert_ne!(of(0), of(1));
}

/// A speaker that keeps its routes over a restart comes back with a lower BGP Identifier, which makes its route
/// better.
#[test]
fn a_restart_with_another_identifier_reorders_its_routes() {
    let mut world = World::new(3, 1, 1 << 20);
    (0..3).for_each(|peer| world.up(peer, false));
    let attrs = |peer| Attrs {
        path: vec![asn(peer), 7],
        origin: 0,
        med: None,
        communities: vec![],
    };
    for peer in [0, 1] {
        world.announce(peer, &[prefix(1)], &attrs(peer));
    }
    world.settle();
    let received = |world: &World| world.clients[2].as_ref().unwrap().held[&(prefix(1), 0)].clone();
    assert_eq!(
        received(&world),
        world::block(1, &attrs(1), Family::Ipv4Unicast)
    );
    world.down(0, Retain::Stale);
    world.up_as(0, 1);
    world.announce(0, &[prefix(1)], &attrs(0));
    world.settle();
    assert_eq!(
        received(&world),
        world::block(0, &attrs(0), Family::Ipv4Unicast)
    );
}
