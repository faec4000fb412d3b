//! Small types for routing: prefixes, AS numbers, communities, address families and dates.
//!
//! The types are `Copy`, without I/O and without allocation except in errors.

mod asn;
mod community;
mod date;
mod family;
mod per_family;
mod prefix;

pub use asn::{Asn, ParseAsnError};
pub use community::{Community, ExtendedCommunity, LargeCommunity, ParseCommunityError};
pub use date::Date;
pub use family::{AfiSafi, Family};
pub use per_family::PerFamily;
pub use prefix::{Ipv4Prefix, Ipv6Prefix, ParsePrefixError, Prefix};
