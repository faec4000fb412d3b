//! The typed configuration.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use rutter_net::Asn;

use crate::{
    Bmp, BmpTarget, Checks, Collector, Communities, ConfigError, Daemon, DynamicNeighbor, Exchange,
    GracefulRestart, History, Lookup, Metrics, Mrt, NamedPath, Neighbor, Rpki, Sink, Sql, Stream,
    read,
};

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
