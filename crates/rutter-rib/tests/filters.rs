//! Filters that change routes, and export filters: routes in, UPDATEs and explanations out; then other filters.

mod lab;

use std::sync::Arc;

use lab::*;
use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{
    AddedCommunity, CommunityList, CommunityPattern, Conditions, Filter, FilterAction, FilterChain,
    FilterDefault, FilterRule, ImportPolicy, ImportSettings, MedChange, PrefixList, PrefixMatch,
    RouteChanges,
};
use rutter_rib::*;
use rutter_wire::attr::code;
use rutter_wire::update;

const PREFIX: &str = "203.0.113.0/24";
const OTHER: &str = "198.51.100.0/24";

fn pattern(text: &str) -> CommunityPattern {
    CommunityPattern::parse(text, Asn(LOCAL)).unwrap()
}

fn added(text: &str) -> RouteChanges {
    RouteChanges {
        added: vec![AddedCommunity::new(pattern(text)).unwrap()],
        ..RouteChanges::default()
    }
}

fn with_community(text: &str) -> Conditions {
    let list = CommunityList::new("marks".into(), vec![pattern(text)]);
    Conditions {
        community_lists: vec![Arc::new(list)],
        ..Conditions::default()
    }
}

fn for_prefix(prefix: &str) -> Conditions {
    let entry = PrefixMatch::exact(prefix.parse().unwrap());
    Conditions {
        prefix_lists: vec![Arc::new(PrefixList::new("one".into(), vec![entry]))],
        ..Conditions::default()
    }
}

fn chain(rules: &[(FilterAction, Conditions, RouteChanges)]) -> FilterChain {
    let rule =
        |(action, conditions, changes): &(FilterAction, Conditions, RouteChanges)| FilterRule {
            conditions: conditions.clone(),
            action: *action,
            reason: (*action == FilterAction::Reject).then(|| "not for this client".into()),
            changes: changes.clone(),
        };
    FilterChain::new(vec![Arc::new(Filter {
        name: "test".into(),
        rules: rules.iter().map(rule).collect(),
        default: FilterDefault::Accept,
    })])
}

fn on_all(changes: RouteChanges) -> FilterChain {
    chain(&[(FilterAction::Accept, Conditions::default(), changes)])
}

fn importing(index: u8, kind: PeerKind, filters: FilterChain) -> Neighbor {
    let mut neighbor = neighbor(index, kind, asn(index, kind));
    neighbor.import = Arc::new(ImportPolicy::new(ImportSettings {
        filters,
        ..neighbor.import.settings().clone()
    }));
    neighbor
}

fn exporting(index: u8, kind: PeerKind, filters: FilterChain) -> Neighbor {
    let mut neighbor = neighbor(index, kind, asn(index, kind));
    neighbor.client.export_filters = filters;
    neighbor
}

fn asn(index: u8, kind: PeerKind) -> u32 {
    match kind {
        PeerKind::Internal | PeerKind::ReflectorClient => LOCAL,
        _ => u32::from(index),
    }
}

fn best(lab: &Lab) -> PeerId {
    let prefix: Prefix = PREFIX.parse().unwrap();
    lab.rib.explain(prefix).unwrap().candidates[0].peer
}

/// Everything that a filter may change, towards each kind of client.
fn everything() -> RouteChanges {
    RouteChanges {
        local_pref: Some(200),
        med: Some(MedChange::Set(7)),
        prepend: 2,
        ..added("64500:100")
    }
}

#[test]
fn a_preference_decides_and_a_reload_undoes_it() {
    let kind = PeerKind::External;
    let mut lab = Lab::new(&[(kind, 1), (kind, 2), (kind, 3)]);
    lab.announce(0, &Block::new(&[1]).0, PREFIX);
    lab.announce(1, &Block::new(&[2, 2, 2]).0, PREFIX);
    assert_eq!(path(&lab.block(2).unwrap()), [LOCAL, 1]);

    let preferred = RouteChanges {
        local_pref: Some(200),
        ..RouteChanges::default()
    };
    let filtered = importing(2, kind, on_all(preferred));
    lab.rib.replace_neighbor(PeerId(1), filtered);
    lab.rib.flush();
    assert_eq!(best(&lab), PeerId(1));
    assert_eq!(path(&lab.block(2).unwrap()), [LOCAL, 2, 2, 2]);
    let explained = lab.rib.explain(PREFIX.parse().unwrap()).unwrap();
    assert_eq!(explained.candidates[1].lost_at, Some(Step::LocalPref));
    assert_eq!(
        explained.candidates[0].filter_changes,
        ["rule 1 of the filter `test`: local-pref 200"]
    );

    let plain = importing(2, kind, FilterChain::default());
    lab.rib.replace_neighbor(PeerId(1), plain);
    lab.rib.flush();
    assert_eq!(best(&lab), PeerId(0));
    assert_eq!(path(&lab.block(2).unwrap()), [LOCAL, 1]);
}

