//! MRT files in (RFC 6396, RFC 8050): found, unpacked, read, and loaded into the table.
//!
//! ```text
//! Files ─► Stream (unpacks on a thread of its own) ─► Record ─► Loader ─► Rib
//! ```
//! gzip, bzip2, zstd and plain are told apart by their first octets, whatever the file is called.

mod files;
mod load;
mod message;
mod progress;
mod reader;
mod stream;
mod taken;
mod unpack;

pub use files::{Input, find};
pub use load::{Loaded, Loader};
pub use message::{routes, update};
pub use progress::Progress;
pub use reader::Reader;
pub use stream::{ReadError, Stream, Why};
pub use taken::{Taken, Unreadable};
