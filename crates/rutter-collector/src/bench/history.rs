//! Measures how fast history is written, and how small it is. The input is full tables as at the start of sessions,
//! then updates.
//!
//! The feed is that of a table that receives the messages. Only the archive's own work counts: reading the events,
//! making rows, compressing and writing them, on one thread.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use rustix::time::{ClockId, clock_gettime};
use rutter_events::Now;
use rutter_rib::{Batch, FeedReader, PeerId, Rib};

use rutter_history::{Archive, Compression, FileRotation, Options, Part, write_snapshot};

use super::feeds::{add_feeds, bodies, empty_table, read_prefixes};

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file of prefixes, one a line, plain or gzip.
    pub prefixes: PathBuf,
    /// The maximum number of prefixes of each family; 0 for all.
    pub most: usize,
    /// The number of feeds of each family.
    pub feeds: usize,
    /// The number of update messages after the tables.
    pub updates: usize,
    /// The ZSTD level.
    pub compression: i32,
    /// The folder for the archive. The archive is removed at the end.
    pub folder: PathBuf,
}

/// Runs the benchmark and passes each figure to `say`.
///
/// # Errors
/// Fails if the prefixes cannot be read or the archive cannot be written.
pub fn run(settings: &Settings, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let folder = settings
        .folder
        .join(format!("rutter-bench-history-{}", std::process::id()));
    // The folder is new, so removing it deletes no other files.
    fs::create_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let measured = measure(settings, &folder, say);
    let removed = fs::remove_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()));
    measured.and(removed)
}

fn measure(settings: &Settings, folder: &Path, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let archive = Archive::new(folder);
    let mut bench = Bench::new(settings, archive.clone())?;
    bench.tables()?;
    say(&bench.figures("full tables"));
    let tables = files(&archive, Part::Events)?;
    say(&sizes(&tables)?);
    bench.updates(settings.updates)?;
    say(&bench.figures("updates"));
    let mut updates = files(&archive, Part::Events)?;
    updates.retain(|file| !tables.contains(file));
    say(&sizes(&updates)?);
    let begun = cpu();
    let position = bench.rotation.position();
    let snapshot = bench.rib.snapshot();
    let written = write_snapshot(
        &archive,
        "bench",
        bench.compression,
        &snapshot,
        position,
        bench.now.unix_us,
    );
    let (routes, octets) = written.map_err(|why| why.to_string())?;
    say(&line("snapshot", routes, octets, cpu() - begun));
    let snapshot = files(&archive, Part::Snapshots)?;
    say(&sizes(&snapshot)?);
    let events = tables.len() + updates.len();
    say(&format!(
        "{events} files of events, {} of the table",
        snapshot.len()
    ));
    Ok(())
}

