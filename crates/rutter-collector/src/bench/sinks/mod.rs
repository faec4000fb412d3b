//! Measures how fast whole tables reach a database. Compares this with the database's bulk command and with single-row
//! inserts.
//!
//! Each round fills the empty table of current routes twice. First the sink fills it from the table of the collector.
//! Then the server's own client fills a second table of the same schema from a file with the rows that the sink wrote.
//! The client is `psql \copy` in binary, or `mariadb` with `LOAD DATA LOCAL INFILE`. The first round compares every row
//! with the collector's table.

mod mariadb;
mod own;
mod postgres;
mod processors;
mod url;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_net::PerFamily;
use rutter_rib::{Batch, Rib};

use rutter_sinks::{
    Disk, FeedSpooler, Limits, LoadRow, MachineClock, PeerKey, RouteSource as _, Spool, Status,
    Step, Store, TableSource, Writer,
};

use super::feeds::{add_feeds, bodies, empty_table, read_prefixes};
use own::{OwnServer, Scratch};
pub use url::{Place, Url};

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file of prefixes, one a line, plain or gzip.
    pub prefixes: PathBuf,
    /// The maximum number of prefixes of each family; 0 for all.
    pub most: usize,
    /// The number of feeds of each family.
    pub feeds: usize,
    /// The number of rounds. The benchmark reports the medians.
    pub rounds: usize,
    /// The database. The benchmark drops all tables of Rutter in it.
    pub postgres: Option<Place>,
    /// The database. The benchmark drops all tables of Rutter in it.
    pub mariadb: Option<Place>,
    /// The number of routes that are inserted one by one.
    pub insert_single_rows: usize,
    /// The folder for spools, prepared files and databases of the benchmark.
    pub folder: PathBuf,
}

/// A database that can be measured.
trait ComparedDatabase {
    type Store: Store;
    /// Returns the name for users.
    fn name(&self) -> &'static str;
    /// Drops all our tables.
    fn remove_tables(&mut self) -> Result<(), String>;
    fn store(&self) -> Self::Store;
    /// Writes the file for the bulk command from the rows that the sink has stored.
    fn prepare(&mut self, file: &Path) -> Result<(), String>;
    /// Runs the server's own client with its bulk command into an empty table of the same schema.
    fn bulk(&mut self, file: &Path) -> Result<Duration, String>;
    /// Inserts rows one by one into an empty table of the same schema: SELECT, then INSERT, each committed, as in 2013.
    fn insert_single_rows(&mut self, count: usize) -> Result<Duration, String>;
    /// Visits the stored routes of a peer in prefix order, as tab-separated lines with `\N` for NULL.
    fn rows(&mut self, peer: IpAddr, visit: Visit<'_>) -> Result<(), String>;
}

/// A callback that receives a line.
type Visit<'v> = &'v mut dyn FnMut(&str) -> Result<(), String>;

/// Runs the benchmark and passes each figure to `say`.
pub fn run(settings: &Settings, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let began = Instant::now();
    let rib = full_table(settings)?;
    let routes: u64 = routes_of(&rib);
    say(&format!(
        "{routes} routes of {} feeds are in the table after {:.1} s",
        2 * settings.feeds,
        began.elapsed().as_secs_f64()
    ));
    let name = format!("rutter-bench-{}", std::process::id());
    let scratch = Scratch::make(&settings.folder, &name)?;
    let inside = scratch.path();
    say(&format!("files are in {} meanwhile", inside.display()));
    let measured = (settings, &rib, inside);
    if let Some(place) = &settings.postgres {
        let own = || OwnServer::postgres(inside);
        at(place, own, postgres::Server::connect, |server| {
            compare(measured, server, say)
        })?;
    }
    if let Some(place) = &settings.mariadb {
        let own = || OwnServer::mariadb(inside);
        at(place, own, mariadb::Server::connect, |server| {
            compare(measured, server, say)
        })?;
    }
    Ok(())
}

/// Fills a table. Each family has `settings.feeds` peers, and each peer announces all its prefixes.
fn full_table(settings: &Settings) -> Result<Arc<Rib>, String> {
    let rib = empty_table();
    let prefixes = read_prefixes(&settings.prefixes, true)?;
    add_feeds(
        &rib,
        &prefixes,
        (settings.most, settings.feeds),
        |id, stream| {
            let mut batch = Batch::new();
            for body in bodies(stream) {
                batch.push(&rib, id, body, 0);
                if batch.len() > 5_000 {
                    rib.commit(&mut batch);
                }
            }
            rib.commit(&mut batch);
        },
    )?;
    Ok(rib)
}

/// Connects to a database and runs the measurement.
fn at<R: ComparedDatabase>(
    place: &Place,
    own: impl Fn() -> Result<OwnServer, String>,
    connect: impl Fn(&Url) -> Result<R, String>,
    measure: impl FnOnce(R) -> Result<(), String>,
) -> Result<(), String> {
    match place {
        Place::At(url) => measure(connect(url)?),
        Place::OwnServer => {
            let mut own = own()?;
            measure(own.connect(connect)?)
        }
    }
}

/// The settings, the table and the folder for files.
type Measured<'m> = (&'m Settings, &'m Arc<Rib>, &'m Path);

fn routes_of(rib: &Rib) -> u64 {
    let counts = rib.peers().into_iter().flat_map(|peer| peer.counts);
    counts.map(|counts| u64::from(counts.received)).sum()
}

