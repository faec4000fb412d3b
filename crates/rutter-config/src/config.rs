//! The whole configuration, typed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rutter_lpm::Profile;
use rutter_net::{Asn, PerFamily, Prefix};
use rutter_policy::{ActionCommunity, LengthRange, NextHopRule, PrefixMatch, WellKnown};

use crate::Secret;
use crate::{ConfigError, DynamicNeighbor, GracefulRestart, NamedPath, Neighbor, Sink, read};

/// The exchange that this route server serves; absent on a plain router or collector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// The peering LANs.
    pub lan: Vec<Prefix>,
}

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Daemon {
    /// I/O threads; 0: one per core.
    pub threads: usize,
    /// Where to listen for BGP.
    pub listen: Vec<SocketAddr>,
    /// The management socket.
    pub control_socket: PathBuf,
    /// `error`, `warn`, `info`, `debug` or `trace`, or a filter of tracing-subscriber.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Whom to become once the ports are bound.
    pub user: Option<String>,
    /// Which group to become.
    pub group: Option<String>,
}

/// Import checks for all members and all neighbors with `import = "checks"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Accepted lengths per family, in index order.
    pub prefix_length: PerFamily<LengthRange>,
    /// Which next hops members may announce.
    pub next_hop: NextHopRule,
    /// The left-most AS must be the neighbor's.
    pub first_as: bool,
    /// Most AS numbers in a path.
    pub max_as_path_len: u16,
    /// Reject reserved prefixes.
    pub bogons: bool,
    /// Reject IPv6 outside 2000::/3.
    pub ipv6_global_unicast: bool,
    /// Reject reserved AS numbers in paths.
    pub invalid_asns: bool,
    /// Reserved AS numbers that pass.
    pub allowed_bogon_asns: Vec<Asn>,
    /// Transit-free networks; empty: not checked.
    pub transit_free_asns: Vec<Asn>,
    /// Networks never reached by route servers.
    pub never_via_route_servers: Vec<Asn>,
    /// Reject AS_SETs.
    pub reject_as_set: bool,
    /// Prefixes rejected from everybody.
    pub black_list: Vec<PrefixMatch>,
    /// Accept BLACKHOLE host routes, per family.
    pub blackhole: PerFamily<bool>,
    /// React to GRACEFUL_SHUTDOWN.
    pub graceful_shutdown: bool,
}

/// The action communities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communities {
    /// Notations and meanings.
    pub actions: Vec<ActionCommunity>,
    /// Received NO_EXPORT and NO_ADVERTISE.
    pub rfc1997: WellKnown,
    /// Remove action communities before sending.
    pub scrub: bool,
    /// 16-bit stand-ins for 32-bit AS numbers.
    pub aliases: Vec<(u16, Asn)>,
}

/// Archives in MRT format (RFC 6396).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mrt {
    /// The folder.
    pub directory: PathBuf,
    /// Seconds between dumps of the whole table; 0: none.
    pub table_interval_s: u32,
    /// Seconds after which a new file of updates is begun; 0: no updates are written.
    pub updates_interval_s: u32,
    /// Compress with gzip.
    pub gzip: bool,
}

/// Prometheus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Where `GET /metrics` is answered.
    pub listen: SocketAddr,
}

/// What a collector calls itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collector {
    /// The name in every row, message and file that it writes; `None`: the router id.
    pub name: Option<String>,
}

/// A BMP station: where monitored routers connect (RFC 7854).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bmp {
    /// Where to listen.
    pub listen: Vec<SocketAddr>,
    /// From where routers may connect; empty: from anywhere.
    pub allow: Vec<Prefix>,
    /// Most routers at a time.
    pub max_routers: usize,
    /// Most connections from one address at a time.
    pub max_per_address: usize,
    /// Most sessions of one router, and most peers of the table that it may take up.
    pub max_peers: usize,
    /// A connection that has said nothing for so long, or stops inside a message, is closed; seconds.
    pub silence_s: u64,
}

