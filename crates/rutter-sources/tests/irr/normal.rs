//! Servers that work: fetching, sharing and publishing.

use std::time::Duration;

use rutter_irr::{IrrMember, IrrRules, ListEntry};
use rutter_net::Prefix;
use rutter_sources::irr::{IrrSettings, IrrSource};
use rutter_sources::{Source, SourceState};

use crate::bench::{Bench, Folder, settings};
use crate::fake_irrd::FakeIrrd;

pub const OBJECTS: [(&str, &str); 8] = [
    ("iAS-FOO", "AS64500 AS64501 AS-INNER"),
    ("iAS-INNER", "AS64502 AS-FOO"),
    ("iAS-BAR", "AS64502 AS64503"),
    ("gAS64500", "192.0.2.0/24"),
    ("gAS64502", "198.51.100.0/24 198.51.101.0/24"),
    ("6AS64502", "2001:db8::/32"),
    ("gAS64503", "203.0.113.0/24"),
    ("gAS64510", "100.64.0.0/24"),
];

#[test]
fn members_have_the_prefixes_of_their_sets() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let members: [(u32, &[&str]); 3] = [
        (64_500, &["AS-FOO"]),
        (64_510, &["AS-BAR", "AS-FOO"]),
        (64_503, &[]),
    ];
    let mut bench = Bench::start(settings(&[&server.address], &members), &folder);
    bench.next();
    for (member, prefix, origin, accepted) in [
        (0, "192.0.2.0/24", 64_500, true),
        (0, "2001:db8::/32", 64_502, true),
        (0, "192.0.2.0/24", 64_501, false),
        (0, "203.0.113.0/24", 64_503, false),
        (1, "203.0.113.0/24", 64_503, true),
        (1, "192.0.2.0/24", 64_500, true),
        (1, "100.64.0.0/24", 64_510, true),
        (2, "203.0.113.0/24", 64_503, true),
        (2, "198.51.100.0/24", 64_502, false),
    ] {
        let found = bench.accepts(member, prefix, origin);
        assert_eq!(found, accepted, "{member} {prefix} AS{origin}");
    }
    let mut queries = server.queries();
    let sent = queries.len();
    queries.sort();
    queries.dedup();
    assert_eq!(queries.len(), sent, "each object is queried once");
    assert_eq!(sent, 3 + 2 * 5);
    let status = bench.wait_state(SourceState::Live);
    assert_eq!((status.entries, status.last_error), (6, None));
    assert!(status.updated_at.is_some() && status.location == server.address);
    assert!(status.detail.starts_with("2 AS-SETs, 5 AS numbers"));

    // Nothing changed, so nothing is published.
    bench.source.refresh();
    while server.edit(|script| script.queries.len()) < sent {
        std::thread::yield_now();
    }
    assert!(bench.is_quiet());
    server.edit(|script| script.set(&[("gAS64501", "192.0.2.0/25")]));
    bench.source.refresh();
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/25", 64_501));
    assert!(bench.stop());
}

#[test]
fn registries_in_names_are_selected() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let members: [(u32, &[&str]); 1] = [(64_510, &["RADB::AS-FOO", "AS-BAR"])];
    let mut with_sources = settings(&[&server.address], &members);
    for (sources, selected) in [(&[][..], "sRIPE,RADB"), (&["RIPE".to_owned()], "sRIPE")] {
        with_sources.sources = sources.to_vec();
        let mut bench = Bench::start(with_sources.clone(), &Folder::new());
        bench.next();
        assert!(bench.accepts(0, "192.0.2.0/24", 64_500));
        let queries = server.edit(|script| std::mem::take(&mut script.queries));
        // AS-INNER contains an AS-FOO of any registry, which is another set.
        let first = |query: &str| queries.iter().position(|sent| sent == query);
        let at = |query: &str| queries.iter().rposition(|sent| sent == query);
        assert!(at("sRADB") < first("iAS-FOO") && first("iAS-FOO") < at("iAS-INNER"));
        assert!(
            at("sRADB") < at(selected) && at(selected) < at("gAS64500"),
            "{queries:?}"
        );
    }
    drop(folder);
}

