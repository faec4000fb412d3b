//! Our own restart: the neighbors that keep our routes, on disk before they are needed, and the time in which Rutter
//! advertises nothing because they have yet to come back (RFC 4724 §4.1).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rutter_api::{AwaitedNeighbor, SelectionDeferralRow};
use rutter_config::Config;
use rutter_net::{Family, PerFamily};
use rutter_session::{DeferralEnd, Negotiated, SelectionDeferral};
use rutter_sources::{LastGood, unix_seconds};

use crate::mailbox::Command;
use crate::restart_record::{KeptRoutes, RestartRecord, restart_file};
use crate::shared::Shared;

/// The state of our own restarts.
pub(crate) struct Restart {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// `None`: nothing is kept for the next start.
    file: Option<LastGood>,
    /// The neighbors that keep our routes if we restart now.
    kept: BTreeMap<IpAddr, Kept>,
    /// `kept` differs from the file.
    is_unsaved: bool,
    /// The file exists.
    is_on_disk: bool,
    /// The last attempt to write the file failed, and the log has a line about it.
    cannot_write: bool,
    deferral: Option<SelectionDeferral<IpAddr>>,
    /// Our OPENs have the R bit until then.
    restarting_until_ms: Option<u64>,
    has_ended: bool,
}

/// A neighbor that keeps our routes.
#[derive(Clone, Copy)]
struct Kept {
    routes: KeptRoutes,
    /// The time at which the neighbor removes our routes, because its session is down.
    until_ms: Option<u64>,
}

/// The end of the daemon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The daemon starts again soon: neighbors keep our routes.
    Restart,
    /// The daemon leaves: neighbors remove our routes.
    Leave,
}

/// The file says at least this often that the daemon runs: its time tells the next start when this run ended.
const LONGEST_REFRESH: Duration = Duration::from_secs(10);
/// The file is refreshed so many times in the restart time.
const REFRESHES: u32 = 10;

