//! Several paths of a prefix from one neighbor (RFC 7911).

use std::collections::BTreeMap;

use rutter_net::{Family, Ipv4Prefix, PerFamily};
use rutter_policy::RejectReason;
use rutter_rib::*;
use rutter_wire::attr::code;
use rutter_wire::{nlri, update};

use crate::lab::*;

/// A table with a neighbor that sends several paths.
fn with_paths() -> Lab {
    let mut lab = Lab::empty();
    lab.add(neighbor(1, PeerKind::RouteServerClient, 1), |session| {
        session.families = PerFamily::both(Some(FamilyInfo {
            add_path_receive: true,
            ..FamilyInfo::default()
        }));
    });
    lab
}

/// Adds a client that is sent several paths.
fn add_reader(lab: &mut Lab, number: u8) -> PeerId {
    let reader = neighbor(number, PeerKind::RouteServerClient, u32::from(number));
    let peer = lab.rib.add_neighbor(reader).unwrap();
    let families = PerFamily::both(Some(FamilyInfo {
        add_path_send: true,
        ..FamilyInfo::default()
    }));
    let session = SessionInfo {
        families,
        ..session(number, u32::from(number))
    };
    lab.streams.push(lab.rib.session_up(peer, session));
    peer
}

/// The body of an UPDATE that announces a path of an IPv4 prefix (RFC 7911).
fn path_announcement(block: &[u8], id: u32, prefix: &str) -> Vec<u8> {
    let mut body = vec![0, 0];
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    nlri::write_ipv4(&mut body, Some(id), prefix.parse().unwrap());
    body
}

/// The body of an UPDATE that withdraws a path of an IPv4 prefix.
fn path_withdrawal(id: u32, prefix: &str) -> Vec<u8> {
    let mut withdrawn = Vec::new();
    nlri::write_ipv4(&mut withdrawn, Some(id), prefix.parse().unwrap());
    let mut body = (withdrawn.len() as u16).to_be_bytes().to_vec();
    body.extend(withdrawn);
    body.extend([0, 0]);
    body
}

/// The attributes of each path that a client with Add-Path holds.
type Held = BTreeMap<(Ipv4Prefix, u32), Vec<u8>>;

/// Reads what a client is sent now.
fn read(lab: &mut Lab, peer: PeerId, held: &mut Held) {
    for (_, body) in lab.received(peer) {
        let sections = update::split(&body).unwrap();
        let mut paths = Vec::new();
        nlri::parse_ipv4(sections.withdrawn, true, &mut paths).unwrap();
        for (id, prefix) in paths.drain(..) {
            held.remove(&(prefix, id));
        }
        nlri::parse_ipv4(sections.nlri, true, &mut paths).unwrap();
        for (id, prefix) in paths {
            held.insert((prefix, id), sections.attributes.to_vec());
        }
    }
}

#[test]
fn paths_beyond_the_limit_and_with_colliding_ids_are_rejected() {
    let mut lab = with_paths();
    let block = Block::new(&[1]).0;
    for id in (1..=300).chain([0x1_0002]) {
        let body = path_announcement(&block, id, "203.0.113.0/24");
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    }
    lab.rib.commit(&mut lab.batch);
    let explained = lab.rib.explain("203.0.113.0/24".parse().unwrap()).unwrap();
    let out: Vec<_> = explained
        .candidates
        .iter()
        .filter(|c| c.reject.is_some())
        .collect();
    assert_eq!((explained.candidates.len(), out.len()), (301, 45));
    assert!(out.iter().all(|c| c.reject == Some(RejectReason::Paths)));
}

