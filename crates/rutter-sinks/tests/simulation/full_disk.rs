//! A real folder on a disk that is full for a while.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rutter_sinks::{Block, Clock as _, Disk, FeedSpooler, Spool};

use crate::{SimClock, Simulation, World};

/// Makes writes to the next segments fail with "no space left on device".
pub fn fill(folder: &Path, segments: std::ops::Range<u64>) {
    for number in segments {
        let made = symlink("/dev/full", folder.join(format!("{number:016x}.spool")));
        made.expect("the link is made");
    }
}

fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.filter(|entry| entry.is_ok()).count()
}

/// The rows in a spool, as `number kind detail`.
pub fn rows(spool: &mut Spool<Disk>) -> Vec<String> {
    let mut cursor = spool.seek(None, u64::MAX).expect("the spool is read");
    let mut rows = Vec::new();
    while let Some((bytes, next)) = spool.next(cursor).expect("the spool is read") {
        let block = Block::decode(&bytes).expect("a block");
        for (seq, entry) in (block.first_seq..).zip(&block.entries) {
            rows.push(format!("{seq} {} {}", entry.kind.name(), entry.detail));
        }
        cursor = next;
    }
    rows
}

pub struct Full {
    pub world: World,
    pub clock: SimClock,
    pub spool: Spool<Disk>,
    pub spooler: FeedSpooler,
}

impl Full {
    /// Adds one row and tries to store it after this number of milliseconds.
    pub fn turn(&mut self, later_ms: u64) {
        let mut now = self.clock.now();
        now.unix_us += later_ms * 1_000;
        now.monotonic_us += later_ms * 1_000;
        self.clock.0.set(now);
        self.world
            .send_update(0, &["10.1.0.0/16".parse().unwrap()], None, Some(7));
        self.spooler.read_feed(Duration::ZERO, &self.clock);
        self.spooler.store(&mut self.spool, &self.clock);
    }

    /// Acknowledges all rows in the spool.
    pub fn commit_all(&mut self) {
        let begin = self.spool.seek(None, u64::MAX).expect("a place");
        let end = self.spool.behind_segment(begin);
        self.spool.acknowledge(end).expect("all is committed");
    }
}

/// A folder of this process that does not exist yet.
pub fn fresh(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rutter-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_removed_folder_is_created_again() {
    let folder = fresh("removed");
    let mut full = full(&folder);
    full.turn(1);
    fs::remove_dir_all(&folder).expect("the folder goes");
    full.commit_all();
    full.world.up(0);
    full.turn(1);
    assert_eq!(full.spooler.drop_reason(), None);
    assert!(!rows(&mut full.spool).is_empty());
    fs::remove_dir_all(&folder).expect("the folder goes");
}

/// The folder cannot be created when the collector starts.
#[test]
fn a_spool_that_cannot_be_created_yet_begins_with_a_gap() {
    let disk = fresh("later");
    fs::write(&disk, "").expect("a file where a folder is to be");
    let folder = disk.join("spool");
    assert!(Disk::open(&folder).is_err());
    let mut full = full_on(Disk::later(&folder), 1 << 20);
    full.world.up(0);
    full.turn(1);
    assert!(full.spooler.drop_reason().is_some());
    fs::remove_file(&disk).expect("there is room");
    full.turn(1_100);
    assert_eq!(full.spooler.drop_reason(), None);
    let stored = rows(&mut full.spool);
    assert!(stored[0].contains(" gap rows 0 to "), "{stored:?}");
    // Others are kept out from now on.
    assert!(Disk::open(&folder).is_err());
    fs::remove_dir_all(&disk).expect("the folder goes");
}

/// A collector with one peer and a spool in a folder.
fn full(folder: &Path) -> Full {
    full_of(folder, 1 << 20)
}

/// As [`full`], with a limit for the spool in bytes.
pub fn full_of(folder: &Path, limit: u64) -> Full {
    full_on(Disk::open(folder).expect("the folder is ours"), limit)
}

fn full_on(disk: Disk, limit: u64) -> Full {
    let clock = Simulation::new(1).clock;
    let spool = Spool::open(disk, limit).expect("the spool opens");
    let world = World::new(1, clock.now().unix_us);
    let spooler = FeedSpooler::new(world.rib.clone(), "full", &spool, &clock);
    Full {
        world,
        clock,
        spool,
        spooler,
    }
}

#[test]
fn a_disk_that_is_full_makes_one_gap_and_no_litter() {
    let folder = fresh("full");
    let mut full = full(&folder);
    full.world.up(0);
    full.turn(1);
    // The `start` is stored and committed, and the disk fills.
    let before = rows(&mut full.spool).len();
    assert!(before > 0 && full.spooler.drop_reason().is_none());
    full.commit_all();
    fill(&folder, 1..4);
    full.turn(1);
    let why = full
        .spooler
        .drop_reason()
        .expect("it does not fit")
        .to_owned();
    assert!(why.contains("No space left on device"), "{why}");
    // No attempt before a second has passed; then there is one.
    full.turn(500);
    assert_eq!(
        files(&folder),
        4,
        "the lock, the last segment, and what was not tried yet"
    );
    full.turn(600);
    full.turn(1_100);
    assert_eq!(files(&folder), 2);
    assert_eq!(full.spooler.gaps(), (0, 0), "no gap was recorded yet");
    // The disk has space again.
    full.turn(1_100);
    assert_eq!(full.spooler.drop_reason(), None);
    assert_eq!(full.spooler.gaps().0, 1);
    let stored = rows(&mut full.spool);
    let (first, last) = (before, before + full.spooler.gaps().1 as usize - 1);
    let expected = format!("{} gap rows {first} to {last} are missing, from ", last + 1);
    assert!(stored[0].starts_with(&expected), "{expected}: {stored:?}");
    fs::remove_dir_all(&folder).expect("the folder goes");
}
