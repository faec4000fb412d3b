//! Databases and brokers kept exact: spooled batches into PostgreSQL, MariaDB and Kafka.
//!
//! ```text
//! Rib::feed ─► FeedSpooler ─► Spool (disk, bounded) ─► Writer ─► Store: one transaction a batch, with its position
//!                                                   └─◄ Rib::snapshot: whole tables, by the bulk path
//! ```
//! Nothing here can slow the table down: the spooler only reads the feed, and what does not fit the spool is dropped,
//! told as a gap with its bounds, and made good by a state read anew. A [`Store`] writes the rows of a batch and the
//! position behind them in one transaction, so after a crash of either side the spool goes on exactly there.

mod batch;
pub mod bench;
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
mod writer;

pub use batch::{Batch, Change, PeerChange};
pub use block::{Block, BlockWriter, Entry, Marker};
pub use feed_spooler::{Clock, FeedSpooler};
pub use peer::{PeerKey, StoredPeer};
pub use service::{Handle, StartError, start};
pub use spool::{Cursor, Damage, Disk, Position, Spool, SpoolError, Storage, Unended};
pub use status::{Status, StatusView};
pub use store::{Load, RowChunks, Store, StoreError, StoreProgress};
pub use store_state::StoreState;
pub use table_load::{LoadRow, RouteSource, TableSource};
pub use writer::{Limits, Step, Writer};