/// A peer can have many paths of each prefix. The steps of a commit include those that a change compares.
#[test]
fn changes_of_crowded_prefixes_take_more_steps() {
    let mut lab = with_paths();
    let mut commit = |path: [u32; 2], ids: std::ops::RangeInclusive<u32>, prefixes: u8| {
        let block = Block::new(&path).0;
        for number in 0..prefixes {
            for id in ids.clone() {
                let body = path_announcement(&block, id, &format!("20.0.{number}.0/24"));
                lab.batch.push(&lab.rib, PeerId(0), &body, 0);
            }
        }
        lab.rib.commit(&mut lab.batch)
    };
    assert_eq!(commit([1, 7], 1..=16, 10), 0, "few paths");
    commit([1, 7], 17..=200, 10);
    let of_one = commit([1, 8], 5..=5, 1);
    assert!(of_one > 0);
    assert_eq!(
        commit([1, 9], 1..=50, 1),
        of_one,
        "one pass for all of them"
    );
    assert_eq!(commit([1, 10], 5..=5, 10), 10 * of_one, "ten prefixes");
    // Where MULTI_EXIT_DISC may matter, also a few routes are sorted, and each client's best one is found.
    let mut commit_with_med = |asn: u32, ids: std::ops::RangeInclusive<u32>, prefix: &str| {
        for id in ids {
            let block = Block::new(&[1, asn]).with(0x80, 4, &id.to_be_bytes()).0;
            let body = path_announcement(&block, id, prefix);
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
        lab.rib.commit(&mut lab.batch)
    };
    commit_with_med(7, 1..=200, "20.1.0.0/24");
    assert!(commit_with_med(8, 5..=5, "20.1.0.0/24") > of_one);
    commit_with_med(7, 1..=10, "20.2.0.0/24");
    assert!(commit_with_med(8, 5..=5, "20.2.0.0/24") > 0);
    // The route that comes or goes may have none.
    let bodies = [
        path_announcement(&Block::new(&[1, 7]).0, 11, "20.2.0.0/24"),
        path_withdrawal(11, "20.2.0.0/24"),
    ];
    for body in bodies {
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        assert!(lab.rib.commit(&mut lab.batch) > 0);
    }
}

/// Adds clients that are sent four paths, each in a group of its own if so.
fn add_clients(lab: &mut Lab, count: u8, are_alike: bool, add_path: bool) {
    for number in 2..2 + count {
        let mut client = neighbor(number, PeerKind::RouteServerClient, u32::from(number));
        client.add_path_limit = 4;
        lab.add(client, |session| {
            session.families = PerFamily::both(Some(FamilyInfo {
                add_path_send: add_path,
                ..FamilyInfo::default()
            }));
            if !are_alike {
                session.max_message_len = 4_096 + usize::from(number);
            }
        });
    }
}

/// The communities of routes decide for how many sets of clients a change is computed.
#[test]
fn changes_for_many_sets_of_clients_take_more_steps() {
    let steps_with = |add_path: bool, audiences: bool| {
        let mut lab = with_paths();
        add_clients(&mut lab, 100, true, add_path);
        for id in 1..=14_u32 {
            let mut block = Block::new(&[1, 7]);
            if audiences {
                let not_to = (2..102).filter(|peer| (peer * 7 + id * id) % 13 < 6);
                let communities: Vec<u8> = not_to.flat_map(u32::to_be_bytes).collect();
                block = block.with(0xc0, code::COMMUNITIES, &communities);
            }
            let body = path_announcement(&block.0, id, "20.0.0.0/24");
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
            lab.rib.commit(&mut lab.batch);
        }
        let body = path_announcement(&Block::new(&[1, 8]).0, 1, "20.0.0.0/24");
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        lab.rib.commit(&mut lab.batch)
    };
    assert_eq!(steps_with(false, false), 0);
    let (best, few) = (steps_with(false, true), steps_with(true, true));
    assert!(best > 0 && few > best, "{best}, {few}");
}

/// The routes of one neighbor are removed beside many paths of another, which are sorted for each of them.
#[test]
fn few_routes_of_crowded_prefixes_are_removed_at_once() {
    let mut lab = with_paths();
    lab.add(neighbor(2, PeerKind::RouteServerClient, 2), |_| {});
    let prefix = |number: u32| format!("20.0.{number}.0/24");
    for number in 0..100 {
        for id in 1..=100_u32 {
            let block = Block::new(&[1, 7]).with(0x80, 4, &id.to_be_bytes()).0;
            let body = path_announcement(&block, id, &prefix(number));
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
        lab.rib.commit(&mut lab.batch);
        lab.announce(1, &Block::new(&[2, 7]).0, &prefix(number));
    }
    let mut sweeper = Sweeper::default();
    let retain = PerFamily::both(Retain::Nothing);
    lab.rib.end_session(PeerId(1), retain, &mut sweeper);
    let mut steps = 0;
    while !sweeper.is_idle() {
        let before = lab.rib.changes();
        sweeper.step(&lab.rib);
        lab.rib.flush();
        let changes = lab.rib.changes() - before;
        assert!(changes < 20, "{changes} in a step");
        steps += usize::from(changes > 0);
    }
    assert!((6..100).contains(&steps), "{steps}");
}

/// A mark for a client that catches up costs little: honest neighbors pay for hundreds of them after a start.
#[test]
fn clients_that_catch_up_take_few_steps() {
    let mut lab = with_paths();
    for id in 1..=10_u32 {
        let body = path_announcement(&Block::new(&[1, 7]).0, id, "20.0.0.0/24");
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    }
    lab.rib.commit(&mut lab.batch);
    for number in 2..102 {
        let client = neighbor(number, PeerKind::RouteServerClient, u32::from(number));
        let peer = lab.rib.add_neighbor(client).unwrap();
        let session = session(number, u32::from(number));
        lab.streams.push(lab.rib.session_up(peer, session));
    }
    let body = path_announcement(&Block::new(&[1, 8]).0, 1, "20.0.0.0/24");
    lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    let steps = lab.rib.commit(&mut lab.batch);
    assert!((3..20).contains(&steps), "{steps}");
}

#[test]
fn changes_for_many_groups_of_clients_take_more_steps() {
    let mut lab = with_paths();
    add_clients(&mut lab, 64, false, false);
    let announce = |lab: &mut Lab| {
        for number in 0..200 {
            let prefix = format!("20.0.{number}.0/24");
            let body = path_announcement(&Block::new(&[1, 7]).0, 1, &prefix);
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
    };
    announce(&mut lab);
    assert!(lab.rib.commit(&mut lab.batch) >= 8 * 200);
    announce(&mut lab);
    lab.rib.commit_some(&mut lab.batch, 90);
    assert!((160..200).contains(&lab.batch.len()), "{}", lab.batch.len());
}

/// A withdrawal of five octets has another route take the place of the withdrawn one, with attributes of any length.
#[test]
fn changes_that_send_long_attributes_of_others_take_more_steps() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    let prefix = |number: u32| format!("20.{}.{}.0/24", number / 256, number % 256);
    let announce = |lab: &mut Lab, peer: u16, asns: &[u32], len: usize, is_shared: bool| {
        for number in 0..200 {
            let origin = if is_shared { 65_000 } else { 65_000 + number };
            let block = Block::new(&[asns, &[origin]].concat());
            let block = block.with(0xd0, 99, &vec![7; len]).0;
            lab.push(peer, &block, &prefix(number));
        }
        lab.rib.commit(&mut lab.batch)
    };
    let withdraw = |lab: &mut Lab| {
        for number in 0..200 {
            let body = withdrawal(&prefix(number));
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
        lab.rib.commit(&mut lab.batch)
    };
    // Where a set fills most of a message, few prefixes share one.
    let cases = [
        (10, false, 0),
        (1_000, true, 14),
        (3_900, true, 600),
        (3_900, false, 200 * 59),
    ];
    for (len, is_shared, expected) in cases {
        announce(&mut lab, 1, &[2, 7, 8], len, is_shared);
        announce(&mut lab, 0, &[1], 10, true);
        lab.rib.flush();
        let steps = withdraw(&mut lab);
        lab.rib.flush();
        // Each shard counts on its own.
        assert!(
            (expected..=3 * expected).contains(&steps),
            "{steps} for {len}"
        );
    }
}

#[test]
fn a_commit_that_sends_long_attributes_of_others_has_parts() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    let prefix = |number: u32| format!("20.{}.0.0/16", number);
    for number in 0..200 {
        let long = Block::new(&[2, 7, 65_000 + number]);
        lab.push(1, &long.with(0xd0, 99, &vec![7; 3_900]).0, &prefix(number));
    }
    lab.rib.commit(&mut lab.batch);
    for number in 0..200 {
        lab.announce(0, &Block::new(&[1]).0, &prefix(number));
    }
    lab.received(PeerId(2));
    for number in 0..200 {
        let body = withdrawal(&prefix(number));
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    }
    let (mut parts, mut left) = (0, 200);
    while left > 0 {
        lab.rib.commit_some(&mut lab.batch, 4_096);
        let now_left = lab.batch.len();
        assert!((1..100).contains(&(left - now_left)), "{left}, {now_left}");
        left = now_left;
        parts += 1;
        lab.rib.flush();
        let counts = lab.rib.counts(PeerId(0))[Family::Ipv4Unicast];
        assert_eq!(counts.received as usize, left);
    }
    assert_eq!(parts, 3, "760 KB");
    let messages = lab.received(PeerId(2));
    let long = messages.iter().filter(|(_, body)| body.len() > 3_900);
    assert_eq!((messages.len(), long.count()), (200, 200));
}

/// Identifiers that are sent on as one, and more paths than are compared one by one.
#[test]
fn a_client_that_follows_many_paths_holds_what_a_later_one_is_sent() {
    let mut lab = with_paths();
    let follower = add_reader(&mut lab, 2);
    let mut held = Held::new();
    let mut draw = 7_u64;
    let mut next = |below: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((draw >> 33) % below) as u32
    };
    for round in 0..600_u32 {
        for _ in 0..=next(6) {
            // The second is sent on as the first.
            let id = match next(4) {
                0 => 0x1_0000 ^ next(40),
                _ => 1 ^ next(40),
            };
            let prefix = ["20.0.0.0/24", "20.0.1.0/24"][next(2) as usize];
            let body = match next(4) {
                0 => path_withdrawal(id, prefix),
                _ => path_announcement(&Block::new(&[1, 7 + next(3)]).0, id, prefix),
            };
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
        lab.rib.commit(&mut lab.batch);
        lab.rib.flush();
        read(&mut lab, follower, &mut held);
        if round % 100 == 99 {
            let number = 3 + (round / 100) as u8;
            let later = add_reader(&mut lab, number);
            let mut all = Held::new();
            read(&mut lab, later, &mut all);
            assert!(all.len() > 40, "{}", all.len());
            assert_eq!(held, all, "round {round}");
        }
    }
}

#[test]
fn a_path_takes_the_place_of_another_that_is_sent_under_the_same_identifier() {
    let mut lab = with_paths();
    let follower = add_reader(&mut lab, 2);
    let mut held = Held::new();
    let prefix = "20.0.0.0/24";
    let blocks = [7, 8].map(|asn| Block::new(&[1, asn]).0);
    for id in 1..=20 {
        let body = path_announcement(&blocks[0], id, prefix);
        lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    }
    lab.rib.commit(&mut lab.batch);
    lab.rib.flush();
    read(&mut lab, follower, &mut held);
    assert_eq!(held.len(), 20);
    for (block, old, new) in [(&blocks[0], 1, 0x1_0000), (&blocks[1], 2, 0x1_0003)] {
        for body in [
            path_withdrawal(old, prefix),
            path_announcement(block, new, prefix),
        ] {
            lab.batch.push(&lab.rib, PeerId(0), &body, 0);
        }
        lab.rib.commit(&mut lab.batch);
        lab.rib.flush();
        read(&mut lab, follower, &mut held);
        assert_eq!(held.len(), 20);
    }
}
