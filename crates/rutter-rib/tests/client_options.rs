//! Options of clients: what each of them receives because of them, and what a change of them sends.

mod lab;

use std::sync::Arc;

use lab::*;
use rutter_net::{Asn, Community, PerFamily};
use rutter_policy::{
    Action, ActionCommunity, ExportPolicy, ExportSettings, ImportPolicy, ImportSettings,
};
use rutter_rib::*;
use rutter_wire::attr::code;
use rutter_wire::update;

const CLIENT: PeerKind = PeerKind::RouteServerClient;

fn communities(block: &[u8]) -> Vec<String> {
    let all = parse(block, true);
    all.communities().map(|c| c.to_string()).collect()
}

/// A member whose routes with BLACKHOLE are accepted.
fn member(index: u8, asn: u32, client: ClientOptions) -> Neighbor {
    let mut member = neighbor(index, CLIENT, asn);
    member.import = Arc::new(ImportPolicy::new(ImportSettings {
        blackhole: PerFamily::both(true),
        ..member.import.settings().clone()
    }));
    Neighbor { client, ..member }
}

fn export(change: impl FnOnce(&mut ExportSettings)) -> Arc<ExportPolicy> {
    let mut settings = ExportSettings {
        local_asn: Asn(LOCAL),
        accepts_blackhole: true,
        ..ExportSettings::default()
    };
    change(&mut settings);
    Arc::new(ExportPolicy::new(settings))
}

#[test]
fn a_client_that_needs_our_as_first_gets_it_and_the_others_do_not() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2)]);
    let options = ClientOptions {
        prepends_own_as: true,
        ..ClientOptions::default()
    };
    let with_as = |index, asn| Neighbor {
        client: options.clone(),
        ..neighbor(index, CLIENT, asn)
    };
    lab.add(with_as(3, 3), |_| {});
    lab.add(with_as(4, 4), |session| session.as4 = false);
    lab.announce(0, &Block::new(&[1, 7]).0, "203.0.113.0/24");
    assert_eq!(path(&lab.block(1).unwrap()), [1, 7]);
    assert_eq!(path(&lab.block(2).unwrap()), [LOCAL, 1, 7]);
    // 64500:102:3 prepends twice towards AS 3: the sender's AS, after ours.
    let twice: Vec<u8> = [LOCAL, 102, 3]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    let block = Block::new(&[1, 7]).with(0xc0, code::LARGE_COMMUNITIES, &twice);
    lab.announce(0, &block.0, "203.0.113.0/24");
    assert_eq!(path(&lab.block(1).unwrap()), [1, 7]);
    assert_eq!(path(&lab.block(2).unwrap()), [LOCAL, 1, 1, 1, 7]);
}

#[test]
fn plain_ebgp_gets_our_as_first_however_often_another_is_prepended() {
    let mut lab = Lab::new(&[(PeerKind::External, 1), (PeerKind::External, 3)]);
    let twice: Vec<u8> = [LOCAL, 102, 3]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    let block = Block::new(&[1]).with(0xc0, code::LARGE_COMMUNITIES, &twice);
    lab.announce(0, &block.0, "203.0.113.0/24");
    assert_eq!(path(&lab.block(1).unwrap()), [LOCAL, 1, 1, 1]);
}

#[test]
fn blackhole_routes_go_only_to_clients_that_want_them() {
    let mut lab = Lab::empty();
    lab.rib.replace_export(export(|_| {}), || {});
    let unwanted = ClientOptions {
        receives_blackhole: false,
        ..ClientOptions::default()
    };
    lab.add(member(1, 1, ClientOptions::default()), |_| {});
    lab.add(member(2, 2, ClientOptions::default()), |_| {});
    lab.add(member(3, 3, unwanted.clone()), |_| {});
    lab.add(neighbor(4, CLIENT, 4), |_| {});
    let blackhole = |path: &[u32]| {
        Block::new(path)
            .with(0xc0, code::COMMUNITIES, &[0xff, 0xff, 0x02, 0x9a])
            .0
    };
    lab.announce(0, &blackhole(&[1]), "203.0.113.1/32");
    assert_eq!(communities(&lab.block(1).unwrap()), ["65535:666"]);
    assert_eq!(lab.block(2), None, "it does not receive such routes");
    assert!(lab.block(3).is_some());
    let explained = lab.rib.explain("203.0.113.1/32".parse().unwrap()).unwrap();
    let client = explained
        .clients
        .iter()
        .find(|c| c.peer == PeerId(2))
        .unwrap();
    assert_eq!(client.skipped, [(0, Withheld::Blackhole)]);
    // The same community from a member whose blackhole routes are not accepted means nothing.
    lab.announce(3, &blackhole(&[4]), "198.51.100.0/24");
    assert!(lab.block(2).is_some());
    (0..4).for_each(|peer| drop(lab.received(PeerId(peer))));

    // A reload: client 3 wants them now, client 2 no longer. Nobody else is sent anything.
    lab.rib.replace_neighbors(
        vec![
            (PeerId(2), member(3, 3, ClientOptions::default())),
            (PeerId(1), member(2, 2, unwanted)),
        ],
        || {},
    );
    lab.rib.flush();
    assert_eq!(communities(&lab.block(2).unwrap()), ["65535:666"]);
    let (_, body) = &lab.received(PeerId(1))[0];
    assert_eq!(update::split(body).unwrap().withdrawn, [32, 203, 0, 113, 1]);
    assert_eq!(lab.received(PeerId(0)), []);
    assert_eq!(lab.received(PeerId(3)), []);
}

