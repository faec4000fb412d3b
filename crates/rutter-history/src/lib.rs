//! The past: the change feed and the table as Parquet files, and the table as of any time.
//!
//! ```text
//! Rib::subscribe ─► Decoder ─► RowPage ─► RowGroup ─► events/day=2026-11-20/hour=12/NAME-RUN-SEQ.parquet
//! Rib::snapshot  ─► RowPage ─► RowGroup ─► snapshots/day=2026-11-20/hour=12/NAME-RUN-SEQ-TIME.parquet
//!                                            └─► Archive::as_of(T): a snapshot, then the events up to T
//! ```
//! A file gets its final name when it is complete, never before. Writing can never block the table. Rows that
//! cannot be written are dropped and recorded as a gap with its bounds, and a snapshot follows.

mod archive;
mod archive_lock;
mod archive_rows;
mod as_of;
mod clock;
mod column_values;
mod fast_format;
mod file_rotation;
mod file_writer;
mod interner;
mod last_run;
mod row_attrs;
mod row_group;
mod row_page;
mod schema;
mod sequence_check;
mod service;
mod time;

pub use archive::{Archive, ArchiveFile, Part};
pub use as_of::{AsOf, AsOfError};
pub use file_rotation::{FileRotation, Options, write_snapshot};
pub use file_writer::{Compression, WriteError};
pub use rutter_events::utc;
pub use schema::{describe, schema};
pub use service::{ContinuedHistory, HistoryService, StartError};
pub use time::parse as parse_time;
