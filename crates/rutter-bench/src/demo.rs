//! The speakers of `rutter demo`: they announce a table to a route server, verify the routes that they receive, and
//! stay up.
//!
//! ```no_run
//! use rutter_bench::demo::{Demo, DemoSettings};
//!
//! let demo = Demo::prepare(DemoSettings::default());
//! let listen = "127.0.0.1:1790".parse()?;
//! let config = demo.rutter_config(&listen, "/tmp/demo.sock".as_ref(), 0);
//! // write it, start `rutter run`, wait until the socket is there; then
//! let mut speakers = demo.connect(listen.into(), |progress| eprintln!("{progress:?}"))?;
//! let report = speakers.load(|progress| eprintln!("{progress:?}"))?;
//! assert!(report.exact);
//! // the speakers keep their sessions up until `speakers` is dropped
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_net::Prefix;
use serde::Serialize;

use crate::daemons;
use crate::latency;
use crate::oracle::{Oracle, PrefixIndex, Visibility};
use crate::process;
use crate::speaker::{ClientReport, Counters, Fleet, FleetError, FleetSettings, Offer};
use crate::tracker::Bench;
use crate::workload::{FULL_TABLE, Settings, Shape, Workload};

/// The size of a demonstration.
#[derive(Clone, Debug)]
pub struct DemoSettings {
    /// Speakers. Each announces a part of the table and receives everything.
    pub speakers: usize,
    /// Destinations of the generated table, where `table` is `None`.
    pub destinations: usize,
    /// Routes for each destination, on average.
    pub routes_per_destination: f64,
    /// The destinations, from [`crate::workload::read_prefix_file`] or [`crate::workload::read_mrt_prefixes`].
    pub table: Option<Vec<Prefix>>,
    /// The seed of all random choices.
    pub seed: u64,
    /// Threads for all speakers.
    pub threads: usize,
    /// How long to wait for sessions, and for all speakers to be exact.
    pub timeout: Duration,
}

impl Default for DemoSettings {
    fn default() -> Self {
        DemoSettings {
            speakers: 20,
            destinations: FULL_TABLE,
            routes_per_destination: 2.5,
            table: None,
            seed: 1,
            threads: 1,
            timeout: Duration::from_secs(600),
        }
    }
}

/// The progress of a demonstration.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DemoProgress {
    /// Speakers, including the one that only receives.
    pub speakers: usize,
    /// The number of prefixes that all speakers must hold, added up.
    pub owed: u64,
    /// The counters of the fleet.
    pub counters: Counters,
    /// Since this phase began.
    pub elapsed: Duration,
}

/// The result of a demonstration.
#[derive(Clone, Debug, Serialize)]
pub struct DemoReport {
    /// Every speaker holds exactly its expected routes: prefixes, attributes, best path.
    pub exact: bool,
    /// Seconds from the first byte of an UPDATE until the last speaker was exact.
    pub wall_s: f64,
    /// Routes announced.
    pub routes: usize,
    /// Destinations.
    pub destinations: usize,
    /// Prefixes held by all speakers, added up.
    pub held: u64,
    /// Bytes read by all speakers.
    pub received: u64,
    /// Every speaker.
    pub speakers: Vec<ClientReport>,
    /// Descriptions of errors.
    pub trouble: Vec<String>,
}

/// A workload that is ready; no speaker is connected yet.
#[derive(Clone, Debug)]
pub struct Demo {
    workload: Arc<Workload>,
    settings: DemoSettings,
}

impl Demo {
    /// Generates and encodes everything. It takes about a second for a full table.
    pub fn prepare(mut settings: DemoSettings) -> Demo {
        let table = settings.table.take();
        let destinations = table.as_ref().map_or(settings.destinations, Vec::len);
        let per_destination = settings
            .routes_per_destination
            .clamp(1.0, settings.speakers as f64);
        let routes = (destinations as f64 * per_destination) as usize;
        let shape = Shape::shared(settings.speakers, routes, destinations);
        let seed = Settings {
            seed: settings.seed,
            ..Settings::default()
        };
        Demo {
            workload: Arc::new(Workload::generate(shape, table, seed)),
            settings,
        }
    }

