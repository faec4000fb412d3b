//! The change feed and the table as rows: the columns of every archive, database and stream.
//!
//! ```text
//! FeedEvent ─► Decoder::decode ─► Row, Row, …     what happened, in order
//! Snapshot  ─► state_rows      ─► Row, Row, …     what is so now
//! ```
//! SQL, Parquet, Kafka and JSON all use the names of [`COLUMNS`]. The crate does no I/O, and the caller passes the
//! time.

mod attrs;
mod column;
mod decoder;
mod json;
mod message;
mod missing;
mod peer;
mod row;
mod table_rows;
mod time;

pub use attrs::AttrColumns;
pub use column::{COLUMNS, Column};
pub use decoder::{Decoder, Now};
pub use json::{JsonAttributes, JsonRow};
pub use missing::Missing;
pub use peer::{Peer, distinguisher_text};
pub use row::{Kind, Row};
pub use table_rows::state_rows;
pub use time::utc;
