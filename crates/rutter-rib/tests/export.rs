//! The attributes that each kind of client receives: the rules of RFC 4271 §5, RFC 4456, RFC 6793, RFC 7947, RFC 9234
//! and RFC 9494 as cases.

mod lab;

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lab::*;
use rutter_net::{Asn, Community, Family, Ipv4Prefix, PerFamily};
use rutter_policy::{ImportPolicy, ImportRule, ImportSettings, NextHopRule, RejectReason, Role};
use rutter_rib::*;
use rutter_wire::attr::{self, code};
use rutter_wire::{nlri, update};

#[test]
fn route_server_clients_receive_the_bytes_that_were_sent() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    let unknown = [1, 2, 3];
    let sent = Block::new(&[1, 4_200_000_001])
        .with(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 9])
        .with(
            0xc0,
            code::COMMUNITIES,
            &[0, 1, 0, 2, 0xff, 0xff, 0xff, 0x01],
        )
        .with(0xe0, 77, &unknown);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    assert_eq!(lab.block(1), Some(sent.0));
    assert_eq!(lab.received(PeerId(0)), [], "not its own route");
}

#[test]
fn plain_ebgp_receives_our_as_our_next_hop_and_no_med() {
    let mut lab = Lab::new(&[(PeerKind::External, 1), (PeerKind::External, 2)]);
    let sent = Block::new(&[1]).with(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 9]);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    let block = lab.block(1).unwrap();
    assert_eq!(path(&block), [LOCAL, 1]);
    let attributes = parse(&block, true);
    assert_eq!(attributes.next_hop(), Some(Ipv4Addr::new(192, 0, 2, 254)));
    assert_eq!(attributes.multi_exit_disc(), None);
    assert_eq!(attributes.local_pref(), None);
}

#[test]
fn internal_routes_are_reflected_only_by_rfc_4456() {
    use PeerKind::{External, Internal, ReflectorClient};
    let kinds = [
        (Internal, LOCAL),
        (Internal, LOCAL),
        (ReflectorClient, LOCAL),
        (External, 7),
    ];
    let mut lab = Lab::new(&kinds);
    let sent = Block::new(&[]).with(0x40, code::LOCAL_PREF, &[0, 0, 0, 200]);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    assert_eq!(lab.block(1), None, "internal to internal");
    let block = lab.block(2).unwrap();
    let reflected = parse(&block, true);
    assert_eq!(reflected.originator_id(), Some(0x0a00_0001));
    assert_eq!(reflected.cluster_list().collect::<Vec<_>>(), [0x0a09_0909]);
    assert_eq!(reflected.local_pref(), Some(200));
    assert_eq!(reflected.next_hop(), Some(Ipv4Addr::new(198, 51, 100, 1)));
    let block = lab.block(3).unwrap();
    assert_eq!(path(&block), [LOCAL]);
    assert_eq!(parse(&block, true).originator_id(), None);
    // The client's routes are sent to all; routes from outside get LOCAL_PREF.
    lab.announce(2, &Block::new(&[]).0, "198.51.100.0/24");
    assert!(lab.block(0).is_some() && lab.block(1).is_some());
    lab.announce(3, &Block::new(&[7]).0, "192.88.99.0/24");
    let block = lab.block(0).unwrap();
    assert_eq!(parse(&block, true).local_pref(), Some(100));
    assert_eq!(parse(&block, true).originator_id(), None);
}

#[test]
fn internal_peers_get_the_local_pref_that_the_sender_is_configured_with() {
    let mut lab = Lab::empty();
    let mut outside = neighbor(1, PeerKind::External, 7);
    outside.default_local_pref = 250;
    lab.add(outside, |_| {});
    lab.add(neighbor(2, PeerKind::Internal, LOCAL), |_| {});
    lab.announce(0, &Block::new(&[7]).0, "203.0.113.0/24");
    let block = lab.block(1).unwrap();
    assert_eq!(parse(&block, true).local_pref(), Some(250));
}

#[test]
fn two_octet_clients_receive_as_trans_and_as4_path() {
    let mut lab = Lab::new(&[(PeerKind::RouteServerClient, 1)]);
    let client = neighbor(2, PeerKind::RouteServerClient, 2);
    lab.add(client, |session| session.as4 = false);
    lab.announce(0, &Block::new(&[1, 4_200_000_001]).0, "203.0.113.0/24");
    let block = lab.block(1).unwrap();
    let attributes = parse(&block, false);
    let narrow: Vec<u32> = attributes.as_path().unwrap().asns().map(|a| a.0).collect();
    let wide: Vec<u32> = attributes.as4_path().unwrap().asns().map(|a| a.0).collect();
    assert_eq!(narrow, [1, 23_456]);
    assert_eq!(wide, [1, 4_200_000_001]);
}

