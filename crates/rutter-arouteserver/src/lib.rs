//! ARouteServer's files as Rutter's configuration.
//!
//! [`convert`] reads `general.yml`, `clients.yml`, and optionally `bogons.yml` and a dump of PeeringDB. Each key is
//! either converted, or refused by name with the reason. Keys that Rutter needs no counterpart for are noted.
//!
//! ```
//! use rutter_arouteserver::{Documents, Options, SourceText, convert};
//!
//! let general = "cfg:\n  rs_as: 64500\n  router_id: 192.0.2.1\n  filtering:\n    irrdb:\n      enforce_origin_in_as_set: False\n      enforce_prefix_in_as_set: False\n      tag_as_set: False\n";
//! let clients = "clients:\n  - asn: 64501\n    ip: 192.0.2.11\n";
//! let documents = Documents {
//!     general: SourceText::new("general.yml", general),
//!     clients: SourceText::new("clients.yml", clients),
//!     bogons: None,
//!     peering_db: None,
//! };
//! let options = Options { lan: vec!["192.0.2.0/24".parse()?], ..Options::default() };
//! let conversion = convert(&documents, &options).expect("valid files");
//! assert!(conversion.toml.contains("asn = 64501"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blackhole;
mod clients;
mod communities;
mod convert;
mod filtering;
mod finding;
mod irrdb;
mod max_prefix;
mod prefix_entry;
mod rpki;
mod session;
mod toml_writer;
mod yaml;
mod yaml_tree;

pub use convert::{Conversion, Documents, Options, SourceText, convert};
pub use finding::Finding;
