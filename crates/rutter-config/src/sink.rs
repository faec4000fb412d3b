//! The configuration of sinks.

use std::path::PathBuf;

use crate::Secret;

/// A database or broker that receives all changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sink {
    /// The name in logs and metrics.
    pub name: String,
    /// The kind of sink.
    pub target: SinkTarget,
    /// The folder of rows that the sink has not committed.
    pub spool: PathBuf,
    /// The size limit of the spool, bytes.
    pub spool_limit: u64,
    /// Milliseconds between batches.
    pub interval_ms: u64,
    /// The number of rows that completes a batch early.
    pub batch_rows: usize,
    /// The retention time of events, seconds; `None`: unlimited.
    pub events_retention_s: Option<u64>,
}

/// The kind of sink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SinkTarget {
    /// PostgreSQL.
    Postgres(Database),
    /// MariaDB or MySQL.
    MariaDb(Database),
    /// Kafka.
    Kafka(Broker),
}

/// The connection to a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Database {
    /// Name or address of the server, or an absolute path: the folder of PostgreSQL's socket, MariaDB's socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The database, which must exist.
    pub database: String,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<Secret>,
    /// Store all events in addition to the current routes.
    pub history: bool,
    /// The time limit of an answer, after which the connection is closed; seconds.
    pub answer_timeout_s: u64,
}

/// The connection to a Kafka cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broker {
    /// Some of its brokers, as `host:port`.
    pub brokers: Vec<String>,
    /// The topic, which must exist.
    pub topic: String,
    /// Write a record without a value after each withdrawal, so that compaction removes the route.
    pub tombstones: bool,
    /// The time limit of an answer, seconds.
    pub answer_timeout_s: u64,
}
