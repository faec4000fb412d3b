//! Starts the daemon, waits for requests to stop, and stops it.

mod take_over;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Poll, Waker};
use parking_lot::{Mutex, RwLock};
use rutter_api::{Access, CollectorServices};
use rutter_config::{Config, ConfigSource};
use rutter_policy::ExportPolicy;
use rutter_rib::{Rib, RibConfig};
use rutter_server::{START_PATIENCE, once_free};
use rutter_session::StopReason;
use rutter_web::WebServer;

use crate::apply::{self, Changes};
use crate::bmp_report;
use crate::connection::memory_file;
use crate::control_socket::ControlSocket;
use crate::dynamic_members;
use crate::handover::{self, MovableServices, Program, UpgradeDesk};
use crate::listener::{Acceptor, Listeners};
use crate::logging::LogRing;
use crate::mailbox::{Command, Mailbox};
use crate::memory_limits::MemoryLimits;
use crate::mrt::Archive;
use crate::neighbor_settings::NeighborSettings;
use crate::outside_sources::OutsideSources;
use crate::peer_table::{Change, PeerTable};
use crate::peeringdb_limits;
use crate::reactor::{self, Reactor, WAKE};
use crate::restart::{self, Restart, Stop};
use crate::shared::{Clock, Loaded, Shared, StopOrder, StopRequest, Thread, unix_us};
use crate::signals::Signals;
use crate::turn_clock::TurnCounts;
use crate::{
    logging, memory, missing_routes, outbound_limits, privileges, service_manager, transport, web,
};

/// Starts daemons.
pub struct Daemon;

/// A daemon with its table and its sockets, before the first message. Services that must miss no update subscribe here.
pub struct Prepared {
    handle: Handle,
    polls: Vec<Poll>,
}

/// A running daemon. Dropping it stops the daemon.
pub struct Handle {
    shared: Arc<Shared>,
    reactors: Vec<JoinHandle<()>>,
    acceptor: Option<(JoinHandle<()>, Waker)>,
    control: Vec<ControlSocket>,
    /// The threads that look at the table now and then. Each ends when its sender is dropped.
    watchers: Vec<(Sender<()>, JoinHandle<()>)>,
    restart: Option<JoinHandle<()>>,
    upgrades: Option<JoinHandle<()>>,
}

/// The parts with which a daemon starts, its own or those of the process before.
struct Start {
    log: Arc<LogRing>,
    listeners: Listeners,
    restart: Restart,
    clock: Clock,
}

