//! Changes of what an established session is sent: only the differences are sent, and the session goes on.

mod lab;

use lab::*;
use rutter_net::Family;
use rutter_rib::*;
use rutter_wire::{nlri, update};

const CLIENT: PeerId = PeerId(3);

/// Three eBGP neighbors with a route each for one prefix, one of them with another prefix besides, and a client.
fn lab(add_path: bool, adjust: impl FnOnce(&mut Neighbor)) -> Lab {
    let mut lab = Lab::new(&[
        (PeerKind::External, 1),
        (PeerKind::External, 2),
        (PeerKind::External, 3),
    ]);
    let mut client = neighbor(4, PeerKind::External, 4);
    adjust(&mut client);
    lab.add(client, |session| {
        let info = session.families[Family::Ipv4Unicast].as_mut().unwrap();
        info.add_path_send = add_path;
    });
    for peer in 0..3_u16 {
        let path = vec![u32::from(peer) + 1; usize::from(peer) + 1];
        lab.announce(peer, &Block::new(&path).0, "203.0.113.0/24");
    }
    lab.announce(0, &Block::new(&[1, 9]).0, "198.51.100.0/24");
    lab
}

/// Applies new settings, as a reload does: to the table, then to the session.
fn change(lab: &mut Lab, adjust: impl FnOnce(&mut Neighbor)) {
    let mut client = neighbor(4, PeerKind::External, 4);
    adjust(&mut client);
    lab.rib.replace_neighbor(CLIENT, client);
    lab.rib
        .restyle_client(CLIENT, &mut lab.streams[CLIENT.index()]);
}

/// The lines that the client receives: `+` or `-`, the path identifier (0 without Add-Path) and the prefix.
fn lines(lab: &mut Lab, add_path: bool) -> Vec<String> {
    let mut out = Vec::new();
    for (kind, body) in lab.received(CLIENT) {
        assert_eq!(kind, 2, "an UPDATE");
        if update::is_end_of_rib(&body).is_some() {
            out.push("end of rib".to_owned());
            continue;
        }
        let sections = update::split(&body).unwrap();
        for (sign, bytes) in [('-', sections.withdrawn), ('+', sections.nlri)] {
            let mut parsed = Vec::new();
            nlri::parse_ipv4(bytes, add_path, &mut parsed).unwrap();
            let line = |(path, prefix)| format!("{sign}{path} {prefix}");
            out.extend(parsed.into_iter().map(line));
        }
    }
    out.sort();
    out
}

#[test]
fn fewer_paths_withdraw_those_beyond_the_limit_and_send_nothing_else() {
    let mut lab = lab(true, |_| {});
    let all = lines(&mut lab, true);
    assert_eq!(all.len(), 4, "{all:?}");
    change(&mut lab, |client| client.add_path_limit = 2);
    let withdrawn = lines(&mut lab, true);
    let [line] = withdrawn.as_slice() else {
        panic!("{withdrawn:?}")
    };
    assert!(
        line.starts_with('-') && line.ends_with("203.0.113.0/24"),
        "{line}"
    );
    // The same path comes back with the former limit.
    change(&mut lab, |client| client.add_path_limit = 0);
    assert_eq!(lines(&mut lab, true), [line.replace('-', "+")]);
    lab.announce(2, &Block::new(&[3]).0, "192.0.2.0/24");
    assert_eq!(
        lines(&mut lab, true).len(),
        1,
        "the client follows the changes again"
    );
}

#[test]
fn a_changed_export_withdraws_and_announces_what_the_client_holds() {
    let mut lab = lab(false, |_| {});
    let all = lines(&mut lab, false);
    assert_eq!(all, ["+0 198.51.100.0/24", "+0 203.0.113.0/24"]);
    lab.announce(3, &Block::new(&[4]).0, "192.0.2.0/24");
    change(&mut lab, |client| client.export_allowed = false);
    let gone = lines(&mut lab, false);
    assert_eq!(
        gone,
        ["-0 198.51.100.0/24", "-0 203.0.113.0/24"],
        "nothing of its own route"
    );
    lab.announce(0, &Block::new(&[1, 8]).0, "198.51.100.0/24");
    assert_eq!(lines(&mut lab, false), [""; 0], "nothing is exported");
    change(&mut lab, |client| client.export_allowed = true);
    assert_eq!(lines(&mut lab, false), all);
}

#[test]
fn a_session_that_began_without_export_receives_everything() {
    let mut lab = lab(false, |client| client.export_allowed = false);
    assert!(lab.streams[CLIENT.index()].is_none());
    change(&mut lab, |client| client.export_allowed = true);
    let all = [
        "+0 198.51.100.0/24",
        "+0 203.0.113.0/24",
        "end of rib",
        "end of rib",
    ];
    assert_eq!(lines(&mut lab, false), all);
}

#[test]
fn another_next_hop_is_sent_with_every_route() {
    let mut lab = Lab::new(&[(PeerKind::External, 1), (PeerKind::Internal, LOCAL)]);
    lab.announce(0, &Block::new(&[1]).0, "203.0.113.0/24");
    let next_hop =
        |block: Option<Vec<u8>>| parse(&block.unwrap(), true).next_hop().unwrap().octets();
    assert_eq!(next_hop(lab.block(1)), [198, 51, 100, 1]);
    let client = Neighbor {
        next_hop_self: true,
        ..neighbor(2, PeerKind::Internal, LOCAL)
    };
    lab.rib.replace_neighbor(PeerId(1), client);
    lab.rib.restyle_client(PeerId(1), &mut lab.streams[1]);
    assert_eq!(next_hop(lab.block(1)), [192, 0, 2, 254]);
    lab.rib.restyle_client(PeerId(1), &mut lab.streams[1]);
    assert_eq!(lab.block(1), None, "nothing has changed");
}

#[test]
fn a_client_that_has_yet_to_read_is_sent_each_route_as_it_is_now() {
    let mut lab = lab(true, |_| {});
    // Unread: four routes. Then two changes of style, and a change of the table between them.
    change(&mut lab, |client| client.add_path_limit = 1);
    lab.announce(1, &Block::new(&[2]).0, "198.51.100.0/24");
    change(&mut lab, |client| client.add_path_limit = 2);
    let mut held = std::collections::BTreeSet::new();
    for (_, body) in lab.received(CLIENT) {
        let sections = update::split(&body).unwrap();
        for (is_new, bytes) in [(false, sections.withdrawn), (true, sections.nlri)] {
            let mut parsed = Vec::new();
            nlri::parse_ipv4(bytes, true, &mut parsed).unwrap();
            for line in parsed {
                match is_new {
                    true => held.insert(line),
                    false => held.remove(&line),
                };
            }
        }
    }
    assert_eq!(held.len(), 4, "two paths of each prefix: {held:?}");
}
