//! Failing disks, killed collectors, and old files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rutter_config::History;
use rutter_events::Now;
use rutter_history::{Archive, FileRotation, HistoryService, Part, describe};
use rutter_service::{Context, Service as _, ShutdownSignal, StatusRegistry};

use crate::as_of::{OPTIONS, folder};
use crate::read::event_rows;
use crate::world::{BEGIN_US, table};

fn at(seconds: u64) -> Now {
    Now {
        unix_us: BEGIN_US + seconds * 1_000_000,
        monotonic_us: seconds * 1_000_000,
    }
}

fn kinds(archive: &Archive) -> Vec<String> {
    event_rows(archive)
        .into_iter()
        .map(|(kind, _)| kind)
        .collect()
}

#[test]
fn the_schema_is_the_golden_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/parquet.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, describe()).unwrap();
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        describe(),
        golden,
        "write it again with UPDATE_GOLDEN=1 if the change is meant"
    );
}

#[test]
fn a_killed_collector_leaves_a_gap_and_no_rubbish() {
    let folder = folder("killed");
    let archive = Archive::new(&folder);
    let killed = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(0)).unwrap();
    let run = killed.position().0;
    std::mem::forget(killed);
    assert_eq!(archive.files(Part::Events).unwrap(), []);
    // A run is never earlier than its predecessor, even if the clock was set back.
    let mut next = FileRotation::start(
        archive.clone(),
        "c",
        OPTIONS,
        &[],
        Now {
            unix_us: run - 7,
            ..at(9)
        },
    )
    .unwrap();
    assert_eq!(next.position().0, run + 1);
    next.stop(at(10));
    let detail = format!(
        "rows of run {run} from row 0 on are missing: the collector did not stop cleanly and did not complete its file"
    );
    let owed = [("start", ""), ("gap", &*detail), ("stop", "")];
    assert_eq!(
        event_rows(&archive),
        owed.map(|(kind, detail)| (kind.to_owned(), detail.to_owned()))
    );
    let files = fs::read_dir(folder.join("events/day=2026-11-18/hour=11")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| name.ends_with(".parquet")));
    fs::remove_dir_all(&folder).unwrap();
}