#[test]
fn checks_see_the_path_that_as4_path_completes() {
    let client = PeerKind::RouteServerClient;
    let mut narrow = Lab::new(&[(client, 1)]);
    narrow.add(neighbor(2, client, 2), |session| session.as4 = false);
    narrow.announce(0, &Block::new(&[1, 200_101]).0, "203.0.113.0/24");
    let two_octets = narrow.block(1).unwrap();

    let mut lab = Lab::new(&[(client, 9)]);
    let mut careful = neighbor(2, client, 1);
    careful.import = Arc::new(ImportPolicy::new(ImportSettings {
        rule: ImportRule::Checks,
        peer_asn: Asn(1),
        reject_bogons: false,
        next_hop: NextHopRule::Any,
        ..careful.import.settings().clone()
    }));
    assert!(careful.import.settings().reject_invalid_asns);
    lab.add(careful, |session| session.as4 = false);
    lab.announce(1, &two_octets, "203.0.113.0/24");
    assert_eq!(path(&lab.block(0).unwrap()), [1, 200_101]);
}

#[test]
fn action_communities_act_and_are_scrubbed() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3), (client, 4)]);
    let large = |parts: [u32; 3]| parts.into_iter().flat_map(u32::to_be_bytes);
    let larges: Vec<u8> = large([LOCAL, 102, 3])
        .chain(large([LOCAL, 65_281, 0]))
        .chain(large([9, 9, 9]))
        .collect();
    let sent = Block::new(&[1])
        .with(0xc0, code::COMMUNITIES, &[0, 0, 0, 2, 0, 5, 0, 5])
        .with(0xc0, code::LARGE_COMMUNITIES, &larges);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    assert_eq!(lab.block(1), None, "0:2 keeps it from AS 2");
    let block = lab.block(2).unwrap();
    assert_eq!(path(&block), [1, 1, 1], "102:3 prepends twice for AS 3");
    let block = lab.block(3).unwrap();
    assert_eq!(path(&block), [1]);
    let attributes = parse(&block, true);
    let communities: Vec<_> = attributes.communities().collect();
    assert_eq!(communities, [Community::new(5, 5), Community::NO_EXPORT]);
    let larges: Vec<_> = attributes
        .large_communities()
        .map(|c| c.to_string())
        .collect();
    assert_eq!(larges, ["9:9:9"]);
}

#[test]
fn long_lived_stale_routes_lose_and_carry_llgr_stale() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(1, &Block::new(&[2, 5]).0, "203.0.113.0/24");
    assert_eq!(path(&lab.received_block(2)), [1]);
    assert_eq!(path(&lab.received_block(1)), [1]);
    lab.streams[0] = None;
    lab.rib
        .session_down(PeerId(0), PerFamily::new(Retain::Stale, Retain::Nothing));
    lab.rib.flush();
    assert_eq!(lab.block(2), None, "graceful restart is silent");
    lab.rib
        .start_long_lived_stale(PeerId(0), Family::Ipv4Unicast);
    lab.rib.flush();
    assert_eq!(
        path(&lab.received_block(2)),
        [2, 5],
        "any other route is better"
    );
    let block = lab.block(1).unwrap();
    let stale: Vec<_> = parse(&block, true).communities().collect();
    assert_eq!(stale, [Community::LLGR_STALE]);
    lab.rib.sweep_stale(PeerId(0), Family::Ipv4Unicast);
    lab.rib.flush();
    let (kind, body) = &lab.received(PeerId(1))[0];
    assert_eq!(
        (*kind, update::split(body).unwrap().withdrawn.len()),
        (2, 4)
    );
}

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
fn roles_add_and_withhold_only_to_customer() {
    let mut lab = Lab::empty();
    let with = |index, role| Neighbor {
        role,
        ..neighbor(index, PeerKind::External, u32::from(index))
    };
    lab.add(with(1, None), |_| {});
    lab.add(with(2, Some(Role::Provider)), |_| {});
    lab.add(with(3, Some(Role::Customer)), |_| {});
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    let block = lab.block(1).unwrap();
    assert_eq!(parse(&block, true).only_to_customer(), Some(Asn(LOCAL)));
    let block = lab.block(2).unwrap();
    assert_eq!(parse(&block, true).only_to_customer(), None);
    let sent = Block::new(&[1]).with(0xc0, code::ONLY_TO_CUSTOMER, &[0, 0, 0, 1]);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    assert!(lab.block(1).is_some());
    let messages = lab.received(PeerId(2));
    assert!(!update::split(&messages[0].1).unwrap().withdrawn.is_empty());
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

#[test]
fn malformed_attributes_withdraw_and_a_limit_rejects() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    let mut limited = neighbor(1, client, 1);
    limited.limits.prefixes = PerFamily::new(block_above(1, true), None);
    lab.rib.replace_neighbor(PeerId(0), limited);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(0, &Block::new(&[1]).0, "198.51.100.0/24");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
    let explained = lab.rib.explain("198.51.100.0/24".parse().unwrap()).unwrap();
    assert_eq!(
        explained.candidates[0].reject,
        Some(RejectReason::MaxPrefix)
    );
    let bad = Block::new(&[1]).with(0x80, code::MULTI_EXIT_DISC, &[1]);
    let pushed = lab.announce(0, &bad.0, "203.0.113.0/24");
    assert_eq!((pushed.faults.len(), pushed.withdrawn), (1, 1));
    let (_, body) = &lab.received(PeerId(1))[0];
    assert!(!update::split(body).unwrap().withdrawn.is_empty());
}