impl Restart {
    /// Reads the file of the run before. `is_kept`: this run keeps one for the next start.
    pub(crate) fn begin(config: &Config, is_kept: bool) -> Self {
        let file = is_kept.then(|| restart_file(config));
        let record = file.as_ref().and_then(|file| find_restart(file, config));
        let mut state = State {
            is_on_disk: file.as_ref().is_some_and(|file| file.path().exists()),
            file,
            kept: BTreeMap::new(),
            is_unsaved: false,
            cannot_write: false,
            deferral: None,
            restarting_until_ms: None,
            has_ended: false,
        };
        if let Some(record) = record {
            state.resume(record, config);
        }
        Restart {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// The state of a process that takes over: nobody restarted.
    pub(crate) fn after_handover(config: &Config) -> Self {
        let file = restart_file(config);
        Restart {
            state: Mutex::new(State {
                is_on_disk: file.path().exists(),
                file: Some(file),
                kept: BTreeMap::new(),
                is_unsaved: false,
                cannot_write: false,
                deferral: None,
                restarting_until_ms: None,
                has_ended: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns whether Rutter must not advertise routes yet.
    pub(crate) fn is_deferring(&self) -> bool {
        self.state.lock().deferral.is_some()
    }

    /// Returns whether our OPENs say that we restarted (the R bit).
    pub(crate) fn is_restarting(&self) -> bool {
        self.state.lock().restarting_until_ms.is_some()
    }

    /// The selection deferral, while it lasts.
    pub(crate) fn deferral(&self, now_ms: u64) -> Option<SelectionDeferralRow> {
        let state = self.state.lock();
        let deferral = state.deferral.as_ref()?;
        let names = |families: PerFamily<bool>| {
            let missing = families.entries().filter(|(_, is_missing)| **is_missing);
            missing.map(|(family, _)| family.to_string()).collect()
        };
        let awaited = |(address, families)| AwaitedNeighbor {
            address,
            families: names(families),
        };
        Some(SelectionDeferralRow {
            remaining_s: deferral
                .next_deadline()
                .saturating_sub(now_ms)
                .div_ceil(1_000),
            awaited: deferral.awaited().map(awaited).collect(),
        })
    }

    /// A session is established.
    pub(crate) fn established(&self, neighbor: IpAddr, negotiated: &Negotiated) {
        let mut state = self.state.lock();
        let families = negotiated.end_of_rib_families();
        if families == PerFamily::both(false) {
            state.is_unsaved |= state.kept.remove(&neighbor).is_some();
        } else {
            let routes = KeptRoutes {
                families,
                since_unix_s: unix_seconds(),
            };
            let until_ms = None;
            state.kept.insert(neighbor, Kept { routes, until_ms });
            state.is_unsaved = true;
        }
        if let Some(deferral) = &mut state.deferral {
            deferral.established(neighbor, negotiated);
        }
        self.changed.notify_all();
    }

    /// The neighbor sent End-of-RIB, and its routes are in the table.
    pub(crate) fn end_of_rib(&self, neighbor: IpAddr, family: Family, now_ms: u64) {
        if let Some(deferral) = &mut self.state.lock().deferral {
            deferral.end_of_rib(neighbor, family, now_ms);
            self.changed.notify_all();
        }
    }

    /// A session went down: the neighbor keeps our routes at most for our restart time.
    pub(crate) fn went_down(&self, neighbor: IpAddr, restart_time_s: u16, now_ms: u64) {
        if let Some(kept) = self.state.lock().kept.get_mut(&neighbor) {
            kept.until_ms = Some(now_ms + u64::from(restart_time_s) * 1_000);
            self.changed.notify_all();
        }
    }

    /// A neighbor was removed from the configuration or shut down.
    pub(crate) fn removed(&self, neighbor: IpAddr) {
        let mut state = self.state.lock();
        state.is_unsaved |= state.kept.remove(&neighbor).is_some();
        if let Some(deferral) = &mut state.deferral {
            deferral.removed(neighbor);
        }
        self.changed.notify_all();
    }

    /// Makes [`watch`] return.
    pub(crate) fn stop_watching(&self) {
        self.state.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Writes the file for the next start, or removes it. All sessions have ended, and [`watch`] has returned.
    pub(crate) fn end(&self, stop: Stop, config: &Config) {
        let mut state = self.state.lock();
        if stop == Stop::Leave {
            state.kept.clear();
        }
        if let Some(change) = state.file_change(config) {
            let (is_on_disk, result) = change.carry_out();
            state.file_changed(is_on_disk, result);
        }
    }
}

impl State {
    /// Takes over what the run before left. The neighbors that it names count from now on as down.
    fn resume(&mut self, record: RestartRecord, config: &Config) {
        let restart_ms = u64::from(record.restart_time_s) * 1_000;
        self.restarting_until_ms = Some(restart_ms);
        let expected = |(address, _): &(IpAddr, KeptRoutes)| is_expected(config, *address);
        let neighbors = record.neighbors.into_iter().filter(expected);
        self.kept = neighbors
            .map(|(address, routes)| {
                let until_ms = Some(restart_ms);
                (address, Kept { routes, until_ms })
            })
            .collect();
        let ends_at_ms = u64::from(config.graceful_restart.selection_deferral_s()) * 1_000;
        let families = self.kept.iter().map(|(a, kept)| (*a, kept.routes.families));
        let deferral = SelectionDeferral::new(families, ends_at_ms);
        let waiting = deferral.awaited().count();
        let deferral = Some(deferral).filter(|deferral| deferral.end(0).is_none());
        let at_most_s = deferral.as_ref().map(|d| d.next_deadline() / 1_000);
        self.deferral = deferral;
        tracing::info!(
            waiting,
            at_most_s,
            "restarted: neighbors keep our routes; advertisement waits for their End-of-RIB"
        );
    }

    /// The change of the file that is due. The caller carries it out without the lock: the disk may be slow.
    fn file_change(&mut self, config: &Config) -> Option<FileChange> {
        let file = self.file.clone()?;
        self.is_unsaved = false;
        if self.kept.is_empty() {
            return self.is_on_disk.then_some(FileChange::Remove(file));
        }
        let kept = self.kept.iter().map(|(a, kept)| (*a, kept.routes));
        let record = RestartRecord {
            neighbors: kept.collect(),
            ..RestartRecord::new(config)
        };
        Some(FileChange::Write(file, record))
    }

    fn file_changed(&mut self, is_on_disk: bool, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.is_on_disk = is_on_disk;
                self.cannot_write = false;
            }
            // The next refresh tries again.
            Err(error) if !std::mem::replace(&mut self.cannot_write, true) => tracing::warn!(
                error,
                "neighbors will lose our routes when Rutter restarts: set `daemon.state` to a folder that it may write"
            ),
            Err(_) => {}
        }
    }

    /// Forgets neighbors whose sessions have been down for too long.
    fn forget_removed(&mut self, now_ms: u64) {
        let before = self.kept.len();
        let keeps = |kept: &Kept| kept.until_ms.is_none_or(|until| until > now_ms);
        self.kept.retain(|_, kept| keeps(kept));
        self.is_unsaved |= self.kept.len() != before;
    }

    /// The time of the next work without a change, milliseconds. `refresh_at_ms`: the file is written then.
    fn next_deadline(&self, refresh_at_ms: Option<u64>) -> Option<u64> {
        let deferral = self.deferral.as_ref().map(SelectionDeferral::next_deadline);
        let removed = self.kept.values().filter_map(|kept| kept.until_ms).min();
        let deadlines = [deferral, self.restarting_until_ms, removed, refresh_at_ms];
        deadlines.into_iter().flatten().min()
    }
}

/// A change of the restart file.
enum FileChange {
    Write(LastGood, RestartRecord),
    Remove(LastGood),
}

impl FileChange {
    /// Carries out the change. Returns whether the file exists if it succeeded, and the result.
    fn carry_out(self) -> (bool, Result<(), String>) {
        match self {
            FileChange::Write(file, record) => {
                let text = record.encode();
                let saved = file.save(unix_seconds(), |out| out.write_all(text.as_bytes()));
                (true, saved.map_err(|error| error.to_string()))
            }
            FileChange::Remove(file) => (false, remove(&file)),
        }
    }
}

/// Keeps the file up to date, and ends the deferral and the R bit in time. Returns when the daemon stops.
pub(crate) fn watch(shared: &Arc<Shared>) {
    let restart = &shared.restart;
    let mut refresh_at_ms = 0;
    let mut state = restart.state.lock();
    while !state.has_ended {
        let now_ms = shared.clock.now_ms();
        end_deferral(shared, &mut state, now_ms);
        if state.restarting_until_ms.is_some_and(|at| at <= now_ms) {
            state.restarting_until_ms = None;
            for thread in 0..shared.threads.len() {
                let _ = shared.post(thread, Command::RestartIsOver);
            }
        }
        state.forget_removed(now_ms);
        let is_stopping = shared.stopping.load(Ordering::Acquire);
        if (state.is_unsaved && !state.cannot_write || refresh_at_ms <= now_ms) && !is_stopping {
            let config = Arc::clone(&shared.config.read());
            refresh_at_ms = now_ms + refresh_interval(&config).as_millis() as u64;
            if let Some(change) = state.file_change(&config) {
                let (is_on_disk, result) = MutexGuard::unlocked(&mut state, || change.carry_out());
                state.file_changed(is_on_disk, result);
                continue;
            }
        }
        // A daemon that stops writes the file at its end: no refresh is due before that.
        let refresh_at_ms = (!is_stopping).then_some(refresh_at_ms);
        let Some(next) = state.next_deadline(refresh_at_ms) else {
            restart.changed.wait(&mut state);
            continue;
        };
        let wait = next.saturating_sub(shared.clock.now_ms());
        // Without time to wait it still gives other threads the lock.
        let wait = Duration::from_millis(wait);
        let _ = restart.changed.wait_for(&mut state, wait);
    }
}

/// Ends the deferral if it is over: all clients are sent the table.
fn end_deferral(shared: &Arc<Shared>, state: &mut State, now_ms: u64) {
    let Some(deferral) = &state.deferral else {
        return;
    };
    let Some(end) = deferral.end(now_ms) else {
        return;
    };
    let missing: Vec<String> = deferral.awaited().map(|(a, _)| a.to_string()).collect();
    let waited_s = now_ms / 1_000;
    match end {
        DeferralEnd::Complete => tracing::info!(
            waited_s,
            "all neighbors are back after the restart: advertisement begins"
        ),
        DeferralEnd::TimeOver => tracing::warn!(
            waited_s,
            missing = %missing.join(", "),
            "neighbors are missing after the restart: advertisement begins without their routes"
        ),
    }
    state.deferral = None;
    shared.rib.begin_advertisement();
    // Stations are reported what clients are sent from now on.
    shared.policy_changes.fetch_add(1, Ordering::Relaxed);
    shared.wake_all_but(usize::MAX);
}

fn refresh_interval(config: &Config) -> Duration {
    let restart_time = Duration::from_secs(config.graceful_restart.restart_time_s.into());
    (restart_time / REFRESHES).clamp(Duration::from_secs(1), LONGEST_REFRESH)
}

/// The record of the run before, if this start is a restart.
fn find_restart(file: &LastGood, config: &Config) -> Option<RestartRecord> {
    let path = file.path().display();
    let found = match file.load() {
        Ok(None) => return None,
        Ok(Some(copy)) => {
            let own = RestartRecord::new(config);
            RestartRecord::of_restart(&copy, &own, SystemTime::now())
        }
        Err(error) => Err(error.to_string()),
    };
    found
        .map_err(|why| {
            tracing::warn!(file = %path, why, "no graceful restart: the restart file is not used");
        })
        .ok()
}

fn remove(file: &LastGood) -> Result<(), String> {
    match std::fs::remove_file(file.path()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", file.path().display()))
        }
        _ => Ok(()),
    }
}

/// Returns whether a neighbor of the run before may come back under this configuration.
fn is_expected(config: &Config, address: IpAddr) -> bool {
    let configured = config.neighbor(address);
    match configured {
        Some(neighbor) => neighbor.session.shutdown.is_none(),
        None => config.dynamic_neighbors.iter().any(|d| d.admits(address)),
    }
}
