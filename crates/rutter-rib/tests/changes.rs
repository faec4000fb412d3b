//! The change log: what it has after each kind of change, and a twin that follows the table by the log alone.

mod lab;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use lab::*;
use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{ImportPolicy, ImportRule, ImportSettings, NextHopRule, RejectReason};
use rutter_rib::*;

const NET: &str = "203.0.113.0/24";
const START: u64 = 1_000_000;

/// The settings of a neighbor whose paths may have so many AS numbers.
fn with_limit(index: u8, most: u16) -> Neighbor {
    let mut neighbor = neighbor(index, PeerKind::RouteServerClient, u32::from(index));
    neighbor.import = Arc::new(ImportPolicy::new(ImportSettings {
        rule: ImportRule::Checks,
        peer_asn: Asn(u32::from(index)),
        reject_bogons: false,
        reject_invalid_asns: false,
        next_hop: NextHopRule::Any,
        max_as_path_len: most,
        ..neighbor.import.settings().clone()
    }));
    neighbor
}

fn lab(neighbors: u8) -> Lab {
    let mut lab = Lab::empty();
    for index in 1..=neighbors {
        lab.add(with_limit(index, 64), |_| {});
    }
    lab
}

/// The changes since the last call, in short words.
fn changes(log: &ChangeLog, next: &mut u64) -> Vec<String> {
    let read = log.read(*next, 1_000).expect("nothing is lost");
    *next += read.len() as u64;
    let name = |peer: &ChangedPeer| peer.name.to_string();
    let verdict = |outcome: &RouteOutcome| match outcome {
        Ok(_) => "accepted".to_owned(),
        Err(reason) => reason.name().to_owned(),
    };
    let word = |one: &LoggedChange| match &one.change {
        TableChange::Announced { route, outcome, .. } => {
            format!("{} announced, {}", name(&route.peer), verdict(outcome))
        }
        TableChange::Withdrawn { route } => format!("{} withdrawn", name(&route.peer)),
        TableChange::Verdict {
            route,
            before,
            after,
        } => format!(
            "{}: {} to {}",
            name(&route.peer),
            verdict(before),
            verdict(after)
        ),
        TableChange::Best { before, after, .. } => format!(
            "best: {} to {}",
            before.as_ref().map_or("none".to_owned(), name),
            after
                .as_ref()
                .map_or("none".to_owned(), |(peer, _)| name(peer)),
        ),
        TableChange::SessionUp { peer } => format!("{} up", name(peer)),
        TableChange::SessionDown { peer, reason } => format!("{} down: {reason}", name(peer)),
    };
    read.iter().map(word).collect()
}

#[test]
fn routes_verdicts_best_routes_and_sessions_are_logged() {
    let mut lab = lab(2);
    lab.announce(0, &Block::new(&[1, 7]).0, NET);
    let log = lab.rib.watch_changes(100, START);
    let mut next = log.next_number();
    assert!(next >= START);
    let mut since = || changes(&log, &mut next);

    lab.announce(1, &Block::new(&[2]).0, NET);
    assert_eq!(
        since(),
        ["peer 2 announced, accepted", "best: peer 1 to peer 2"]
    );
    lab.announce(1, &Block::new(&[2]).0, NET);
    assert_eq!(since(), [""; 0], "the same route again is no change");
    lab.announce(1, &Block::new(&[2, 8, 9]).0, NET);
    assert_eq!(
        since(),
        ["peer 2 announced, accepted", "best: peer 2 to peer 1"]
    );

    lab.rib.replace_neighbor(PeerId(0), with_limit(1, 1));
    assert_eq!(
        since(),
        [
            "peer 1: accepted to as-path-too-long",
            "best: peer 1 to peer 2"
        ],
        "a changed policy"
    );
    lab.rib.replace_neighbor(PeerId(0), with_limit(1, 64));
    assert_eq!(
        since(),
        [
            "peer 1: as-path-too-long to accepted",
            "best: peer 2 to peer 1"
        ]
    );

    lab.withdraw(1, NET);
    assert_eq!(since(), ["peer 2 withdrawn"]);
    lab.rib.publish_peer_up(PeerId(1), START);
    assert_eq!(since(), ["peer 2 up"]);
    lab.streams[0] = None;
    let nothing = PerFamily::new(Retain::Nothing, Retain::Nothing);
    lab.rib.publish_peer_down(PeerId(0), nothing, "lost", START);
    lab.rib.session_down(PeerId(0), nothing);
    assert_eq!(
        since(),
        [
            "peer 1 down: lost",
            "peer 1 withdrawn",
            "best: peer 1 to none"
        ]
    );
}

