//! Changed import policies: their routes are judged again, and clients receive the differences once.

use rutter_net::{Family, PerFamily};
use rutter_rib::*;
use rutter_wire::{nlri, update};

use crate::lab::*;
use crate::{announce_many, strict};

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
