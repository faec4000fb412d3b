//! Live SQL: the table as SQL tables while it changes, over the PostgreSQL protocol.
//!
//! ```text
//! Rib ─► Snapshot (shared pages) ─► tables (peers, routes, best, rejected, events) ─► DataFusion ─► rows
//! ```
//! No copy of the table is kept: a query reads the pages that the writers share, and only the columns that it names
//! are made. A filter on one prefix, and the longest match, are answered by look-ups and not by a scan.

mod catalog;
mod complexity;
mod engine;
mod error;
mod events;
mod forms;
mod functions;
mod guarded;
mod interruptible;
mod literals;
mod memory;
mod paced;
mod past;
mod pieces;
mod print;
mod server;
mod short;
mod subqueries;
mod tables;
mod unordered;
mod windows;
mod zones;

pub use engine::{Engine, Limits};
pub use error::QueryError;
pub use events::EventLog;
pub use print::{Format, Printer};
pub use server::{Access, Bounds, Server, ServerError, Settings, Tls, TlsError};
pub use tables::Router;
