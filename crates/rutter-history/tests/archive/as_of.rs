//! The table as of any time equals the table at that time, over sessions, restarts and snapshots at any moment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rutter_events::Now;
use rutter_history::{Archive, Compression, FileRotation, Options, Part, write_snapshot};
use rutter_net::{Family, PerFamily};
use rutter_rib::*;

use crate::read;
use crate::world::{self, BEGIN_US, Routes};

pub const OPTIONS: Options = Options {
    rotate: Duration::from_secs(600),
    rotate_rows: 1_000,
    snapshot_every: Duration::from_secs(3_600),
    retention: None,
    compression: Compression(1),
    retry: Duration::from_secs(10),
};

/// A new temporary folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rutter-history-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const PEERS: u8 = 4;

/// A collector with its table; another one after each restart.
struct World {
    rib: Arc<Rib>,
    ids: Vec<PeerId>,
    up: [bool; PEERS as usize],
    reader: FeedReader,
    rotation: FileRotation,
}

impl World {
    fn new(folder: &Path, now: Now) -> Self {
        let rib = world::table();
        let ids = (0..PEERS).map(|number| rib.add_neighbor(world::neighbor(number)).unwrap());
        let ids = ids.collect();
        let (reader, peers) = rib.subscribe(1 << 16);
        let rotation =
            FileRotation::start(Archive::new(folder), "rrc 1", OPTIONS, &peers, now).unwrap();
        Self {
            rib,
            ids,
            up: [false; PEERS as usize],
            reader,
            rotation,
        }
    }

    fn drain(&mut self, now: Now) {
        while let Some(event) = self.reader.next(Duration::ZERO) {
            self.rotation.take(&event, now);
        }
        self.rotation.turn(now);
    }

    /// Another process goes on in the same run, with the same table.
    fn hand_over(&mut self, folder: &Path, now: Now) {
        self.drain(now);
        let position = self.rotation.complete_file().unwrap();
        let (reader, peers) = self.rib.subscribe(1 << 16);
        self.reader = reader;
        let archive = Archive::new(folder);
        let continued = FileRotation::continued(archive, "rrc 1", OPTIONS, &peers, now, position);
        self.rotation = continued.unwrap();
        assert_eq!(self.rotation.position(), position);
    }

    /// Performs one action of one peer. Returns `true` if routes may have been swept: their time is that of
    /// reading the event.
    fn step(&mut self, drawn: &mut Drawn, now: Now) -> bool {
        let number = drawn.below(PEERS.into()) as u8;
        let (id, at) = (self.ids[usize::from(number)], usize::from(number));
        let mut swept = !self.up[at];
        if swept {
            self.rib.session_up(id, world::session(number));
            self.rib.publish_peer_up(id, now.unix_us);
            self.up[at] = true;
        }
        match drawn.below(24) {
            0 => {
                let retain = [Retain::Nothing, Retain::Stale][drawn.below(2) as usize];
                self.rib.session_down(id, PerFamily::both(retain));
                self.rib.publish_peer_down(
                    id,
                    PerFamily::both(retain),
                    "retained ipv4",
                    now.unix_us,
                );
                self.up[at] = false;
            }
            1 => {
                self.rib.sweep_stale(id, Family::Ipv4Unicast);
                swept = true;
            }
            choice => {
                let count = 1 + drawn.below(6);
                let prefixes: Vec<u8> = (0..count).map(|_| drawn.below(30) as u8).collect();
                let through = (choice > 7).then(|| 1 + drawn.below(9) as u16);
                let mut batch = Batch::new();
                batch.push(
                    &self.rib,
                    id,
                    &world::body(number, &prefixes, through),
                    now.unix_us,
                );
                self.rib.commit(&mut batch);
            }
        }
        swept
    }

    fn snapshot(&self, folder: &Path, now: Now) {
        let snapshot = self.rib.snapshot();
        let position = self.rotation.position();
        write_snapshot(
            &Archive::new(folder),
            "rrc 1",
            Compression(1),
            &snapshot,
            position,
            now.unix_us,
        )
        .unwrap();
    }
}

