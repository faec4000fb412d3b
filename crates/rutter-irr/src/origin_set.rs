//! A name in a member's list of AS-SETs.

use std::fmt;
use std::str::FromStr;

use rutter_net::Asn;

use crate::{AsSetName, ParseAsSetError};

/// A set of origins: one AS number, or an AS-SET.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OriginSet {
    /// An AS number.
    Asn(u32),
    /// The name of an AS-SET.
    Named(AsSetName),
}

impl FromStr for OriginSet {
    type Err = ParseAsSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.trim().to_ascii_uppercase();
        let asn: Option<Asn> = upper.strip_prefix("AS").and_then(|asn| asn.parse().ok());
        match asn.filter(|asn| asn.0 > 0) {
            Some(asn) => Ok(OriginSet::Asn(asn.0)),
            None => upper.parse().map(OriginSet::Named),
        }
    }
}

impl fmt::Display for OriginSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OriginSet::Asn(asn) => write!(f, "AS{asn}"),
            OriginSet::Named(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numbers_and_sets_differ() {
        let set = |text: &str| text.parse::<OriginSet>();
        assert_eq!(set("as64500"), Ok(OriginSet::Asn(64_500)));
        assert!(matches!(set("AS64500:AS-FOO"), Ok(OriginSet::Named(_))));
        assert_eq!(set("ripe::as-foo").unwrap().to_string(), "RIPE::AS-FOO");
        assert_eq!(set("AS64500").unwrap().to_string(), "AS64500");
        assert!(set("64500").is_err() && set("AS").is_err());
        assert!(set("AS0").is_err() && set("RIPE::AS64500").is_err());
    }
}