#[test]
fn a_reload_fetches_only_what_is_new() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let foo: (u32, &[&str]) = (64_500, &["AS-FOO"]);
    let mut bench = Bench::start(settings(&[&server.address], &[foo]), &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    server.queries();
    let bar: (u32, &[&str]) = (64_510, &["AS-BAR"]);
    bench
        .source
        .change_settings(settings(&[&server.address], &[foo, bar]));
    bench.next();
    assert!(bench.accepts(1, "203.0.113.0/24", 64_503) && bench.accepts(0, "192.0.2.0/24", 64_500));
    let queries = server.queries();
    let new = ["iAS-BAR", "gAS64503", "6AS64503", "gAS64510", "6AS64510"];
    assert_eq!(queries, new);

    // Other rules, and a member less: no query at all, and no data refused as too few.
    let mut fewer = settings(&[&server.address], &[bar]);
    fewer.members[0].as_mut().unwrap().white_asns = vec![64_999];
    bench.source.change_settings(fewer);
    bench.next();
    assert!(
        bench.accepts(0, "203.0.113.0/24", 64_503) && !bench.accepts(0, "192.0.2.0/24", 64_500)
    );
    assert!(server.queries().is_empty());
    assert_eq!(bench.whole().refused, None);
}

/// Strangers come as often as they like. The copy on disk changes when an upgrade needs it.
#[test]
fn members_that_nobody_names_do_not_write_the_copy() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let foo: (u32, &[&str]) = (64_500, &["AS-FOO"]);
    let named = settings(&[&server.address], &[foo]);
    let mut bench = Bench::start(named.clone(), &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    let copy = || std::fs::read(folder.0.join("irr")).unwrap();
    let before = copy();
    let mut with_stranger = named.clone();
    let mut stranger = named.members[0].clone().unwrap();
    stranger.asn = 64_510;
    stranger.as_sets = vec!["AS64510".to_owned()];
    stranger.is_unnamed = true;
    with_stranger.members.push(Some(stranger));
    bench.source.change_settings(with_stranger);
    let data = bench.next();
    assert!(data.of_member(IrrMember(1), 64_510).is_some());
    bench.source.change_settings(named.clone());
    let data = bench.next();
    assert!(data.of_member(IrrMember(1), 64_510).is_none());
    assert_eq!(copy(), before);
    assert!(bench.source.save(Duration::from_secs(60)));
}

#[test]
fn a_member_that_is_new_during_an_outage_has_its_data_after_it() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let foo: (u32, &[&str]) = (64_500, &["AS-FOO"]);
    let mut bench = Bench::start(settings(&[&server.address], &[foo]), &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    server.edit(|script| script.is_down = true);
    let bar: (u32, &[&str]) = (64_510, &["AS-BAR"]);
    bench
        .source
        .change_settings(settings(&[&server.address], &[foo, bar]));
    bench.next();
    // Missing answers add nothing: they never open the filter.
    assert!(
        !bench.accepts(1, "203.0.113.0/24", 64_503) && bench.accepts(0, "192.0.2.0/24", 64_500)
    );
    bench.wait_state(SourceState::Failing);
    server.edit(|script| script.is_down = false);
    bench.next();
    assert!(bench.accepts(1, "203.0.113.0/24", 64_503));
    bench.wait_state(SourceState::Live);
}

