//! Live SQL: the routes as SQL tables while they change, over the PostgreSQL protocol.
//!
//! ```text
//! Rib ─► Snapshot (shared pages) ─► tables (peers, routes, best, rejected, events) ─► rutter-pgfront ─► rows
//! ```
//! No copy of the routes is kept. A query reads the pages that the writers share, and only the columns that it names are
//! made. A filter on one prefix, and the longest match, are answered by look-ups and not by a scan.

mod archive;
mod events;
mod functions;
mod live;
mod tables;

pub use archive::add_archive;
pub use events::EventLog;
pub use live::{database, live_database, with_routers};
pub use rutter_pgfront::{
    Access, CertificateFiles, ConnectionBounds, Database, Format, Limits, Printer, QueryError,
    Server, ServerError, Settings, TlsFileError, listen,
};
pub use tables::Router;
