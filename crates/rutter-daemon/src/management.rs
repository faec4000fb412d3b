//! The control socket, and what the daemon answers to management. Each connection has its own thread with a low priority.

use std::collections::VecDeque;
use std::fmt::Display;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, process};

use rutter_api::{
    Backend, ClearHow, CollectorServices, LogReader, LogRow, ReloadError, SessionRow, SessionState,
    SourceAction, SourceRow, StatusRow,
};
use rutter_config::Diff;
use rutter_limits::{ConnectionLimits, LogRateLimit};
use rutter_net::{Family, Prefix};
use rutter_rib::{Explanation, MemoryRow, PreviewedPolicy, PreviewedRoute, Rib, Snapshot};

use crate::logging::{self, LogRing, Record};
use crate::mailbox::{Clear, Command};
use crate::memory;
use crate::privileges;
use crate::reload;
use crate::shared::{Shared, StopOrder};

/// The daemon as the backend of the management protocol.
pub(crate) struct Management(pub(crate) Arc<Shared>);

impl Backend for Management {
    fn status(&self) -> StatusRow {
        let shared = &self.0;
        let config = Arc::clone(&shared.config.read());
        let loaded = shared.loaded.lock();
        let rows = self.sessions();
        let up = |row: &&SessionRow| row.state == SessionState::Established;
        StatusRow {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: process::id(),
            uptime_s: shared.clock.now_ms() / 1_000,
            asn: config.asn.0,
            router_id: config.router_id,
            threads: shared.threads.len() as u32,
            config_file: match &shared.source {
                Some(source) => source.name().display().to_string(),
                None => "(embedded)".into(),
            },
            config_loaded_at: loaded.unix_s,
            last_reload_error: loaded.last_error.clone(),
            peers: shared.peers.len() as u32,
            established: rows.iter().filter(up).count() as u32,
            cpu_s: cpu_seconds().unwrap_or(0.0),
            rss_bytes: memory::resident().unwrap_or(0),
            table_bytes: shared.rib.memory_in_use(),
            table_limit_bytes: shared.memory_limits.limit(shared),
            table_limit_exceeded: shared.memory_limits.ended(),
            selection_deferral: shared.restart.deferral(shared.clock.now_ms()),
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.0.rib.snapshot()
    }

    fn rib(&self) -> &Rib {
        &self.0.rib
    }

    fn explain(&self, prefix: Prefix) -> Option<Explanation> {
        self.0.rib.explain(prefix)
    }

    fn memory(&self) -> Vec<MemoryRow> {
        memory::rows(&self.0)
    }

    fn collector_services(&self) -> Option<&dyn CollectorServices> {
        self.0.collected.get().map(|collected| &**collected)
    }

    fn sources(&self) -> Vec<SourceRow> {
        self.0.sources.rows()
    }

    fn act_on_source(&self, name: &str, action: SourceAction) -> Result<String, String> {
        self.0.sources.act(name, action)
    }

    fn sessions(&self) -> Vec<SessionRow> {
        let now_ms = self.0.clock.now_ms();
        let all = self.0.peers.all();
        let rib = &self.0.rib;
        all.iter().map(|peer| peer.row(rib, now_ms)).collect()
    }

    fn clear(&self, peers: &[IpAddr], how: ClearHow) -> Result<(), String> {
        for &neighbor in peers {
            self.clear_one(neighbor, how)
                .map_err(|error| format!("{neighbor}: {error}"))?;
        }
        Ok(())
    }

    fn reload(&self) -> Result<Diff, ReloadError> {
        reload::reload(&self.0)
    }

    fn diff(&self, file: Option<&Path>) -> Result<Diff, ReloadError> {
        reload::compare(&self.0, file)
    }

    fn preview_sources(
        &self,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), String> {
        let refused = self.0.sources.refused(snapshot.filter_data());
        let data = refused.ok_or("no IRR data wait to be accepted; see `rutter show sources`")?;
        snapshot.preview(|_| PreviewedPolicy::Same, &data, each);
        Ok(())
    }

    fn preview(
        &self,
        file: Option<&Path>,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), ReloadError> {
        reload::preview(&self.0, file, snapshot, each)
    }

    fn upgrade(&self) -> Result<String, String> {
        self.0.upgrades.request()
    }

    fn shutdown(&self, text: Option<&str>) {
        tracing::info!("shutdown requested on the control socket");
        let text = text.unwrap_or("shut down by an operator");
        let order = StopOrder::Leave(text.into());
        self.0.stop_request.make(order);
    }

    fn log(&self) -> Box<dyn LogReader> {
        Box::new(Reader {
            ring: Arc::clone(&self.0.log),
            next: logging::OLDEST,
            read: VecDeque::new(),
        })
    }
}

impl Management {
    fn clear_one(&self, neighbor: IpAddr, how: ClearHow) -> Result<(), String> {
        let clear = |action| {
            let command = Command::Clear { neighbor, action };
            let posted = self.0.post_to_peer(neighbor, command);
            posted.map_err(|error| error.to_string())
        };
        match how {
            ClearHow::Hard => clear(Clear::Hard),
            ClearHow::SoftOut => Family::ALL
                .into_iter()
                .try_for_each(|family| clear(Clear::SoftOut(family))),
            ClearHow::SoftIn => reload::reevaluate(&self.0, neighbor),
        }
    }
}

/// Reads the log ring line by line.
struct Reader {
    ring: Arc<LogRing>,
    next: u64,
    read: VecDeque<Arc<Record>>,
}

impl LogReader for Reader {
    fn next_line(&mut self, wait: Duration) -> Option<LogRow> {
        if self.read.is_empty() {
            let (lines, next) = self.ring.read(self.next, wait);
            self.read = lines.into();
            self.next = next;
        }
        let record = self.read.pop_front()?;
        Some(LogRow {
            unix_us: record.unix_us,
            level: record.level.as_str().to_lowercase(),
            target: record.target.into(),
            peer: record.peer.clone(),
            message: record.message.clone(),
        })
    }
}

/// The user and system time of the process, seconds.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may contain any character; the fields after it are numbers.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = |index| fields.split_whitespace().nth(index)?.parse::<f64>().ok();
    // USER_HZ is 100 on every Linux.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// The control socket, with a thread that accepts connections.
pub(crate) struct ControlSocket {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// The address that counts connections to a Unix socket.
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The largest number of connections at a time.
const AT_A_TIME: usize = 32;

impl ControlSocket {
    /// Listens at a path.
    pub(crate) fn open(shared: &Arc<Shared>, path: &Path) -> io::Result<Self> {
        let listener = rutter_api::listen(path)?;
        let backend = Arc::new(Management(Arc::clone(shared)));
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let thread = thread::Builder::new()
            .name("control".into())
            .spawn(move || accept_loop(&stop, &listener, &backend))?;
        Ok(ControlSocket {
            path: path.to_owned(),
            stopping,
            thread,
        })
    }