fn compare(
    (settings, rib, inside): Measured<'_>,
    mut rival: impl ComparedDatabase,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let (name, routes) = (rival.name(), routes_of(rib) as f64);
    let file = inside.join(format!("{name}.rows"));
    let (mut own, mut bulk) = (Vec::new(), Vec::new());
    for round in 1..=settings.rounds {
        rival.remove_tables()?;
        own.push(measured(|| fill(inside, rib, rival.store()))?);
        if round == 1 {
            let rows = verify(rib, &mut rival)?;
            say(&format!(
                "{name}: {rows} rows compared one by one with the table: all the same"
            ));
            rival.prepare(&file)?;
        }
        bulk.push(measured(|| rival.bulk(&file))?);
        let [own, bulk] = [&own[round - 1], &bulk[round - 1]];
        say(&format!(
            "{name}, round {round}: sink {own}, bulk command {bulk}"
        ));
    }
    let medians = |of: fn(&Cost) -> f64| (median(&own, of), median(&bulk, of));
    let (own_s, bulk_s) = medians(|cost| cost.processors_s);
    let (own, bulk) = medians(|cost| cost.wall_s);
    say(&format!(
        "{name}: sink {:.0} rows/s, bulk command {:.0} rows/s: ratio {:.2}, by processors {:.2} (medians of {})",
        routes / own,
        routes / bulk,
        bulk / own,
        bulk_s / own_s,
        settings.rounds
    ));
    let single = seconds(rival.insert_single_rows(settings.insert_single_rows)?)
        / settings.insert_single_rows.max(1) as f64;
    say(&format!(
        "{name}: SELECT, then INSERT, as in 2013: {:.0} rows/s over {} rows; so many routes would take {:.0} min \
         (extrapolated): the sink is {:.0} times sooner",
        1.0 / single,
        settings.insert_single_rows,
        single * routes / 60.0,
        single * routes / own
    ));
    std::fs::remove_file(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    rival.remove_tables()
}

/// Compares each stored row with the table. Returns the number of rows.
fn verify(rib: &Arc<Rib>, rival: &mut impl ComparedDatabase) -> Result<usize, String> {
    let mut count = 0;
    for peer in rib.peers() {
        let address = peer.neighbor.address;
        let mut pending = Vec::new();
        let wanted = |key: &PeerKey| (key.address == address).then_some(PerFamily::both(true));
        TableSource(Arc::clone(rib)).routes(&wanted, &mut |rows| {
            pending.extend(rows.iter().map(line));
            Ok::<_, String>(())
        })?;
        let mut pending = pending.into_iter();
        rival.rows(address, &mut |stored| {
            count += 1;
            match pending.next() {
                Some(pending) if pending == stored => Ok(()),
                pending => Err(format!(
                    "peer {address}: stored {stored:?}, owed {pending:?}"
                )),
            }
        })?;
        if let Some(pending) = pending.next() {
            return Err(format!("peer {address}: {pending:?} is not stored"));
        }
    }
    Ok(count)
}

fn line(row: &LoadRow) -> String {
    let attrs = &row.attrs;
    let text = |value: Option<String>| value.unwrap_or_else(|| "\\N".to_owned());
    [
        row.prefix.to_string(),
        row.path_id.to_string(),
        text(attrs.origin_name().map(str::to_owned)),
        text(attrs.as_path.clone()),
        text(attrs.origin_as.map(|asn| asn.0.to_string())),
        text(attrs.next_hop.map(|address| address.to_string())),
        text(attrs.med.map(|med| med.to_string())),
        text(attrs.local_pref.map(|pref| pref.to_string())),
        attrs.communities_text(),
        attrs.extended_communities_text(),
        attrs.large_communities_text(),
    ]
    .join("\t")
}

/// Measures the time from an empty database to a live table.
fn fill<S: Store>(inside: &Path, rib: &Arc<Rib>, store: S) -> Result<Duration, String> {
    let folder = inside.join("spool");
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    let disk = Disk::open(&folder).map_err(failed)?;
    let mut spool = Spool::open(disk, 1 << 30).map_err(failed)?;
    let clock = MachineClock::new();
    let mut intake = FeedSpooler::new(rib.clone(), "bench", &spool, &clock);
    intake.store(&mut spool, &clock);
    let (spool, source) = (Mutex::new(spool), TableSource(rib.clone()));
    let status = Status::new("bench");
    let mut writer = Writer::new(store, intake.run(), Limits::default(), status.clone());
    // The first step connects and creates the tables.
    writer.step(0, &spool, &source);
    let began = Instant::now();
    loop {
        match writer.step(0, &spool, &source) {
            Step::Worked => {}
            Step::Idle => break,
            Step::Failed(_) | Step::StartOver(_) => {
                return Err(status.view().failure.unwrap_or_default());
            }
        }
    }
    let took = began.elapsed();
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    Ok(took)
}

fn seconds(took: Duration) -> f64 {
    took.as_secs_f64()
}

/// The cost of a step.
struct Cost {
    wall_s: f64,
    /// The CPU time of this process and of the servers that it started.
    processors_s: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Cost {
            wall_s,
            processors_s,
        } = self;
        write!(f, "{wall_s:.1} s ({processors_s:.1} s of processors)")
    }
}

fn measured(what: impl FnOnce() -> Result<Duration, String>) -> Result<Cost, String> {
    let before = processors::seconds();
    let wall_s = seconds(what()?);
    Ok(Cost {
        wall_s,
        processors_s: processors::seconds() - before,
    })
}

fn median(all: &[Cost], of: fn(&Cost) -> f64) -> f64 {
    let mut all: Vec<f64> = all.iter().map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
