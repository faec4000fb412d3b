//! The routes of sessions and neighbors that end leave the table in steps.

use rutter_net::{Family, PerFamily};
use rutter_rib::*;
use rutter_wire::attr;
use rutter_wire::attr::code;

use crate::lab::*;
use crate::{announce_many, strict};

/// A peer that frames refreshes as fast as it can: no message may take a walk over the table, nor queue another sweep.
#[test]
fn stale_routes_are_swept_in_steps() {
    let client = PeerKind::RouteServerClient;
    let (peer, family) = (PeerId(0), Family::Ipv4Unicast);
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    announce_many(&lab.rib, peer, &Block::new(&[1, 8, 9]).0);
    let (reader, _) = lab.rib.subscribe(100_000);
    let mut sweeper = Sweeper::default();
    lab.rib.begin_refresh(peer, family);
    lab.announce(0, &Block::new(&[1, 7]).0, "11.0.0.0/24");
    for _ in 0..1_000 {
        lab.rib.sweep_stale_in_steps(peer, family, &mut sweeper);
        lab.rib.begin_refresh(peer, family);
    }
    let held = |lab: &Lab| lab.rib.counts(peer)[family].received;
    assert_eq!(held(&lab), 1, "routes that wait for a sweeper do not count");
    assert_eq!(lab.rib.snapshot().len(family), 1);
    let mut steps = 0;
    while !sweeper.is_idle() {
        let before = lab.rib.changes();
        sweeper.step(&lab.rib);
        lab.rib.flush();
        let changes = lab.rib.changes() - before;
        assert!(changes <= 256, "{changes} in a step");
        steps += 1;
    }
    assert!(steps < 1_000, "{steps} steps");
    assert_eq!(held(&lab), 1);
    let events = std::iter::from_fn(|| reader.next(std::time::Duration::ZERO));
    let swept = events.map(|event| match event {
        FeedEvent::Swept { routes, .. } => routes.len(),
        _ => 0,
    });
    assert_eq!(swept.sum::<usize>(), 59_999);
    lab.rib.begin_refresh(peer, family);
    lab.rib.sweep_stale_in_steps(peer, family, &mut sweeper);
    while !sweeper.is_idle() {
        sweeper.step(&lab.rib);
    }
    assert_eq!(held(&lab), 0, "the next refresh marks again");
}

/// A session that returns while the routes of those before are removed waits for no walk, and their routes do not count.
#[test]
fn sessions_return_while_routes_are_removed() {
    // They receive nothing, so no destination is kept for them.
    let collector = PeerKind::Collector;
    let (peer, family) = (PeerId(0), Family::Ipv4Unicast);
    let mut lab = Lab::new(&[(collector, 1), (collector, 2)]);
    let mut sweeper = Sweeper::default();
    announce_many(&lab.rib, peer, &Block::new(&[1, 8, 9]).0);
    let (reader, _) = lab.rib.subscribe(100_000);
    for number in 0..2 {
        let before = lab.rib.changes();
        lab.streams[0] = None;
        let retain = PerFamily::both(Retain::Nothing);
        lab.rib.end_session(peer, retain, &mut sweeper);
        lab.streams[0] = lab
            .rib
            .session_up_in_steps(peer, session(1, 1), &mut sweeper);
        assert_eq!(lab.rib.changes(), before, "no walk");
        assert_eq!(lab.rib.counts(peer)[family].received, 0);
        lab.announce(0, &Block::new(&[1, 7]).0, &format!("11.0.{number}.0/24"));
        assert_eq!(lab.rib.counts(peer)[family].received, 1);
        assert_eq!(lab.rib.snapshot().len(family), 1);
        sweeper.step(&lab.rib);
    }
    while !sweeper.is_idle() {
        sweeper.step(&lab.rib);
    }
    lab.rib.flush();
    assert_eq!(lab.rib.counts(peer)[family].received, 1);
    assert_eq!(lab.rib.memory()[2].count, 1, "one destination is left");
    let events = std::iter::from_fn(|| reader.next(std::time::Duration::ZERO));
    let swept = |event: &FeedEvent| matches!(event, FeedEvent::Swept { .. });
    assert_eq!(events.filter(swept).count(), 0, "the sessions ended");
}

