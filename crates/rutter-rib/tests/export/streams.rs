//! Readers of changes: the feed, refreshed clients, explanations, and streams whose bytes are in files.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rutter_net::{Family, PerFamily};
use rutter_rib::*;

use crate::lab::*;

#[test]
fn feed_readers_learn_of_swept_routes() {
    let mut lab = Lab::new(&[(PeerKind::Collector, 1)]);
    let (reader, peers) = lab.rib.subscribe(16);
    assert_eq!((peers.len(), peers[0].id), (1, PeerId(0)));
    let next = || reader.next(std::time::Duration::ZERO);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    assert!(matches!(next(), Some(FeedEvent::Update { .. })));
    let retain = PerFamily::new(Retain::Stale, Retain::Nothing);
    lab.rib.publish_peer_down(PeerId(0), retain, "lost", 5);
    lab.rib.session_down(PeerId(0), retain);
    let Some(FeedEvent::PeerDown { retained, .. }) = next() else {
        panic!("no end of the session");
    };
    assert_eq!(retained, PerFamily::new(true, false));
    lab.rib.sweep_stale(PeerId(0), Family::Ipv4Unicast);
    let Some(FeedEvent::Swept { routes, .. }) = next() else {
        panic!("the swept route is not explained");
    };
    assert_eq!(*routes, [("203.0.113.0/24".parse().unwrap(), 0)]);
    assert!(next().is_none());
}

#[test]
fn feed_events_follow_their_routes_into_the_table() {
    let mut lab = Lab::new(&[(PeerKind::Collector, 1)]);
    let block = Block::new(&[1]).0;
    let mut body = vec![0, 0];
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(&block);
    body.extend([24, 203, 0, 113]);
    let push = |lab: &mut Lab| lab.batch.push(&lab.rib, PeerId(0), &body, 0);
    push(&mut lab);
    let (reader, _) = lab.rib.subscribe(16);
    let next = || reader.next(std::time::Duration::ZERO);
    lab.rib.commit(&mut lab.batch);
    // The reader subscribed between push and commit: its snapshot could have missed the route.
    assert!(matches!(next(), Some(FeedEvent::Gap { lost: 1 })));
    push(&mut lab);
    assert!(next().is_none(), "not in the table yet");
    lab.rib.commit(&mut lab.batch);
    assert!(matches!(next(), Some(FeedEvent::Update { .. })));
    assert!(next().is_none());
}

#[test]
fn refreshes_are_framed_and_complete() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(0, &Block::new(&[1, 2]).0, "198.51.100.0/24");
    lab.received(PeerId(1));
    let mut stream = lab.streams[1].take().unwrap();
    lab.rib.refresh_client(&mut stream, Family::Ipv4Unicast);
    lab.streams[1] = Some(stream);
    let messages = lab.received(PeerId(1));
    let kinds: Vec<u8> = messages.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [5, 2, 2, 5]);
    assert_eq!(messages[0].1, [0, 1, 1, 1], "BoRR");
    assert_eq!(messages[3].1, [0, 1, 2, 1], "EoRR");
}

/// Other threads wait for the table while a slice of it is read, and a neighbor chooses the length of its attributes.
#[test]
fn slices_of_a_catch_up_end_after_some_octets_of_attributes() {
    const LEN: usize = 60_000;
    const ROUTES: usize = 200;
    let long_messages = |session: &mut SessionInfo| session.max_message_len = 65_535;
    let mut lab = Lab::empty();
    lab.add(neighbor(1, PeerKind::RouteServerClient, 1), long_messages);
    // 2 takes long messages as they are, 4 takes them rewritten, and 3 takes none of them.
    lab.add(neighbor(2, PeerKind::RouteServerClient, 2), long_messages);
    lab.add(neighbor(3, PeerKind::RouteServerClient, 3), |_| {});
    lab.add(neighbor(4, PeerKind::External, 4), long_messages);
    for number in 0..ROUTES {
        let block = Block::new(&[1, 65_000 + number as u32]);
        let block = block.with(0xd0, 99, &vec![7; LEN]).0;
        lab.announce(0, &block, &format!("20.{number}.0.0/16"));
    }
    for (client, expected) in [(1, ROUTES), (2, 0), (3, ROUTES)] {
        lab.received(PeerId(client));
        let mut stream = lab.streams[usize::from(client)].take().unwrap();
        lab.rib.refresh_client(&mut stream, Family::Ipv4Unicast);
        let (mut slices, mut bytes) = (0, 0);
        while stream.has_more() {
            stream.fill(&lab.rib, 1);
            slices += 1;
            let new = stream.queued();
            assert!(new <= 256 * 1024 + LEN + 1_000, "{new} octets in a slice");
            bytes += new;
            stream.consume(new, 0);
        }
        assert!(slices >= ROUTES * LEN / (256 * 1024 + LEN), "{slices}");
        assert!(bytes >= expected * LEN, "{bytes}");
        lab.streams[usize::from(client)] = Some(stream);
    }
}

#[test]
fn explanations_name_the_step_and_the_reason() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(1, &Block::new(&[2, 9]).0, "203.0.113.0/24");
    let explained = lab.rib.explain("203.0.113.0/24".parse().unwrap()).unwrap();
    let peers: Vec<u16> = explained.candidates.iter().map(|c| c.peer.0).collect();
    assert_eq!(peers, [0, 1]);
    assert_eq!(explained.candidates[1].lost_at, Some(Step::AsPathLength));
    let receives = |peer: usize| explained.clients[peer].receives.clone();
    assert_eq!(
        (receives(0), receives(1), receives(2)),
        (vec![1], vec![0], vec![0])
    );
    assert_eq!(explained.clients[0].skipped, [(0, Withheld::OwnRoute)]);
    assert!(lab.rib.explain("192.0.2.0/24".parse().unwrap()).is_none());
}

/// An empty file without a name.
fn new_file() -> io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("rutter-export-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[test]
fn long_runs_for_many_clients_lie_in_files_too() {
    let client = PeerKind::RouteServerClient;
    for (clients, use_files, expected) in [(12, true, true), (2, true, false), (12, false, false)] {
        let mut lab = Lab::empty();
        if use_files {
            lab.rib.use_files(new_file);
        }
        for index in 1..=clients {
            lab.add(neighbor(index, client, index.into()), |_| {});
        }
        let mut sent = 0;
        for turn in 0..3_u32 {
            for number in 0..20_000_u32 {
                let block = Block::new(&[1, 65_000 + number]).0;
                let prefix = format!("100.{}.{}.0/24", turn * 80 + number / 256, number % 256);
                assert_eq!(lab.push(0, &block, &prefix).announced, 1);
                sent += 1;
            }
            lab.rib.commit(&mut lab.batch);
            lab.rib.flush();
            // Some clients read late, from segments that have files of several turns behind them.
            for peer in (0..u16::from(clients)).filter(|peer| turn == 2 || peer % 3 > 0) {
                lab.received(PeerId(peer));
            }
        }
        for peer in 1..u16::from(clients) {
            assert_eq!(lab.received(PeerId(peer)), [], "everything was received");
        }
        assert_eq!(
            lab.from_files > 0,
            expected,
            "{clients} clients, {sent} routes"
        );
    }
}
