//! One run: start the daemon, connect all clients, announce, wait until every client is exact, measure the cost.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::Serialize;

use crate::daemons::{self, Kind, Running};
use crate::disturbance::{self, Disturbance, Recovery, Stage};
use crate::latency::{self, Latency};
use crate::oracle::{Oracle, PrefixIndex, Visibility};
use crate::plan::{Phase, Plan, Target};
use crate::process::{self, Usage};
use crate::speaker::{ClientReport, Counters, Fleet, FleetError, FleetSettings};
use crate::tracker::Bench;
use crate::under_load;
use crate::workload::Workload;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Every client held exactly its expected routes at the end of each phase.
    pub exact: bool,
    /// Seconds until all sessions were established.
    pub connect_s: f64,
    /// Seconds from the first byte of an UPDATE until the last client was exact.
    pub wall_s: f64,
    /// Processor seconds of the daemon in that time.
    pub cpu_s: f64,
    /// Processor seconds of the daemon until memory had settled.
    pub cpu_settled_s: f64,
    /// Processor seconds of the speakers in that time.
    pub load_cpu_s: f64,
    /// Largest resident memory of the daemon, in bytes.
    pub peak_rss: u64,
    /// Resident memory after settling, in bytes.
    pub settled_rss: u64,
    /// Routes announced.
    pub routes: usize,
    /// The number of prefixes that all clients had to hold, added up.
    pub owed: u64,
    /// The bytes and messages read and written.
    pub counters: Counters,
    /// The latency of one prefix.
    pub latency: Option<Latency>,
    /// The same during other load.
    pub under_load: Vec<under_load::Measured>,
    /// The recoveries from the disturbances.
    pub recoveries: Vec<Recovery>,
    /// The failure that ended them early.
    pub failed: Option<String>,
    /// Clients that are not exact.
    pub wrong: Vec<ClientReport>,
    /// Descriptions of errors.
    pub trouble: Vec<String>,
}

/// Why a run was not completed.
#[derive(Debug)]
pub enum RunError {
    /// The daemon did not start, or a file or socket failed.
    Io(io::Error),
    /// The fleet did not reach its state; with the clients that are not exact.
    Fleet(FleetError, Vec<ClientReport>),
    /// The daemon ended early.
    Ended(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Io(error) => fmt::Display::fmt(error, f),
            RunError::Ended(text) => f.write_str(text),
            RunError::Fleet(error, wrong) => {
                fmt::Display::fmt(error, f)?;
                write!(f, "\n    {} clients are not exact", wrong.len())?;
                wrong.iter().take(3).try_for_each(|client| {
                    write!(
                        f,
                        "\n    client {}: {} of {} held, {} right, {} forged, {} unknown{}",
                        client.client,
                        client.held,
                        client.expected,
                        client.right,
                        client.forged,
                        client.unknown,
                        client
                            .down
                            .as_deref()
                            .map(|s| format!(", {s}"))
                            .unwrap_or_default()
                    )?;
                    client
                        .differences
                        .iter()
                        .take(3)
                        .try_for_each(|line| write!(f, "\n        {line}"))
                })
            }
        }
    }
}

impl std::error::Error for RunError {}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        RunError::Io(error)
    }
}

impl From<FleetError> for RunError {
    fn from(error: FleetError) -> Self {
        RunError::Fleet(error, Vec::new())
    }
}

/// The daemon of a run, started by us or not.
pub(crate) struct Subject {
    running: Option<Running>,
    pub(crate) address: SocketAddr,
    visibility: Visibility,
    pid: Option<u32>,
}

impl Subject {
    fn new(target: &Target, workload: &Workload, plan: &Plan) -> io::Result<Subject> {
        Ok(match target {
            Target::Start(daemon) => {
                let running = daemons::start(
                    daemon,
                    &workload.peers,
                    daemons::Setup {
                        threads: plan.threads,
                        reloads: plan.disturbances.contains(&Disturbance::Reload)
                            || plan.checks && plan.disturbances.contains(&Disturbance::Registry),
                        checks: plan.checks.then_some(workload),
                        start_timeout: plan.timeout,
                        ..daemons::Setup::default()
                    },
                )?;
                Subject {
                    address: running.target,
                    visibility: running.visibility,
                    pid: Some(running.pid()),
                    running: Some(running),
                }
            }
            &Target::Attach {
                address,
                pid,
                visibility,
            } => Subject {
                running: None,
                address,
                visibility,
                pid,
            },
        })
    }