/// The reason why a daemon does not start.
#[derive(Debug)]
pub struct StartError {
    what: String,
    error: io::Error,
    /// The remedy, if it is known.
    hint: &'static str,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)?;
        match self.hint {
            "" => Ok(()),
            hint => write!(f, "\n    {hint}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The bytes of encoded UPDATEs that a group keeps for lagging clients before it serves them from the table.
const LOG_LIMIT: usize = 32 * 1024 * 1024;
/// The text for neighbors that learn of a restart.
const RESTART_TEXT: &str = "restarting";

impl Daemon {
    /// Opens the sockets and starts the threads. `source` is what a reload reads. Without it the configuration
    /// is embedded and cannot be reloaded.
    pub fn start(config: Config, source: Option<ConfigSource>) -> Result<Handle, StartError> {
        Self::prepare(config, source)?.start()
    }

    /// As [`Daemon::start`], but the daemon neither receives nor sends before [`Prepared::start`].
    pub fn prepare(config: Config, source: Option<ConfigSource>) -> Result<Prepared, StartError> {
        let log = logging::init(config.daemon.log_format, logging::level(&config.daemon.log));
        if let Err(error) = privileges::raise_open_files() {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
        can_sign(&config)?;
        let bind = || Listeners::bind(&config.daemon.listen).map_err(failed("listen"));
        let listeners = once_free(START_PATIENCE, bind)?;
        listeners.set_keys(None, &config);
        let (user, group) = (&config.daemon.user, &config.daemon.group);
        privileges::drop_to(user.as_deref(), group.as_deref()).map_err(failed("user and group"))?;
        let restart = Restart::begin(&config, source.is_some());
        let start = Start {
            log,
            listeners,
            restart,
            clock: Clock::start(),
        };
        Self::assemble(config, source, start)
    }

    fn assemble(
        config: Config,
        source: Option<ConfigSource>,
        start: Start,
    ) -> Result<Prepared, StartError> {
        let (threads, polls) = io_threads(thread_count(&config)).map_err(failed("I/O threads"))?;
        let Start {
            log,
            listeners,
            restart,
            clock,
        } = start;
        let shared = Arc::new(Shared {
            rib: Arc::new(table(&config, threads.len())),
            clock,
            peers: PeerTable::default(),
            threads,
            listeners,
            changes: Changes::open(&config, source.as_ref()),
            source,
            loaded: Mutex::new(Loaded {
                unix_s: unix_us() / 1_000_000,
                last_error: None,
            }),
            reloading: Mutex::default(),
            outlets: Mutex::default(),
            stations: Mutex::default(),
            policy_changes: AtomicU64::new(0),
            jitter: RandomState::new(),
            log,
            stopping: AtomicBool::new(false),
            stop_request: StopRequest::default(),
            collected: OnceLock::new(),
            services: OnceLock::new(),
            restart,
            upgrades: UpgradeDesk::default(),
            small_shares_until_ms: AtomicU64::new(0),
            memory_limits: MemoryLimits::default(),
            sources: OutsideSources::default(),
            config: RwLock::new(Arc::new(config)),
            config_changes: AtomicU64::new(0),
        });
        if let Some(lookup) = shared.config.read().lookup {
            shared.rib.enable_lookup(lookup.profile);
        }
        if shared.restart.is_deferring() {
            shared.rib.defer_advertisement();
        }
        let handle = Handle {
            shared,
            reactors: Vec::new(),
            acceptor: None,
            control: Vec::new(),
            watchers: Vec::new(),
            restart: None,
            upgrades: None,
        };
        Ok(Prepared { handle, polls })
    }
}

impl Prepared {
    /// The empty table.
    pub fn rib(&self) -> Arc<Rib> {
        self.handle.rib()
    }

    /// Attaches the services of a collector, for the management protocol. Later calls have no effect.
    pub fn attach(&self, collected: Arc<dyn CollectorServices>) {
        let _ = self.handle.shared.collected.set(collected);
    }

    /// Allows `rutter upgrade`: this program takes over. Without it the daemon cannot be upgraded while it runs.
    pub fn allow_upgrades(&self, program: Program) {
        self.handle.shared.upgrades.allow(program);
    }

    /// The daemon without threads of its own, for tests that carry out their turns.
    #[cfg(test)]
    pub(crate) fn without_threads(self) -> (Arc<Shared>, Vec<Poll>) {
        self.handle.shared.stopping.store(true, Ordering::Release);
        let shared = Arc::clone(&self.handle.shared);
        drop(self.handle);
        shared.stopping.store(false, Ordering::Release);
        (shared, self.polls)
    }

    /// Starts the threads.
    pub fn start(mut self) -> Result<Handle, StartError> {
        self.handle.spawn(self.polls)?;
        service_manager::notify("READY=1");
        Ok(self.handle)
    }
}

impl Handle {
    fn spawn(&mut self, polls: Vec<Poll>) -> Result<(), StartError> {
        let config = Arc::clone(&self.shared.config.read());
        OutsideSources::start(&self.shared, &config).map_err(failed("sources of outside data"))?;
        // They know some limits already.
        let config = Arc::clone(&self.shared.config.read());
        once_free(START_PATIENCE, || self.open_control(&config))?;
        self.open_outlets(&config)?;
        self.begin_archive();
        self.place_reactors(&polls)?;
        self.run_reactors(polls)?;
        self.add_neighbors(&config);
        self.spawn_threads()?;
        tracing::info!(
            asn = %config.asn,
            router_id = %config.router_id,
            neighbors = config.neighbors.len(),
            threads = self.shared.threads.len(),
            listen = ?self.shared.listeners.addresses(),
            "started"
        );
        Ok(())
    }

    /// Gives each I/O thread its event loop.
    fn place_reactors(&self, polls: &[Poll]) -> Result<(), StartError> {
        for (index, poll) in polls.iter().enumerate() {
            let registry = poll.registry().try_clone();
            let registry = registry.map_err(failed("I/O threads"))?;
            let reactor = Reactor::new(Arc::clone(&self.shared), index, registry);
            *self.shared.threads[index].reactor.lock() = Some(reactor);
        }
        Ok(())
    }

    fn run_reactors(&mut self, polls: Vec<Poll>) -> Result<(), StartError> {
        for (index, poll) in polls.into_iter().enumerate() {
            let shared = Arc::clone(&self.shared);
            let run = move || reactor::run(&shared, index, poll);
            let thread = named(&format!("io-{index}"), run).map_err(failed("I/O threads"))?;
            self.reactors.push(thread);
        }
        Ok(())
    }

    /// Adds the configured neighbors that the daemon does not have.
    fn add_neighbors(&self, config: &Config) {
        let shared = &self.shared;
        let is_new = |n: &&rutter_config::Neighbor| shared.peers.find(n.address).is_none();
        for neighbor in config.neighbors.iter().filter(is_new) {
            let settings = NeighborSettings::new(config, neighbor);
            shared.run_peer(settings, Change::Live);
        }
    }

    fn spawn_threads(&mut self) -> Result<(), StartError> {
        let accepting = Acceptor::new(Arc::clone(&self.shared)).map_err(failed("listen"))?;
        let (acceptor, waker) = accepting;
        let thread = named("accept", move || acceptor.run()).map_err(failed("listen"))?;
        self.acceptor = Some((thread, waker));
        self.watch("memory", memory::trim_when_quiet)?;
        self.watch("limits", outbound_limits::watch)?;
        self.watch("requests", missing_routes::watch)?;
        self.watch("members", dynamic_members::watch)?;
        self.watch("peeringdb", peeringdb_limits::watch)?;
        self.watch("confirm", apply::watch)?;
        let shared = Arc::clone(&self.shared);
        let restart = named("restart", move || restart::watch(&shared));
        self.restart = Some(restart.map_err(failed("restart"))?);
        let shared = Arc::clone(&self.shared);
        let requests = shared.upgrades.open();
        let upgrades = named("upgrade", move || handover::serve(&shared, &requests));
        self.upgrades = Some(upgrades.map_err(failed("upgrade"))?);
        Ok(())
    }

    /// Starts a thread that runs until its channel is closed.
    fn watch(
        &mut self,
        name: &str,
        watch: fn(&Arc<Shared>, &mpsc::Receiver<()>),
    ) -> Result<(), StartError> {
        let (sender, end) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        let thread = named(name, move || watch(&shared, &end)).map_err(failed(name))?;
        self.watchers.push((sender, thread));
        Ok(())
    }

    fn open_control(&mut self, config: &Config) -> Result<(), StartError> {
        let open = |path: &Path, access, hint| {
            ControlSocket::open(&self.shared, path, access).map_err(|error| StartError {
                what: format!("control socket {}", path.display()),
                error,
                hint,
            })
        };
        // After a hand-over this is tried again until both are open.
        if self.control.is_empty() {
            self.control.push(open(
                &config.daemon.control_socket,
                Access::Control,
                "write another `daemon.control-socket`, or let the daemon's user write there",
            )?);
        }
        if let Some(path) = &config.daemon.read_only_socket {
            self.control.push(open(
                path,
                Access::ReadOnly,
                "write another `daemon.read-only-socket`, or let the daemon's user write there",
            )?);
        }
        Ok(())
    }

    fn open_outlets(&mut self, config: &Config) -> Result<(), StartError> {
        once_free(START_PATIENCE, || self.open_web(config))?;
        self.open_archive(config)?;
        self.open_stations(config)
    }

    /// Begins to report to the BMP stations.
    fn open_stations(&self, config: &Config) -> Result<(), StartError> {
        let started = bmp_report::change(&self.shared, &config.bmp_stations);
        started.map_err(failed("BMP stations"))
    }

    fn open_web(&self, config: &Config) -> Result<(), StartError> {
        let mut outlets = self.shared.outlets.lock();
        let metrics = config.metrics.as_ref();
        if let Some(metrics) = metrics.filter(|_| outlets.metrics.is_none()) {
            let what = format!("metrics on {}", metrics.listen);
            let server = web::metrics(&self.shared, metrics).map_err(failed(&what))?;
            outlets.metrics = Some(server);
        }
        let web = config.web.as_ref();
        if let Some(settings) = web.filter(|_| outlets.web.is_none()) {
            let what = format!("web on {}", settings.listen);
            let server = web::looking_glass(&self.shared, settings).map_err(failed(&what))?;
            outlets.web = Some(server);
        }
        Ok(())
    }

    /// Opens the archive. It writes nothing before [`Handle::begin_archive`].
    fn open_archive(&self, config: &Config) -> Result<(), StartError> {
        if let Some(mrt) = &config.mrt {
            let archive = Archive::open(&self.shared, mrt).map_err(|error| StartError {
                what: format!("mrt: cannot write in {}", mrt.directory.display()),
                error,
                hint: "write another `mrt.directory`, or let the daemon's user write there",
            })?;
            self.shared.outlets.lock().archive = Some(archive);
        }
        Ok(())
    }

    fn begin_archive(&self) {
        if let Some(archive) = &mut self.shared.outlets.lock().archive {
            archive.begin();
        }
    }

    /// The addresses of the BGP listeners, with the ports that the kernel chose.
    pub fn listen_addresses(&self) -> Vec<SocketAddr> {
        self.shared.listeners.addresses()
    }

    /// The address of the metrics endpoint, if there is one.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        let outlets = self.shared.outlets.lock();
        outlets.metrics.as_ref().map(WebServer::address)
    }

    /// The address of the looking glass, if there is one.
    pub fn web_address(&self) -> Option<SocketAddr> {
        let outlets = self.shared.outlets.lock();
        outlets.web.as_ref().map(WebServer::address)
    }

    /// The table, for programs that write or read it in the same process.
    pub fn rib(&self) -> Arc<Rib> {
        Arc::clone(&self.shared.rib)
    }

    /// Directs the process's signals to this daemon, also signals that have already arrived.
    pub fn handle_signals(&self, signals: &Signals) {
        signals.direct_to(&self.shared);
    }

    /// The services of a collector that go to the next version in `rutter upgrade`. Without them a collector cannot be
    /// upgraded. Later calls have no effect.
    pub fn move_services(&self, services: Arc<dyn MovableServices>) {
        let _ = self.shared.services.set(services);
    }

    /// Waits for a request to stop, by a signal or on the control socket. Carry it out with
    /// [`Handle::stop_with_process`] or [`Handle::stop_as`].
    pub fn wait_for_stop(&self) -> StopOrder {
        loop {
            if let Some(order) = self.shared.stop_request.wait(Duration::from_secs(3_600)) {
                return order;
            }
        }
    }

    /// Waits for a request to stop, at most for this time. Returns whether there is one.
    pub fn stop_requested(&self, timeout: Duration) -> bool {
        self.shared.stop_request.wait(timeout).is_some()
    }

    /// Ends all sessions with Cease/Administrative Shutdown and this text (RFC 9003), then all threads.
    pub fn stop(self, text: &str) {
        self.stop_as(&StopOrder::Leave(text.into()));
    }

    /// Ends all sessions as ordered, then all threads.
    pub fn stop_as(mut self, order: &StopOrder) {
        self.end(order);
    }

    /// Ends all sessions as ordered, then all threads, in a process that ends next.
    ///
    /// The table is not freed: the kernel takes back the memory of the process at once. To free attribute set after
    /// attribute set takes a second for some hundred megabytes.
    pub fn stop_with_process(self, order: &StopOrder) {
        let shared = Arc::clone(&self.shared);
        self.stop_as(order);
        std::mem::forget(shared);
    }

    fn end(&mut self, order: &StopOrder) {
        if self.shared.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        let (stop, reason, text) = match order {
            StopOrder::HandOver => return self.end_after_handover(),
            StopOrder::Restart => (Stop::Restart, StopReason::Restart, RESTART_TEXT),
            StopOrder::Leave(text) => (Stop::Leave, StopReason::Shutdown, &**text),
        };
        tracing::info!(text, "stopping");
        if let Some((thread, waker)) = self.acceptor.take() {
            let _ = waker.wake();
            let _ = thread.join();
        }
        for index in 0..self.shared.threads.len() {
            let text = text.into();
            let command = Command::Shutdown { reason, text };
            if let Err(error) = self.shared.post(index, command) {
                tracing::error!(%error, "an I/O thread does not stop in order");
            }
        }
        for thread in self.reactors.drain(..) {
            let _ = thread.join();
        }
        self.shared.upgrades.close();
        self.shared.restart.stop_watching();
        let threads = [self.restart.take(), self.upgrades.take()];
        for thread in threads.into_iter().flatten() {
            let _ = thread.join();
        }
        self.shared.restart.end(stop, &self.shared.config.read());
        self.shared.sources.stop();
        for (sender, thread) in self.watchers.drain(..) {
            drop(sender);
            let _ = thread.join();
        }
        let outlets = std::mem::take(&mut *self.shared.outlets.lock());
        bmp_report::stop(&self.shared);
        outlets.archive.into_iter().for_each(Archive::stop);
        self.control.drain(..).for_each(ControlSocket::stop);
        let servers = outlets.metrics.into_iter().chain(outlets.web);
        servers.for_each(WebServer::stop);
        tracing::info!("stopped");
    }

    /// Completes the files of the archive, and lets the operator have the answer. Everything else is the successor's.
    fn end_after_handover(&mut self) {
        if let Some((_, waker)) = self.acceptor.take() {
            let _ = waker.wake();
        }
        let outlets = std::mem::take(&mut *self.shared.outlets.lock());
        bmp_report::stop(&self.shared);
        outlets.archive.into_iter().for_each(Archive::stop);
        self.shared.upgrades.wait_for_answer();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let text = self.shared.default_shutdown_text();
        self.end(&StopOrder::Leave(text.into()));
    }
}

fn thread_count(config: &Config) -> usize {
    match config.daemon.threads {
        0 => thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

fn io_threads(count: usize) -> io::Result<(Vec<Thread>, Vec<Poll>)> {
    let mut threads = Vec::new();
    let mut polls = Vec::new();
    for _ in 0..count {
        let poll = Poll::new()?;
        threads.push(Thread {
            mailbox: Mailbox::new(poll.registry(), WAKE)?,
            reactor: Mutex::new(None),
            load: AtomicUsize::new(0),
            turns: TurnCounts::default(),
        });
        polls.push(poll);
    }
    Ok((threads, polls))
}

fn table(config: &Config, threads: usize) -> Rib {
    let rib = Rib::new(table_config(config, threads));
    rib.use_files(memory_file);
    rib
}

pub(crate) fn table_config(config: &Config, threads: usize) -> RibConfig {
    RibConfig {
        shards: threads.next_power_of_two(),
        cluster_id: config.cluster_id,
        log_limit: LOG_LIMIT,
        export: Arc::new(ExportPolicy::new(config.export_settings())),
        seed: random(),
        always_compare_med: false,
    }
}

/// A random number that peers cannot predict.
fn random() -> u64 {
    RandomState::new().hash_one(unix_us())
}

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.into()).spawn(body)
}

/// Refuses sessions that the kernel cannot sign: without signatures they would be open to everybody.
fn can_sign(config: &Config) -> Result<(), StartError> {
    transport::check_tcp_ao(config).map_err(|why| StartError {
        what: "sessions".to_owned(),
        error: io::Error::other(why),
        hint: transport::TCP_AO_HINT,
    })
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> StartError {
    let what = what.to_owned();
    move |error| StartError {
        what,
        error,
        hint: "",
    }
}
