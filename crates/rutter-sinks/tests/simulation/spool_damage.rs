//! A spool that lost stored rows, or whose collector was killed: a gap reports the missing rows.

use std::fs;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rutter_bench::rng::Rng;
use rutter_sinks::{Clock as _, Limits, Status, Step, TableSource, Writer};

use crate::Simulation;
use crate::database::Database;
use crate::full_disk::{Full, fill, fresh, full_of, rows};

/// Segments of a few dozen rows.
const LIMIT: u64 = 64 << 10;

/// A run of several segments with a clean stop, and its rows.
fn a_run(folder: &Path) -> (u64, Vec<String>) {
    let mut full = full_of(folder, LIMIT);
    full.world.up(0);
    (0..200).for_each(|_| full.turn(1));
    full.spooler.stop(&mut full.spool, &full.clock);
    (full.spooler.run(), rows(&mut full.spool))
}

/// The rows after the next start from a damaged spool: the numbers of the previous run, and all rows of the new
/// run.
fn next_run(folder: &Path) -> (Vec<u64>, Vec<String>) {
    let mut full = full_of(folder, LIMIT);
    full.turn(1);
    let mut rows = rows(&mut full.spool);
    let start = rows.iter().rposition(|row| row.starts_with("0 start"));
    let own = rows.split_off(start.expect("the next run has a start"));
    let number = |row: &String| row.split(' ').next()?.parse().ok();
    (rows.iter().filter_map(number).collect(), own)
}

fn segment(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:016x}.spool"))
}

/// Checks that a gap reports exactly the missing rows after damage to a segment in the middle.
fn records_gap_after(name: &str, damage: impl Fn(&Path)) {
    let folder = fresh(name);
    let (run, stored) = a_run(&folder);
    assert!(fs::metadata(segment(&folder, 2)).is_ok(), "three segments");
    damage(&segment(&folder, 1));
    let (kept, own) = next_run(&folder);
    let stored = stored.len() as u64;
    let missing: Vec<u64> = (0..stored).filter(|n| !kept.contains(n)).collect();
    let (first, last) = (missing[0], missing[missing.len() - 1]);
    assert_eq!(missing.len() as u64, last - first + 1, "{missing:?}");
    let gap = format!("1 gap rows {first} to {last} of run {run} are missing: ");
    assert!(own[1].starts_with(&gap), "{gap}: {own:?}");
    assert_eq!(own.iter().filter(|row| row.contains("gap")).count(), 1);
    fs::remove_dir_all(&folder).expect("the folder goes");
}

fn change(file: &Path, how: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).expect("the segment is read");
    how(&mut bytes);
    fs::write(file, &bytes).expect("the segment is written");
}

/// The offset of the second frame of a segment.
fn second_frame(bytes: &[u8]) -> usize {
    let len: [u8; 4] = bytes[..4].try_into().expect("a length");
    12 + u32::from_le_bytes(len) as usize
}

#[test]
fn changed_bytes_are_recorded() {
    let middle = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    records_gap_after("damaged", |file| change(file, middle));
}

#[test]
fn a_length_beyond_the_end_is_not_an_incomplete_frame() {
    let longer = |bytes: &mut Vec<u8>| {
        let at = second_frame(bytes);
        bytes[at + 2] ^= 0x10;
    };
    records_gap_after("length", |file| change(file, longer));
}

#[test]
fn a_shortened_segment_is_recorded() {
    records_gap_after("shorter", |file| {
        change(file, |bytes| bytes.truncate(bytes.len() / 2))
    });
}

#[test]
fn a_removed_segment_is_recorded() {
    records_gap_after("gone", |file| fs::remove_file(file).expect("it goes"));
}

#[test]
fn damage_at_the_end_is_recorded() {
    let folder = fresh("end");
    let (run, _) = a_run(&folder);
    let number = (0..).find(|n| !segment(&folder, n + 1).exists());
    change(&segment(&folder, number.expect("the last")), |bytes| {
        let at = second_frame(bytes);
        bytes[at + 2] ^= 0x10;
    });
    let (kept, own) = next_run(&folder);
    let gap = format!(
        "1 gap rows of run {run} from row {} on are missing: ",
        kept.len()
    );
    assert!(own[1].starts_with(&gap), "{gap}: {own:?}");
    fs::remove_dir_all(&folder).expect("the folder goes");
}

#[test]
fn a_run_without_a_stop_is_recorded() {
    let folder = fresh("killed");
    let mut full = full_of(&folder, LIMIT);
    full.world.up(0);
    full.turn(1);
    let (run, stored) = (full.spooler.run(), rows(&mut full.spool).len());
    // The disk is full when the collector is killed, and still when it is started and killed again.
    fill(&folder, 1..40);
    full.commit_all();
    full.turn(1);
    assert!(full.spooler.drop_reason().is_some());
    drop(full);
    empty(&folder);
    let mut full = full_of(&folder, LIMIT);
    fill(&folder, 1..40);
    full.world.up(0);
    full.turn(1);
    assert!(full.spooler.drop_reason().is_some());
    empty(&folder);
    turn_until_stored(&mut full);
    let own = rows(&mut full.spool);
    let gap =
        format!("gap rows of run {run} from row {stored} on are missing, if there were any, from ");
    assert!(own.iter().any(|row| row.contains(&gap)), "{gap}: {own:?}");
    fs::remove_dir_all(&folder).expect("the folder goes");
}

