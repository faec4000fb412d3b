//! Where a collector's rows go.

use std::path::PathBuf;

use crate::Secret;

/// A database or broker that is kept up to date.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sink {
    /// Its name in the log and in metrics.
    pub name: String,
    /// What it is.
    pub target: SinkTarget,
    /// Folder of the rows that it has not taken yet.
    pub spool: PathBuf,
    /// Most octets of them.
    pub spool_limit: u64,
    /// Milliseconds between batches.
    pub interval_ms: u64,
    /// Rows after which a batch does not wait any longer.
    pub batch_rows: usize,
    /// For how many seconds events are kept; for good without.
    pub events_retention_s: Option<u64>,
}

/// What a sink is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SinkTarget {
    /// PostgreSQL.
    Postgres(Database),
    /// MariaDB or MySQL.
    MariaDb(Database),
    /// Kafka.
    Kafka(Broker),
}

/// How a database is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Database {
    /// Name or address of the server, or an absolute path: the folder of PostgreSQL's socket, MariaDB's socket.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The database, which must be there.
    pub database: String,
    /// Who we are to it.
    pub user: String,
    /// How we prove it.
    pub password: Option<Secret>,
    /// Keep all that happens, too, not only the current routes.
    pub history: bool,
    /// Seconds after which a connection on which nothing comes back is given up.
    pub answer_timeout_s: u64,
}

/// How a cluster of brokers is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broker {
    /// Some of its brokers, as `host:port`.
    pub brokers: Vec<String>,
    /// The topic, which must be there.
    pub topic: String,
    /// Follow each withdrawal with a record without a value, so that compaction forgets the route.
    pub tombstones: bool,
    /// Seconds after which a request that nobody answers is given up.
    pub answer_timeout_s: u64,
}
