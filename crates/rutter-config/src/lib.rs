//! The TOML file as typed configuration with errors that name file, line and key.
//!
//! ```text
//! Config::load ─► Config (plain structs) ─► Config::import_settings, export_settings ─► rutter-policy
//!            └──► Vec<ConfigError>, all at once
//! diff(old, new) ─► Diff: which sessions start, stop, change, and what for
//! ```

mod config;
mod diff;
mod error;
mod file_name;
mod forms;
mod item;
mod named;
mod neighbor;
mod read;
pub mod schema;
mod secret;
mod sink;
mod source;
mod suggest;
mod to_policy;

pub use config::{
    Bmp, BmpTarget, Checks, Collector, Communities, Config, Daemon, Exchange, History, Loaded,
    LogFormat, Login, Lookup, Metrics, Mrt, Rpki, Sql, Stream, Tls,
};
pub use diff::{Changed, Diff, diff};
pub use error::{ConfigError, Severity};
pub use file_name::file_name;
pub use named::{NamedPath, PathRole};
pub use neighbor::{
    DynamicNeighbor, ExportRule, FamilyOptions, GracefulRestart, LimitAction, MaxPrefix, Neighbor,
    NeighborKind, TtlSecurity,
};
pub use rutter_policy::{ImportRule, NextHopRule, Role};
pub use secret::Secret;
pub use sink::{Broker, Database, Sink, SinkTarget};