#[test]
fn a_restart_without_a_server_filters_as_before() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let members: [(u32, &[&str]); 2] = [(64_500, &["AS-FOO"]), (64_510, &["AS-BAR"])];
    let before = settings(&[&server.address], &members);
    let mut bench = Bench::start(before.clone(), &folder);
    let old = bench.next();
    let updated_at = bench.wait_state(SourceState::Live).updated_at;
    assert!(bench.stop());

    server.edit(|script| script.is_down = true);
    // A member that the copy does not know is not checked, as without a copy.
    let mut after = before.clone();
    after
        .members
        .extend(settings(&[], &[(64_520, &["AS-NEW"])]).members);
    let mut bench = Bench::start(after, &folder);
    let new = bench.next();
    assert!(rutter_irr::Changed::between(&old, &new).is_empty());
    let status = bench.wait_state(SourceState::Failing);
    assert_eq!((status.entries, status.updated_at), (6, updated_at));
    assert!(status.last_error.unwrap().contains(&server.address));
    assert!(!bench.accepts(1, "192.0.2.0/24", 64_500) && bench.accepts(2, "192.0.2.0/24", 1));

    // The server returns, and the source finds it without help.
    server.edit(|script| script.is_down = false);
    bench.wait_state(SourceState::Live);
    bench.next();
    assert!(!bench.accepts(2, "192.0.2.0/24", 1));
    assert!(
        bench
            .row("irr AS-NEW")
            .unwrap()
            .detail
            .contains("do not have")
    );
}

#[test]
fn a_damaged_copy_is_reported_and_not_used() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    folder.write("irr", "rutter irr 1 and so on");
    server.edit(|script| script.is_down = true);
    let members: [(u32, &[&str]); 1] = [(64_500, &["AS-FOO"])];
    let mut bench = Bench::start(settings(&[&server.address], &members), &folder);
    let status = bench.wait_state(SourceState::Failing);
    assert!(status.last_error.unwrap().contains("damaged"));
    assert!(bench.is_quiet());
    server.edit(|script| script.is_down = false);
    bench.next();
    let status = bench.wait_state(SourceState::Live);
    assert_eq!(status.last_error, None);
}

#[test]
fn a_preview_has_the_registrations_in_force_under_other_rules_and_white_lists() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let members: [(u32, &[&str]); 3] =
        [(64_500, &["AS-FOO"]), (64_510, &["AS-BAR"]), (64_503, &[])];
    let mut other = settings(&[&server.address], &members);
    let mut bench = Bench::start(settings(&[&server.address], &members[..2]), &folder);
    let data = bench.next();
    server.queries();
    let allow = |other: &mut IrrSettings, at: usize, asn: u32, prefix: &str| {
        let member = other.members[at].as_mut().expect("a member");
        let prefix: Prefix = prefix.parse().expect("a prefix");
        member.white_routes.push(ListEntry {
            origin: Some(asn),
            ..prefix.into()
        });
    };
    other.members[0].as_mut().expect("a member").rules = IrrRules::default();
    allow(&mut other, 1, 64_501, "192.0.2.0/24");
    let preview = IrrSource::preview(&other, Some(data)).expect("it fits");
    let preview = preview.expect("there are data");
    let accepts = |number: u16, asn, prefix: &str, origin| {
        let checks = preview.of_member(IrrMember(number), asn)?;
        let prefix: Prefix = prefix.parse().expect("a prefix");
        let state = checks.origin_state(Some(origin));
        let found = checks.check(checks.locate(prefix), prefix, (Some(origin), state), false);
        Some(!found.is_rejected())
    };
    // Without a rule nothing is rejected.
    assert!(!bench.accepts(0, "203.0.113.0/24", 64_503));
    assert_eq!(accepts(0, 64_500, "203.0.113.0/24", 64_503), Some(true));
    // The white list is new, and the other routes are judged as before.
    assert!(!bench.accepts(1, "192.0.2.0/24", 64_501));
    assert_eq!(accepts(1, 64_510, "192.0.2.0/24", 64_501), Some(true));
    assert_eq!(accepts(1, 64_510, "203.0.113.0/24", 64_503), Some(true));
    assert_eq!(accepts(1, 64_510, "192.0.2.0/24", 64_500), Some(false));
    // Nothing is known of a new member, and nobody was asked.
    assert_eq!(accepts(2, 64_503, "203.0.113.0/24", 64_503), None);
    assert!(server.queries().is_empty());
    assert!(bench.stop());
}
