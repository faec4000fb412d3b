//! What the daemon answers to management.

use std::collections::VecDeque;
use std::fs;
use std::net::IpAddr;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use rutter_api::{
    Applied, ApplyOrder, AuditEntry, Backend, ClearHow, CollectorServices, DynamicMembers,
    HistoryRow, LimitChangeRow, LogReader, LogRow, ReloadError, SessionRow, SessionState,
    SourceAction, SourceRow, StationRow, StatusRow, TurnTimes,
};
use rutter_config::{ConfigSource, Diff};
use rutter_net::{Family, Prefix};
use rutter_rib::{Explanation, MemoryRow, PreviewedPolicy, PreviewedRoute, Rib, Snapshot};

use crate::apply;
use crate::audit;
use crate::dynamic_members::MAX_MEMBERS;
use crate::logging::{self, LogRing, Record};
use crate::mailbox::{Clear, Command};
use crate::memory;
use crate::peeringdb_limits;
use crate::privileges;
use crate::reload;
use crate::shared::{Shared, StopOrder};

/// The daemon as the backend of the management protocol.
///
/// The second field names the user, for the history of configurations.
pub(crate) struct Management(Arc<Shared>, String);

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
            started_at: shared.clock.unix_s(0),
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
            table_limit_exceeded: shared.memory_limits.removed(),
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

    fn turn_times(&self) -> Vec<TurnTimes> {
        let threads = self.0.threads.iter();
        threads.map(|thread| thread.turns.row()).collect()
    }

    fn collector_services(&self) -> Option<&dyn CollectorServices> {
        self.0.collected.get().map(|collected| &**collected)
    }

    fn stations(&self) -> Vec<StationRow> {
        let now_ms = self.0.clock.now_ms();
        self.0.stations.lock().rows(now_ms)
    }

    fn sources(&self) -> Vec<SourceRow> {
        self.0.sources.rows()
    }

    fn dynamic_members(&self) -> Option<DynamicMembers> {
        Some(DynamicMembers {
            count: self.0.config.read().dynamic_members.len(),
            limit: MAX_MEMBERS,
        })
    }

    fn act_on_source(&self, name: &str, action: SourceAction) -> Result<String, String> {
        self.0.sources.act(name, action)
    }

    fn sessions(&self) -> Vec<SessionRow> {
        let all = self.0.peers.all();
        let (rib, clock) = (&self.0.rib, &self.0.clock);
        all.iter().map(|peer| peer.row(rib, clock)).collect()
    }

    fn clear(&self, peers: &[IpAddr], how: ClearHow) -> Result<(), String> {
        for &neighbor in peers {
            self.clear_one(neighbor, how)
                .map_err(|error| format!("{neighbor}: {error}"))?;
        }
        Ok(())
    }

    fn reload(&self) -> Result<Diff, ReloadError> {
        reload::reload(&self.0, &self.1)
    }

    fn apply(&self, order: &ApplyOrder) -> Result<Applied, ReloadError> {
        apply::apply(&self.0, order, &self.1)
    }

    fn confirm(&self) -> Result<String, String> {
        apply::confirm(&self.0, &self.1)
    }

    fn rollback(&self, number: Option<u64>) -> Result<Applied, ReloadError> {
        apply::rollback(&self.0, number, &self.1)
    }

    fn history(&self) -> Vec<HistoryRow> {
        apply::history(&self.0)
    }

    fn diff(&self, source: Option<&ConfigSource>) -> Result<Diff, ReloadError> {
        reload::compare(&self.0, source)
    }

    fn preview_sources(
        &self,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), String> {
        let refused = self.0.sources.refused(snapshot.outside_data());
        let data = refused.ok_or("no data wait to be accepted; see `rutter show sources`")?;
        snapshot.preview(|_| PreviewedPolicy::Same, &data, each);
        Ok(())
    }

    fn preview_limits(
        &self,
        source: Option<&ConfigSource>,
    ) -> Result<Vec<LimitChangeRow>, ReloadError> {
        reload::preview_limits(&self.0, source)
    }

    fn preview_limits_of_sources(&self) -> Vec<LimitChangeRow> {
        peeringdb_limits::changes_of_refused(&self.0)
    }

    fn preview(
        &self,
        source: Option<&ConfigSource>,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), ReloadError> {
        reload::preview(&self.0, source, snapshot, each)
    }

    fn upgrade(&self) -> Result<String, String> {
        // This process ends soon, and the answer must be written before.
        privileges::prefer_short_slices();
        self.0.upgrades.request()
    }

    fn shutdown(&self, text: Option<&str>) {
        // The same holds here.
        privileges::prefer_short_slices();
        let text = text.unwrap_or("shut down by an operator");
        let order = StopOrder::Leave(text.into());
        self.0.stop_request.make(order);
    }

    fn audit(&self, entry: AuditEntry<'_>) {
        audit::record(&self.0, entry);
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
    /// The backend for requests of `user`.
    pub(crate) fn new(shared: &Arc<Shared>, user: impl Into<String>) -> Self {
        Management(Arc::clone(shared), user.into())
    }

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
