//! Databases and brokers kept exact: spooled batches into PostgreSQL, MariaDB and Kafka.
//!
//! ```text
//! Rib::feed ─► FeedSpooler ─► Spool (disk, bounded) ─► Writer ─► Store: one transaction a batch, with its position
//!                                                        └─◄ Rib::snapshot: whole tables, by the bulk path
//! ```
//! A sink can never slow the table down. The spooler only reads the feed and drops rows that do not fit into
//! the spool. It records dropped rows as a gap with its bounds, and the writer then loads all routes again. A
//! [`Store`] writes the rows of a batch and the position after them in one transaction. After a crash of either
//! side, the sink continues exactly at that position.

mod attr_cache;
mod batch;
mod block;
mod byte_codec;
mod feed_spooler;
pub mod kafka;
pub mod mariadb;
mod missing_rows;
mod peer;
mod peer_ids;
pub mod postgres;
mod route_count;
mod service;
mod spool;
mod status;
mod store;
mod store_state;
mod table_load;
pub mod tls;
mod writer;

pub use batch::{Batch, Change, PeerChange};
pub use block::{Block, Entry, Marker};
pub use feed_spooler::{Clock, FeedSpooler};
pub use peer::{PeerKey, StoredPeer};
pub use service::{ContinuedFeed, Handle, MachineClock, StartError, check, start};
pub use spool::{Cursor, Damage, Disk, Position, Spool, SpoolError, Storage};
pub use status::{Status, StatusView};
pub use store::{Load, RowChunks, Store, StoreError, StoreProgress};
pub use store_state::StoreState;
pub use table_load::{LoadRow, RouteSource, TableSource};
pub use writer::{Limits, Step, Writer};