    /// The daemon's process, if it is known.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    pub(crate) fn usage(&self) -> Usage {
        self.pid.map(process::usage_of_tree).unwrap_or_default()
    }

    /// Its kind and its folder, if we started it.
    pub(crate) fn started(&self) -> Option<(Kind, &Path)> {
        let running = self.running.as_ref()?;
        Some((running.kind, running.folder()))
    }

    /// From now on the daemon is this process, which took over.
    pub(crate) fn follow(&mut self, successor: Pid) {
        if let Some(running) = &mut self.running {
            running.follow(successor);
            self.pid = Some(running.pid());
        }
    }

    fn ended(&mut self) -> Option<String> {
        self.running.as_mut()?.ended()
    }
}

/// Runs a workload once. `watch` is called frequently with the phase and the counters.
pub fn run(
    workload: &Arc<Workload>,
    target: &Target,
    plan: &Plan,
    mut watch: impl FnMut(Phase, &Counters),
) -> Result<Measured, RunError> {
    process::want_files(workload.peers.len() + 200)?;
    let mut subject = Subject::new(target, workload, plan)?;
    let mut oracle = Oracle::new(workload, subject.visibility);
    oracle.set_policy(plan.policy());
    let bench = Arc::new(Bench {
        workload: workload.clone(),
        index: Arc::new(PrefixIndex::new(&workload.destinations)),
        oracle: Arc::new(oracle),
        deep: plan.deep && plan.offer.four_octet_as,
        probe: Some(latency::probe_prefix(workload)),
    });
    let settings = FleetSettings {
        target: subject.address,
        threads: plan.load_threads,
        offer: plan.offer,
    };
    let mut fleet = Fleet::start(bench, settings)?;
    match phases(&mut fleet, &mut subject, plan, &mut watch) {
        Ok(measured) => Ok(measured),
        Err(RunError::Fleet(error, _)) => match subject.ended() {
            Some(text) => Err(RunError::Ended(text)),
            None => Err(RunError::Fleet(error, wrong_clients(&fleet)?)),
        },
        Err(error) => Err(error),
    }
}

/// The cost of the load.
struct Loaded {
    connect: Duration,
    wall: Duration,
    /// The daemon's usage before the first UPDATE, when the last client was exact, and after settling.
    usage: [Usage; 3],
    load_cpu: Duration,
    counters: Counters,
}

/// The measurements of the loaded daemon.
#[derive(Default)]
struct Afterwards {
    latency: Option<Latency>,
    under_load: Vec<under_load::Measured>,
    recoveries: Vec<Recovery>,
    failed: Option<String>,
}

fn phases(
    fleet: &mut Fleet,
    subject: &mut Subject,
    plan: &Plan,
    watch: &mut dyn FnMut(Phase, &Counters),
) -> Result<Measured, RunError> {
    let workload = fleet.bench().workload.clone();
    let late = disturbance::late_clients(&plan.disturbances, &workload);
    let loaded = load(fleet, subject, plan, &late, watch)?;
    let mut wrong = wrong_clients(fleet)?;
    wrong.retain(|client| !late.contains(&client.client));
    let afterwards = afterwards(fleet, subject, plan, watch)?;
    if plan.under_load_rounds > 0 || !plan.disturbances.is_empty() {
        wrong = wrong_clients(fleet)?;
    }
    let [before, after, settled] = loaded.usage;
    let expected = fleet.bench().oracle.expected(&workload);
    Ok(Measured {
        exact: wrong.is_empty() && afterwards.failed.is_none(),
        connect_s: loaded.connect.as_secs_f64(),
        wall_s: loaded.wall.as_secs_f64(),
        cpu_s: after.cpu.saturating_sub(before.cpu).as_secs_f64(),
        cpu_settled_s: settled.cpu.saturating_sub(before.cpu).as_secs_f64(),
        load_cpu_s: loaded.load_cpu.as_secs_f64(),
        peak_rss: settled.peak_rss,
        settled_rss: settled.rss,
        routes: workload.total_routes(),
        owed: expected.iter().map(|&n| u64::from(n)).sum(),
        counters: loaded.counters,
        latency: afterwards.latency,
        under_load: afterwards.under_load,
        recoveries: afterwards.recoveries,
        failed: afterwards.failed,
        wrong,
        trouble: fleet.progress().take_trouble(),
    })
}

