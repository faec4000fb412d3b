//! Puts another configuration in force, and goes back: `rutter apply`, `confirm`, `rollback`, `history`.
//!
//! A start reads the daemon's own file. With a time for the confirmation, a configuration runs at first in memory only, and
//! the file changes when it is confirmed. So a crash, and the end of the time, lead back to the configuration before.

mod history;
mod own_file;
mod standing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;
use rutter_api::{
    Applied, ApplyOrder, AuditEntry, HistoryRow, MAX_CONFIGURATION, ReloadError, SessionState,
};
use rutter_config::{Config, ConfigSource, Diff};
use rutter_net::Family;
use rutter_rib::PeerId;

pub(crate) use history::History;

use crate::apply::history::{APPLIED, Entry, Ran, TRIED, WENT_BACK};
use crate::apply::own_file::StagedFile;
use crate::apply::standing::{Guard, Limits, Standing, Standings};
use crate::audit;
use crate::privileges;
use crate::reload;
use crate::shared::Shared;

/// The configurations that ran, and the change that waits for its confirmation.
pub(crate) struct Changes {
    history: Mutex<History>,
    unconfirmed: Mutex<Option<Unconfirmed>>,
}

/// A configuration that runs until its time is over, unless somebody confirms it.
struct Unconfirmed {
    /// Its text, beside the daemon's own file.
    staged: StagedFile,
    /// The configuration before it, with its text.
    back: Arc<Config>,
    back_text: String,
    until_ms: u64,
    guard: Guard,
}

/// The time between two looks at a change that nobody has confirmed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The longest time that a session may be down after a change, milliseconds. Half of the time for the confirmation if
/// that is shorter.
const DOWN_MS: u64 = 60_000;
/// The time that neighbors have to send their routes when all sessions are there, milliseconds.
const SETTLE_MS: u64 = 10_000;
/// The time between two attempts to go back, milliseconds.
const RETRY_MS: u64 = 10_000;

impl Changes {
    /// Reads the history of a daemon that starts.
    pub(crate) fn open(config: &Config, source: Option<&ConfigSource>) -> Self {
        let changes = Changes {
            history: Mutex::new(History::open(config)),
            unconfirmed: Mutex::default(),
        };
        if let Some(ConfigSource::File(file)) = source
            && let Ok(text) = read(file)
        {
            changes.history.lock().record_start(config, &text);
        }
        changes
    }

    /// Records that a configuration is in force.
    fn record(&self, config: &Config, text: &str, action: &str, by: &str) {
        let ran = Ran {
            config,
            text,
            by,
            action,
        };
        self.history.lock().record(&ran);
    }

    /// Refuses another change while one waits for its confirmation.
    pub(crate) fn check_confirmed(&self) -> Result<(), ReloadError> {
        match *self.unconfirmed.lock() {
            None => Ok(()),
            Some(_) => Err(refused(
                "a change waits for its confirmation; run `rutter confirm` to keep it or `rutter rollback` to go back, then try again",
            )),
        }
    }

    /// Records a reload of the daemon's own file.
    pub(crate) fn reloaded(&self, source: Option<&ConfigSource>, config: &Config, by: &str) {
        if let Some(ConfigSource::File(file)) = source
            && let Ok(text) = read(file)
        {
            self.record(config, &text, "reload", by);
        }
    }
}

/// Puts the configuration of a file in force, and makes it the daemon's own file: at once, or when it is confirmed.
pub(crate) fn apply(
    shared: &Arc<Shared>,
    order: &ApplyOrder,
    by: &str,
) -> Result<Applied, ReloadError> {
    check_limits(order.confirm_s, order.max_loss)?;
    let _one_at_a_time = shared.reloading.lock();
    shared.changes.check_confirmed()?;
    let own = own_file(shared)?;
    let text = match &order.text {
        Some(text) => text.clone(),
        None => read(&order.file)?,
    };
    let is_own = order.text.is_none() && same_file(&own, &order.file);
    if is_own && order.confirm_s.is_some() {
        return Err(refused(format!(
            "{} is the daemon's own file, which a start reads already; write the change into a copy, and apply that",
            own.display()
        )));
    }
    let change = Change {
        own: &own,
        name: &order.file,
        text: &text,
        by,
        action: match order.confirm_s {
            Some(_) => TRIED,
            None => APPLIED,
        },
    };
    match order.confirm_s {
        None => change.put_in_force(shared),
        Some(confirm_s) => change.try_out(shared, confirm_s, order.max_loss),
    }
}

