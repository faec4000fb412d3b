//! A new configuration for a running daemon: all or nothing, and only what differs.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rutter_api::ReloadError;
use rutter_config::{Changed, Config, Diff};
use rutter_policy::ExportPolicy;
use rutter_rib::PeerId;

use crate::logging;
use crate::mailbox::Command;
use crate::management::Service;
use crate::mrt::Archive;
use crate::neighbor::Plan;
use crate::rpki;
use crate::shared::{Busy, Shared, unix_us};
use crate::status::PeerStatus;
use crate::transport;

/// Reads the daemon's file again and applies what differs. On an error nothing has changed.
pub(crate) fn reload(shared: &Arc<Shared>) -> Result<Diff, ReloadError> {
    let result = try_reload(shared);
    let mut loaded = shared.loaded.lock();
    match &result {
        Ok(diff) => {
            loaded.unix_s = unix_us() / 1_000_000;
            loaded.last_error = None;
            tracing::info!(
                added = diff.added.len(),
                removed = diff.removed.len(),
                changed = diff.changed.len(),
                "configuration reloaded"
            );
        }
        Err(error) => {
            let text = in_words(error);
            tracing::error!(error = %text, "configuration not taken, nothing has changed");
            loaded.last_error = Some(text);
        }
    }
    result
}

/// What a reload of `file` (or the daemon's own) would change.
pub(crate) fn compare(shared: &Shared, file: Option<&Path>) -> Result<Diff, ReloadError> {
    let new = load(shared, file)?;
    Ok(rutter_config::diff(&shared.config.read(), &new))
}

/// Runs a neighbor's import policy over its kept routes again.
pub(crate) fn evaluate_again(shared: &Shared, neighbor: IpAddr) -> Result<(), String> {
    let status = shared.peers.find(neighbor).ok_or("no such neighbor")?;
    let Some(peer) = status.with(|details| details.peer) else {
        return Ok(());
    };
    shared.rib.reevaluate_import(peer);
    shared.flush();
    Ok(())
}

fn try_reload(shared: &Arc<Shared>) -> Result<Diff, ReloadError> {
    let _one_at_a_time = shared.reloading.lock();
    let new = Arc::new(load(shared, None)?);
    let vrps = rpki::read(&new).map_err(ReloadError::Other)?;
    let outlets = prepare_outlets(shared, &new)?;
    let old = std::mem::replace(&mut *shared.config.write(), Arc::clone(&new));
    let mut diff = rutter_config::diff(&old, &new);
    apply(shared, &old, &new, &diff);
    change_outlets(shared, &old, &new, outlets);
    let has_other_vrps = *shared.vrps.read() != vrps;
    if has_other_vrps && old.rpki == new.rpki {
        diff.other.push("rpki.vrps".into());
    }
    *shared.vrps.write() = vrps;
    shared.flush();
    Ok(diff)
}

fn load(shared: &Shared, file: Option<&Path>) -> Result<Config, ReloadError> {
    let path = file.or(shared.source.as_deref()).ok_or_else(|| {
        ReloadError::Other("the daemon runs on an embedded configuration, without a file".into())
    })?;
    let loaded = Config::load(path).map_err(ReloadError::Config)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok(loaded.config)
}

fn apply(shared: &Arc<Shared>, old: &Config, new: &Config, diff: &Diff) {
    logging::init(new.daemon.log_format, logging::level(&new.daemon.log));
    shared.listeners.set_keys(Some(old), new);
    if !diff.communities.is_empty() {
        let export = ExportPolicy::new(new.export_settings());
        let tell = || shared.flush();
        shared.rib.replace_export(Arc::new(export), tell);
    }
    for &address in &diff.removed {
        report(
            address,
            shared.post_to_peer(address, Command::Remove(address)),
        );
    }
    let mut changes = Changes::default();
    for changed in &diff.changed {
        change(shared, new, changed, &mut changes);
    }
    for &address in &diff.added {
        if let Some(neighbor) = new.neighbors.iter().find(|n| n.address == address) {
            report(address, add(shared, Plan::new(new, neighbor)));
        }
    }
    if diff.dynamic_neighbors || !diff.checks.is_empty() {
        change_dynamic(shared, old, new, &mut changes);
    }
    changes.apply(shared);
    for key in &diff.needs_restart {
        tracing::warn!(key, "the change takes effect on the next start only");
    }
}

/// A new neighbor; where a dynamic one has its address, that one goes first.
fn add(shared: &Shared, plan: Plan) -> Result<(), Busy> {
    let address = plan.config.address;
    if shared.peers.find(address).is_none() {
        return shared.add_peer(plan);
    }
    let plan = Box::new(plan);
    shared.post_to_peer(address, Command::Replace { plan, reset: true })
}

/// New settings for neighbors that there are already.
#[derive(Default)]
struct Changes {
    /// For the table, where a session goes on under them.
    judged: Vec<(PeerId, rutter_rib::Neighbor)>,
    /// For the threads of the sessions.
    posted: Vec<(IpAddr, Command)>,
}