/// More sessions than there are epochs within one walk over the table: the last waits for the removal. No end of a session
/// takes a walk.
#[test]
fn a_session_that_flaps_leaves_no_routes_behind() {
    // They receive nothing, so no destination is kept for them.
    let collector = PeerKind::Collector;
    let (peer, family) = (PeerId(0), Family::Ipv4Unicast);
    for retain in [Retain::Nothing, Retain::Stale] {
        let mut lab = Lab::new(&[(collector, 1), (collector, 2)]);
        let mut sweeper = Sweeper::default();
        let mut waits = 0;
        for number in 0..12 {
            lab.announce(0, &Block::new(&[1, 7]).0, &format!("11.0.{number}.0/24"));
            lab.streams[0] = None;
            let before = lab.rib.changes();
            lab.rib
                .end_session(peer, PerFamily::both(retain), &mut sweeper);
            assert_eq!(lab.rib.changes(), before, "session {number}");
            waits += u32::from(!lab.rib.can_begin_session(peer));
            while !lab.rib.can_begin_session(peer) {
                sweeper.step(&lab.rib);
            }
            lab.streams[0] = lab
                .rib
                .session_up_in_steps(peer, session(1, 1), &mut sweeper);
        }
        assert!((1..6).contains(&waits), "{waits} of 12 waited");
        let kept = u32::from(retain == Retain::Stale);
        assert_eq!(lab.rib.counts(peer)[family].received, kept);
        while !sweeper.is_idle() {
            sweeper.step(&lab.rib);
        }
        assert_eq!(lab.rib.memory()[2].count, u64::from(kept));
        lab.rib.sweep_stale(peer, family);
        assert_eq!(lab.rib.memory()[2].count, 0);
    }
}

/// A refresh that begins again and again without an end takes no walk.
#[test]
fn refreshes_that_do_not_end_take_no_walk() {
    let client = PeerKind::RouteServerClient;
    let (peer, family) = (PeerId(0), Family::Ipv4Unicast);
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    lab.announce(0, &Block::new(&[1, 7]).0, "11.0.0.0/24");
    let mut sweeper = Sweeper::default();
    for number in 1..10 {
        let before = lab.rib.changes();
        lab.rib.begin_refresh(peer, family);
        lab.rib.begin_refresh(peer, family);
        assert_eq!(lab.rib.changes(), before);
        lab.announce(0, &Block::new(&[1, 7]).0, &format!("11.0.{number}.0/24"));
    }
    lab.rib.begin_refresh(peer, family);
    lab.announce(0, &Block::new(&[1, 7]).0, "11.0.9.0/24");
    lab.rib.sweep_stale_in_steps(peer, family, &mut sweeper);
    while !sweeper.is_idle() {
        sweeper.step(&lab.rib);
    }
    // The routes since the last of three beginnings count as refreshed.
    assert_eq!(lab.rib.counts(peer)[family].received, 7);
}

/// Neighbors that are removed together take one walk. Until it ends their ids stay in use, and nobody sees them.
#[test]
fn removed_neighbors_leave_in_steps() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    announce_many(&lab.rib, PeerId(0), &Block::new(&[1, 8, 9]).0);
    lab.streams.clear();
    let mut sweeper = Sweeper::default();
    let before = lab.rib.changes();
    for peer in [PeerId(0), PeerId(1)] {
        let retain = PerFamily::both(Retain::Nothing);
        lab.rib.end_session(peer, retain, &mut sweeper);
        lab.rib.remove_neighbor_in_steps(peer, &mut sweeper);
    }
    assert_eq!(lab.rib.changes(), before, "no walk");
    assert_eq!(lab.rib.peers().len(), 1);
    assert_eq!(lab.rib.snapshot().len(Family::Ipv4Unicast), 0);
    assert_eq!(lab.rib.add_neighbor(strict(4, 4, 9)), Ok(PeerId(3)));
    while !sweeper.is_idle() {
        sweeper.step(&lab.rib);
    }
    assert_eq!(lab.rib.memory()[2].count, 0);
    assert_eq!(lab.rib.add_neighbor(strict(5, 5, 9)), Ok(PeerId(0)));
}

/// Every route asks for another audience. The audiences of removed routes must not stay.
#[test]
fn audiences_go_with_their_routes() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    for number in 0..20_000_u32 {
        let not_to = [1_000 + number % 128, 3_000 + number / 128];
        let value: Vec<u8> = not_to.iter().flat_map(|c| c.to_be_bytes()).collect();
        let mut block = Block::new(&[1]).0;
        attr::write_attr(&mut block, 0xc0, code::COMMUNITIES, &value);
        lab.announce(0, &block, "10.0.0.0/16");
        if number % 1_000 == 0 {
            lab.received(PeerId(1));
        }
    }
    let memory = lab.rib.memory();
    let row = memory.iter().find(|row| row.what.starts_with("audiences"));
    let row = row.expect("they are counted");
    assert!(row.count < 3_000, "{row:?}");
}