/// Keeps a configuration that waits for its confirmation: it becomes the daemon's own file.
pub(crate) fn confirm(shared: &Shared, by: &str) -> Result<String, String> {
    let _one_at_a_time = shared.reloading.lock();
    let Some(change) = shared.changes.unconfirmed.lock().take() else {
        return Err("no change waits for a confirmation".to_owned());
    };
    let own = change.staged.own().display().to_string();
    change.staged.put_in_place().map_err(|error| {
        format!("the change stays in force, but {own} cannot be replaced: {error}; write it there yourself, or a start goes back")
    })?;
    shared.changes.history.lock().confirm();
    tracing::info!(by, "configuration confirmed");
    Ok(format!("confirmed: {own} has the configuration"))
}

/// Goes back to an earlier configuration, and writes it to the daemon's own file. Without a number it ends a change that
/// waits for its confirmation, or goes to the configuration before the one in force.
pub(crate) fn rollback(
    shared: &Arc<Shared>,
    number: Option<u64>,
    by: &str,
) -> Result<Applied, ReloadError> {
    let _one_at_a_time = shared.reloading.lock();
    let is_unconfirmed = shared.changes.unconfirmed.lock().is_some();
    if is_unconfirmed && number.is_none() {
        let diff = go_back(shared, &format!("rollback by {by}"))?;
        let message = "went back to the configuration before the change that was not confirmed";
        return Ok(Applied {
            diff,
            message: message.to_owned(),
        });
    }
    shared.changes.check_confirmed()?;
    let entry = shared
        .changes
        .history
        .lock()
        .find(number)
        .map_err(refused)?;
    let name = format!("configuration {}", entry.number);
    let change = Change {
        own: &own_file(shared)?,
        name: Path::new(&name),
        text: &entry.text,
        by,
        action: &format!("rollback to {}", entry.number),
    };
    let applied = change.put_in_force(shared)?;
    Ok(Applied {
        message: rolled_back(&entry),
        ..applied
    })
}

fn rolled_back(entry: &Entry) -> String {
    let changed: Vec<String> = entry
        .changed_members()
        .map(|path| path.display().to_string())
        .collect();
    let note = match changed.is_empty() {
        true => String::new(),
        false => format!(
            "; these member files have changed since, and were read as they are now: {}",
            changed.join(", ")
        ),
    };
    format!("configuration {} is in force again{note}", entry.number)
}

/// The configurations that ran, the oldest first.
pub(crate) fn history(shared: &Shared) -> Vec<HistoryRow> {
    let now_ms = shared.clock.now_ms();
    let unconfirmed = shared.changes.unconfirmed.lock();
    let goes_back = unconfirmed
        .as_ref()
        .map(|change| change.until_ms.saturating_sub(now_ms) / 1_000);
    drop(unconfirmed);
    let history = shared.changes.history.lock();
    let last = history.entries().last().map(|entry| entry.number);
    let row = |entry: &Entry| {
        let is_running = Some(entry.number) == last;
        HistoryRow {
            number: entry.number,
            unix_s: entry.unix_s,
            by: entry.by.clone(),
            action: entry.action.clone(),
            running: is_running,
            goes_back_in_s: goes_back.filter(|_| is_running),
        }
    };
    history.entries().iter().map(row).collect()
}

/// A configuration that is to be put in force.
struct Change<'a> {
    own: &'a Path,
    /// The name of the text in errors.
    name: &'a Path,
    text: &'a str,
    by: &'a str,
    action: &'a str,
}