fn block_above(limit: u32, keeps: bool) -> Option<BlockAbove> {
    Some(BlockAbove { limit, keeps })
}

#[test]
fn blocked_routes_are_not_kept_until_there_is_room() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    let mut limited = neighbor(1, client, 1);
    limited.limits.prefixes = PerFamily::new(block_above(1, false), None);
    lab.rib.replace_neighbor(PeerId(0), limited);
    let to_request = |lab: &Lab| -> Vec<Family> {
        let intake = lab.rib.intake(PeerId(0));
        intake.to_request().collect()
    };
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(0, &Block::new(&[1, 3]).0, "198.51.100.0/24");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
    let intake = lab.rib.intake(PeerId(0));
    assert_eq!(intake.counts[Family::Ipv4Unicast].received, 1);
    assert_eq!(intake.not_kept.blocked, 1);
    let count = |what| {
        let rows = lab.rib.memory();
        let row = rows.iter().find(|row| row.what == what);
        row.unwrap().count
    };
    assert_eq!(count("attribute sets"), 1);
    assert_eq!(count("ipv4 destinations with up to two routes"), 1);
    assert_eq!(to_request(&lab), [], "no room");
    lab.announce(0, &Block::new(&[1, 4]).0, "203.0.113.0/24");
    assert_eq!(lab.received(PeerId(1)).len(), 1, "a held route may change");
    lab.withdraw(0, "203.0.113.0/24");
    lab.received(PeerId(1));
    assert_eq!(to_request(&lab), [Family::Ipv4Unicast]);
    lab.rib.begin_resend(PeerId(0), Family::Ipv4Unicast);
    assert_eq!(to_request(&lab), []);
    lab.announce(0, &Block::new(&[1, 3]).0, "198.51.100.0/24");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
}

#[test]
fn blocked_routes_stay_rejected_until_there_is_room() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    let mut limited = neighbor(1, client, 1);
    limited.limits.prefixes = PerFamily::new(block_above(1, true), None);
    lab.rib.replace_neighbor(PeerId(0), limited.clone());
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(0, &Block::new(&[1]).0, "198.51.100.0/24");
    assert_eq!(lab.received(PeerId(1)).len(), 1);
    lab.announce(0, &Block::new(&[1, 3]).0, "198.51.100.0/24");
    assert_eq!(
        lab.received(PeerId(1)),
        [],
        "announced with other attributes"
    );
    lab.rib.replace_neighbor(PeerId(0), limited.clone());
    lab.rib.flush();
    assert_eq!(lab.received(PeerId(1)), [], "evaluated again");
    lab.announce(0, &Block::new(&[1, 3]).0, "203.0.113.0/24");
    assert_eq!(
        lab.received(PeerId(1)).len(),
        1,
        "an accepted route may change"
    );
    limited.limits.prefixes = PerFamily::new(block_above(2, true), None);
    lab.rib.replace_neighbor(PeerId(0), limited);
    lab.rib.flush();
    assert_eq!(lab.received(PeerId(1)).len(), 1, "a higher limit");
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

#[test]
fn a_new_local_pref_reorders_held_routes() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(1, &Block::new(&[2, 9]).0, "203.0.113.0/24");
    assert_eq!(path(&lab.received_block(2)), [1]);
    let preferred = Neighbor {
        default_local_pref: 200,
        ..neighbor(2, client, 2)
    };
    lab.rib.replace_neighbor(PeerId(1), preferred);
    lab.rib.flush();
    assert_eq!(path(&lab.received_block(2)), [2, 9]);
    assert_eq!(path(&lab.received_block(0)), [2, 9]);
    let explained = lab.rib.explain("203.0.113.0/24".parse().unwrap()).unwrap();
    assert_eq!(explained.candidates[1].lost_at, Some(Step::LocalPref));
}

