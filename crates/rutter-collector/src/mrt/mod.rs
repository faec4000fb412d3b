//! MRT files in (RFC 6396, RFC 8050): found, unpacked, read, and loaded into the table.
//!
//! ```text
//! Files ─► Stream (unpacks on a thread of its own) ─► Record ─► Loader ─► Rib
//! ```
//! gzip, bzip2, zstd and plain are told apart by their first octets, whatever the file is called.

mod files;
mod load;
mod progress;
mod stream;
mod unpack;

pub use files::{Input, find};
pub use load::{LoadError, Loaded, Loader};
pub use progress::Progress;
pub use stream::{ReadError, Stream, Why};