/// Removes the links to the device that is always full.
fn empty(folder: &Path) {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.for_each(|entry| fs::remove_file(entry.path()).expect("it goes"));
}

fn turn_until_stored(full: &mut Full) {
    (0..5).for_each(|_| full.turn(1_100));
    assert_eq!(full.spooler.drop_reason(), None);
}

/// The damage happens while the collector runs and its database is away.
#[test]
fn damage_met_while_running_is_recorded_with_its_bounds() {
    let mut simulation = Simulation::new(11);
    simulation.database.server.borrow_mut().away = true;
    simulation.limit = LIMIT;
    let mut collector = simulation.start();
    for _ in 0..100 {
        simulation.pass();
        collector.world.now_us = simulation.clock.0.get().unix_us;
        (0..20).for_each(|_| collector.world.act(&mut simulation.rng));
        simulation.spool_events(&mut collector);
    }
    let run = collector.spooler.run();
    simulation.disk.corrupt(1);
    simulation.quiet(&mut collector);
    let server = simulation.database.server.borrow();
    let numbers: Vec<u64> = server.tables.events.iter().map(|event| event.1).collect();
    let hole = numbers.windows(2).find(|two| two[1] != two[0] + 1);
    let hole = hole.expect("rows are gone");
    let gap = format!(
        "rows {} to {} of run {run} are missing: ",
        hole[0] + 1,
        hole[1] - 1
    );
    let recorded: Vec<&String> = server.tables.gaps.values().collect();
    assert!(
        recorded.iter().any(|detail| detail.starts_with(&gap)),
        "{gap}: {recorded:?}"
    );
    crate::same(&server.tables.routes, &collector.world.routes);
}

/// Somebody removes the folder while the collector runs. Rows then go into files that nobody can open any more.
#[test]
fn a_folder_removed_while_rows_wait_is_recorded_once() {
    let folder = fresh("away");
    let mut full = full_of(&folder, LIMIT);
    full.world.up(0);
    (0..200).for_each(|_| full.turn(1));
    assert!(segment(&folder, 3).exists(), "several segments");
    let (database, run) = (Database::new(Rng::new(1)), full.spooler.run());
    let limits = Limits {
        batch_rows: 10,
        ..Limits::default()
    };
    let mut writer = Writer::new(database.clone(), run, limits, Status::default());
    let (source, now_us) = (
        TableSource(full.world.rib.clone()),
        full.clock.now().unix_us,
    );
    let Full {
        mut spooler,
        spool,
        clock,
        ..
    } = full;
    let spool = Mutex::new(spool);
    let mut step = || writer.step(now_us, &spool, &source);
    (0..3).for_each(|_| drop(step()));
    fs::remove_dir_all(&folder).expect("the folder goes");
    // The writer is faster than the spooler.
    for _ in 0..3 {
        loop {
            match step() {
                Step::Idle => break,
                Step::StartOver(why) => spooler.start_over(&why),
                _ => {}
            }
        }
        spooler.store(&mut spool.lock(), &clock);
    }
    let server = database.server.borrow();
    let own = server.tables.events.iter().map(|event| event.1);
    let numbers: Vec<u64> = own.collect();
    let holes = numbers.windows(2).filter(|two| two[1] != two[0] + 1);
    let holes: Vec<(u64, u64)> = holes.map(|two| (two[0] + 1, two[1] - 1)).collect();
    let recorded: Vec<&String> = server.tables.gaps.values().collect();
    assert!(
        holes.len() == 1 && recorded.len() == 1,
        "{holes:?}: {recorded:?}"
    );
    let (first, last) = holes[0];
    let gap = format!("rows {first} to {last} of run {run} are missing: ");
    assert!(recorded[0].starts_with(&gap), "{gap}: {recorded:?}");
    fs::remove_dir_all(&folder).expect("the folder goes");
}

/// The database has a position, and the whole spool is gone.
#[test]
fn a_removed_spool_is_recorded() {
    let mut simulation = Simulation::new(12);
    let mut collector = simulation.start();
    (0..20).for_each(|_| simulation.turn(&mut collector));
    simulation.quiet(&mut collector);
    let run = collector.spooler.run();
    simulation.kill(collector);
    simulation.disk = Default::default();
    simulation.pass();
    let mut next = simulation.start();
    simulation.quiet(&mut next);
    let server = simulation.database.server.borrow();
    let gap = format!("rows of run {run} from row ");
    let recorded = |detail: &String| {
        detail.starts_with(&gap) && detail.contains("the spool with them was removed")
    };
    assert!(server.tables.gaps.values().any(recorded));
    crate::same(&server.tables.routes, &next.world.routes);
}
