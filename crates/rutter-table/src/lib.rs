//! A routing table outside the daemon: from its socket or an MRT file, for look-ups, enrichment and export.
//!
//! ```text
//! rutter_api::Answer (request `table`) ─┐           ┌─► stream::run: rows in, rows with columns out, on all cores
//! MRT table dump ───────────────────────┴─► Table ──┴─► export::mmdb: a MaxMind DB file
//! ```
//! A [`Table`] is the table of one moment and does not change. One thread looks up millions of addresses a second.

mod answers;
mod best;
mod column;
mod csv;
pub mod export;
mod from_daemon;
mod from_mrt;
mod json;
mod lines;
mod object;
mod rows;
pub mod stream;
mod table;

pub use answers::Answers;
pub use column::Column;
pub use csv::{Csv, CsvHead};
pub use from_daemon::from_daemon;
pub use from_mrt::{Dump, from_mrt};
pub use json::Json;
pub use lines::Lines;
pub use table::{Route, Set, Table};

/// Why a table could not be read, as a message for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError(pub String);

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}
