//! A writer of MaxMind DB files: prefixes with data, for look-ups in flow and log tools.
//!
//! The format is the MaxMind DB File Format Specification 2.0. A file has a binary search tree over address bits, then
//! the data section, then metadata. [`Data`] builds the data section and stores each string once. [`Database`] adds
//! the prefixes and writes the file. For an address the longest prefix counts.
//!
//! ```
//! use rutter_mmdb::{Data, Database, Metadata, Value};
//!
//! let mut data = Data::new();
//! let (asn, name) = (data.text("autonomous_system_number"), data.text("as_path"));
//! let path = data.text("64500 64501");
//! let entry = data.map(&[(asn, Value::U32(64501)), (name, Value::Shared(path))]);
//! let mut database = Database::new(data);
//! database.insert("192.0.2.0/24".parse()?, entry);
//! let mut file = Vec::new();
//! database.write(&Metadata::default(), &mut file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod data;
mod database;
mod encode;
mod tree;

pub use data::{At, Data, Shared, Value};
pub use database::{Database, Metadata, TooLarge};
