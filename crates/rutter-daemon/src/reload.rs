//! Reloads the configuration of a running daemon: all changes or none, and only the differences.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rutter_api::{LimitChangeRow, ReloadError};
use rutter_config::{Changed, Config, ConfigSource, Diff, Neighbor, Web};
use rutter_net::Asn;
use rutter_policy::{ExportPolicy, ImportPolicy};
use rutter_rib::{PeerId, PreviewedPolicy, PreviewedRoute, Snapshot};
use rutter_web::WebServer;

use crate::bmp_report;
use crate::logging;
use crate::mrt::Archive;
use crate::neighbor_settings::NeighborSettings;
use crate::outside_sources::OutsideSources;
use crate::peer_table::Change;
use crate::peeringdb_limits;
use crate::shared::{Shared, unix_us};
use crate::status::PeerStatus;
use crate::transport;
use crate::web;

/// Reads the configuration file and applies the differences, for a user or a signal. After an error nothing has changed.
pub(crate) fn reload(shared: &Arc<Shared>, by: &str) -> Result<Diff, ReloadError> {
    let result = try_reload(shared, by);
    if let Err(error) = &result {
        let text = describe(error);
        tracing::error!(error = %text, "configuration rejected, nothing has changed");
        shared.loaded.lock().last_error = Some(text);
    }
    result
}

/// Returns the changes that a reload of `source`, or of the daemon's own file, would make.
pub(crate) fn compare(shared: &Shared, source: Option<&ConfigSource>) -> Result<Diff, ReloadError> {
    let new = load(shared, source)?;
    Ok(rutter_config::diff(&shared.config.read(), &new))
}

/// Calls `each` with every route on which a reload of `source`, or of the daemon's own file, would change the verdict. Files
/// with outside data are read; answers of servers are those in force.
pub(crate) fn preview(
    shared: &Shared,
    source: Option<&ConfigSource>,
    snapshot: &Snapshot,
    each: &mut dyn FnMut(PreviewedRoute),
) -> Result<(), ReloadError> {
    let new = load(shared, source)?;
    let policy_of = |peer: PeerId| match snapshot.peer(peer) {
        Some(held) => previewed_policy(&new, &held.neighbor),
        None => PreviewedPolicy::Same,
    };
    let data =
        OutsideSources::preview(&new, snapshot.outside_data()).map_err(ReloadError::Other)?;
    snapshot.preview(policy_of, &data, each);
    Ok(())
}

/// The prefix limits that a reload of `source`, or of the daemon's own file, would change.
pub(crate) fn preview_limits(
    shared: &Shared,
    source: Option<&ConfigSource>,
) -> Result<Vec<LimitChangeRow>, ReloadError> {
    let new = load(shared, source)?;
    Ok(peeringdb_limits::changes_of_config(shared, &new))
}

/// The policy that a configuration gives to a neighbor of the table.
fn previewed_policy(new: &Config, held: &rutter_rib::Neighbor) -> PreviewedPolicy {
    let address = held.address;
    let configured = new.neighbor(address);
    let settings = match configured {
        Some(neighbor) => new.import_settings(neighbor),
        None => match new.dynamic_neighbors.iter().find(|d| d.admits(address)) {
            Some(section) => new.import_settings(&section.neighbor(address, held.remote_asn)),
            None => return PreviewedPolicy::Removed,
        },
    };
    if *held.import.settings() == settings {
        PreviewedPolicy::Same
    } else {
        PreviewedPolicy::Other(Arc::new(ImportPolicy::new(settings)))
    }
}

/// Re-evaluates the routes of a neighbor under its import policy.
pub(crate) fn reevaluate(shared: &Shared, neighbor: IpAddr) -> Result<(), String> {
    let status = shared.peers.find(neighbor).ok_or("no such neighbor")?;
    let Some(peer) = status.with(|details| details.peer) else {
        return Ok(());
    };
    shared.rib.reevaluate_import(peer);
    shared.flush();
    Ok(())
}

fn try_reload(shared: &Arc<Shared>, by: &str) -> Result<Diff, ReloadError> {
    let _one_at_a_time = shared.reloading.lock();
    shared.changes.check_confirmed()?;
    let new = Arc::new(load(shared, None)?);
    let diff = put_in_force(shared, Arc::clone(&new), || Ok(()))?;
    shared.changes.reloaded(shared.source.as_ref(), &new, by);
    Ok(diff)
}

