//! The TOML file as typed configuration with errors that name file, line and key.
//!
//! ```text
//! Config::load ─► Config (plain structs) ─► Config::import_settings, export_settings ─► rutter-policy
//!            └──► Vec<ConfigError>, all at once
//! diff(old, new) ─► Diff: which sessions start, stop, change, and what for
//! ```
//!
//! `sections/` has a module for each section, with one row for each key. `read/` finds the sections in the files.

pub mod access;
mod config;
mod config_source;
mod diff;
mod error;
mod file_name;
mod irr_members;
mod key_rows;
mod list_file;
mod named_path;
mod neighbor_addresses;
mod password;
mod prefix_limits;
mod read;
mod rtt_file;
mod safe_file;
mod secret;
mod sections;
mod source_file;
mod stable_numbers;
mod suggest;
mod to_policy;
mod toml_values;
mod value_forms;

/// The keys of the file as the manual shows them.
pub mod schema {
    pub use crate::key_rows::{Key, Reload};
    pub use crate::sections::{
        PARTS, Part, SECTIONS, SESSION, SectionKeys, TABLES, next_start, only_collected,
        resets_session,
    };
}

pub use config::{Config, Loaded};
pub use config_source::ConfigSource;
pub use diff::{Changed, Diff, ResetBy, diff};
pub use error::{ConfigError, Severity};
pub use file_name::file_name;
pub use irr_members::IrrMemberSettings;
pub use named_path::{NamedPath, PathRole};
pub use password::Password;
pub use read::{Converted, convert_arouteserver};
pub use rutter_policy::{ImportRule, NextHopRule, Role};
pub use secret::Secret;
pub use sections::blackhole::{Blackhole, BlackholeNextHop, BlackholeRule};
pub use sections::bmp::{Bmp, BmpStation, BmpTables, BmpTarget};
pub use sections::checks::{
    Checks, InvalidRoutes, IrrAction, IrrCheck, RejectPolicy, RpkiCommunities,
};
pub use sections::client_tls::{CertificateCheck, ClientTls};
pub use sections::collector::Collector;
pub use sections::communities::Communities;
pub use sections::custom::{CustomCommunities, CustomCommunity};
pub use sections::daemon::{Daemon, LogFormat};
pub use sections::exchange::Exchange;
pub use sections::filter::Filters;
pub use sections::graceful_restart::GracefulRestart;
pub use sections::history::History;
pub use sections::irr::Irr;
pub use sections::lookup::Lookup;
pub use sections::max_memory::{MaxMemory, MemoryAction};
pub use sections::max_prefix::{LimitAction, MaxPrefix};
pub use sections::metrics::Metrics;
pub use sections::mrt::Mrt;
pub use sections::neighbor::{DynamicNeighbor, ExportRule, FamilyOptions, Neighbor, NeighborKind};
pub use sections::rpki::Rpki;
pub use sections::sasl::{Sasl, SaslMechanism};
pub use sections::session::{AddPath, SendPaths, Session, TtlSecurity};
pub use sections::sink::{Broker, Database, Sink, SinkTarget};
pub use sections::sources::Sources;
pub use sections::sql::{Login, Sql, Tls};
pub use sections::stream::Stream;
pub use sections::tags::Tags;
pub use sections::tcp_ao::{AoAlgorithm, AoKey};
pub use sections::web::{ReasonNumbers, Web};
pub use sections::white_list::{WhiteList, WhiteRoute};
pub use stable_numbers::StableNumbers;
