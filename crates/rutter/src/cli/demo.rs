//! `rutter demo`.

use std::path::PathBuf;

use clap::Args;

/// How large the demonstration is.
#[derive(Args, Debug, Clone)]
pub(crate) struct DemoArgs {
    /// Speakers, each announcing its part of the table and listening to everything
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
    /// Number that everything generated is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// End after the report instead of staying up
    #[arg(long)]
    pub(crate) once: bool,
}

/// What is printed below the options.
pub(super) const EXAMPLES: &str = "\
A route server (`rutter run`, as a process of its own, with a generated configuration) and built-in
speakers exchange real BGP over loopback TCP. Every speaker's received set is verified. Afterwards
everything stays up until Ctrl-C, and `rutter show peers` and the others find it by themselves.

Examples:
  rutter demo
  rutter demo --speakers 100 --destinations 50000
  rutter demo --prefixes prefixes.txt.gz
  rutter demo --mrt rib.20250101.0000.gz --once";