/// Puts a configuration in force. `decide` is called when nothing else can fail. After an error, also of `decide`, nothing
/// has changed. The caller holds the lock of reloads.
pub(crate) fn put_in_force(
    shared: &Arc<Shared>,
    new: Arc<Config>,
    decide: impl FnOnce() -> Result<(), ReloadError>,
) -> Result<Diff, ReloadError> {
    transport::check_tcp_ao(&new)
        .map_err(|why| ReloadError::Other(format!("{why}; {}", transport::TCP_AO_HINT)))?;
    let outlets = prepare_outlets(shared, &new)?;
    if let Err(error) = decide() {
        outlets.stop(shared);
        return Err(error);
    }
    let old = std::mem::replace(&mut *shared.config.write(), Arc::clone(&new));
    shared.config_changes.fetch_add(1, Ordering::Relaxed);
    let diff = rutter_config::diff(&old, &new);
    apply(shared, &old, &new, &diff);
    change_outlets(shared, &old, &new, outlets);
    OutsideSources::change(shared, &old, &new);
    shared.flush();
    if changes_advertised(&old, &new, &diff) {
        shared.policy_changes.fetch_add(1, Ordering::Relaxed);
    }
    if let Err(error) = bmp_report::change(shared, &new.bmp_stations) {
        tracing::error!(%error, "cannot report to a BMP station");
    }
    let mut loaded = shared.loaded.lock();
    loaded.unix_s = unix_us() / 1_000_000;
    loaded.last_error = None;
    tracing::info!(
        added = diff.added.len(),
        removed = diff.removed.len(),
        changed = diff.changed.len(),
        "configuration reloaded"
    );
    Ok(diff)
}

fn load(shared: &Shared, source: Option<&ConfigSource>) -> Result<Config, ReloadError> {
    let source = match (source, &shared.source) {
        // A text that came through a pipe means the same as the daemon's own file.
        (Some(ConfigSource::Text { name, text }), Some(own)) => ConfigSource::Text {
            name: own.name().with_file_name(name),
            text: text.clone(),
        },
        (Some(source), _) => source.clone(),
        (None, Some(source)) => source.clone(),
        (None, None) => {
            return Err(ReloadError::Other(
                "the daemon runs on an embedded configuration, without a file".into(),
            ));
        }
    };
    if let ConfigSource::File(file) = &source {
        check_regular(file)?;
    }
    let running = Arc::clone(&shared.config.read());
    let loaded = source
        .load_to_replace(&running)
        .map_err(ReloadError::Config)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok(loaded.config)
}

/// Refuses a pipe: opening it would wait for a writer, while nobody else could change anything.
pub(crate) fn check_regular(file: &Path) -> Result<(), ReloadError> {
    match std::fs::metadata(file) {
        Ok(metadata) if !metadata.is_file() => Err(ReloadError::Other(format!(
            "{}: it is a pipe or device, which can be read only once; use a regular file",
            file.display()
        ))),
        // A file that is missing is an error with more detail.
        _ => Ok(()),
    }
}

fn apply(shared: &Arc<Shared>, old: &Config, new: &Config, diff: &Diff) {
    logging::init(new.daemon.log_format, logging::level(&new.daemon.log));
    shared.listeners.set_keys(Some(old), new);
    let export = new.export_settings();
    if export != old.export_settings() {
        let flush = || shared.flush();
        shared
            .rib
            .replace_export(Arc::new(ExportPolicy::new(export)), flush);
    }
    for &address in &diff.removed {
        shared.remove_peer(address);
    }
    let mut changes = Changes::default();
    for changed in &diff.changed {
        change(shared, new, changed, &mut changes);
    }
    for &address in &diff.added {
        if let Some(neighbor) = new.neighbor(address) {
            // A dynamic neighbor with the same address is replaced.
            shared.run_peer(NeighborSettings::new(new, neighbor), Change::Reset);
        }
    }
    if !diff.is_empty() {
        change_dynamic(shared, old, new, &mut changes);
    }
    changes.apply(shared);
    for key in &diff.needs_restart {
        tracing::warn!(key, "the change takes effect on the next start only");
    }
}

/// New settings of existing neighbors.
#[derive(Default)]
struct Changes {
    /// The neighbors whose sessions continue: the table re-evaluates their routes.
    reevaluated: Vec<(PeerId, rutter_rib::Neighbor)>,
    /// The settings for the threads of the sessions.
    settings: Vec<(NeighborSettings, Change)>,
}

impl Changes {
    fn add(&mut self, peer: Option<PeerId>, settings: NeighborSettings, change: Change) {
        if let (Change::Live, Some(peer)) = (change, peer) {
            self.reevaluated.push((peer, settings.table.clone()));
        }
        self.settings.push((settings, change));
    }

    /// Re-evaluating the routes of a large table takes time. It runs here instead of on the I/O threads, and in one walk
    /// for all neighbors.
    fn apply(self, shared: &Shared) {
        shared
            .rib
            .replace_neighbors(self.reevaluated, || shared.flush());
        for (settings, change) in self.settings {
            shared.run_peer(settings, change);
        }
    }
}

