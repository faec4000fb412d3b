//! Servers that fail, stall or send nonsense.

use std::time::{Duration, Instant};

use rutter_irr::IrrMember;
use rutter_sources::{Source, SourceState};

use crate::bench::{Bench, Folder, settings};
use crate::fake_irrd::FakeIrrd;
use crate::normal::OBJECTS;

const MEMBERS: [(u32, &[&str]); 2] = [(64_500, &["AS-FOO"]), (64_510, &["AS-BAR"])];

/// Replies that are no answer. None of them may block or end the source.
const WRONG: [&str; 8] = [
    "% This is the RIPE Database query service.\n",
    "A3\nAS64500 AS64501\nC\n",
    "A99999999\n",
    "A400\nAS64500\nC\n",
    "Anothing\n",
    "F unknown command\n",
    "\0\0\0\0",
    "",
];

#[test]
fn wrong_replies_concern_one_set_only() {
    for wrong in WRONG {
        let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
        let mut bench = Bench::start(settings(&[&server.address], &MEMBERS), &folder);
        bench.next();
        bench.wait_state(SourceState::Live);
        server.edit(|script| {
            script.reply("iAS-INNER", wrong);
            script.set(&[("gAS64503", "203.0.113.0/24 100.64.9.0/24")]);
        });
        bench.source.refresh();
        bench.next();
        // AS-FOO keeps its answer, and AS-BAR has its new one.
        assert!(bench.accepts(0, "198.51.100.0/24", 64_502), "{wrong:?}");
        assert!(bench.accepts(1, "100.64.9.0/24", 64_503), "{wrong:?}");
        let error = bench.wait("an error", |_| bench.row("irr AS-FOO").is_some());
        let row = bench.row("irr AS-FOO").unwrap();
        assert_eq!(
            (row.state, row.entries),
            (SourceState::Failing, 4),
            "{error:?}"
        );
        assert!(row.last_error.unwrap().contains("AS-INNER"));
        assert!(bench.row("irr AS-BAR").is_none());
    }
}

#[test]
fn wrong_prefixes_keep_the_last_ones() {
    for wrong in WRONG {
        let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
        let mut bench = Bench::start(settings(&[&server.address], &MEMBERS), &folder);
        bench.next();
        bench.wait_state(SourceState::Live);
        server.edit(|script| {
            script.reply("gAS64502", wrong);
            script.set(&[("gAS64503", "203.0.113.0/24 100.64.9.0/24")]);
        });
        bench.source.refresh();
        bench.next();
        assert!(bench.accepts(0, "198.51.100.0/24", 64_502), "{wrong:?}");
        assert!(bench.accepts(1, "100.64.9.0/24", 64_503), "{wrong:?}");
        let status = bench.wait("an error", |status| status.last_error.is_some());
        assert!(status.last_error.unwrap().contains("AS64502"));
    }
}

#[test]
fn the_next_server_goes_on() {
    let (first, second) = (FakeIrrd::start(&OBJECTS), FakeIrrd::start(&OBJECTS));
    let folder = Folder::new();
    let servers = [first.address.as_str(), second.address.as_str()];
    // It breaks in the middle of the queries for prefixes.
    first.edit(|script| script.close_after = Some(9));
    let mut bench = Bench::start(settings(&servers, &MEMBERS), &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_500) && bench.accepts(1, "203.0.113.0/24", 64_503));
    let status = bench.wait_state(SourceState::Live);
    first.edit(|script| script.is_down = true);
    second.edit(|script| script.set(&[("gAS64501", "192.0.2.0/25")]));
    bench.source.refresh();
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/25", 64_501), "{status:?}");
    let status = bench.wait("the second server", |status| {
        status.last_error.is_some() && status.detail.contains(&second.address)
    });
    assert_eq!(status.state, SourceState::Live);
    assert!(status.last_error.unwrap().contains(&first.address));
}

#[test]
fn a_server_without_the_sources_is_not_used() {
    let (first, second) = (FakeIrrd::start(&[]), FakeIrrd::start(&OBJECTS));
    first.edit(|script| script.reply("sRIPE", "F one or more sources are unavailable\n"));
    let folder = Folder::new();
    let mut both = settings(&[&first.address, &second.address], &MEMBERS);
    both.sources = vec!["RIPE".to_owned()];
    let mut bench = Bench::start(both, &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_500));
    let status = bench.wait_state(SourceState::Live);
    assert!(
        status
            .last_error
            .unwrap()
            .contains("sources are unavailable")
    );
}