#[test]
fn only_routes_accepted_for_blackhole_receive_no_export() {
    let mut lab = Lab::empty();
    let no_export = |on| export(move |settings| settings.blackhole_no_export = on);
    lab.rib.replace_export(no_export(true), || {});
    lab.add(member(1, 1, ClientOptions::default()), |_| {});
    lab.add(member(2, 2, ClientOptions::default()), |_| {});
    lab.add(neighbor(3, CLIENT, 3), |_| {});
    let blackhole = |path: &[u32]| {
        Block::new(path)
            .with(0xc0, code::COMMUNITIES, &[0xff, 0xff, 0x02, 0x9a])
            .0
    };
    lab.announce(0, &blackhole(&[1]), "203.0.113.1/32");
    let sent = communities(&lab.block(1).unwrap());
    assert_eq!(sent, ["65535:666", "65535:65281"]);
    lab.announce(2, &blackhole(&[3]), "198.51.100.0/24");
    let sent = communities(&lab.block(1).unwrap());
    assert_eq!(sent, ["65535:666"], "this member may not blackhole");
    // A reload without `add-no-export` sends the blackhole route again, and no other.
    (0..3).for_each(|peer| drop(lab.received(PeerId(peer))));
    lab.rib.replace_export(no_export(false), || {});
    lab.rib.flush();
    assert_eq!(lab.received(PeerId(0)), []);
    assert_eq!(communities(&lab.block(1).unwrap()), ["65535:666"]);
}

#[test]
fn an_own_community_means_the_same_as_blackhole() {
    let mut lab = Lab::empty();
    let notation = "self:666:0".parse().unwrap();
    let own = ActionCommunity::new(Action::Blackhole, notation).unwrap();
    lab.rib
        .replace_export(export(|settings| settings.actions.push(own)), || {});
    let accepting = |index, asn| {
        let mut member = member(index, asn, ClientOptions::default());
        member.import = Arc::new(ImportPolicy::new(ImportSettings {
            blackhole_communities: vec![own],
            local_asn: Asn(LOCAL),
            ..member.import.settings().clone()
        }));
        member
    };
    lab.add(accepting(1, 1), |_| {});
    lab.add(accepting(2, 2), |_| {});
    lab.add(neighbor(3, CLIENT, 3), |_| {});
    let own_value: Vec<u8> = [LOCAL, 666, 0]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    // The host route is accepted for it. Clients receive the well-known community instead.
    let block = Block::new(&[1]).with(0xc0, code::LARGE_COMMUNITIES, &own_value);
    lab.announce(0, &block.0, "203.0.113.1/32");
    let sent = lab.block(1).unwrap();
    assert_eq!(communities(&sent), ["65535:666"]);
    assert_eq!(parse(&sent, true).large_communities().count(), 0);
    // Both at once are one, and in any order.
    let unordered = Block::new(&[1])
        .with(0xc0, code::LARGE_COMMUNITIES, &own_value)
        .with(0xc0, code::COMMUNITIES, &[0, 1, 0, 2]);
    lab.announce(0, &unordered.0, "203.0.113.3/32");
    assert_eq!(communities(&lab.block(1).unwrap()), ["1:2", "65535:666"]);
    let both = Block::new(&[1])
        .with(0xc0, code::COMMUNITIES, &[0xff, 0xff, 0x02, 0x9a])
        .with(0xc0, code::LARGE_COMMUNITIES, &own_value);
    lab.announce(0, &both.0, "203.0.113.2/32");
    assert_eq!(communities(&lab.block(1).unwrap()), ["65535:666"]);
}

#[test]
fn during_maintenance_every_route_has_graceful_shutdown_and_afterwards_none() {
    let mut lab = Lab::new(&[(CLIENT, 1), (CLIENT, 2), (PeerKind::Internal, LOCAL)]);
    let sent = Block::new(&[1]).with(0xc0, code::COMMUNITIES, &[0, 5, 0, 5]);
    lab.announce(0, &sent.0, "203.0.113.0/24");
    lab.announce(1, &Block::new(&[2]).0, "198.51.100.0/24");
    (0..3).for_each(|peer| drop(lab.received(PeerId(peer))));
    lab.rib
        .replace_export(export(|s| s.graceful_shutdown = true), || {});
    lab.rib.flush();
    assert_eq!(communities(&lab.block(1).unwrap()), ["5:5", "65535:0"]);
    assert_eq!(communities(&lab.block(0).unwrap()), ["65535:0"]);
    let internal = lab.received(PeerId(2));
    for (_, body) in internal {
        let block = update::split(&body).unwrap().attributes.to_vec();
        assert!(
            !communities(&block).contains(&"65535:0".to_owned()),
            "not inside our AS"
        );
    }
    lab.announce(0, &Block::new(&[1, 9]).0, "192.88.99.0/24");
    assert_eq!(communities(&lab.block(1).unwrap()), ["65535:0"]);
    lab.rib.replace_export(export(|_| {}), || {});
    lab.rib.flush();
    let after = lab.received(PeerId(1));
    assert_eq!(after.len(), 2, "both routes, once each");
    for (_, body) in after {
        let block = update::split(&body).unwrap().attributes.to_vec();
        assert!(!communities(&block).contains(&Community::GRACEFUL_SHUTDOWN.to_string()));
    }
}