/// The second peer loses both routes at once. The first keeps the shorter one, although its rank changes, too.
#[test]
fn policies_of_several_neighbors_change_together() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    lab.announce(0, &Block::new(&[1, 8, 9]).0, "198.51.100.0/24");
    lab.announce(1, &Block::new(&[2, 8, 9]).0, "203.0.113.0/24");
    lab.announce(1, &Block::new(&[2, 7, 9]).0, "198.51.100.0/24");
    lab.received(PeerId(2));
    lab.received(PeerId(0));
    let strict = |index: u8, asn: u32| Neighbor {
        default_local_pref: 200,
        ..strict(index, asn, 2)
    };
    let changes = vec![(PeerId(0), strict(1, 1)), (PeerId(1), strict(2, 2))];
    lab.rib.replace_neighbors(changes, || {});
    lab.rib.flush();
    let accepted = |peer: u16| lab.rib.counts(PeerId(peer))[Family::Ipv4Unicast].accepted;
    assert_eq!((accepted(0), accepted(1)), (1, 0));
    let received = |peer: u16| lab.rib.counts(PeerId(peer))[Family::Ipv4Unicast].received;
    assert_eq!((received(0), received(1)), (2, 2));
    let explained = lab.rib.explain("198.51.100.0/24".parse().unwrap()).unwrap();
    assert!(
        explained
            .clients
            .iter()
            .all(|client| client.receives.is_empty())
    );
    assert!(
        lab.received(PeerId(2))
            .iter()
            .any(|(_, body)| { !update::split(body).unwrap().withdrawn.is_empty() })
    );
}

/// A client whose longer paths are rejected.
fn strict(index: u8, asn: u32, longest_path: u16) -> Neighbor {
    Neighbor {
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::Checks,
            local_asn: Asn(LOCAL),
            peer_asn: Asn(asn),
            enforce_first_as: false,
            max_as_path_len: longest_path,
            next_hop: NextHopRule::Any,
            reject_bogons: false,
            reject_invalid_asns: false,
            ..ImportSettings::default()
        })),
        ..neighbor(index, PeerKind::RouteServerClient, asn)
    }
}

/// Clients receive the final state and nothing in between, whichever route of a destination is evaluated first.
/// Routes with the same attributes come in one UPDATE, although they lie in several shards.
#[test]
fn changed_policies_are_advertised_once_and_together() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 3)]);
    let prefixes: Vec<String> = (0..20).map(|i| format!("203.0.{i}.0/24")).collect();
    for prefix in &prefixes {
        lab.announce(0, &Block::new(&[1, 8, 9]).0, prefix);
        lab.announce(1, &Block::new(&[2, 7, 8, 9]).0, prefix);
    }
    lab.received(PeerId(2));
    let change = |lab: &mut Lab, longest: u16| {
        let changes = vec![
            (PeerId(0), strict(1, 1, longest)),
            (PeerId(1), strict(2, 2, longest)),
        ];
        lab.rib.replace_neighbors(changes, || {});
        lab.rib.flush();
        lab.received(PeerId(2))
    };
    for (longest, [announced, withdrawn]) in [(2, [0, 20]), (9, [20, 0])] {
        let changes = lab.rib.changes();
        let received = change(&mut lab, longest);
        // The daemon releases memory after many changes by this count.
        assert!(lab.rib.changes() >= changes + 20);
        assert_eq!(received.len(), 1, "{received:?}");
        let update = update::split(&received[0].1).unwrap();
        let count = |field| {
            let mut prefixes = Vec::new();
            nlri::parse_ipv4(field, false, &mut prefixes).unwrap();
            prefixes.len()
        };
        let counts = [count(update.nlri), count(update.withdrawn)];
        assert_eq!(counts, [announced, withdrawn]);
    }
}

/// Announces more prefixes than a walk visits before its first notice.
fn announce_many(rib: &Rib, peer: PeerId, block: &[u8]) {
    let mut batch = Batch::new();
    for number in 0..60_000 {
        let mut body = vec![0, 0];
        body.extend((block.len() as u16).to_be_bytes());
        body.extend(block);
        let prefix = Ipv4Prefix::new(0x0b00_0000 + (number << 8), 24).unwrap();
        nlri::write_ipv4(&mut body, None, prefix);
        batch.push(rib, peer, &body, 0);
        if batch.len() >= 500 {
            rib.commit(&mut batch);
        }
    }
    rib.commit(&mut batch);
    rib.flush();
}

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