#[test]
fn a_prepend_and_a_med_of_an_import_filter_decide() {
    let kind = PeerKind::External;
    for (changes, step) in [
        (
            RouteChanges {
                prepend: 1,
                ..RouteChanges::default()
            },
            Step::AsPathLength,
        ),
        (
            RouteChanges {
                med: Some(MedChange::Set(10)),
                ..RouteChanges::default()
            },
            Step::MultiExitDisc,
        ),
    ] {
        let mut lab = Lab::empty();
        lab.add(importing(1, kind, on_all(changes)), |_| {});
        lab.add(importing(2, kind, FilterChain::default()), |_| {});
        // Both routes come from AS 1, the first from a better neighbor.
        lab.announce(0, &Block::new(&[1, 9]).0, PREFIX);
        lab.announce(1, &Block::new(&[1, 9]).0, PREFIX);
        assert_eq!(best(&lab), PeerId(1), "{step}");
        let explained = lab.rib.explain(PREFIX.parse().unwrap()).unwrap();
        assert_eq!(explained.candidates[1].lost_at, Some(step));
    }
}

#[test]
fn each_kind_of_client_receives_the_changes_that_it_may() {
    let kinds = [
        (PeerKind::RouteServerClient, None, Some(7), vec![1, 1, 1]),
        (PeerKind::External, None, None, vec![LOCAL, 1, 1, 1]),
        (PeerKind::Internal, Some(200), Some(7), vec![1, 1, 1]),
    ];
    for (kind, local_pref, med, expected) in kinds {
        let mut lab = Lab::empty();
        let sender = PeerKind::External;
        lab.add(importing(1, sender, on_all(everything())), |_| {});
        lab.add(exporting(2, kind, FilterChain::default()), |_| {});
        let received = Block::new(&[1]).with(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 3]);
        lab.announce(0, &received.0, PREFIX);
        let block = lab.block(1).unwrap();
        let sent = parse(&block, true);
        assert_eq!(sent.local_pref(), local_pref, "{kind:?}");
        assert_eq!(sent.multi_exit_disc(), med, "{kind:?}");
        assert_eq!(path(&block), expected, "{kind:?}");
        let communities: Vec<String> = sent.communities().map(|c| c.to_string()).collect();
        assert_eq!(communities, ["64500:100"]);
    }
}

#[test]
fn an_export_filter_changes_what_leaves_for_another_as_too() {
    let kinds = [
        (PeerKind::RouteServerClient, None, vec![1, 1, 1]),
        (PeerKind::External, None, vec![LOCAL, LOCAL, LOCAL, 1]),
        (PeerKind::Internal, Some(200), vec![1, 1, 1]),
    ];
    for (kind, local_pref, expected) in kinds {
        let mut lab = Lab::empty();
        let sender = PeerKind::External;
        lab.add(importing(1, sender, FilterChain::default()), |_| {});
        lab.add(exporting(2, kind, on_all(everything())), |_| {});
        lab.add(exporting(3, kind, FilterChain::default()), |_| {});
        lab.announce(0, &Block::new(&[1]).0, PREFIX);
        let block = lab.block(1).unwrap();
        let sent = parse(&block, true);
        assert_eq!(sent.local_pref(), local_pref, "{kind:?}");
        assert_eq!(sent.multi_exit_disc(), Some(7), "{kind:?}");
        assert_eq!(path(&block), expected, "{kind:?}");
        assert_eq!(sent.communities().count(), 1);
        let block = lab.block(2).unwrap();
        let other = parse(&block, true);
        assert_eq!(other.communities().count(), 0, "a client without filters");
    }
}

#[test]
fn a_client_receives_the_next_route_and_is_told_the_rule() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::empty();
    lab.add(importing(1, kind, on_all(added("64500:66"))), |_| {});
    lab.add(importing(2, kind, FilterChain::default()), |_| {});
    // Export filters see the marks of import filters.
    let not_marked = chain(&[(
        FilterAction::Reject,
        with_community("64500:66"),
        RouteChanges::default(),
    )]);
    lab.add(exporting(3, kind, not_marked.clone()), |_| {});
    lab.announce(0, &Block::new(&[1]).0, PREFIX);
    assert_eq!(lab.block(2), None);
    lab.announce(1, &Block::new(&[2, 9]).0, PREFIX);
    assert_eq!(path(&lab.block(2).unwrap()), [2, 9]);

    let explained = lab.rib.explain(PREFIX.parse().unwrap()).unwrap();
    let client = explained
        .clients
        .iter()
        .find(|one| one.peer == PeerId(2))
        .unwrap();
    assert_eq!(client.skipped, [(0, Withheld::Filter)]);
    let rule = "rule 1 of the filter `test`: not for this client";
    assert_eq!(client.filtered, [(0, rule.to_owned())]);

    // Another import filter, and the client's filter lets the route through.
    let unmarked = importing(1, kind, FilterChain::default());
    lab.rib.replace_neighbor(PeerId(0), unmarked);
    lab.rib.flush();
    assert_eq!(path(&lab.block(2).unwrap()), [1]);
}

