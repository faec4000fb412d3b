//! Routes that are not accepted: malformed ones, those above `max-prefix`, and paths beyond the limit of a prefix.

use rutter_net::{Family, PerFamily};
use rutter_policy::RejectReason;
use rutter_rib::*;
use rutter_wire::attr::code;
use rutter_wire::update;

use crate::lab::*;

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
