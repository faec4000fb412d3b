//! `rutter demo`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rutter demo`.
#[derive(Args, Debug, Clone)]
pub(crate) struct DemoArgs {
    /// Speakers; each announces a part of the table and receives the rest
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) speakers: u16,
    /// Routes for each destination, on average
    #[arg(long, value_name = "N", default_value_t = 2.5)]
    pub(crate) routes_per_destination: f64,
    /// Destinations of the generated table (15 in 100 are IPv6)
    #[arg(long, value_name = "N", default_value_t = 1_062_046, conflicts_with_all = ["prefixes", "mrt"])]
    pub(crate) destinations: u32,
    /// Take the destinations from this list, one prefix a line, plain or .gz
    #[arg(long, value_name = "FILE", conflicts_with = "mrt")]
    pub(crate) prefixes: Option<PathBuf>,
    /// Take the destinations from this MRT table dump (TABLE_DUMP_V2), plain or .gz
    #[arg(long, value_name = "FILE")]
    pub(crate) mrt: Option<PathBuf>,
    /// I/O threads of the route server; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: u16,
    /// Seed of the generated table
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Exit after the report
    #[arg(long)]
    pub(crate) once: bool,
}

/// The text below the options.
pub(super) const EXAMPLES: &str = "\
Starts a route server (`rutter run` as a separate process, with a generated configuration) and
built-in speakers. They exchange real BGP over loopback TCP, and the routes that each speaker
receives are verified. Then everything stays up until Ctrl-C, and `rutter show peers` and the other
commands find the demo's socket.

Examples:
  rutter demo
  rutter demo --speakers 100 --destinations 50000
  rutter demo --prefixes prefixes.txt.gz
  rutter demo --mrt rib.20250101.0000.gz --once";
