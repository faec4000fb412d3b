//! Disturbances of a route server besides load: clients that crash, reconnect, connect late or read slowly.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::Serialize;

use crate::daemons::control;
use crate::plan::Plan;
use crate::policy::Policy;
use crate::registry::Edition;
use crate::rng::Rng;
use crate::scenario::Subject;
use crate::speaker::{Counters, Fleet, FleetError};
use crate::workload::Workload;

/// A disturbance of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// The peer with the most routes closes its connection without a NOTIFICATION, and reconnects later.
    LoseBiggest,
    /// This many random peers are lost at once, and reconnect later.
    Kill(usize),
    /// Half of the peers are lost and reconnect, until this many routes have been withdrawn and announced.
    Churn(u64),
    /// The import policy changes to reject paths of more than four AS numbers, and changes back. Then the export policy
    /// changes to withhold some routes, and changes back.
    Reload,
    /// The registry changes: about 0.5 % of its entries are others.
    Registry,
    /// The installed version of Rutter takes over, this many times.
    Upgrade(usize),
    /// The monitor connects only after all others are exact.
    LateMonitor,
    /// This many peers read 4 KiB every 10 ms until the others are exact, then at full speed.
    Slow(usize),
}

/// The daemon's recovery from one event.
#[derive(Clone, Debug, Serialize)]
pub struct Recovery {
    /// The event, in words.
    pub event: String,
    /// Seconds until the last client was exact again.
    pub wall_s: f64,
    /// Processor seconds of the daemon in that time.
    pub cpu_s: f64,
    /// Resident memory afterwards, in bytes.
    pub rss: u64,
}

/// The clients that do not connect at first. Only a client that announces nothing may be late: the others must receive
/// the routes of all announcers.
pub(crate) fn late_clients(disturbances: &[Disturbance], workload: &Workload) -> Vec<usize> {
    match disturbances.contains(&Disturbance::LateMonitor) {
        true => vec![workload.monitor()],
        false => Vec::new(),
    }
}

/// The number of clients that read slowly from the beginning.
pub(crate) fn slow_clients(disturbances: &[Disturbance], workload: &Workload) -> usize {
    let slow = disturbances.iter().map(|disturbance| match disturbance {
        Disturbance::Slow(count) => *count,
        _ => 0,
    });
    slow.max().unwrap_or(0).min(workload.announcers())
}

/// Slows these clients down.
pub(crate) fn before_load(fleet: &Fleet, disturbances: &[Disturbance]) -> Result<(), FleetError> {
    let slow = slow_clients(disturbances, &fleet.bench().workload);
    (0..slow).try_for_each(|client| fleet.slow(client, Some(SLOW_OCTETS)))
}

/// Runs and times the disturbances.
pub(crate) struct Stage<'a> {
    pub(crate) fleet: &'a mut Fleet,
    pub(crate) subject: &'a mut Subject,
    pub(crate) plan: &'a Plan,
    pub(crate) watch: &'a mut dyn FnMut(&Counters),
}

