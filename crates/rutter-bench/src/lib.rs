//! Built-in BGP speakers that load any daemon and verify what each client receives.
//!
//! ```text
//! Workload (what each peer announces, encoded beforehand) ─► Fleet (sockets, one or two threads) ─► daemon under test
//! Oracle   (what each client must hold in the end)       ─► Tracker (what it holds) ─► exact, or what differs
//! ```
//!
//! [`scenario::run`] is one measured run, [`cli::main`] is `rutter bench`, and [`demo::Demo`] has the speakers of
//! `rutter demo`.

mod arguments;
pub mod baseline_writer;
mod chart;
pub mod cli;
pub mod daemons;
pub mod decision;
pub mod demo;
pub mod disturbance;
pub mod fingerprint;
pub mod hostile;
pub mod judge;
pub mod latency;
mod nlri;
pub mod oracle;
pub mod plan;
pub mod policy;
mod preflight;
pub mod process;
pub mod progress_line;
mod readme;
pub mod registry;
pub mod report;
pub mod rng;
pub mod scenario;
mod span;
pub mod speaker;
pub mod tracker;
pub mod under_load;
pub mod workload;