impl Change<'_> {
    /// Puts it in force and into the daemon's own file.
    fn put_in_force(&self, shared: &Arc<Shared>) -> Result<Applied, ReloadError> {
        let config = self.load(shared)?;
        let has_text = read(self.own).is_ok_and(|text| text == self.text);
        let staged = (!has_text).then(|| self.stage()).transpose()?;
        let put_in_place = || match staged {
            Some(staged) => {
                let placed = staged.put_in_place();
                placed.map_err(|error| cannot_write(self.own, &error))
            }
            None => Ok(()),
        };
        let diff = reload::put_in_force(shared, Arc::clone(&config), put_in_place)?;
        let changes = &shared.changes;
        changes.record(&config, self.text, self.action, self.by);
        let message = match diff.is_empty() {
            true => "nothing changed",
            false => "configuration applied",
        };
        Ok(Applied {
            diff,
            message: message.to_owned(),
        })
    }

    /// Puts it in force until it is confirmed, or the time is over.
    fn try_out(
        &self,
        shared: &Arc<Shared>,
        confirm_s: u64,
        max_loss: Option<f64>,
    ) -> Result<Applied, ReloadError> {
        let config = self.load(shared)?;
        let staged = self.stage()?;
        let back_text = match shared.changes.history.lock().entries().last() {
            Some(last) => last.text.clone(),
            None => read(self.own)?,
        };
        let before = standings(shared, true);
        let back = Arc::clone(&shared.config.read());
        let diff = reload::put_in_force(shared, Arc::clone(&config), || Ok(()))?;
        let confirm_ms = confirm_s.saturating_mul(1_000);
        let limits = Limits {
            down_ms: DOWN_MS.min(confirm_ms / 2),
            settle_ms: SETTLE_MS.min(confirm_ms / 4),
            max_loss,
        };
        let now_ms = shared.clock.now_ms();
        *shared.changes.unconfirmed.lock() = Some(Unconfirmed {
            staged,
            back,
            back_text,
            until_ms: now_ms.saturating_add(confirm_ms),
            guard: Guard::new(expected(before, &diff), limits, now_ms),
        });
        let changes = &shared.changes;
        changes.record(&config, self.text, self.action, self.by);
        let message = format!(
            "configuration applied; run `rutter confirm` within {confirm_s} s to keep it, or the daemon goes back"
        );
        Ok(Applied { diff, message })
    }

    /// Reads the configuration as the daemon's own file: files that it names are relative to that. Errors name the text
    /// where it comes from.
    fn load(&self, shared: &Shared) -> Result<Arc<Config>, ReloadError> {
        let source = ConfigSource::Text {
            name: self.own.to_owned(),
            text: self.text.to_owned(),
        };
        let running = Arc::clone(&shared.config.read());
        let loaded = source.load_to_replace(&running);
        let loaded = loaded.map_err(|mut errors| {
            for error in errors.iter_mut().filter(|error| error.file == self.own) {
                error.file = self.name.to_owned();
            }
            ReloadError::Config(errors)
        })?;
        Ok(Arc::new(loaded.config))
    }

    fn stage(&self) -> Result<StagedFile, ReloadError> {
        let staged = StagedFile::write(self.own, self.text);
        staged.map_err(|error| cannot_write(self.own, &error))
    }
}

/// The neighbors whose sessions go on after a change, or come back after a reset.
fn expected(before: Standings, diff: &Diff) -> Standings {
    let ends = |address| {
        let changed = diff.changed.iter().find(|one| one.neighbor == address);
        diff.removed.contains(&address) || changed.is_some_and(|one| one.ends_session)
    };
    before
        .into_iter()
        .filter(|(address, _)| !ends(*address))
        .collect()
}

/// The established neighbors, with the number of their routes if `counts`.
fn standings(shared: &Shared, counts: bool) -> Standings {
    let established = shared.peers.all().into_iter().filter_map(|status| {
        status.with(|details| {
            let peer = details.peer?;
            let is_up = details.state == SessionState::Established && !details.dynamic;
            is_up.then(|| (details.config.address, details.config.name.clone(), peer))
        })
    });
    let established: Vec<_> = established.collect();
    let peers: Vec<PeerId> = established.iter().map(|(_, _, peer)| *peer).collect();
    let mut advertised = vec![0; peers.len()];
    for family in Family::ALL.into_iter().filter(|_| counts) {
        let of_family = shared.rib.advertised_prefixes(family, &peers);
        for (sum, count) in advertised.iter_mut().zip(of_family) {
            *sum += u64::from(count);
        }
    }
    let standing = |((address, name, peer), advertised)| {
        let counts = shared.rib.intake(peer).counts;
        let accepted = counts.iter().map(|counts| u64::from(counts.accepted)).sum();
        let standing = Standing {
            name,
            accepted,
            advertised,
        };
        (address, standing)
    };
    established
        .into_iter()
        .zip(advertised)
        .map(standing)
        .collect()
}