fn change(shared: &Shared, new: &Config, changed: &Changed, changes: &mut Changes) {
    let address = changed.neighbor;
    let Some(neighbor) = new.neighbor(address) else {
        return;
    };
    let mut settings = NeighborSettings::new(new, neighbor);
    let status = shared.peers.find(address);
    if let Some(status) = &status {
        keep_local(&mut settings, status);
    }
    let peer = status.as_ref().and_then(|status| status.with(|d| d.peer));
    let is_another = changed.keys.iter().any(|key| key == "asn");
    let change = match changed.needs_session_reset {
        true if is_another => Change::Replace,
        true => Change::Reset,
        false => Change::Live,
    };
    changes.add(peer, settings, change);
}

/// Keeps our own address, which the connection determined.
fn keep_local(settings: &mut NeighborSettings, status: &PeerStatus) {
    let local = status.with(|d| d.negotiated.as_ref().and_then(|n| n.local));
    if let Some(local) = local {
        settings.set_local(transport::canonical(local.ip()));
    }
}

/// Applies the new configuration to dynamic neighbors. Their sessions continue unless a key changed that needs an OPEN.
/// Without a section they are removed.
fn change_dynamic(shared: &Shared, old: &Config, new: &Config, changes: &mut Changes) {
    for status in shared.peers.all() {
        let (dynamic, address, asn, peer) =
            status.with(|d| (d.dynamic, d.config.address, d.config.asn, d.peer));
        // The neighbor may be configured now, while its thread does not know it yet.
        let is_configured = new.neighbor(address).is_some();
        if !dynamic || is_configured {
            continue;
        }
        let section = |config: &Config| {
            let mut sections = config.dynamic_neighbors.iter();
            sections.find(|d| d.admits(address)).cloned()
        };
        let Some(now) = section(new) else {
            shared.remove_peer(address);
            continue;
        };
        let mut settings = NeighborSettings::dynamic(new, &now, address, asn);
        keep_local(&mut settings, &status);
        let change = match section(old) {
            Some(before) if !before.resets_sessions_of(&now, asn) => Change::Live,
            _ => Change::Reset,
        };
        changes.add(peer, settings, change);
    }
}

/// Gives the neighbors the limits that another configuration has for them, while their sessions continue. Returns how many
/// neighbors have others now.
pub(crate) fn change_prefix_limits(shared: &Shared, old: &Config, new: &Config) -> usize {
    change_differing(shared, new, |neighbor, _| {
        old.max_prefix(neighbor) != new.max_prefix(neighbor)
    })
}

/// Gives dynamic neighbors the numbers that they have in the IRR data of a new configuration. Their sessions continue.
pub(crate) fn renumber_dynamic(shared: &Shared, old: &Config, new: &Config) {
    change_differing(shared, new, |neighbor, is_dynamic| {
        is_dynamic && neighbor.asn != Asn(0) && old.irr_member(neighbor) != new.irr_member(neighbor)
    });
}

/// Gives the settings of another configuration to the neighbors that `differs` selects, while their sessions continue. Its
/// second argument: the neighbor is dynamic. Returns how many it selected.
fn change_differing(
    shared: &Shared,
    new: &Config,
    differs: impl Fn(&Neighbor, bool) -> bool,
) -> usize {
    let mut changes = Changes::default();
    for status in shared.peers.all() {
        let (dynamic, address, asn, peer) =
            status.with(|d| (d.dynamic, d.config.address, d.config.asn, d.peer));
        let mut settings = match (dynamic, new.neighbor(address)) {
            (_, Some(neighbor)) if differs(neighbor, false) => NeighborSettings::new(new, neighbor),
            (true, None) => {
                let mut sections = new.dynamic_neighbors.iter();
                let section = sections.find(|section| section.admits(address));
                match section.filter(|section| differs(&section.neighbor(address, asn), true)) {
                    Some(section) => NeighborSettings::dynamic(new, section, address, asn),
                    None => continue,
                }
            }
            _ => continue,
        };
        keep_local(&mut settings, &status);
        changes.add(peer, settings, Change::Live);
    }
    let count = changes.settings.len();
    changes.apply(shared);
    count
}

/// Web servers that listen and an archive that can write, before they replace the old ones.
struct Prepared {
    metrics: Option<WebServer>,
    web: Option<WebServer>,
    archive: Option<Archive>,
}

impl Prepared {
    /// Stops the new services before they are used, and starts those again that had to give way to them.
    fn stop(self, shared: &Arc<Shared>) {
        self.archive.into_iter().for_each(Archive::stop);
        let servers = self.metrics.into_iter().chain(self.web);
        servers.for_each(WebServer::stop);
        start_missing(shared);
    }
}