/// The lines that a client receives: announced and withdrawn prefixes.
fn lines(lab: &mut Lab, peer: PeerId) -> (usize, usize) {
    let mut lines = (0, 0);
    for (_, body) in lab.received(peer) {
        let sections = update::split(&body).unwrap();
        lines.0 += sections.nlri.len() / 4;
        lines.1 += sections.withdrawn.len() / 4;
    }
    lines
}

#[test]
fn a_changed_export_filter_sends_the_differences_only() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(kind, 1), (kind, 2)]);
    let client = PeerId(1);
    lab.announce(0, &Block::new(&[1]).0, PREFIX);
    lab.announce(0, &Block::new(&[1]).0, OTHER);
    assert_eq!(lines(&mut lab, client), (2, 0));
    let change = |lab: &mut Lab, filters: FilterChain| {
        lab.rib
            .replace_neighbor(client, exporting(2, kind, filters));
        lab.rib
            .restyle_client(client, &mut lab.streams[client.index()]);
        lines(lab, client)
    };
    let reject = |prefix: &str| {
        (
            FilterAction::Reject,
            for_prefix(prefix),
            RouteChanges::default(),
        )
    };
    let mark = |prefix: &str| (FilterAction::Accept, for_prefix(prefix), added("64500:1"));
    assert_eq!(change(&mut lab, chain(&[reject(OTHER)])), (0, 1));
    assert_eq!(change(&mut lab, chain(&[reject(OTHER)])), (0, 0));
    let marked = chain(&[reject(OTHER), mark(PREFIX)]);
    assert_eq!(change(&mut lab, marked), (1, 0));
    assert_eq!(change(&mut lab, chain(&[mark(PREFIX)])), (1, 0));
    assert_eq!(change(&mut lab, FilterChain::default()), (1, 0));
}

#[test]
fn clients_with_equal_filters_share_a_group() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(kind, 1)]);
    for index in 2..6 {
        let changes = match index % 2 {
            0 => added("64500:1"),
            _ => added("64500:2"),
        };
        lab.add(exporting(index, kind, on_all(changes)), |_| {});
    }
    lab.announce(0, &Block::new(&[1]).0, PREFIX);
    for client in 1..5_u16 {
        let block = lab.block(client).unwrap();
        let sent = parse(&block, true);
        let community = sent.communities().next().unwrap();
        assert_eq!(community.low(), if client % 2 == 1 { 1 } else { 2 });
    }
    let logs = lab.rib.memory().into_iter();
    let logs = logs.filter(|row| row.what == "outbound logs");
    assert_eq!(logs.map(|row| row.count).sum::<u64>(), 3);
}

/// Each reload gives the routes another class. The classes of former reloads make room.
#[test]
fn filters_may_change_with_any_number_of_reloads() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::new(&[(kind, 1), (kind, 2)]);
    lab.announce(0, &Block::new(&[1]).0, PREFIX);
    lab.received(PeerId(1));
    for number in 0..500_u32 {
        let changes = added(&format!("64500:{number}"));
        let filtered = importing(1, kind, on_all(changes));
        // A route that is queued during the reload is evaluated under the new filters.
        lab.push(0, &Block::new(&[1]).0, OTHER);
        lab.rib.replace_neighbor(PeerId(0), filtered);
        lab.rib.commit(&mut lab.batch);
        lab.rib.flush();
        for (_, body) in lab.received(PeerId(1)) {
            let block = update::split(&body).unwrap().attributes.to_vec();
            let sent = parse(&block, true);
            let community = sent.communities().next().unwrap();
            assert_eq!(u32::from(community.low()), number);
        }
        let explained = lab.rib.explain(PREFIX.parse().unwrap()).unwrap();
        assert_eq!(explained.candidates[0].reject, None, "reload {number}");
    }
    assert_eq!(lab.rib.unmarked_verdicts(), 0);
}

