//! What the daemon gives to the management side.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rutter_config::{ConfigError, Diff};
use rutter_net::Prefix;
use rutter_rib::{Explanation, PeerSummary, Rib, Snapshot};
use rutter_rpki::Vrps;

use crate::{ClearHow, LogRow, RouterRow, SessionRow, SinkRow, StatusRow};

/// The daemon as the management side sees it. Every method may be called from any thread at any time and must
/// not wait for the threads that route, except [`Backend::clear`], [`Backend::reload`] and
/// [`Backend::shutdown`], which hand their work over.
pub trait Backend: Send + Sync {
    /// The process.
    fn status(&self) -> StatusRow;
    /// A consistent view of the table.
    fn snapshot(&self) -> Snapshot;
    /// All neighbors of the table with their counts.
    fn peers(&self) -> Vec<PeerSummary> {
        self.rib().peers()
    }
    /// The table itself, for look-ups.
    fn rib(&self) -> &Rib;
    /// Why a prefix goes where it goes; `None` where the table has no such destination.
    fn explain(&self, prefix: Prefix) -> Option<Explanation>;
    /// Bytes by purpose.
    fn memory(&self) -> Vec<rutter_rib::MemoryRow>;
    /// What origins are validated by (RFC 6811); `None` where they are not.
    fn vrps(&self) -> Option<Arc<Vrps>> {
        None
    }
    /// The services of a collector; `None` in a daemon that is none.
    fn collector_services(&self) -> Option<&dyn CollectorServices> {
        None
    }
    /// Every session that is configured or was accepted, up or down.
    fn sessions(&self) -> Vec<SessionRow>;
    /// Clears the sessions of the neighbors at these addresses; `Err` says in words why not.
    fn clear(&self, peers: &[IpAddr], how: ClearHow) -> Result<(), String>;
    /// Reads the configuration anew and applies it, all or nothing.
    fn reload(&self) -> Result<Diff, ReloadError>;
    /// What [`Backend::reload`] would change if the configuration were in `file` (without: its own file).
    fn diff(&self, file: Option<&Path>) -> Result<Diff, ReloadError>;
    /// Begins an orderly end: every session gets a Cease with `text`.
    fn shutdown(&self, text: Option<&str>);
    /// Log lines kept in memory, oldest first, then new ones.
    fn log(&self) -> Box<dyn LogReader>;
}

/// The services of a collector as the management side sees them. No method waits for anybody.
pub trait CollectorServices: Send + Sync {
    /// Databases and brokers.
    fn sinks(&self) -> Vec<SinkRow>;
    /// Monitored routers that are connected.
    fn routers(&self) -> Vec<RouterRow>;
}

/// Why a configuration was not taken.
#[derive(Debug)]
pub enum ReloadError {
    /// The file has errors.
    Config(Vec<ConfigError>),
    /// Something else, in words: a port that is taken, a file that is gone.
    Other(String),
}

/// One reader of the log.
pub trait LogReader: Send {
    /// The next line; `None` when none came within `wait`. With a wait of zero: `None` at the end of what is kept.
    fn next_line(&mut self, wait: Duration) -> Option<LogRow>;
}
