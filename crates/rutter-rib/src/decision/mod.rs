//! The decision process: it compares routes, puts candidates into order and groups them by neighbouring AS for
//! MULTI_EXIT_DISC.
//!
//! The steps are in `process`, once for all kinds of routes. `candidates` applies them to the routes of the table,
//! `file_route` to routes read from files.

mod candidates;
mod file_route;
mod process;

pub(crate) use candidates::{Decision, PeerRank, may_be_partial};
pub use file_route::{FileAttributes, FileRoute, best_file_route};
pub(crate) use process::Process;
pub use process::Step;
