//! Small `Copy` types that every room shares: prefixes, AS numbers, communities, address families and dates.
//!
//! Nothing here allocates on a hot path, does I/O or knows BGP messages.

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