    /// The routes to be announced.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The configuration of Rutter for these speakers; `threads` of 0: one per core.
    pub fn rutter_config(
        &self,
        listen: &SocketAddrV4,
        control_socket: &Path,
        threads: usize,
    ) -> String {
        daemons::rutter_config(&self.workload.peers, listen, control_socket, threads)
    }

    /// Connects all speakers to a daemon that advertises to each client its own best route. It repeats attempts until
    /// the timeout, so the daemon may still be starting.
    pub fn connect(
        &self,
        target: SocketAddr,
        mut watch: impl FnMut(&DemoProgress),
    ) -> Result<Speakers, FleetError> {
        process::want_files(self.workload.peers.len() + 200)?;
        let bench = Arc::new(Bench {
            workload: self.workload.clone(),
            index: Arc::new(PrefixIndex::new(&self.workload.destinations)),
            oracle: Arc::new(Oracle::new(&self.workload, Visibility::PerClient)),
            deep: true,
            probe: Some(latency::probe_prefix(&self.workload)),
        });
        let owed = bench
            .oracle
            .expected(&self.workload)
            .iter()
            .map(|&n| u64::from(n))
            .sum();
        let settings = FleetSettings {
            target,
            threads: self.settings.threads,
            offer: Offer::default(),
        };
        let speakers = Speakers {
            fleet: Fleet::start(bench, settings)?,
            owed,
            timeout: self.settings.timeout,
        };
        let all: Vec<usize> = (0..self.workload.peers.len()).collect();
        speakers.fleet.connect(&all)?;
        let begun = Instant::now();
        speakers
            .fleet
            .wait_established(all.len(), speakers.timeout, |c| {
                watch(&speakers.progress(c, begun))
            })?;
        Ok(speakers)
    }
}

/// Speakers with established sessions, which go down when this is dropped.
pub struct Speakers {
    fleet: Fleet,
    owed: u64,
    timeout: Duration,
}

impl Speakers {
    /// Announces everything and waits until every speaker is exact, or the timeout is over. The report then lists the
    /// differences.
    pub fn load(&mut self, mut watch: impl FnMut(&DemoProgress)) -> Result<DemoReport, FleetError> {
        let workload = self.fleet.bench().workload.clone();
        let announcers: Vec<usize> = (0..workload.announcers()).collect();
        let begun = Instant::now();
        self.fleet.feed(&announcers)?;
        let waited =
            self.fleet
                .wait_exact(workload.peers.len(), announcers.len(), self.timeout, |c| {
                    watch(&self.progress(c, begun));
                });
        let mut trouble = self.fleet.progress().take_trouble();
        let wall_s = match waited {
            Ok(wall) => wall.as_secs_f64(),
            Err(FleetError::Timeout { trouble: early, .. }) => {
                trouble.extend(early);
                begun.elapsed().as_secs_f64()
            }
            Err(error) => return Err(error),
        };
        self.report(wall_s, trouble)
    }

    /// The routes that every speaker holds now.
    fn report(&self, wall_s: f64, trouble: Vec<String>) -> Result<DemoReport, FleetError> {
        let workload = &self.fleet.bench().workload;
        let speakers = self.fleet.report()?;
        Ok(DemoReport {
            exact: speakers.iter().all(|speaker| speaker.exact),
            wall_s,
            routes: workload.total_routes(),
            destinations: workload.destinations.len(),
            held: speakers.iter().map(|speaker| u64::from(speaker.held)).sum(),
            received: self.fleet.progress().counters().received,
            speakers,
            trouble,
        })
    }

    /// Announces one prefix `rounds` times and measures the time to the speaker that only receives.
    pub fn latency(&self, rounds: u32) -> Result<Option<latency::Latency>, FleetError> {
        latency::measure(&self.fleet, rounds)
    }

    fn progress(&self, counters: &Counters, begun: Instant) -> DemoProgress {
        DemoProgress {
            speakers: self.fleet.bench().workload.peers.len(),
            owed: self.owed,
            counters: *counters,
            elapsed: begun.elapsed(),
        }
    }
}
