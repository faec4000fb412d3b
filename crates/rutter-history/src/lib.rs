//! The past: the change feed and the table as Parquet files, and the table as of any time.
//!
//! ```text
//! Rib::subscribe ─► Decoder ─► Columns ─► Group ─► events/day=2026-11-20/hour=12/NAME-RUN-SEQ.parquet
//! Rib::snapshot  ─► Columns ─► Group ─► snapshots/day=2026-11-20/hour=12/NAME-RUN-SEQ-TIME.parquet
//!                                                └─► Archive::as_of(T): a snapshot, then the events up to T
//! ```
//! A file appears under its name when it is complete, never before. Nothing here can hold the table up: what cannot be
//! written is dropped, told as a gap with its bounds, and made good by a snapshot.

mod archive;
mod as_of;
pub mod bench;
mod clock;
mod columns;
mod ending;
mod file;
mod group;
mod joins;
mod keeper;
mod lock;
mod places;
mod rows;
mod schema;
mod service;
mod set;
mod text;
mod texts;
mod time;

pub use archive::{Archive, ArchiveFile, Part};
pub use as_of::{AsOf, AsOfError};
pub use file::{Compression, WriteError};
pub use keeper::{Keeper, Options, write_snapshot};
pub use rutter_events::utc;
pub use schema::{describe, schema};
pub use service::{HistoryService, StartError};
pub use time::parse as parse_time;
