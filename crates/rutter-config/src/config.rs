//! The typed configuration.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rutter_lpm::Profile;
use rutter_net::{Asn, PerFamily, Prefix};
use rutter_policy::{ActionCommunity, LengthRange, NextHopRule, PrefixMatch, WellKnown};

use crate::Secret;
use crate::{ConfigError, DynamicNeighbor, GracefulRestart, NamedPath, Neighbor, Sink, read};

/// The exchange of a route server; absent on a router or collector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// The peering LANs.
    pub lan: Vec<Prefix>,
}

/// The format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// Text.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Settings of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Daemon {
    /// Number of I/O threads; 0: one per core.
    pub threads: usize,
    /// Addresses to listen on for BGP.
    pub listen: Vec<SocketAddr>,
    /// The management socket.
    pub control_socket: PathBuf,
    /// `error`, `warn`, `info`, `debug` or `trace`, or a filter of tracing-subscriber.
    pub log: String,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The user to change to after the ports are bound.
    pub user: Option<String>,
    /// The group to change to.
    pub group: Option<String>,
}

/// Import checks for all members and all neighbors with `import = "checks"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checks {
    /// The accepted prefix lengths.
    pub prefix_length: PerFamily<LengthRange>,
    /// The next hops that members may announce.
    pub next_hop: NextHopRule,
    /// Reject paths whose left-most AS is not the neighbor's.
    pub first_as: bool,
    /// The maximum number of AS numbers in a path.
    pub max_as_path_len: u16,
    /// Reject reserved prefixes.
    pub bogons: bool,
    /// Reject IPv6 outside 2000::/3.
    pub ipv6_global_unicast: bool,
    /// Reject reserved AS numbers in paths.
    pub invalid_asns: bool,
    /// Reserved AS numbers that are accepted.
    pub allowed_bogon_asns: Vec<Asn>,
    /// Transit-free networks; empty: not checked.
    pub transit_free_asns: Vec<Asn>,
    /// Networks that are never reached through route servers.
    pub never_via_route_servers: Vec<Asn>,
    /// Reject AS_SETs.
    pub reject_as_set: bool,
    /// Prefixes that are rejected from all neighbors.
    pub black_list: Vec<PrefixMatch>,
    /// Accept host routes with BLACKHOLE.
    pub blackhole: PerFamily<bool>,
    /// Honour GRACEFUL_SHUTDOWN.
    pub graceful_shutdown: bool,
}

/// The action communities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communities {
    /// Actions with their notations.
    pub actions: Vec<ActionCommunity>,
    /// The treatment of received NO_EXPORT and NO_ADVERTISE.
    pub rfc1997: WellKnown,
    /// Remove action communities before advertising.
    pub scrub: bool,
    /// 16-bit aliases of 32-bit AS numbers.
    pub aliases: Vec<(u16, Asn)>,
}

/// Archives in MRT format (RFC 6396).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mrt {
    /// The folder.
    pub directory: PathBuf,
    /// Seconds between dumps of the whole table; 0: none.
    pub table_interval_s: u32,
    /// Seconds between new files of updates; 0: no updates are written.
    pub updates_interval_s: u32,
    /// Compress with gzip.
    pub gzip: bool,
}

/// The Prometheus endpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// The address that serves `GET /metrics`.
    pub listen: SocketAddr,
}

/// The identity of a collector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collector {
    /// The name in its rows, messages and files; `None`: the router id.
    pub name: Option<String>,
}

/// The BMP station, which monitored routers connect to (RFC 7854).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bmp {
    /// Addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// The networks of routers; empty: any.
    pub allow: Vec<Prefix>,
    /// The maximum number of connected routers.
    pub max_routers: usize,
    /// The maximum number of connections from one address.
    pub max_per_address: usize,
    /// The maximum number of monitored peers of one router.
    pub max_peers: usize,
    /// A connection that sends no first message, or stops inside a message, is closed after this time; seconds.
    pub silence_s: u64,
}

impl Bmp {
    /// The defaults, with these addresses.
    pub fn new(listen: Vec<SocketAddr>) -> Self {
        Bmp {
            listen,
            allow: Vec::new(),
            max_routers: 1_000,
            max_per_address: 100,
            max_peers: 20_000,
            silence_s: 30,
        }
    }
}

/// Lock-free look-ups by address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lookup {
    /// The trade-off between memory and speed.
    pub profile: Profile,
}