/// Connects all clients but the late ones, starts their announcements, and waits until all but the slow ones are exact.
fn load(
    fleet: &mut Fleet,
    subject: &Subject,
    plan: &Plan,
    late: &[usize],
    watch: &mut dyn FnMut(Phase, &Counters),
) -> Result<Loaded, RunError> {
    let workload = fleet.bench().workload.clone();
    let but_late = |count: usize| (0..count).filter(|client| !late.contains(client));
    let at_first: Vec<usize> = but_late(workload.peers.len()).collect();
    let begun = Instant::now();
    fleet.connect(&at_first)?;
    fleet.wait_established(at_first.len(), plan.timeout, |c| {
        watch(Phase::Connecting, c)
    })?;
    let connect = begun.elapsed();

    disturbance::before_load(fleet, &plan.disturbances)?;
    let (before, load_before) = (subject.usage(), process::own_cpu());
    let announcers: Vec<usize> = but_late(workload.announcers()).collect();
    fleet.feed(&announcers)?;
    let prompt = at_first.len() - disturbance::slow_clients(&plan.disturbances, &workload);
    let wall = fleet.wait_exact(prompt, announcers.len(), plan.timeout, |c| {
        watch(Phase::Loading, c);
    })?;
    let (after, load_after) = (subject.usage(), process::own_cpu());
    let counters = fleet.progress().counters();
    settle(fleet, plan.settle, watch);
    Ok(Loaded {
        connect,
        wall,
        usage: [before, after, subject.usage()],
        load_cpu: load_after.saturating_sub(load_before),
        counters,
    })
}

/// Measures the latency, alone and under other load, and runs the disturbances. The first failure is kept and ends the
/// measurements.
fn afterwards(
    fleet: &mut Fleet,
    subject: &mut Subject,
    plan: &Plan,
    watch: &mut dyn FnMut(Phase, &Counters),
) -> Result<Afterwards, RunError> {
    let mut done = Afterwards::default();
    if plan.latency_rounds > 0 {
        watch(Phase::Probing, &fleet.progress().counters());
        done.latency = latency::measure(fleet, plan.latency_rounds)?;
        let lost = lost_announcements(done.latency.as_ref(), plan);
        done.failed = lost.map(|text| why(subject, text));
    }
    if plan.under_load_rounds > 0 {
        watch(Phase::Probing, &fleet.progress().counters());
        let scenes = (plan.scenes.as_slice(), plan.under_load_rounds);
        let (measured, failure) = under_load::measure(fleet, subject, scenes, plan.timeout);
        done.under_load = measured;
        let failure = failure.map(|error| why(subject, error.to_string()));
        done.failed = done.failed.or(failure);
    }
    if done.failed.is_none() {
        let stage = Stage {
            fleet,
            subject,
            plan,
            watch: &mut |c| watch(Phase::Disturbing, c),
        };
        let (recoveries, failure) = stage.run();
        done.recoveries = recoveries;
        done.failed = failure.map(|error| why(subject, error.to_string()));
    }
    Ok(done)
}

pub(crate) fn settle(fleet: &Fleet, pause: Duration, watch: &mut dyn FnMut(Phase, &Counters)) {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        watch(Phase::Settling, &fleet.progress().counters());
        std::thread::sleep(Duration::from_millis(50).min(pause));
    }
}

/// A daemon that has ended explains every other error.
fn why(subject: &mut Subject, otherwise: String) -> String {
    subject.ended().unwrap_or(otherwise)
}

fn lost_announcements(latency: Option<&Latency>, plan: &Plan) -> Option<String> {
    let arrived = latency.map_or(0, |latency| latency.rounds);
    let of = plan.latency_rounds as usize;
    (arrived < of).then(|| format!("{arrived} of {of} announcements of one prefix arrived"))
}

fn wrong_clients(fleet: &Fleet) -> Result<Vec<ClientReport>, FleetError> {
    let mut clients = fleet.report()?;
    clients.retain(|client| !client.exact);
    Ok(clients)
}
