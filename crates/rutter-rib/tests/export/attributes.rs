//! The attributes that each kind of client receives: the rules of RFC 4271 §5, RFC 4456, RFC 6793, RFC 7947, RFC 9234
//! and RFC 9494 as cases.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rutter_net::{Asn, Community, Family, PerFamily};
use rutter_policy::{ImportPolicy, ImportRule, ImportSettings, NextHopRule, Role};
use rutter_rib::*;
use rutter_wire::attr::code;
use rutter_wire::update;

use crate::lab::*;

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