/// Starts the servers of the present configuration that do not run.
fn start_missing(shared: &Arc<Shared>) {
    let config = Arc::clone(&shared.config.read());
    let mut outlets = shared.outlets.lock();
    let started = |result: io::Result<WebServer>| {
        let log = |error| tracing::error!(%error, "cannot listen again after a refused change");
        result.map_err(log).ok()
    };
    if let (Some(metrics), None) = (&config.metrics, &outlets.metrics) {
        outlets.metrics = started(web::metrics(shared, metrics));
    }
    if let (Some(web), None) = (&config.web, &outlets.web) {
        outlets.web = started(web::looking_glass(shared, web));
    }
}

/// Starts a server. If it shares the port with the present one, such as `0.0.0.0` with `127.0.0.1`, that one ends first.
fn start_server(
    running: &mut Option<WebServer>,
    address: SocketAddr,
    start: impl Fn() -> io::Result<WebServer>,
) -> io::Result<WebServer> {
    let shares_port = |server: &WebServer| server.address().port() == address.port();
    match start() {
        Err(error)
            if error.kind() == io::ErrorKind::AddrInUse
                && running.as_ref().is_some_and(shares_port) =>
        {
            running.take().into_iter().for_each(WebServer::stop);
            start()
        }
        result => result,
    }
}

/// Opens the new services. Nothing has changed if that fails.
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
    let metrics = metrics.map(|new| {
        let mut outlets = shared.outlets.lock();
        let start = || web::metrics(shared, new);
        let started = start_server(&mut outlets.metrics, new.listen, start);
        started.map_err(|error| cannot_listen("metrics", new.listen, &error))
    });
    let listener = |web: &Option<Web>| web.as_ref().map(|web| (web.listen, web.tls.clone()));
    let web = new.web.as_ref();
    let web = web.filter(|_| listener(&old.web) != listener(&new.web));
    let web = web.map(|new| {
        let mut outlets = shared.outlets.lock();
        let start = || web::looking_glass(shared, new);
        let started = start_server(&mut outlets.web, new.listen, start);
        started.map_err(|error| cannot_listen("web", new.listen, &error))
    });
    match (metrics.transpose(), web.transpose()) {
        (Ok(metrics), Ok(web)) => Ok(Prepared {
            metrics,
            web,
            archive,
        }),
        (metrics, web) => {
            archive.into_iter().for_each(Archive::stop);
            let (metrics, web) = (stop_started(metrics), stop_started(web));
            start_missing(shared);
            Err(metrics.or(web).expect("one of them failed"))
        }
    }
}

/// Stops a server that started beside one that did not. Returns the error of one that did not.
fn stop_started(result: Result<Option<WebServer>, ReloadError>) -> Option<ReloadError> {
    match result {
        Ok(started) => {
            started.into_iter().for_each(WebServer::stop);
            None
        }
        Err(error) => Some(error),
    }
}

fn cannot_listen(section: &str, address: SocketAddr, error: &io::Error) -> ReloadError {
    ReloadError::Other(format!(
        "{section}: cannot listen on {address}: {error}; write another address"
    ))
}

/// Replaces the web servers and the archive where their settings changed.
fn change_outlets(shared: &Arc<Shared>, old: &Config, new: &Config, prepared: Prepared) {
    let mut outlets = shared.outlets.lock();
    if old.metrics != new.metrics {
        outlets.metrics.take().into_iter().for_each(WebServer::stop);
        outlets.metrics = prepared.metrics;
    }
    change_web(&mut outlets.web, new.web.as_ref(), prepared.web);
    if old.mrt != new.mrt {
        // The old archive completes its files first: the new one may use the same names.
        outlets.archive.take().into_iter().for_each(Archive::stop);
        outlets.archive = prepared.archive;
        outlets.archive.iter_mut().for_each(Archive::begin);
    }
}

/// Returns whether clients may be sent other routes, or the same ones in another form.
fn changes_advertised(old: &Config, new: &Config, diff: &Diff) -> bool {
    !diff.changed.is_empty()
        || diff.dynamic_neighbors
        || old.filters != new.filters
        || old.export_settings() != new.export_settings()
}

/// Replaces the looking glass if it listens elsewhere or with other TLS; else it goes on with the new settings.
fn change_web(running: &mut Option<WebServer>, new: Option<&Web>, prepared: Option<WebServer>) {
    if prepared.is_some() || new.is_none() {
        running.take().into_iter().for_each(WebServer::stop);
        *running = prepared;
    }
    if let (Some(server), Some(new)) = (running, new) {
        server.set_requests_per_second(new.requests_per_second);
        server.set_access(web::access(new));
        server.set_birdwatcher(web::birdwatcher(new));
    }
}

pub(crate) fn describe(error: &ReloadError) -> String {
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