impl Changes {
    fn add(&mut self, address: IpAddr, peer: Option<PeerId>, plan: Plan, reset: bool) {
        if let (false, Some(peer)) = (reset, peer) {
            self.judged.push((peer, plan.table.clone()));
        }
        let plan = Box::new(plan);
        self.posted
            .push((address, Command::Replace { plan, reset }));
    }

    /// Judging kept routes anew may take a while on a large table: it is done here, not on the threads that route, and for
    /// all neighbors at once.
    fn apply(self, shared: &Shared) {
        shared.rib.replace_neighbors(self.judged, || shared.flush());
        for (address, command) in self.posted {
            report(address, shared.post_to_peer(address, command));
        }
    }
}

fn change(shared: &Shared, new: &Config, changed: &Changed, changes: &mut Changes) {
    let address = changed.neighbor;
    let Some(neighbor) = new.neighbors.iter().find(|n| n.address == address) else {
        return;
    };
    let Some(status) = shared.peers.find(address) else {
        return report(address, add(shared, Plan::new(new, neighbor)));
    };
    let mut plan = Plan::new(new, neighbor);
    keep_local(&mut plan, &status);
    let peer = status.with(|d| d.peer);
    changes.add(address, peer, plan, changed.needs_session_reset);
}

/// What the connection taught of our own address holds on.
fn keep_local(plan: &mut Plan, status: &PeerStatus) {
    let local = status.with(|d| d.negotiated.as_ref().and_then(|n| n.local));
    if let Some(local) = local {
        plan.set_local(transport::plain(local.ip()));
    }
}

/// Sessions whose section is as before stay, under the new checks; the others are reset or go.
fn change_dynamic(shared: &Shared, old: &Config, new: &Config, changes: &mut Changes) {
    for status in shared.peers.all() {
        let (dynamic, address, asn, peer) =
            status.with(|d| (d.dynamic, d.config.address, d.config.asn, d.peer));
        if !dynamic {
            continue;
        }
        let section = |config: &Config| {
            let mut sections = config.dynamic_neighbors.iter();
            sections.find(|d| d.admits(address)).cloned()
        };
        let Some(now) = section(new) else {
            report(
                address,
                shared.post_to_peer(address, Command::Remove(address)),
            );
            continue;
        };
        let mut plan = Plan::dynamic(new, &now, address, asn);
        keep_local(&mut plan, &status);
        let reset = section(old).as_ref() != Some(&now);
        changes.add(address, peer, plan, reset);
    }
}

/// A metrics endpoint that listens already and an archive that can write, waiting to take the old ones' places.
struct Prepared {
    metrics: Option<Service>,
    archive: Option<Archive>,
}

/// Does everything about outlets that can fail, before anything is changed.
fn prepare_outlets(shared: &Arc<Shared>, new: &Config) -> Result<Prepared, ReloadError> {
    let old = Arc::clone(&shared.config.read());
    let mrt = new.mrt.as_ref().filter(|_| old.mrt != new.mrt);
    let archive = mrt.map(|mrt| {
        Archive::open(shared, mrt).map_err(|error| {
            let folder = mrt.directory.display();
            ReloadError::Other(format!(
                "mrt: cannot write in {folder}: {error}; write another directory, or let the daemon's user write there"
            ))
        })
    });
    let archive = archive.transpose()?;
    let metrics = new.metrics.as_ref().filter(|_| old.metrics != new.metrics);
    let started = metrics.map(|metrics| {
        Service::metrics(shared, metrics.listen).map_err(|error| {
            let address = metrics.listen;
            ReloadError::Other(format!(
                "metrics: cannot listen on {address}: {error}; write another address"
            ))
        })
    });
    match started.transpose() {
        Ok(metrics) => Ok(Prepared { metrics, archive }),
        Err(error) => {
            archive.into_iter().for_each(Archive::stop);
            Err(error)
        }
    }
}

/// Puts the metrics endpoint and the archive in place where they differ.
fn change_outlets(shared: &Arc<Shared>, old: &Config, new: &Config, prepared: Prepared) {
    let mut outlets = shared.outlets.lock();
    if old.metrics != new.metrics {
        outlets.metrics.take().into_iter().for_each(Service::stop);
        outlets.metrics = prepared.metrics;
    }
    if old.mrt != new.mrt {
        // The old one completes its files first: those of the new one may have the same names.
        outlets.archive.take().into_iter().for_each(Archive::stop);
        outlets.archive = prepared.archive;
        outlets.archive.iter_mut().for_each(Archive::begin);
    }
}

fn report(peer: IpAddr, posted: Result<(), Busy>) {
    if let Err(why) = posted {
        tracing::error!(%peer, %why, "a change was not applied");
    }
}

fn in_words(error: &ReloadError) -> String {
    match error {
        ReloadError::Config(errors) => {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            match errors.len() {
                0 | 1 => first,
                n => format!("{first} (and {} more)", n - 1),
            }
        }
        ReloadError::Other(text) => text.clone(),
    }
}