/// Files that another process could not remove are gone, and no gap is recorded for them again.
#[test]
fn a_run_goes_on_without_unfinished_files() {
    let folder = folder("unfinished");
    let archive = Archive::new(&folder);
    let mut first = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(0)).unwrap();
    let position = first.complete_file().unwrap();
    let hour = "day=2026-11-18/hour=11";
    let run = position.0;
    let unfinished = [
        format!("events/{hour}/.c-{run:016}-000000000007.tmp"),
        format!("snapshots/{hour}/.c-{run:016}-000000000007-{run:016}.tmp"),
    ];
    let unfinished = unfinished.map(|name| folder.join(name));
    for path in &unfinished {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let next = FileRotation::continued(archive.clone(), "c", OPTIONS, &[], at(1), position);
    next.unwrap().stop(at(2));
    assert!(unfinished.iter().all(|path| !path.exists()));
    assert_eq!(kinds(&archive), ["start", "stop"]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_used_is_found_before_the_start() {
    let folder = folder("check");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("new");
    HistoryService::check("c", &History::new(path.clone())).unwrap();
    let files = Archive::new(&path).foreign_files(Part::Events).unwrap();
    assert!(files.is_empty());
    // In the place of a folder, so that not even the superuser can write there.
    for (part, hint) in [("events", "events"), ("new", "cannot use the folder")] {
        let other = folder.join(part);
        let _ = fs::remove_dir_all(&other);
        fs::write(&other, "").unwrap();
        let path = match part {
            "events" => folder.clone(),
            _ => other,
        };
        let error = HistoryService::check("c", &History::new(path)).unwrap_err();
        assert!(error.to_string().contains(hint), "{error}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A run that is killed before its first file is complete has recorded the gap of its predecessor.
#[test]
fn every_killed_run_is_recorded() {
    let folder = folder("again");
    let archive = Archive::new(&folder);
    let mut runs = Vec::new();
    for time in 0..4 {
        let mut killed = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(time)).unwrap();
        killed.take(&rutter_rib::FeedEvent::Gap { lost: 1 }, at(time));
        runs.push(killed.position().0);
        std::mem::forget(killed);
    }
    let gaps: Vec<String> = event_rows(&archive)
        .into_iter()
        .filter_map(|(kind, detail)| (kind == "gap").then_some(detail))
        .collect();
    for run in &runs[..3] {
        let named = |gap: &&String| gap.contains(&format!("rows of run {run} from"));
        assert_eq!(gaps.iter().filter(named).count(), 1, "{run}: {gaps:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A run that begins while the disk fails records the missing rows later, also those of the previous run.
#[test]
fn a_run_begins_on_a_full_disk() {
    let folder = folder("full-at-start");
    let archive = Archive::new(&folder);
    let killed = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(0)).unwrap();
    let run = killed.position().0;
    std::mem::forget(killed);
    // A file is in the place of the hour's folder, so that not even the superuser can write there.
    let next_hour = Now {
        unix_us: BEGIN_US + 3_600_000_000,
        ..at(1)
    };
    let day = folder.join("events/day=2026-11-18");
    fs::write(day.join("hour=12"), "in the way").unwrap();
    let mut next = FileRotation::start(archive.clone(), "c", OPTIONS, &[], next_hour).unwrap();
    assert!(next.failure().is_some());
    fs::remove_file(day.join("hour=12")).unwrap();
    let later = |seconds: u64| Now {
        unix_us: next_hour.unix_us + seconds * 1_000_000,
        monotonic_us: next_hour.monotonic_us + seconds * 1_000_000,
    };
    assert!(next.turn(later(20)), "{:?}", next.failure());
    next.stop(later(21));
    let rows = event_rows(&archive);
    let gaps: Vec<&str> = rows
        .iter()
        .filter_map(|(kind, detail)| (kind == "gap").then_some(detail.as_str()))
        .collect();
    let of_before = format!("rows of run {run} from row 0 on are missing");
    assert!(gaps.iter().any(|gap| gap.contains(&of_before)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap.contains("hour=12")), "{gaps:?}");
    let hour = fs::read_dir(day.join("hour=11")).map(Iterator::count);
    assert_eq!(hour.unwrap_or(0), 0, "what the killed run left is gone");
    fs::remove_dir_all(&folder).unwrap();
}

/// The disk fails for a while: the folder of events is replaced by a file.
#[test]
fn rows_lost_on_a_failing_disk_are_recorded_when_it_works_again() {
    let folder = folder("failing");
    let archive = Archive::new(&folder);
    let mut rotation = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(0)).unwrap();
    let event = |lost| rutter_rib::FeedEvent::Gap { lost };
    rotation.take(&event(1), at(1));
    let events = folder.join("events");
    fs::rename(&events, folder.join("away")).unwrap();
    fs::write(&events, "in the way").unwrap();
    // The file is complete, but its folder is gone.
    assert!(!rotation.turn(at(700)));
    assert!(
        rotation.failure().unwrap().contains("cannot write"),
        "{:?}",
        rotation.failure()
    );
    rotation.take(&event(2), at(702));
    assert!(!rotation.turn(at(705)), "too early to try again");
    assert!(!rotation.turn(at(711)), "still in the way");
    fs::remove_file(&events).unwrap();
    assert!(rotation.turn(at(722)), "a snapshot must follow");
    rotation.take(&event(3), at(723));
    rotation.stop(at(724));
    let rows = event_rows(&archive);
    let kinds: Vec<&str> = rows.iter().map(|(kind, _)| &**kind).collect();
    assert_eq!(kinds, ["gap", "gap", "stop"]);
    let bounds =
        "rows 0 to 3 are missing, from 2026-11-18 11:06:40.000000 UTC to 2026-11-18 11:18:";
    assert!(rows[0].1.starts_with(bounds), "{}", rows[0].1);
    fs::remove_dir_all(&folder).unwrap();
}

/// Nothing could be written at the end, not even the gap.
#[test]
fn rows_lost_at_the_end_of_a_run_are_recorded_by_the_next() {
    let folder = folder("unsaid");
    let archive = Archive::new(&folder);
    let start =
        |seconds| FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(seconds)).unwrap();
    let mut rotation = start(0);
    let run = rotation.position().0;
    rotation.turn(at(700));
    let events = folder.join("events");
    fs::rename(&events, folder.join("away")).unwrap();
    fs::write(&events, "in the way").unwrap();
    rotation.take(&rutter_rib::FeedEvent::Gap { lost: 1 }, at(701));
    rotation.stop(at(702));
    fs::remove_file(&events).unwrap();
    fs::rename(folder.join("away"), &events).unwrap();
    start(800).stop(at(801));
    start(900).stop(at(901));
    let rows = event_rows(&archive);
    let kinds: Vec<&str> = rows.iter().map(|(kind, _)| &**kind).collect();
    assert_eq!(kinds, ["start", "start", "gap", "stop", "start", "stop"]);
    let why = format!("rows of run {run} from row 1 on are missing, if there were any: ");
    assert!(rows[2].1.starts_with(&why), "{}", rows[2].1);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_without_write_permission_fails_the_start() {
    let folder = folder("refused");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("events"), "in the way").unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let refused = FileRotation::start(Archive::new(&folder), "c", OPTIONS, &[], at(0))
        .err()
        .unwrap();
    assert!(refused.to_string().starts_with("cannot write"), "{refused}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn clock_steps_and_hours_begin_files() {
    let folder = folder("steps");
    let archive = Archive::new(&folder);
    let mut rotation = FileRotation::start(archive.clone(), "c", OPTIONS, &[], at(0)).unwrap();
    let stepped = Now {
        monotonic_us: 1_000_000,
        ..at(7_300)
    };
    rotation.take(&rutter_rib::FeedEvent::Gap { lost: 1 }, stepped);
    rotation.stop(stepped);
    assert_eq!(kinds(&archive), ["start", "clock-step", "gap", "stop"]);
    let files = archive.files(Part::Events).unwrap();
    assert_eq!(
        files.iter().map(|file| file.seq).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(files[1].hour - files[0].hour, 2);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_removed_folder_does_not_admit_a_second_collector() {
    let folder = folder("removed");
    let archive = Archive::new(&folder);
    let context = Context {
        rib: table(),
        collector: "c".into(),
        shutdown: ShutdownSignal::new(),
        status: StatusRegistry::default(),
    };
    let first = HistoryService::with_options(&context, &archive, OPTIONS).unwrap();
    // A snapshot may be written at the same time.
    while fs::remove_dir_all(&folder).is_err() {}
    let begun = Instant::now();
    while !folder.join(".c.lock").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no lock again");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = HistoryService::with_options(&context, &archive, OPTIONS);
    let why = second.err().map(|why| why.to_string());
    assert!(
        why.as_ref()
            .is_some_and(|why| why.contains("another collector writes here as `c`")),
        "{why:?}"
    );
    context.shutdown.trigger();
    Box::new(first).stop();
    fs::remove_dir_all(&folder).unwrap();
}
