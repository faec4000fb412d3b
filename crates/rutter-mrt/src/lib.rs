//! Reads MRT files: finds them, unpacks them and iterates over their records.
//!
//! ```text
//! find_files ─► Input ─► Stream (unpacks on its own thread) ─► Record
//! ```
//! RFC 6396 and RFC 8050 define the formats. The first bytes of a file, not its name, decide whether it is
//! compressed with gzip, bzip2, zstd or not at all.

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

mod entry_reader;
mod files;
mod message;
mod peer_index;
mod peer_reader;
mod progress;
mod reader;
mod record_outcome;
mod stream;
mod unpack;
mod update_reader;

pub use entry_reader::EntryReader;
pub use files::{Input, find_files};
pub use message::update;
pub use peer_index::PeerIndex;
pub use peer_reader::{FilePeer, FileUpdate, PeerEvent, PeerReader, UpdateFamilies};
pub use progress::Progress;
pub use reader::Reader;
pub use record_outcome::{Finding, Odd, RecordOutcome, Skipped, Unreadable};
pub use stream::{ReadError, ReadFault, Stream};
pub use update_reader::{UpdateForm, UpdateReader, UpdateRoutes};
