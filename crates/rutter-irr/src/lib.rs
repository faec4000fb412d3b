//! IRR: route objects and the origins of members, and what they make of a route.
//!
//! [`IrrData`] is immutable. An [`IrrBuilder`] makes it from route objects with the AS numbers of each member, from
//! flattened lists per member, or from both; [`IrrBuilder::build_after`] makes it from former data and their differences.
//!
//! [`IrrData::check`] judges a route in one look-up, without allocation. [`IrrData::find`] is the evidence of the same
//! judgement. [`Changed`] lists the routes that a new set of data concerns.
//!
//! [`AsSetName`], [`OriginSet`] and [`PeeringDb`] read what operators and members write.
//!
//! ```
//! use rutter_irr::{IrrBuilder, IrrKind, IrrMember, IrrRules, OriginState, PrefixState, RegisteredBy};
//!
//! let mut builder = IrrBuilder::new();
//! let member = IrrMember(0);
//! builder.add_member(member, 64500, IrrRules { origin: true, prefix: true, ..IrrRules::default() });
//! builder.add_origins(member, "RIPE::AS-EXAMPLE", [64500, 64501]);
//! let source = builder.add_source("RIPE");
//! builder.add_route_object("192.0.2.0/24".parse()?, 64500, IrrKind::RouteObject, source);
//! let data = builder.build()?;
//!
//! let verdict = data.check(member, "192.0.2.0/24".parse()?, Some(64500));
//! assert_eq!(verdict.origin, OriginState::InSet);
//! assert_eq!(verdict.prefix, PrefixState::Registered(RegisteredBy::RouteObject));
//! assert!(!verdict.is_rejected());
//! let other = data.check(member, "192.0.2.0/25".parse()?, Some(64510));
//! assert!(other.origin_fault() && other.prefix_fault());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod as_set_name;
mod builder;
mod changed;
mod data;
mod entry;
mod evidence;
mod family_table;
mod irr_list;
mod member_checks;
mod member_set;
mod member_terms;
mod origin_set;
mod origin_table;
mod packed_rows;
mod parse_file_error;
mod peering_db;
mod prefix_limits;
mod raw_entry;
mod route_objects;
mod rules;
mod table_edits;
mod verdict;

pub use as_set_name::{AsSetName, ParseAsSetError, REGISTRIES, is_registry_name};
pub use builder::{IrrBuilder, IrrTooLarge, ListEntry};
pub use changed::{Changed, ChangedMember, ChangedRoutes};
pub use data::IrrData;
pub use entry::{IrrKind, IrrSourceId};
pub use evidence::{IrrBearing, IrrEvidence, IrrFinding};
pub use irr_list::{IrrList, IrrListBuilder};
pub use member_checks::MemberChecks;
pub use member_terms::MemberTerms;
pub use origin_set::OriginSet;
pub use packed_rows::PackedRows;
pub use parse_file_error::ParseFileError;
pub use peering_db::{PeeringDb, PeeringDbNet};
pub use prefix_limits::{PrefixHeadroom, PrefixLimits};
pub use rules::{IrrMember, IrrRules};
pub use verdict::{IrrVerdict, OriginState, PrefixState, RegisteredBy, WhiteList};
