//! Databases and brokers kept exact: spooled batches into PostgreSQL, MariaDB and Kafka.
//!
//! ```text
//! Rib::feed ─► Intake ─► Spool (disk, bounded) ─► Writer ─► Store: one transaction a batch, with its position
//!                                                   └─◄ Rib::snapshot: whole tables, by the bulk path
//! ```
//! Nothing here can slow the table down: the intake only reads the feed, and what does not fit the spool is dropped,
//! told as a gap with its bounds, and made good by a state read anew. A [`Store`] writes the rows of a batch and the
//! position behind them in one transaction, so after a crash of either side the spool goes on exactly there.

mod batch;
pub mod bench;
mod block;
mod bytes;
mod count;
mod intake;
pub mod kafka;
mod load;
mod lost;
pub mod mariadb;
mod numbers;
mod peer;
pub mod postgres;
mod service;
mod spool;
mod state;
mod status;
mod store;
mod writer;

pub use batch::{Batch, Change, PeerChange};
pub use block::{Block, BlockWriter, Entry, Marker};
pub use intake::{Clock, Intake};
pub use load::{LoadRow, Source, TableSource};
pub use peer::{PeerKey, StoredPeer};
pub use service::{Handle, StartError, start};
pub use spool::{Cursor, Damage, Disk, Medium, Position, Spool, SpoolError, Unended};
pub use state::State;
pub use status::{Status, StatusView};
pub use store::{Fault, Held, Load, Pieces, Store};
pub use writer::{Limits, Step, Writer};