/// Runs several collectors in sequence. Returns the table after each step.
fn live(folder: &Path, seed: u64) -> Vec<(u64, Routes)> {
    let mut drawn = Drawn(seed);
    let mut now = Now {
        unix_us: BEGIN_US,
        monotonic_us: 5,
    };
    let mut pass = |drawn: &mut Drawn| {
        let us = 1 + drawn.below(60_000_000);
        (now.unix_us, now.monotonic_us) = (now.unix_us + us, now.monotonic_us + us);
        now
    };
    let mut were = Vec::new();
    let mut world = World::new(folder, pass(&mut drawn));
    for _ in 0..400 {
        let now = pass(&mut drawn);
        match drawn.below(40) {
            0 => {
                world.drain(now);
                world.rotation.stop(now);
                let now = pass(&mut drawn);
                world = World::new(folder, now);
                were.push((now.unix_us, Routes::new()));
            }
            1 | 2 => world.snapshot(folder, now),
            11 | 12 => world.hand_over(folder, now),
            3..=10 => world.drain(now),
            _ => {
                let swept = world.step(&mut drawn, now);
                were.push((now.unix_us, world::routes_of(&world.rib)));
                if swept || drawn.below(3) == 0 {
                    world.drain(now);
                }
            }
        }
    }
    world.drain(pass(&mut drawn));
    world.rotation.stop(pass(&mut drawn));
    were
}

#[test]
fn every_state_is_found_again() {
    for seed in 0..2 {
        let folder = folder(&format!("as-of-{seed}"));
        let were = live(&folder, seed);
        let archive = Archive::new(&folder);
        for (time_us, was) in &were {
            let answer = archive.as_of(*time_us).unwrap();
            assert_eq!(
                read::routes(&answer),
                *was,
                "seed {seed}, {}",
                rutter_history::utc(*time_us)
            );
            assert_eq!(answer.notes, Vec::<String>::new());
        }
        assert!(
            archive
                .as_of(BEGIN_US - 1)
                .unwrap_err()
                .to_string()
                .contains("holds nothing of")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// The notes for a time in seconds after the beginning.
fn notes(folder: &Path, seconds: u64) -> String {
    let at = Archive::new(folder).as_of(BEGIN_US + seconds * 1_000_000);
    at.unwrap().notes.join("; ")
}

fn at(seconds: u64) -> Now {
    Now {
        unix_us: BEGIN_US + seconds * 1_000_000,
        monotonic_us: seconds * 1_000_000,
    }
}

#[test]
fn a_time_outside_the_archive_is_noted() {
    let folder = folder("time_note");
    let mut world = World::new(&folder, at(0));
    let mut drawn = Drawn(1);
    for second in [10, 20] {
        world.step(&mut drawn, at(second));
        world.drain(at(second));
    }
    // Killed: the `stop` row is missing.
    world.rotation.turn(at(1_000));
    let World { rotation, .. } = world;
    std::mem::forget(rotation);
    assert_eq!(notes(&folder, 15), "");
    let beyond = notes(&folder, 2_000);
    assert!(beyond.contains("where the archive ends"), "{beyond}");
    let mut world = World::new(&folder, at(5_000));
    world.step(&mut drawn, at(5_010));
    world.drain(at(5_010));
    world.rotation.stop(at(5_020));
    let with_gap = notes(&folder, 2_000);
    assert!(with_gap.contains("did not run"), "{with_gap}");
    assert_eq!(notes(&folder, 5_015), "");
    let after = notes(&folder, 9_000);
    assert!(after.contains("the collector was stopped"), "{after}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_time_inside_a_gap_is_noted() {
    let folder = folder("gap");
    let mut world = World::new(&folder, at(0));
    world.step(&mut Drawn(1), at(10));
    world.drain(at(10));
    let (reader, peers) = world.rib.subscribe(1 << 16);
    world.reader = reader;
    world.rotation.feed_overran(7, &peers, at(30));
    world.rotation.stop(at(40));
    assert_eq!(notes(&folder, 9), "");
    let inside = notes(&folder, 20);
    assert!(inside.contains("is in a gap: 7 messages"), "{inside}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Somebody has removed a file, or a copy is incomplete.
#[test]
fn missing_files_are_noted() {
    let folder = folder("holes");
    let mut world = World::new(&folder, at(0));
    let mut drawn = Drawn(1);
    for second in [10, 1_010, 2_010] {
        world.step(&mut drawn, at(second));
        world.drain(at(second));
        world.rotation.turn(at(second + 700));
    }
    world.rotation.stop(at(3_000));
    let mut world = World::new(&folder, at(4_000));
    world.rotation.stop(at(4_010));
    assert_eq!(notes(&folder, 2_020), "");
    let files = Archive::new(&folder).files(Part::Events).unwrap();
    std::fs::remove_file(&files[1].path).unwrap();
    assert_eq!(notes(&folder, 5), "");
    for second in [1_020, 2_020] {
        let with_gap = notes(&folder, second);
        assert!(
            with_gap.contains("a file of events is missing"),
            "{with_gap}"
        );
    }
    // A run begins with an empty table.
    assert_eq!(notes(&folder, 4_005), "");
    std::fs::remove_dir_all(folder).unwrap();
}