/// The last policy applies to all routes, even where the walk of the one before has not ended.
#[test]
fn a_policy_that_changes_during_a_walk_applies_to_all_routes() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2)]);
    announce_many(&lab.rib, PeerId(0), &Block::new(&[1, 8, 9]).0);
    lab.streams.clear();
    let (rib, mut notices) = (&lab.rib, 0);
    rib.replace_neighbors(vec![(PeerId(0), strict(1, 1, 2))], || {
        notices += 1;
        if notices == 1 {
            rib.replace_neighbors(vec![(PeerId(0), strict(1, 1, 9))], || {});
        }
    });
    assert!(notices > 0);
    assert_eq!(rib.counts(PeerId(0))[Family::Ipv4Unicast].accepted, 60_000);
}

/// During a walk a new neighbor gets the id of a removed one. Its own policy applies to its routes.
#[test]
fn a_peer_id_is_reused_during_a_walk() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(client, 1), (client, 2), (client, 4)]);
    announce_many(&lab.rib, PeerId(0), &Block::new(&[1, 8, 9]).0);
    announce_many(&lab.rib, PeerId(1), &Block::new(&[2, 8]).0);
    lab.streams.clear();
    let changes = vec![(PeerId(0), strict(1, 1, 2)), (PeerId(1), strict(2, 2, 1))];
    let (rib, mut notices) = (&lab.rib, 0);
    rib.replace_neighbors(changes, || {
        notices += 1;
        if notices == 1 {
            rib.session_down(PeerId(1), PerFamily::both(Retain::Nothing));
            rib.remove_neighbor(PeerId(1));
            let peer = rib.add_neighbor(strict(3, 3, 9)).unwrap();
            assert_eq!(peer, PeerId(1));
            rib.session_up(peer, session(3, 3));
            announce_many(rib, peer, &Block::new(&[3, 8]).0);
        }
    });
    assert!(notices > 0);
    assert_eq!(rib.counts(PeerId(1))[Family::Ipv4Unicast].accepted, 60_000);
}

#[test]
fn paths_beyond_the_limit_and_with_colliding_ids_are_rejected() {
    let client = PeerKind::RouteServerClient;
    let mut lab = Lab::empty();
    lab.add(neighbor(1, client, 1), |session| {
        session.families = PerFamily::both(Some(FamilyInfo {
            add_path_receive: true,
            ..FamilyInfo::default()
        }));
    });
    let block = Block::new(&[1]).0;
    for id in (1..=300).chain([0x1_0002]) {
        let mut body = vec![0, 0];
        body.extend((block.len() as u16).to_be_bytes());
        body.extend(&block);
        nlri::write_ipv4(&mut body, Some(id), "203.0.113.0/24".parse().unwrap());
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

impl Lab {
    fn received_block(&mut self, peer: u16) -> Vec<u8> {
        self.block(peer).expect("an UPDATE")
    }
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

/// Attributes that almost fill a message leave room for short prefixes alone. The others are withdrawn.
#[test]
fn a_route_is_sent_if_it_fits_a_message() {
    let client = PeerKind::RouteServerClient;
    let sizes = |free: usize| {
        let mut lab = Lab::empty();
        lab.add(neighbor(1, client, 1), |session| {
            session.max_message_len = 65_535;
        });
        lab.add(neighbor(2, client, 2), |_| {});
        let block = Block::new(&[1]);
        // A header of 19 octets, two lengths of 2, and the header of the unknown attribute of 4.
        let value = 4_096 - 19 - 4 - block.0.len() - 4 - free;
        let block = block.with(0xd0, 99, &vec![7; value]).0;
        for prefix in ["10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24"] {
            lab.push(0, &block, prefix);
        }
        lab.rib.commit(&mut lab.batch);
        lab.rib.flush();
        let messages = lab.received(PeerId(1));
        let updates = messages.iter().filter(|(kind, _)| *kind == 2);
        let nlri = updates.map(|(_, body)| update::split(body).unwrap().nlri.len());
        let mut sizes: Vec<usize> = nlri.filter(|len| *len > 0).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(sizes(20), [9]);
    assert_eq!(sizes(9), [9]);
    assert_eq!(sizes(4).iter().sum::<usize>(), 9);
    assert_eq!(sizes(3).iter().sum::<usize>(), 5);
    assert_eq!(sizes(2), [2]);
    assert!(sizes(1).is_empty());
}