#[test]
fn before_the_first_data_nothing_is_published() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    server.edit(|script| script.is_down = true);
    let mut bench = Bench::start(settings(&[&server.address], &MEMBERS), &folder);
    let status = bench.wait_state(SourceState::Failing);
    assert_eq!((status.entries, status.updated_at), (0, None));
    assert!(bench.is_quiet());
    server.edit(|script| script.is_down = false);
    bench.next();
    assert!(!bench.accepts(0, "192.0.2.0/24", 1));
}

#[test]
fn old_data_are_stale_and_stay() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let mut short = settings(&[&server.address], &MEMBERS);
    short.keep_last_good = Duration::from_secs(0);
    let mut bench = Bench::start(short, &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    server.edit(|script| script.is_down = true);
    bench.source.refresh();
    bench.wait_state(SourceState::Stale);
    assert!(bench.is_quiet());
}

#[test]
fn a_stop_does_not_wait_for_a_server() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    server.edit(|script| script.reply("iAS-FOO", ""));
    let mut patient = settings(&[&server.address], &MEMBERS);
    patient.irrd_limits.idle_timeout = Duration::from_secs(60);
    let bench = Bench::start(patient, &folder);
    bench.wait("progress", |status| status.detail == "0 of 2 AS-SETs");
    let start = Instant::now();
    assert!(bench.stop());
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn sets_beyond_the_limits_fail_alone() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let deep: Vec<(String, String)> = (0..40)
        .map(|at| {
            (
                format!("iAS-D{at}"),
                format!("AS{} AS-D{}", 65_000 + at, at + 1),
            )
        })
        .collect();
    let long = vec!["AS64500"; 300].join(" ");
    server.edit(|script| {
        script.objects.extend(deep);
        script.set(&[("iAS-LONG", &long), ("iAS-NUMBERS", "AS1 AS2 AS3 AS4")]);
    });
    let members: [(u32, &[&str]); 2] = [
        (64_500, &["AS-D0", "AS-LONG", "AS-NUMBERS"]),
        (64_510, &["AS-BAR"]),
    ];
    let mut small = settings(&[&server.address], &members);
    small.as_set_limits.asns = 3;
    small.as_set_limits.sets = 50;
    let mut bench = Bench::start(small.clone(), &folder);
    bench.next();
    assert!(bench.accepts(1, "203.0.113.0/24", 64_503));
    bench.wait_state(SourceState::Live);
    for (set, why) in [
        ("irr AS-D0", "AS numbers"),
        ("irr AS-LONG", "members"),
        ("irr AS-NUMBERS", "more than 3 AS numbers"),
    ] {
        let error = bench.row(set).unwrap().last_error.unwrap();
        assert!(error.contains(why), "{set}: {error}");
    }
    small.as_set_limits.asns = 1000;
    bench.source.change_settings(small);
    bench.next();
    let error = bench.wait("levels", |_| bench.row("irr AS-LONG").is_none());
    let row = bench.row("irr AS-D0").unwrap();
    assert!(row.last_error.unwrap().contains("32 levels"), "{error:?}");
}

#[test]
fn members_of_whom_nothing_was_ever_known_are_not_checked() {
    let folder = Folder::new();
    let members: [(u32, &[&str]); 2] = [(64_500, &["AS-FOO"]), (64_503, &[])];
    let list = folder.write("list", "203.0.113.0/24 AS64503\n");
    // No server answers: only the list is known.
    let mut settings = settings(&["127.0.0.1:1"], &members);
    settings.files = vec![("AS64503".to_owned(), list)];
    let mut stranger = settings.members[0].clone().unwrap();
    (stranger.asn, stranger.is_unnamed) = (64_520, true);
    settings.members.push(Some(stranger));
    let mut bench = Bench::start(settings, &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_999), "not checked");
    assert!(!bench.accepts(1, "192.0.2.0/24", 64_503), "checked");
    let data = bench.data.as_ref().unwrap();
    let is_left_out = |number, asn| data.of_member(IrrMember(number), asn).is_none();
    assert!(is_left_out(2, 64_520) && !is_left_out(0, 64_500));
    assert!(is_left_out(0, 64_520), "the number is of another AS");
    let whole = bench.wait_state(SourceState::Failing);
    assert!(whole.detail.contains("routes are not checked"), "{whole:?}");
    assert!(
        !folder.0.join("irr").exists(),
        "no copy of half of the data"
    );
}