#[test]
fn a_log_that_nobody_reads_ends_and_its_reader_learns_it() {
    let mut lab = lab(1);
    let log = lab.rib.watch_changes(100, START);
    let next = log.next_number();
    lab.rib.end_unread_changes(START + 10, 100);
    lab.announce(0, &Block::new(&[1]).0, NET);
    assert_eq!(log.read(next, 10).expect("still read").len(), 2);
    log.set_time(START + 50);
    lab.rib.end_unread_changes(START + 149, 100);
    assert!(log.read(next, 10).is_ok());
    lab.rib.end_unread_changes(START + 151, 100);
    assert!(log.read(next + 2, 10).is_err());
    lab.withdraw(0, NET);

    // The clock went back. The numbers do not.
    let later = lab.rib.watch_changes(100, START);
    assert!(later.next_number() > next + 2);
    assert!(later.read(next + 2, 10).is_err(), "a change was missed");
    lab.announce(0, &Block::new(&[1]).0, NET);
    assert_eq!(
        later
            .read(later.next_number() - 2, 10)
            .expect("changes")
            .len(),
        2
    );
}

/// The verdict of each route by destination, sender and path identifier, and the sender of each best route.
type Followed = (
    BTreeMap<(Prefix, IpAddr, u32), Option<RejectReason>>,
    BTreeMap<Prefix, IpAddr>,
);

fn follow(followed: &mut Followed, change: TableChange) {
    let (routes, best) = followed;
    let key = |route: &ChangedRoute| (route.prefix, route.peer.address, route.path_id);
    match change {
        TableChange::Announced { route, outcome, .. } => {
            routes.insert(key(&route), outcome.err());
        }
        TableChange::Withdrawn { route } => {
            assert!(routes.remove(&key(&route)).is_some(), "{route:?}");
        }
        TableChange::Verdict {
            route,
            before,
            after,
        } => {
            let held = routes.insert(key(&route), after.err());
            assert_eq!(held, Some(before.err()), "{route:?}");
        }
        TableChange::Best {
            prefix,
            before,
            after,
        } => {
            let held = match after {
                Some((peer, _)) => best.insert(prefix, peer.address),
                None => best.remove(&prefix),
            };
            assert_eq!(held, before.map(|peer| peer.address), "{prefix}");
        }
        TableChange::SessionUp { .. } | TableChange::SessionDown { .. } => {}
    }
}

fn table(rib: &Rib) -> Followed {
    let snapshot = rib.snapshot();
    let mut table = Followed::default();
    let address = |id| {
        let mut peers = snapshot.peers().iter();
        peers
            .find(|peer| peer.id == id)
            .expect("a peer")
            .neighbor
            .address
    };
    for destination in snapshot.destinations(Family::Ipv4Unicast) {
        let prefix = destination.prefix;
        if let Some(best) = destination.best() {
            table.1.insert(prefix, address(best.peer));
        }
        for route in &destination.routes {
            table
                .0
                .insert((prefix, address(route.peer), route.path_id), route.reject);
        }
    }
    table
}

/// Random announcements, withdrawals and policies. Some neighbors have many paths of a prefix, which are changed in other
/// ways than one alone.
#[test]
fn a_reader_follows_the_table_by_the_log_alone() {
    let mut lab = lab(40);
    let log = lab.rib.watch_changes(100_000, START);
    let mut next = log.next_number();
    let mut followed = Followed::default();
    let mut random = 1_u64;
    let mut below = |end: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % end
    };
    for step in 0..2_000 {
        let peer = below(40) as u16;
        // Few prefixes, so that destinations have more routes than are searched one by one.
        let prefix = format!("203.0.{}.0/24", below(3));
        match below(10) {
            0..=5 => {
                let length = 1 + below(5) as usize;
                let mut path = vec![u32::from(peer) + 1];
                path.resize(length, 7);
                lab.announce(peer, &Block::new(&path).0, &prefix);
            }
            6..=8 => lab.withdraw(peer, &prefix),
            _ => {
                let limit = 1 + below(6) as u16;
                let neighbor = with_limit(peer as u8 + 1, limit);
                lab.rib.replace_neighbor(PeerId(peer), neighbor);
            }
        }
        for one in log.read(next, 100_000).expect("nothing is lost") {
            assert_eq!(one.number, next);
            next += 1;
            follow(&mut followed, one.change);
        }
        assert_eq!(followed, table(&lab.rib), "step {step}");
    }
    assert!(next > START + 1_500);
}