/// Goes back when the time of a change is over, or when it costs too much. Ends when the sender of `end` is dropped.
pub(crate) fn watch(shared: &Arc<Shared>, end: &Receiver<()>) {
    privileges::yield_to_routing();
    while end.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        // Without the lock, a change might be confirmed while the daemon goes back.
        let _one_at_a_time = shared.reloading.lock();
        if let Some(why) = reason_to_go_back(shared) {
            let outcome = go_back(shared, &why).map_err(|error| reload::describe(&error));
            if let Err(error) = &outcome {
                tracing::error!(%error, "cannot go back to the configuration before");
            }
            let outcome = outcome.as_ref().map(|_| why.as_str());
            let entry = AuditEntry {
                who: "the daemon",
                action: "go back",
                outcome: outcome.map_err(String::as_str),
            };
            audit::record(shared, entry);
        }
    }
}

fn reason_to_go_back(shared: &Shared) -> Option<String> {
    let now_ms = shared.clock.now_ms();
    let mut unconfirmed = shared.changes.unconfirmed.lock();
    let change = unconfirmed.as_mut()?;
    if now_ms >= change.until_ms {
        return Some("nobody confirmed it in time".to_owned());
    }
    let now = standings(shared, change.guard.compares_routes(now_ms));
    let is_up = |address| now.contains_key(&address);
    let why = change.guard.note_sessions(is_up, now_ms);
    why.or_else(|| match change.guard.compares_routes(now_ms) {
        true => change.guard.compare_routes(&standings(shared, true)),
        false => None,
    })
}

/// Ends a change that was not confirmed: the configuration before it is in force again. Its file never changed.
fn go_back(shared: &Arc<Shared>, why: &str) -> Result<Diff, ReloadError> {
    let Some(change) = shared.changes.unconfirmed.lock().take() else {
        return Err(refused("no change waits for a confirmation"));
    };
    let running = Arc::clone(&shared.config.read());
    let back = Arc::new(Config::clone(&change.back).replacing(&running));
    let result = reload::put_in_force(shared, back, || Ok(()));
    match result {
        Ok(diff) => {
            tracing::warn!(why, "went back to the configuration before");
            let action = format!("{WENT_BACK}: {why}");
            let changes = &shared.changes;
            changes.record(&change.back, &change.back_text, &action, "the daemon");
            shared.loaded.lock().last_error = Some(format!("went back from a change: {why}"));
            Ok(diff)
        }
        Err(error) => {
            let until_ms = shared.clock.now_ms() + RETRY_MS;
            *shared.changes.unconfirmed.lock() = Some(Unconfirmed { until_ms, ..change });
            Err(error)
        }
    }
}

/// Refuses limits that would never lead back.
fn check_limits(confirm_s: Option<u64>, max_loss: Option<f64>) -> Result<(), ReloadError> {
    if confirm_s.is_some_and(|seconds| !(1..=LONGEST_TRIAL_S).contains(&seconds)) {
        return Err(refused(format!(
            "the time for the confirmation is from 1 to {LONGEST_TRIAL_S} seconds"
        )));
    }
    match max_loss {
        Some(_) if confirm_s.is_none() => Err(refused(
            "the largest loss needs a time for the confirmation: without it the configuration is kept at once",
        )),
        Some(loss) if !(0.0..=100.0).contains(&loss) => {
            Err(refused("the largest loss is from 0 to 100 percent"))
        }
        _ => Ok(()),
    }
}

/// The longest time for a confirmation, seconds: a day.
const LONGEST_TRIAL_S: u64 = 86_400;

fn own_file(shared: &Shared) -> Result<PathBuf, ReloadError> {
    match &shared.source {
        Some(ConfigSource::File(file)) => {
            reload::check_regular(file)?;
            Ok(file.clone())
        }
        _ => Err(refused(
            "the daemon was not started with a file of its own, so there is none to replace",
        )),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some() && real(one) == real(other)
}

fn read(path: &Path) -> Result<String, ReloadError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        refused(format!(
            "cannot read {}: {why}; write the path of a file that the daemon's user can read",
            path.display()
        ))
    };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !metadata.is_file() || metadata.len() > MAX_CONFIGURATION {
        return Err(unreadable(&"it is no regular file of at most 16 MiB"));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(&error))
}

fn cannot_write(own: &Path, error: &std::io::Error) -> ReloadError {
    let folder = own.parent().unwrap_or(Path::new("."));
    refused(format!(
        "cannot replace {}: {error}; let the daemon's user write in {}, or copy the file there yourself and run `rutter reload`",
        own.display(),
        folder.display()
    ))
}

fn refused(text: impl Into<String>) -> ReloadError {
    ReloadError::Other(text.into())
}
