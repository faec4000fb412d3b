//! The typed configuration.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rutter_irr::PrefixLimits;
use rutter_net::Asn;

use crate::neighbor_addresses::NeighborAddresses;
use crate::source_file::UnmatchedPattern;
use crate::stable_numbers::StableNumbers;
use crate::{
    Bmp, BmpStation, BmpTarget, Checks, Collector, Communities, ConfigError, Daemon,
    DynamicNeighbor, Exchange, Filters, GracefulRestart, History, Irr, IrrMemberSettings, Lookup,
    Metrics, Mrt, NamedPath, Neighbor, Rpki, Sink, Sources, Sql, Stream, Web, read, safe_file,
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
    /// The exchange; `None` for a router or a collector.
    pub exchange: Option<Exchange>,
    /// Settings of the process.
    pub daemon: Daemon,
    /// Import checks.
    pub checks: Checks,
    /// Action communities.
    pub communities: Communities,
    /// The operator's filters.
    pub filters: Filters,
    /// The defaults of graceful restart.
    pub graceful_restart: GracefulRestart,
    /// BMP stations to which this router reports.
    pub bmp_stations: Vec<BmpStation>,
    /// MRT archive.
    pub mrt: Option<Mrt>,
    /// The Prometheus endpoint.
    pub metrics: Option<Metrics>,
    /// The looking glass and the REST interface.
    pub web: Option<Web>,
    /// The look-up mirror; `None`: none.
    pub lookup: Option<Lookup>,
    /// Validated data of the RPKI; `None`: disabled.
    pub rpki: Option<Rpki>,
    /// Registered prefixes and origins; `None`: disabled.
    pub irr: Option<Irr>,
    /// Copies of outside data on disk.
    pub sources: Sources,
    /// The files that `exchange.members` matched.
    pub member_files: Vec<PathBuf>,
    /// Settings of a collector.
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
    /// The addresses of the neighbors, for the policies of all.
    pub(crate) addresses: NeighborAddresses,
    /// The members whose routes are compared with IRR data; the position is the number. A number without a member is free.
    pub irr_members: StableNumbers<IrrMemberSettings>,
    /// Dynamic neighbors, longest prefix first.
    pub dynamic_neighbors: Vec<DynamicNeighbor>,
    /// The address and AS of the dynamic neighbors that are connected and whose AS no section names. A file has none.
    pub dynamic_members: BTreeSet<(IpAddr, Asn)>,
    /// The limits of PeeringDB that are in force. A file has none. `None`: they are not known yet.
    pub(crate) prefix_limits: Option<Arc<PrefixLimits>>,
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
    pub(crate) unmatched: Vec<UnmatchedPattern>,
}

impl Config {
    /// Reads a file and its member files. The error holds all errors and warnings.
    pub fn load(path: &Path) -> Result<Loaded, Vec<ConfigError>> {
        match safe_file::read_text_of_any(path, safe_file::CONFIGURATION) {
            Ok(text) => Self::parse(&text, path),
            Err(why) => Err(vec![read::unreadable(path, &why)]),
        }
    }

    /// Reads a file that is to replace a running configuration. In addition to the errors of [`Self::load`], a pattern of
    /// `exchange.members` that matched files of the running configuration must still match one.
    pub fn load_to_replace(path: &Path, running: &Config) -> Result<Loaded, Vec<ConfigError>> {
        Self::load(path)?.replacing(running)
    }

    /// Reads a configuration from a string. `file_name` is for messages, and member files are relative to it.
    pub fn parse(text: &str, file_name: &Path) -> Result<Loaded, Vec<ConfigError>> {
        read::configuration(text, file_name)
    }
}

impl Config {
    /// Makes this the successor of a running configuration: what both have keeps its number in the stored routes.
    pub fn replacing(mut self, running: &Config) -> Config {
        self.dynamic_members.clone_from(&running.dynamic_members);
        self.prefix_limits.clone_from(&running.prefix_limits);
        self.number_irr_members(&running.irr_members);
        let custom = &running.communities.custom;
        self.communities.custom.keep_numbers(custom);
        self.filters.keep(&running.filters);
        self
    }
}

impl Loaded {
    /// Makes this the successor of a running configuration.
    pub(crate) fn replacing(mut self, running: &Config) -> Result<Loaded, Vec<ConfigError>> {
        self.config = self.config.replacing(running);
        let lost = |unmatched: &&UnmatchedPattern| {
            let pattern = glob::Pattern::new(&unmatched.pattern.to_string_lossy());
            let matched = |file: &PathBuf| pattern.as_ref().is_ok_and(|p| p.matches_path(file));
            running.member_files.iter().any(matched)
        };
        let lost = self.unmatched.iter().filter(lost);
        let errors: Vec<ConfigError> = lost.map(|pattern| pattern.error.clone()).collect();
        match errors.is_empty() {
            true => Ok(self),
            false => Err(errors),
        }
    }
}