impl Stage<'_> {
    /// Runs all disturbances in order, and waits after each until every client is exact again. Returns the completed
    /// ones and the failure that ended them, if any.
    pub(crate) fn run(mut self) -> (Vec<Recovery>, Option<FleetError>) {
        let mut recoveries = Vec::new();
        let failure = self.disturb(&mut recoveries).err();
        (recoveries, failure)
    }

    fn disturb(&mut self, recoveries: &mut Vec<Recovery>) -> Result<(), FleetError> {
        let workload = self.fleet.bench().workload.clone();
        let mut rng = Rng::new(0x5eed);
        let mut late = late_clients(&self.plan.disturbances, &workload);
        for disturbance in &self.plan.disturbances {
            match *disturbance {
                Disturbance::LoseBiggest => {
                    let biggest =
                        (0..workload.announcers()).max_by_key(|&p| workload.peers[p].routes);
                    let peers: Vec<usize> = biggest.into_iter().collect();
                    self.lose_and_restore(&peers, late.len(), recoveries)?;
                }
                Disturbance::Kill(count) => {
                    let mut peers: Vec<usize> = (0..workload.announcers()).collect();
                    rng.shuffle(&mut peers);
                    peers.truncate(count);
                    self.lose_and_restore(&peers, late.len(), recoveries)?;
                }
                Disturbance::Churn(changes) => self.churn(changes, late.len(), recoveries)?,
                Disturbance::Reload => self.reload(late.len(), recoveries)?,
                Disturbance::Registry => self.change_registry(late.len(), recoveries)?,
                Disturbance::Upgrade(times) => self.upgrade(times, recoveries)?,
                Disturbance::LateMonitor => {
                    let joining = std::mem::take(&mut late);
                    recoveries.push(self.timed("the monitor connects late", 0, 0, |fleet| {
                        fleet.progress().start_clock_now();
                        fleet.connect(&joining)
                    })?);
                }
                Disturbance::Slow(count) => {
                    let count = count.min(workload.announcers());
                    let what = format!("{count} slow readers read normally again");
                    recoveries.push(self.timed(&what, late.len(), 0, |fleet| {
                        fleet.progress().start_clock_now();
                        (0..count).try_for_each(|client| fleet.slow(client, None))
                    })?);
                }
            }
        }
        Ok(())
    }

    fn lose_and_restore(
        &mut self,
        peers: &[usize],
        late: usize,
        recoveries: &mut Vec<Recovery>,
    ) -> Result<(), FleetError> {
        let of = format!(
            "{} of {} peers",
            peers.len(),
            self.fleet.bench().workload.announcers()
        );
        let absent = peers.len() + late;
        recoveries.push(
            self.timed(&format!("{of} lost"), absent, peers.len(), |fleet| {
                fleet.set_alive(peers, false)?;
                fleet.kill(peers)
            })?,
        );
        recoveries.push(self.timed(&format!("{of} back"), late, 0, |fleet| {
            fleet.set_alive(peers, true)?;
            fleet.connect(peers)
        })?);
        Ok(())
    }

    /// Sets a stricter import policy and, when all are exact, the old one again; then a stricter export policy. No
    /// session is reset.
    fn reload(&mut self, late: usize, recoveries: &mut Vec<Recovery>) -> Result<(), FleetError> {
        let Some((kind, folder)) = self.subject.started() else {
            return Ok(());
        };
        let folder = folder.to_owned();
        let folder = folder.as_path();
        let old = Policy::default();
        let longest_path = SHORT_PATH;
        let withholds = true;
        let events = [
            (
                Policy {
                    longest_path,
                    ..old
                },
                "a stricter import policy",
            ),
            (old, "the old import policy again"),
            (Policy { withholds, ..old }, "a stricter export policy"),
            (old, "the old export policy again"),
        ];
        for (policy, event) in events {
            recoveries.push(self.timed(event, late, 0, |fleet| {
                fleet.set_policy(policy)?;
                Ok(control::set_policy(kind, folder, policy)?)
            })?);
        }
        Ok(())
    }

    /// Gives the daemon the second edition of the registry. The clock starts when it is told to read it.
    fn change_registry(
        &mut self,
        late: usize,
        recoveries: &mut Vec<Recovery>,
    ) -> Result<(), FleetError> {
        let Some((kind, folder)) = self.subject.started().filter(|_| self.plan.checks) else {
            return Ok(());
        };
        let folder = folder.to_owned();
        let folder = folder.as_path();
        control::prepare_registry(kind, folder, &self.fleet.bench().workload)?;
        let policy = Policy {
            registry: Some(Edition::Second),
            ..Policy::default()
        };
        let event = "0.5 % of the registrations changed";
        recoveries.push(self.timed(event, late, 0, |fleet| {
            fleet.set_policy(policy)?;
            fleet.progress().start_clock_now();
            Ok(control::refresh_registry(kind, folder)?)
        })?);
        Ok(())
    }

    /// Lets the installed version take over. Meanwhile one prefix is announced again and again: the slowest announcement
    /// shows the longest pause, and no client must receive any other UPDATE.
    fn upgrade(&mut self, times: usize, recoveries: &mut Vec<Recovery>) -> Result<(), FleetError> {
        let Some((_, folder)) = self.subject.started().filter(|(kind, _)| kind.is_rutter()) else {
            return Ok(());
        };
        let socket = control::socket(folder);
        for number in 1..=times {
            let before = self.subject.usage();
            let counters = self.fleet.progress().counters();
            let begun = Instant::now();
            let (successor, seen) = self.take_over(&socket, before.rss)?;
            let wall = begun.elapsed();
            self.subject.follow(successor);
            std::thread::sleep(self.plan.settle.min(Duration::from_secs(1)));
            let clients = self.fleet.bench().workload.peers.len() as u64;
            let after = self.fleet.progress().counters();
            let others =
                (after.updates - counters.updates).saturating_sub(seen.probes * (clients - 1));
            let usage = self.subject.usage();
            recoveries.push(Recovery {
                event: format!(
                    "upgrade {number} of {times}: longest pause {:.3} s, {:.2} times the memory at the peak, {others} other \
                     UPDATEs, {} sessions of {clients}",
                    seen.pause.as_secs_f64(),
                    seen.peak_rss as f64 / before.rss.max(1) as f64,
                    after.established,
                ),
                wall_s: wall.as_secs_f64(),
                cpu_s: usage.cpu.as_secs_f64(),
                rss: usage.rss,
            });
        }
        Ok(())
    }

    /// Announces the timed prefix until another process has taken over.
    fn take_over(&self, socket: &Path, rss: u64) -> Result<(Pid, DuringUpgrade), FleetError> {
        let (fleet, subject) = (&*self.fleet, &*self.subject);
        let mut seen = DuringUpgrade::default();
        let pid = subject.pid().unwrap_or(0);
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let upgrading = threads.spawn(|| control::upgrade(socket, pid));
            // An announcement waits for the whole pause, so another thread looks at the memory.
            let looking = threads.spawn(|| {
                let mut peak = rss;
                while !has_ended.load(Ordering::Acquire) {
                    peak = peak.max(subject.usage().rss);
                    std::thread::sleep(BETWEEN_LOOKS);
                }
                peak
            });
            let mut announce = || -> Result<(), FleetError> {
                while !upgrading.is_finished() {
                    let times = fleet.probe(PROBES)?;
                    seen.probes += times.len() as u64;
                    seen.pause = times.into_iter().max().unwrap_or_default().max(seen.pause);
                }
                Ok(())
            };
            let announced = announce();
            has_ended.store(true, Ordering::Release);
            seen.peak_rss = looking.join().unwrap_or(rss);
            let gone = |_| io::Error::other("the upgrade's thread panicked");
            let successor = upgrading.join().map_err(gone).flatten();
            announced?;
            Ok((successor?, seen))
        })
    }

    /// Loses and reconnects peers repeatedly. The result contains the first and the last round, and the total time.
    fn churn(
        &mut self,
        changes: u64,
        late: usize,
        recoveries: &mut Vec<Recovery>,
    ) -> Result<(), FleetError> {
        let (begun, before) = (Instant::now(), self.subject.usage());
        let workload = self.fleet.bench().workload.clone();
        let half: Vec<usize> = (0..workload.announcers()).step_by(2).collect();
        let routes: usize = half.iter().map(|&peer| workload.peers[peer].routes).sum();
        let mut all = Vec::new();
        let mut done = 0;
        while done < changes {
            self.lose_and_restore(&half, late, &mut all)?;
            done += 2 * routes as u64;
        }
        let last = all.last().map_or(before.rss, |recovery| recovery.rss);
        all.truncate(2);
        recoveries.append(&mut all);
        recoveries.push(Recovery {
            event: format!("{done} routes were withdrawn and announced"),
            wall_s: begun.elapsed().as_secs_f64(),
            cpu_s: (self.subject.usage().cpu.saturating_sub(before.cpu)).as_secs_f64(),
            rss: last,
        });
        Ok(())
    }

    /// Runs `act` and waits until all clients but the absent ones are exact.
    fn timed(
        &mut self,
        event: &str,
        absent: usize,
        absent_announcers: usize,
        act: impl FnOnce(&mut Fleet) -> Result<(), FleetError>,
    ) -> Result<Recovery, FleetError> {
        let before = self.subject.usage();
        let workload = self.fleet.bench().workload.clone();
        act(self.fleet)?;
        let (exact, fed) = (
            workload.peers.len() - absent,
            workload.announcers() - absent_announcers,
        );
        let wall = self
            .fleet
            .wait_exact(exact, fed, self.plan.timeout, &mut *self.watch)?;
        let after = self.subject.usage();
        std::thread::sleep(self.plan.settle.min(Duration::from_secs(1)));
        Ok(Recovery {
            event: event.to_owned(),
            wall_s: wall.as_secs_f64(),
            cpu_s: after.cpu.saturating_sub(before.cpu).as_secs_f64(),
            rss: self.subject.usage().rss,
        })
    }
}

/// The observations during an upgrade.
#[derive(Default)]
struct DuringUpgrade {
    /// Announcements of the timed prefix.
    probes: u64,
    /// The slowest of them.
    pause: Duration,
    /// The largest resident memory of both processes, in bytes.
    peak_rss: u64,
}

/// Announcements between two looks at the upgrade.
const PROBES: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
const SLOW_OCTETS: usize = 4096;
/// Paths have 2 to 6 AS numbers.
const SHORT_PATH: u8 = 4;