/// RPKI origin validation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rpki {
    /// A file of validated ROA payloads.
    pub vrps: PathBuf,
}

/// The JSON stream over WebSocket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The maximum number of clients.
    pub max_clients: usize,
    /// The maximum number of queued messages for one client.
    pub queue: usize,
    /// Origins of web pages that may connect; `*` for all.
    pub origins: Vec<String>,
}

/// SQL over the live table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sql {
    /// Addresses to listen on for PostgreSQL clients.
    pub listen: Vec<SocketAddr>,
    /// The memory limit of all queries together, bytes.
    pub memory: u64,
    /// The number of query threads.
    pub threads: usize,
    /// The number of latest events in the table `events`; 0: no such table.
    pub events: usize,
    /// The time limit of a query, seconds.
    pub query_timeout_s: u64,
    /// The time limit of a login, seconds.
    pub login_timeout_s: u64,
    /// An idle connection is closed after this time, seconds.
    pub idle_timeout_s: u64,
    /// The maximum number of connections.
    pub max_connections: usize,
    /// The login; `None`: no login is needed.
    pub login: Option<Login>,
    /// The TLS certificate and key; `None`: no encryption.
    pub tls: Option<Tls>,
}

/// A certificate and its key, each a PEM file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tls {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The archive of Parquet files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// The folder.
    pub path: PathBuf,
    /// The time after which a file of events ends, seconds.
    pub rotate_s: u64,
    /// The number of rows after which a file of events ends.
    pub rotate_rows: u64,
    /// Seconds between snapshots.
    pub snapshot_every_s: u64,
    /// The time after which files are removed, seconds; 0: never.
    pub retention_s: u64,
    /// The ZSTD level; 0: no compression.
    pub compression: i32,
}

/// A user with a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// Name.
    pub user: String,
    /// Password.
    pub password: Secret,
}

/// A BMP station that receives all collected routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BmpTarget {
    /// Its address and port.
    pub address: SocketAddr,
}

/// The whole configuration. Members are expanded to one neighbor per address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Our AS.
    pub asn: Asn,
    /// Our BGP Identifier.
    pub router_id: Ipv4Addr,
    /// The CLUSTER_ID of a route reflector; the router id by default.
    pub cluster_id: u32,
    /// The exchange.
    pub exchange: Option<Exchange>,
    /// Settings of the process.
    pub daemon: Daemon,
    /// Import checks.
    pub checks: Checks,
    /// Action communities.
    pub communities: Communities,
    /// The defaults of graceful restart.
    pub graceful_restart: GracefulRestart,
    /// MRT archive.
    pub mrt: Option<Mrt>,
    /// The Prometheus endpoint.
    pub metrics: Option<Metrics>,
    /// The look-up mirror; `None`: none.
    pub lookup: Option<Lookup>,
    /// Origin validation; `None`: disabled.
    pub rpki: Option<Rpki>,
    /// The collector.
    pub collector: Collector,
    /// BMP station.
    pub bmp: Option<Bmp>,
    /// SQL over the live table.
    pub sql: Option<Sql>,
    /// The archive of Parquet files.
    pub history: Option<History>,
    /// The JSON stream.
    pub stream: Option<Stream>,
    /// BMP stations that receive all collected routes.
    pub bmp_targets: Vec<BmpTarget>,
    /// Databases and brokers that receive all changes.
    pub sinks: Vec<Sink>,
    /// All configured sessions, sorted by address.
    pub neighbors: Vec<Neighbor>,
    /// Dynamic neighbors, longest prefix first.
    pub dynamic_neighbors: Vec<DynamicNeighbor>,
}

/// A loaded configuration with its warnings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings, in file order.
    pub warnings: Vec<ConfigError>,
    /// All files that were read.
    pub files: Vec<PathBuf>,
    /// Files, folders and sockets that the configuration names. They were not accessed.
    pub paths: Vec<NamedPath>,
    /// A warning about sections that only `rutter collect` serves, for other commands.
    pub only_collected: Option<ConfigError>,
}

impl Config {
    /// Reads a file and its member files. The error holds all errors and warnings.
    pub fn load(path: &Path) -> Result<Loaded, Vec<ConfigError>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(why) => Err(vec![read::unreadable(path, &why)]),
        }
    }

    /// Reads a configuration from a string. `file_name` is for messages, and member files are relative to it.
    pub fn parse(text: &str, file_name: &Path) -> Result<Loaded, Vec<ConfigError>> {
        read::configuration(text, file_name)
    }
}