/// 60 changes for each of several neighbors: more than routes can name. The routes of the last one are rejected, because they
/// must not go out unchanged.
#[test]
fn routes_get_the_changes_that_found_no_place_once_there_is_room() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::empty();
    let prefix = |peer: u8, number: u8| format!("45.{peer}.{number}.0/24");
    for peer in 1..=4_u8 {
        let rule = |number: u8| {
            let mark = added(&format!(
                "64500:{}",
                1_000 * u32::from(peer) + u32::from(number)
            ));
            (
                FilterAction::Accept,
                for_prefix(&prefix(peer, number)),
                mark,
            )
        };
        let rules: Vec<_> = (0..60).map(rule).collect();
        lab.add(importing(peer, kind, chain(&rules)), |_| {});
        for number in 0..60 {
            let block = Block::new(&[u32::from(peer)]).0;
            lab.push(u16::from(peer) - 1, &block, &prefix(peer, number));
            lab.rib.commit(&mut lab.batch);
        }
    }
    let rejected = |lab: &Lab| {
        let counts = |peer| lab.rib.counts(PeerId(peer))[Family::Ipv4Unicast];
        (0..4).map(|peer| counts(peer).rejected()).sum::<u32>()
    };
    let lost = rejected(&lab);
    assert!(lost >= 60, "{lost} routes are rejected");
    assert_eq!(lab.rib.unmarked_verdicts(), u64::from(lost));

    assert!(!lab.rib.restore_marks(|| {}), "all classes have routes");
    for number in 0..60 {
        lab.withdraw(0, &prefix(1, number));
    }
    lab.withdraw(1, &prefix(2, 0));
    assert!(lab.rib.restore_marks(|| {}));
    assert_eq!(rejected(&lab), lost - 61);
}

/// A class that gets its first route during the search for unused ones keeps its number.
#[test]
fn a_route_that_comes_during_the_search_for_unused_classes_keeps_its_mark() {
    let kind = PeerKind::RouteServerClient;
    let mut lab = Lab::empty();
    // The community of a prefix is its last octet. Most places are taken by 60 changes each of two neighbors.
    let prefix = |number: u8| format!("45.1.{number}.0/24");
    let block = Block::new(&[1]).0;
    let mut senders = Vec::new();
    for peer in 0..2_u8 {
        let numbers = peer * 60..peer * 60 + 60;
        let rule = |number: u8| {
            let mark = added(&format!("64500:{number}"));
            (FilterAction::Accept, for_prefix(&prefix(number)), mark)
        };
        let rules: Vec<_> = numbers.clone().map(rule).collect();
        senders.push(importing(peer + 1, kind, chain(&rules)));
        lab.add(senders[usize::from(peer)].clone(), |_| {});
        for number in numbers {
            lab.announce(u16::from(peer), &block, &prefix(number));
            lab.withdraw(u16::from(peer), &prefix(number));
        }
    }
    // One route comes, and another one is queued under the former table.
    lab.push(0, &block, &prefix(1));
    let (rib, batch) = (&lab.rib, &mut lab.batch);
    let mut comes_once = Some(announcement(&block, &prefix(0)));
    rib.replace_neighbors(vec![(PeerId(0), senders.remove(0))], || {
        if let Some(body) = comes_once.take() {
            batch.push(rib, PeerId(0), &body, 0);
            rib.commit(batch);
        }
    });
    assert!(comes_once.is_none(), "the table was not crowded");
    // Their classes take places that are free.
    for number in 2..20 {
        lab.announce(0, &block, &prefix(number));
    }
    let client = importing(3, kind, FilterChain::default());
    let client = lab.rib.add_neighbor(client).unwrap();
    lab.streams.push(lab.rib.session_up(client, session(3, 3)));
    let mut seen = 0;
    for (_, body) in lab.received(client) {
        let parts = update::split(&body).unwrap();
        // Each prefix is its length, and three octets.
        for octets in parts.nlri.chunks(4) {
            let sent = parse(parts.attributes, true);
            let mark = sent.communities().next().unwrap().low();
            assert_eq!(u16::from(octets[3]), mark);
            seen += 1;
        }
    }
    assert_eq!(seen, 20);
}

/// A neighbor chooses the number of attribute sets and of their communities, each of which a filter compares.
#[test]
fn changes_that_export_filters_judge_take_more_steps() {
    let kind = PeerKind::RouteServerClient;
    let steps = [1, 30].map(|patterns| {
        let pattern = |number: u32| pattern(&format!("64500:{number}"));
        let list = CommunityList::new("some".into(), (0..patterns).map(pattern).collect());
        let listed = Conditions {
            community_lists: vec![Arc::new(list)],
            ..Conditions::default()
        };
        let rejecting = chain(&[(FilterAction::Reject, listed, RouteChanges::default())]);
        let mut lab = Lab::new(&[(kind, 1)]);
        lab.add(exporting(2, kind, rejecting), |_| {});
        for number in 0..100_u32 {
            let communities = (0..60).flat_map(|at| (number << 16 | at).to_be_bytes());
            let block = Block::new(&[1]).with(0xc0, 8, &communities.collect::<Vec<u8>>());
            lab.push(0, &block.0, &format!("20.0.{number}.0/24"));
        }
        lab.rib.commit(&mut lab.batch)
    });
    assert!(steps[1] > steps[0] + 100 * 5, "{steps:?}");
}