    /// Ends the accepting thread. Open connections are served to their end.
    pub(crate) fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        // `accept` blocks: a connection of our own wakes the thread.
        let _ = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
        let _ = self.thread.join();
    }
}

fn accept_loop(stopping: &AtomicBool, listener: &UnixListener, backend: &Arc<Management>) {
    let limits = ConnectionLimits::new(AT_A_TIME);
    let mut error_lines = LogRateLimit::new(10, Duration::from_secs(60));
    let mut log_error = move |text: &dyn Display| {
        if let Some(not_logged) = error_lines.allow(Instant::now()) {
            tracing::warn!(not_logged, "control connections: {text}");
        }
    };
    loop {
        let accepted = listener.accept();
        if stopping.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((stream, _)) => {
                let slot = match limits.acquire(LOCAL) {
                    Ok(slot) => slot,
                    Err(reached) => {
                        log_error(&format_args!("{reached}, one was closed"));
                        continue;
                    }
                };
                let backend = Arc::clone(backend);
                let thread = thread::Builder::new().name("control".into());
                let spawned = thread.spawn(move || {
                    let _slot = slot;
                    privileges::yield_to_routing();
                    let _ = rutter_api::serve_connection(stream, &*backend);
                    backend.0.upgrades.note_answer();
                });
                if let Err(error) = spawned {
                    log_error(&format_args!("cannot serve one: {error}"));
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                log_error(&format_args!("cannot accept one: {error}"));
                thread::sleep(Duration::from_millis(200));
            }
        }
    }
}
