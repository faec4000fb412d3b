//! The interface between the daemon and the management server.

use std::net::IpAddr;
use std::time::Duration;

use rutter_config::{ConfigError, ConfigSource, Diff};
use rutter_net::Prefix;
use rutter_rib::{Explanation, PeerId, PeerSummary, PreviewedRoute, Rib, Snapshot};
use rutter_wire::attr::Attributes;

use crate::{
    ApplyOrder, AuditEntry, ClearHow, HistoryRow, LimitChangeRow, LogRow, RouterRow, SessionRow,
    SinkRow, SourceAction, SourceRow, StationRow, StatusRow, TurnTimes,
};

/// The dynamic neighbors whose AS no section names, and whose IRR data are requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DynamicMembers {
    /// The number with data, among them some that have left.
    pub count: usize,
    /// The most that have data. The routes of further ones are rejected.
    pub limit: usize,
}

/// The daemon, as the management server sees it. Any thread may call any method at any time. Methods must not wait
/// for the I/O threads, except [`Backend::clear`], [`Backend::reload`], [`Backend::upgrade`] and
/// [`Backend::shutdown`].
pub trait Backend: Send + Sync {
    /// Returns the state of the process.
    fn status(&self) -> StatusRow;
    /// Returns a consistent view of the table.
    fn snapshot(&self) -> Snapshot;
    /// Returns all neighbors of the table with their route counts.
    fn peers(&self) -> Vec<PeerSummary> {
        self.rib().peers()
    }
    /// Returns the table, for look-ups.
    fn rib(&self) -> &Rib;
    /// The time after which a page of a list ends, with as many rows as it has. A list without pages goes on.
    fn page_time(&self) -> Duration {
        Duration::from_millis(250)
    }
    /// Explains a destination; `None` if the table does not have it.
    fn explain(&self, prefix: Prefix) -> Option<Explanation>;
    /// Explains a destination as if a neighbor announced a route with these attributes. `mp_next_hop` has the octets of
    /// the next hop of an IPv6 route.
    fn explain_with(
        &self,
        prefix: Prefix,
        peer: PeerId,
        attributes: &Attributes<'_>,
        mp_next_hop: &[u8],
    ) -> Option<Explanation> {
        self.rib()
            .explain_with(prefix, peer, attributes, mp_next_hop)
    }
    /// Returns the memory use by purpose.
    fn memory(&self) -> Vec<rutter_rib::MemoryRow>;
    /// Returns the times of the turns of each I/O thread.
    fn turn_times(&self) -> Vec<TurnTimes> {
        Vec::new()
    }
    /// Returns the services of a collector; `None` in other daemons.
    fn collector_services(&self) -> Option<&dyn CollectorServices> {
        None
    }
    /// Returns the sources of outside data.
    fn sources(&self) -> Vec<SourceRow> {
        Vec::new()
    }
    /// Returns the number of dynamic neighbors that have IRR data; `None` in daemons that never request any.
    fn dynamic_members(&self) -> Option<DynamicMembers> {
        None
    }
    /// Returns the BMP stations to which the daemon reports.
    fn stations(&self) -> Vec<StationRow> {
        Vec::new()
    }
    /// Acts on a source of outside data. The error is for the user.
    fn act_on_source(&self, name: &str, action: SourceAction) -> Result<String, String> {
        let _ = action;
        Err(format!("there is no source `{name}`"))
    }
    /// Returns all configured and accepted sessions.
    fn sessions(&self) -> Vec<SessionRow>;
    /// Clears the sessions of the neighbors at these addresses. The error is for the user.
    fn clear(&self, peers: &[IpAddr], how: ClearHow) -> Result<(), String>;
    /// Reloads the configuration, all or nothing.
    fn reload(&self) -> Result<Diff, ReloadError>;
    /// Puts the configuration of a file in force, all or nothing.
    fn apply(&self, order: &ApplyOrder) -> Result<Applied, ReloadError> {
        let _ = order;
        Err(ReloadError::Other(NO_HISTORY.to_owned()))
    }
    /// Keeps a configuration that waits for its confirmation. Texts are for the user.
    fn confirm(&self) -> Result<String, String> {
        Err(NO_HISTORY.to_owned())
    }
    /// Goes back to an earlier configuration.
    fn rollback(&self, number: Option<u64>) -> Result<Applied, ReloadError> {
        let _ = number;
        Err(ReloadError::Other(NO_HISTORY.to_owned()))
    }
    /// Returns the configurations that ran, the oldest first.
    fn history(&self) -> Vec<HistoryRow> {
        Vec::new()
    }
    /// Returns the changes that [`Backend::reload`] would make with this configuration, or with its own file.
    fn diff(&self, source: Option<&ConfigSource>) -> Result<Diff, ReloadError>;
    /// Calls `each` with every route whose verdict [`Backend::reload`] with this configuration would change.
    fn preview(
        &self,
        source: Option<&ConfigSource>,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), ReloadError> {
        let _ = (source, snapshot, each);
        Ok(())
    }
    /// Calls `each` with every route whose verdict the data would change that a source refused. The error is for the
    /// user.
    fn preview_sources(
        &self,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(PreviewedRoute),
    ) -> Result<(), String> {
        let _ = (snapshot, each);
        Err("there is no source of data".to_owned())
    }
    /// Returns the prefix limits that [`Backend::reload`] with this configuration would change, and PeeringDB's data as its
    /// file has them now.
    fn preview_limits(
        &self,
        source: Option<&ConfigSource>,
    ) -> Result<Vec<LimitChangeRow>, ReloadError> {
        let _ = source;
        Ok(Vec::new())
    }
    /// Returns the prefix limits that the data would change that a source refused.
    fn preview_limits_of_sources(&self) -> Vec<LimitChangeRow> {
        Vec::new()
    }
    /// Hands over to a new process of the program as it is installed now, and waits for it. The result is for the user.
    fn upgrade(&self) -> Result<String, String> {
        Err("this daemon cannot be upgraded while it runs".to_owned())
    }
    /// Starts an orderly shutdown: every session ends with a Cease that carries `text`.
    fn shutdown(&self, text: Option<&str>);
    /// Records a request to change the daemon.
    fn audit(&self, entry: AuditEntry<'_>) {
        let _ = entry;
    }
    /// Returns a reader of the log: the lines in memory, oldest first, then new lines.
    fn log(&self) -> Box<dyn LogReader>;
}

/// The services of a collector. No method blocks.
pub trait CollectorServices: Send + Sync {
    /// Returns the state of the sinks.
    fn sinks(&self) -> Vec<SinkRow>;
    /// Returns the monitored routers that are connected.
    fn routers(&self) -> Vec<RouterRow>;
}

/// The refusal of a backend without a file of its own.
const NO_HISTORY: &str = "there is no configuration file to change";

/// A configuration that was put in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The changes.
    pub diff: Diff,
    /// The result, for the user.
    pub message: String,
}

/// The reason why a reload failed.
#[derive(Debug)]
pub enum ReloadError {
    /// The file has errors.
    Config(Vec<ConfigError>),
    /// Another error, as text: a port in use, a missing file.
    Other(String),
}

/// A reader of the log.
pub trait LogReader: Send {
    /// Returns the next line, or `None` if none arrives within `wait`. With a zero `wait`: `None` after the last line
    /// in memory.
    fn next_line(&mut self, wait: Duration) -> Option<LogRow>;
}