fn files(archive: &Archive, part: Part) -> Result<Vec<PathBuf>, String> {
    let files = archive.files(part).map_err(|why| why.to_string())?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// Returns the bytes a row of each column, the largest first. Columns below 0.05 bytes are left out.
fn sizes(files: &[PathBuf]) -> Result<String, String> {
    let mut columns: HashMap<String, i64> = HashMap::new();
    let mut rows = 0;
    for path in files {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let file = fs::File::open(path).map_err(|why| failed(&why))?;
        let reader = SerializedFileReader::new(file).map_err(|why| failed(&why))?;
        rows += reader.metadata().file_metadata().num_rows();
        for column in reader
            .metadata()
            .row_groups()
            .iter()
            .flat_map(|group| group.columns())
        {
            *columns.entry(column.column_path().string()).or_default() += column.compressed_size();
        }
    }
    let mut columns: Vec<(String, f64)> = columns
        .into_iter()
        .map(|(name, octets)| (name, octets as f64 / rows.max(1) as f64))
        .filter(|(_, octets)| *octets >= 0.05)
        .collect();
    columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    let columns = columns
        .iter()
        .map(|(name, octets)| format!("{name} {octets:.2}"));
    Ok(format!("  {}", columns.collect::<Vec<_>>().join(", ")))
}

struct Feed {
    id: PeerId,
    /// The bodies of the UPDATE messages.
    bodies: Vec<Vec<u8>>,
}

struct Bench {
    rib: Arc<Rib>,
    feeds: Vec<Feed>,
    reader: FeedReader,
    rotation: FileRotation,
    compression: Compression,
    now: Now,
    drawn: u64,
    spent: Duration,
    before: (u64, u64),
}

impl Bench {
    fn new(settings: &Settings, archive: Archive) -> Result<Self, String> {
        let rib = empty_table();
        let feeds = feeds(settings, &rib)?;
        let now = Now {
            unix_us: 1_795_176_000_000_000,
            monotonic_us: 0,
        };
        let compression = Compression(settings.compression);
        let options = Options {
            rotate: Duration::from_secs(300),
            rotate_rows: 10_000_000,
            snapshot_every: Duration::MAX,
            retention: None,
            compression,
            retry: Duration::MAX,
        };
        let (reader, peers) = rib.subscribe(1 << 18);
        let rotation = FileRotation::start(archive, "bench", options, &peers, now);
        Ok(Self {
            rotation: rotation.map_err(|why| why.to_string())?,
            rib,
            feeds,
            reader,
            compression,
            now,
            drawn: 1,
            spent: Duration::ZERO,
            before: (0, 0),
        })
    }

    /// Sends all feeds at the same time, in bursts as sockets are read. A full table takes less than a minute.
    fn tables(&mut self) -> Result<(), String> {
        let most = self
            .feeds
            .iter()
            .map(|feed| feed.bodies.len())
            .max()
            .unwrap_or(0);
        let mut at = 0;
        while at < most {
            let burst = 1 + self.below(64);
            for feed in 0..self.feeds.len() {
                let bodies = &self.feeds[feed].bodies;
                let bodies = bodies
                    .get(at..(at + burst).min(bodies.len()))
                    .unwrap_or(&[])
                    .to_vec();
                self.apply(feed, &bodies);
            }
            at += burst;
            self.drain()?;
        }
        self.end()
    }

    /// Sends updates. Flapping prefixes cause most of them: nine of ten messages are about 2 % of the prefixes. Several
    /// peers send each change within a second. One of ten changes withdraws.
    fn updates(&mut self, count: usize) -> Result<(), String> {
        let mut given = 0;
        while given < count {
            let feed = self.below(self.feeds.len());
            let len = self.feeds[feed].bodies.len();
            let candidates = if self.below(10) < 9 {
                len.div_ceil(50)
            } else {
                len
            };
            let message = self.below(candidates);
            let (peers, withdraws) = (
                1 + self.below(self.feeds.len() / 2 + 1),
                self.below(10) == 0,
            );
            for peer in 0..peers {
                let feed = (feed + peer) % self.feeds.len();
                let bodies = &self.feeds[feed].bodies;
                let Some(body) = bodies.get(message) else {
                    continue;
                };
                let body = if withdraws {
                    withdrawn(body)
                } else {
                    body.clone()
                };
                self.now.unix_us += 1 + self.below(20_000) as u64;
                self.apply(feed, &[body]);
                given += 1;
            }
            self.drain()?;
        }
        self.end()
    }

    fn apply(&mut self, feed: usize, bodies: &[Vec<u8>]) {
        let mut batch = Batch::new();
        self.now.unix_us += 20 + self.below(200) as u64;
        for body in bodies {
            batch.push(&self.rib, self.feeds[feed].id, body, self.now.unix_us);
        }
        self.rib.commit(&mut batch);
    }

    /// Drains the feed into the archive. Only this time is measured.
    fn drain(&mut self) -> Result<(), String> {
        self.now.monotonic_us = self.now.unix_us;
        let begun = cpu();
        while let Some(event) = self.reader.next(Duration::ZERO) {
            self.rotation.take(&event, self.now);
        }
        self.spent += cpu() - begun;
        self.rotation
            .failure()
            .map_or(Ok(()), |why| Err(why.to_owned()))
    }

    /// Ends the file, so that its bytes count.
    fn end(&mut self) -> Result<(), String> {
        let begun = cpu();
        self.now.unix_us += 600_000_000;
        self.now.monotonic_us = self.now.unix_us;
        self.rotation.turn(self.now);
        self.spent += cpu() - begun;
        self.rotation
            .failure()
            .map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn figures(&mut self, what: &str) -> String {
        let (rows, octets, _) = self.rotation.written();
        let before = std::mem::replace(&mut self.before, (rows, octets));
        line(
            what,
            rows - before.0,
            octets - before.1,
            std::mem::take(&mut self.spent),
        )
    }

    fn below(&mut self, end: usize) -> usize {
        self.drawn = self
            .drawn
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.drawn >> 33) as usize) % end.max(1)
    }
}

fn line(what: &str, rows: u64, octets: u64, spent: Duration) -> String {
    let (count, seconds) = (rows.max(1) as f64, spent.as_secs_f64().max(1e-9));
    format!(
        "{what}: {rows} rows in {octets} octets: {:.1} octets a row; {seconds:.2} CPU s, {:.2} M rows/s a core",
        octets as f64 / count,
        count / seconds / 1e6
    )
}

/// Returns the CPU time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns a body that withdraws the IPv4 routes of this one. A body with only IPv6 routes is returned as it is.
fn withdrawn(body: &[u8]) -> Vec<u8> {
    let Some((_, rest)) = body.split_first_chunk::<2>() else {
        return body.to_vec();
    };
    let Some((len, rest)) = rest.split_first_chunk::<2>() else {
        return body.to_vec();
    };
    let routes = rest
        .get(usize::from(u16::from_be_bytes(*len))..)
        .unwrap_or(&[]);
    if routes.is_empty() {
        return body.to_vec();
    }
    let mut out = (routes.len() as u16).to_be_bytes().to_vec();
    out.extend(routes);
    out.extend([0, 0]);
    out
}

fn feeds(settings: &Settings, rib: &Rib) -> Result<Vec<Feed>, String> {
    let prefixes = read_prefixes(&settings.prefixes, false)?;
    let mut feeds = Vec::new();
    add_feeds(
        rib,
        &prefixes,
        (settings.most, settings.feeds),
        |id, stream| {
            feeds.push(Feed {
                id,
                bodies: bodies(stream).map(<[u8]>::to_vec).collect(),
            });
        },
    )?;
    Ok(feeds)
}