impl Bmp {
    /// What is not configured, with these addresses.
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

/// Look-ups by address that take no lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lookup {
    /// Memory against speed.
    pub profile: Profile,
}

/// What is known of who may originate which prefixes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rpki {
    /// A file of validated ROA payloads.
    pub vrps: PathBuf,
}

/// The JSON stream over WebSocket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Most clients at a time.
    pub max_clients: usize,
    /// Messages that may wait for one client.
    pub queue: usize,
    /// Web sites whose pages may connect; `*` for all.
    pub origins: Vec<String>,
}

/// SQL over the live table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sql {
    /// Where clients of the PostgreSQL protocol connect.
    pub listen: Vec<SocketAddr>,
    /// Memory of all queries together, octets.
    pub memory: u64,
    /// Threads that answer.
    pub threads: usize,
    /// Latest events that the table `events` holds; 0: there is no such table.
    pub events: usize,
    /// Seconds that a query may take.
    pub query_timeout_s: u64,
    /// Seconds within which a connection must log in.
    pub login_timeout_s: u64,
    /// Seconds between queries after which a connection is closed.
    pub idle_timeout_s: u64,
    /// Most connections at a time.
    pub max_connections: usize,
    /// Who may ask, with a password; `None`: everybody who can connect.
    pub login: Option<Login>,
    /// What encrypts; `None`: nothing is encrypted.
    pub tls: Option<Tls>,
}

/// A certificate and its key, each a PEM file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tls {
    /// The certificate, and those that it hangs on.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The archive of Parquet files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// Its folder.
    pub path: PathBuf,
    /// Seconds after which a file of events ends.
    pub rotate_s: u64,
    /// Rows after which a file of events ends.
    pub rotate_rows: u64,
    /// Seconds between snapshots.
    pub snapshot_every_s: u64,
    /// Seconds after which files go; 0: never.
    pub retention_s: u64,
    /// Level of ZSTD; 0: not packed.
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

/// A BMP station that hears what is collected.
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
    /// CLUSTER_ID of a route reflector; the router id unless configured.
    pub cluster_id: u32,
    /// The exchange.
    pub exchange: Option<Exchange>,
    /// The process.
    pub daemon: Daemon,
    /// Import checks.
    pub checks: Checks,
    /// Action communities.
    pub communities: Communities,
    /// Defaults of graceful restart.
    pub graceful_restart: GracefulRestart,
    /// MRT archive.
    pub mrt: Option<Mrt>,
    /// Prometheus.
    pub metrics: Option<Metrics>,
    /// What is kept for look-ups; `None`: nothing.
    pub lookup: Option<Lookup>,
    /// Origin validation in answers; `None`: there is none.
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
    /// BMP stations that hear what is collected.
    pub bmp_targets: Vec<BmpTarget>,
    /// Databases and brokers that are kept up to date.
    pub sinks: Vec<Sink>,
    /// All configured sessions, sorted by address.
    pub neighbors: Vec<Neighbor>,
    /// Sessions from known networks, longest prefix first.
    pub dynamic_neighbors: Vec<DynamicNeighbor>,
}

/// A configuration that was taken, and what came up on the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings, in file order.
    pub warnings: Vec<ConfigError>,
    /// Every file that was read, to be watched or shown.
    pub files: Vec<PathBuf>,
    /// What else of the disk it names. Nothing of it was looked at.
    pub paths: Vec<NamedPath>,
    /// The sections that only `rutter collect` serves, as a warning for whoever starts another command with them.
    pub only_collected: Option<ConfigError>,
}

impl Config {
    /// Reads a file and the member files it names. `Err` holds errors and warnings, all of them.
    pub fn load(path: &Path) -> Result<Loaded, Vec<ConfigError>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(why) => Err(vec![read::unreadable(path, &why)]),
        }
    }

    /// Reads text; `file_name` is for messages, and member files are looked up beside it.
    pub fn parse(text: &str, file_name: &Path) -> Result<Loaded, Vec<ConfigError>> {
        read::configuration(text, file_name)
    }
}
