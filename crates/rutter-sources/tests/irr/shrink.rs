//! Data that shrink: the guard, and its acceptance.

use rutter_irr::IrrMember;
use rutter_sources::{Source, SourceState};

use crate::bench::{Bench, Folder, settings};
use crate::fake_irrd::FakeIrrd;
use crate::normal::OBJECTS;

const MEMBERS: [(u32, &[&str]); 2] = [(64_500, &["AS-FOO"]), (64_510, &["AS-BAR"])];

/// A running source with another member of many prefixes, so that the loss of one set is no loss of all.
fn large() -> (FakeIrrd, Folder, Bench) {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let many: Vec<String> = (0..200).map(|at| format!("10.0.{at}.0/24")).collect();
    server.edit(|script| script.set(&[("iAS-MANY", "AS65001"), ("gAS65001", &many.join(" "))]));
    let members = [MEMBERS[0], MEMBERS[1], (65_001, &["AS-MANY"])];
    let mut bench = Bench::start(settings(&[&server.address], &members), &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    (server, folder, bench)
}

#[test]
fn an_empty_set_waits_for_an_operator() {
    for (query, reply) in [("iAS-BAR", "C\n"), ("iAS-BAR", "D\n")] {
        let (server, _folder, mut bench) = large();
        server.edit(|script| {
            script.reply(query, reply);
            script.set(&[("gAS64500", "192.0.2.0/24 192.0.3.0/24")]);
        });
        bench.source.refresh();
        bench.next();
        // Other members have their new data, and AS-BAR its old ones.
        assert!(bench.accepts(0, "192.0.3.0/24", 64_500));
        assert!(bench.accepts(1, "203.0.113.0/24", 64_503));
        let status = bench.wait_state(SourceState::Refused);
        assert!(
            status
                .refused
                .unwrap()
                .starts_with("AS-BAR: 0 entries instead of 4")
        );
        let row = bench.row("irr AS-BAR").unwrap();
        assert_eq!((row.state, row.entries), (SourceState::Refused, 4));
        // What an operator would accept can be judged before.
        let waiting = bench.source.refused().unwrap();
        let prefix = "203.0.113.0/24".parse().unwrap();
        let verdict = waiting.check(IrrMember(1), prefix, Some(64_503));
        assert!(verdict.is_rejected());
        bench.source.accept();
        bench.next();
        assert!(!bench.accepts(1, "203.0.113.0/24", 64_503));
        assert!(bench.source.refused().is_none());
        let status = bench.wait_state(SourceState::Live);
        assert_eq!(status.refused, None);
    }
}

#[test]
fn empty_prefixes_of_a_set_are_refused_too() {
    let (server, _folder, mut bench) = large();
    server.edit(|script| script.set(&[("gAS65001", "10.0.0.0/24")]));
    bench.source.refresh();
    let status = bench.wait_state(SourceState::Refused);
    let refused = status.refused.unwrap();
    assert!(
        refused.contains("all members: 7 entries instead of 206") || refused.contains("AS-MANY")
    );
    assert!(bench.is_quiet());
    // A source that recovers needs nobody.
    let many: Vec<String> = (0..190).map(|at| format!("10.0.{at}.0/24")).collect();
    server.edit(|script| script.set(&[("gAS65001", &many.join(" "))]));
    bench.source.refresh();
    bench.next();
    bench.wait_state(SourceState::Live);
    assert!(!bench.accepts(2, "10.0.195.0/24", 65_001) && bench.accepts(2, "10.0.1.0/24", 65_001));
}

#[test]
fn the_loss_of_all_is_refused_but_new_members_have_their_data() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let mut bench = Bench::start(settings(&[&server.address], &MEMBERS), &folder);
    bench.next();
    bench.wait_state(SourceState::Live);
    server.edit(|script| {
        script.objects.clear();
        script.set(&[("iAS-NEW", "AS64530"), ("gAS64530", "100.65.0.0/24")]);
    });
    bench.source.refresh();
    bench.wait_state(SourceState::Refused);
    let members = [MEMBERS[0], MEMBERS[1], (64_530, &["AS-NEW"] as &[&str])];
    let with_new = settings(&[&server.address], &members);
    bench.source.change_settings(with_new.clone());
    bench.next();
    assert!(bench.accepts(2, "100.65.0.0/24", 64_530));
    assert!(bench.accepts(0, "192.0.2.0/24", 64_500) && bench.accepts(1, "203.0.113.0/24", 64_503));
    // The copy on disk has the data in force, not the refused ones.
    assert!(bench.stop());
    server.edit(|script| script.is_down = true);
    let mut bench = Bench::start(with_new.clone(), &folder);
    bench.next();
    assert!(bench.accepts(0, "192.0.2.0/24", 64_500) && bench.accepts(2, "100.65.0.0/24", 64_530));
    server.edit(|script| script.is_down = false);
    bench.source.refresh();
    bench.wait_state(SourceState::Refused);
    bench.source.accept();
    while bench.accepts(0, "192.0.2.0/24", 64_500) {
        bench.next();
    }
    assert!(bench.accepts(2, "100.65.0.0/24", 64_530));
}

#[test]
fn without_a_limit_everything_is_accepted() {
    let (server, folder) = (FakeIrrd::start(&OBJECTS), Folder::new());
    let mut open = settings(&[&server.address], &MEMBERS);
    open.refuse_shrink = None;
    let mut bench = Bench::start(open, &folder);
    bench.next();
    server.edit(|script| script.objects.clear());
    bench.source.refresh();
    bench.next();
    assert!(!bench.accepts(0, "192.0.2.0/24", 64_500));
    let status = bench.wait("two missing sets", |status| {
        status.detail.contains("2 AS-SETs do not")
    });
    assert_eq!(status.state, SourceState::Live);
}
