//! Files, alone and beside caches.

use rutter_sources::rpki::RpkiSettings;
use rutter_sources::{Source, SourceState};

use crate::fake_cache::{FakeCache, some_vrps};
use crate::lab::{Lab, settings, stop, wait, wait_for_state, whole};

#[test]
fn files_are_read_at_the_start_and_when_they_change() {
    let lab = Lab::new();
    let path = lab.write("vrps.json", 10);
    let source = lab.start(RpkiSettings {
        vrps: vec![path.clone()],
        ..settings(&[])
    });
    assert_eq!(
        (lab.vrps(), whole(&source).state),
        (Some(10), SourceState::Live)
    );
    lab.write("vrps.json", 12);
    lab.wait_for(&source, 12);
    std::fs::write(&path, "{").unwrap();
    wait_for_state(&source, 1, SourceState::Failing);
    assert!(
        source.status()[1]
            .last_error
            .as_ref()
            .unwrap()
            .contains("vrps.json")
    );
    assert_eq!((lab.vrps(), whole(&source).entries), (Some(12), 12));
    lab.write("vrps.json", 3);
    wait_for_state(&source, 0, SourceState::Refused);
    source.accept();
    lab.wait_for(&source, 3);
    let other = lab.write("other.json", 20);
    source.change_settings(RpkiSettings {
        vrps: vec![path, other],
        ..settings(&[])
    });
    lab.wait_for(&source, 20);
    stop(source);
}

#[test]
fn files_are_the_last_resort_beside_caches() {
    let (lab, mut cache) = (Lab::new(), FakeCache::start(1));
    cache.script().vrps = some_vrps(11);
    cache.stop();
    let path = lab.write("vrps.json", 10);
    let settings = RpkiSettings {
        vrps: vec![path],
        ..settings(&[&cache])
    };
    let source = lab.start(settings.clone());
    assert_eq!(lab.vrps(), Some(10));
    wait_for_state(&source, 1, SourceState::Failing);
    assert_eq!(whole(&source).state, SourceState::Live);
    cache.restart();
    lab.wait_for(&source, 11);
    assert_eq!(source.status()[2].detail, "in reserve");
    stop(source);
    // After a restart the copy of the cache's data comes before the files.
    cache.stop();
    let source = lab.start(settings);
    assert_eq!((lab.count(), lab.vrps()), (3, Some(11)));
    stop(source);
}

#[test]
fn without_data_the_state_says_that_no_route_is_invalid() {
    let lab = Lab::new();
    let source = lab.start(RpkiSettings {
        vrps: vec![lab.folder.join("absent")],
        ..settings(&[])
    });
    let row = whole(&source);
    assert_eq!((row.state, row.entries), (SourceState::Failing, 0));
    assert_eq!(row.detail, "no data: no route is invalid");
    assert!(row.last_error.unwrap().contains("absent"));
    lab.write("absent", 1);
    lab.wait_for(&source, 1);
    wait(
        || whole(&source).state == SourceState::Live,
        || format!("{:?}", whole(&source)),
    );
    stop(source);
}
