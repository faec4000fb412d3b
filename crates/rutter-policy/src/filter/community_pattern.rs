//! Patterns of communities: `65001:*`, `self:100..199`, `rt:65001:7`, `65001:*:*`, `no-export`.

use std::fmt;

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};

/// Communities of one kind whose fields are in ranges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CommunityPattern {
    kind: Kind,
    /// The ranges of the fields, both ends included. Only large communities have a third.
    fields: [(u32, u32); 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Standard,
    /// Extended: two-octet and four-octet AS specific, with this subtype.
    Extended(u8),
    Large,
}

/// A community of any kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AnyCommunity {
    Standard(Community),
    Extended(ExtendedCommunity),
    Large(LargeCommunity),
}

const ROUTE_TARGET: u8 = 0x02;
const ROUTE_ORIGIN: u8 = 0x03;
const NAMES: [(&str, Community); 7] = [
    ("no-export", Community::NO_EXPORT),
    ("no-advertise", Community::NO_ADVERTISE),
    ("no-export-subconfed", Community::NO_EXPORT_SUBCONFED),
    ("graceful-shutdown", Community::GRACEFUL_SHUTDOWN),
    ("llgr-stale", Community::LLGR_STALE),
    ("no-llgr", Community::NO_LLGR),
    ("blackhole", Community::BLACKHOLE),
];

/// A string that is no pattern of communities; the message shows what to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParsePatternError(String);

impl fmt::Display for ParsePatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParsePatternError {}

impl CommunityPattern {
    /// Parses a pattern; `self` is `local`, our AS.
    pub fn parse(text: &str, local: Asn) -> Result<Self, ParsePatternError> {
        let error = |why: String| ParsePatternError(format!("`{text}`: {why}"));
        if let Some((_, community)) = NAMES.iter().find(|(name, _)| *name == text) {
            let [high, low] = [community.high(), community.low()].map(u32::from);
            return Ok(CommunityPattern {
                kind: Kind::Standard,
                fields: [(high, high), (low, low), (0, 0)],
            });
        }
        let (subtype, bare) = match text.split_once(':') {
            Some(("rt", bare)) => (Some(ROUTE_TARGET), bare),
            Some(("ro" | "soo", bare)) => (Some(ROUTE_ORIGIN), bare),
            _ => (None, text),
        };
        let fields: Vec<&str> = bare.split(':').collect();
        let (kind, largest) = match (subtype, fields.len()) {
            (None, 2) => (Kind::Standard, u32::from(u16::MAX)),
            (None, 3) => (Kind::Large, u32::MAX),
            (Some(subtype), 2) => (Kind::Extended(subtype), u32::MAX),
            (Some(_), _) => {
                return Err(error(
                    "an extended community is `rt:` or `ro:` and two fields".into(),
                ));
            }
            (None, _) => {
                return Err(error(
                    "write two fields (standard), three (large), or a name like no-export".into(),
                ));
            }
        };
        let mut ranges = [(0, 0); 3];
        for (range, field) in ranges.iter_mut().zip(&fields) {
            *range = read_field(field, local, largest).map_err(&error)?;
        }
        Ok(CommunityPattern {
            kind,
            fields: ranges,
        })
    }

    /// The single community that matches, `None` for a pattern with wildcards.
    pub(crate) fn exact(&self) -> Option<AnyCommunity> {
        if self.fields.iter().any(|(from, to)| from != to) {
            return None;
        }
        let [a, b, c] = self.fields.map(|(value, _)| value);
        Some(match self.kind {
            Kind::Standard => AnyCommunity::Standard(Community::new(a as u16, b as u16)),
            Kind::Large => AnyCommunity::Large(LargeCommunity::new(a, b, c)),
            Kind::Extended(subtype) => AnyCommunity::Extended(match u16::try_from(a) {
                Ok(asn) => ExtendedCommunity::two_octet_as(subtype, asn, b),
                Err(_) => ExtendedCommunity::four_octet_as(subtype, a, b as u16),
            }),
        })
    }

    /// Returns whether only one community matches, so that it can be added to a route.
    pub fn is_exact(&self) -> bool {
        self.exact().is_some()
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.kind == Kind::Standard
    }

    pub(crate) fn is_large(&self) -> bool {
        self.kind == Kind::Large
    }

    pub(crate) fn matches_standard(&self, community: Community) -> bool {
        let parts = [community.high(), community.low()].map(u32::from);
        self.is_standard() && self.has([parts[0], parts[1], 0])
    }

    pub(crate) fn matches_large(&self, community: LargeCommunity) -> bool {
        self.is_large() && self.has([community.global, community.local1, community.local2])
    }

    pub(crate) fn matches_extended(&self, community: ExtendedCommunity) -> bool {
        let Kind::Extended(subtype) = self.kind else {
            return false;
        };
        let o = community.0;
        let parts = match o[0] {
            0x00 => [
                u32::from(u16::from_be_bytes([o[2], o[3]])),
                u32::from_be_bytes([o[4], o[5], o[6], o[7]]),
            ],
            0x02 => [
                u32::from_be_bytes([o[2], o[3], o[4], o[5]]),
                u32::from(u16::from_be_bytes([o[6], o[7]])),
            ],
            _ => return false,
        };
        o[1] == subtype && self.has([parts[0], parts[1], 0])
    }

    fn has(&self, parts: [u32; 3]) -> bool {
        let mut pairs = self.fields.iter().zip(parts);
        pairs.all(|((from, to), part)| (*from..=*to).contains(&part))
    }
}

impl fmt::Display for CommunityPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Extended(ROUTE_TARGET) => "rt:",
            Kind::Extended(_) => "ro:",
            Kind::Standard | Kind::Large => "",
        };
        let (count, largest) = match self.kind {
            Kind::Standard => (2, u32::from(u16::MAX)),
            Kind::Extended(_) => (2, u32::MAX),
            Kind::Large => (3, u32::MAX),
        };
        let field = |(from, to): &(u32, u32)| match (*from, *to) {
            (0, to) if to == largest => "*".to_owned(),
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from}..{to}"),
        };
        let fields: Vec<String> = self.fields[..count].iter().map(field).collect();
        write!(f, "{kind}{}", fields.join(":"))
    }
}

fn read_field(text: &str, local: Asn, largest: u32) -> Result<(u32, u32), String> {
    let number = |text: &str| match text {
        "self" => Ok(local.0),
        _ => text
            .parse::<u32>()
            .map_err(|_| format!("`{text}` is not a number, `self`, `*` or a range like 100..199")),
    };
    let (from, to) = match (text, text.split_once("..")) {
        ("*", _) => (0, largest),
        (_, Some((from, to))) => (number(from)?, number(to)?),
        (text, None) => (number(text)?, number(text)?),
    };
    if from > to {
        return Err(format!("the range {text} is empty"));
    }
    if to > largest {
        return Err(format!("{to} does not fit 16 bits, use a large community"));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> CommunityPattern {
        CommunityPattern::parse(text, Asn(64_500)).unwrap()
    }

    #[test]
    fn patterns_match_communities_of_their_kind() {
        let standard = |text: &str, community: &str| {
            pattern(text).matches_standard(community.parse().unwrap())
        };
        assert!(standard("65001:*", "65001:7"));
        assert!(!standard("65001:*", "65002:7"));
        assert!(standard("self:100..199", "64500:100"));
        assert!(!standard("self:100..199", "64500:200"));
        assert!(standard("no-export", "65535:65281"));
        assert!(!standard("*:*:*", "65001:7"));
        let large =
            |text: &str, community: &str| pattern(text).matches_large(community.parse().unwrap());
        assert!(large("self:*:*", "64500:4000000000:0"));
        assert!(large("4200000000:1:2..3", "4200000000:1:3"));
        assert!(!large("4200000000:1:2..3", "4200000000:1:4"));
        let target = ExtendedCommunity::two_octet_as(ROUTE_TARGET, 65_001, 7);
        assert!(pattern("rt:65001:*").matches_extended(target));
        assert!(!pattern("ro:65001:*").matches_extended(target));
        let target = ExtendedCommunity::four_octet_as(ROUTE_TARGET, 4_200_000_000, 7);
        assert!(pattern("rt:*:*").matches_extended(target));
        assert_eq!(
            pattern("rt:4200000000:7").exact(),
            Some(AnyCommunity::Extended(target))
        );
    }

    #[test]
    fn wrong_patterns_are_refused_with_a_hint() {
        for (text, why) in [
            ("65001", "write two fields"),
            ("65001:x", "`x` is not a number"),
            ("65536:1", "does not fit 16 bits"),
            ("1:9..3", "the range 9..3 is empty"),
            ("rt:1", "`rt:` or `ro:` and two fields"),
            ("no-exports", "a name like no-export"),
        ] {
            let error = CommunityPattern::parse(text, Asn(1)).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }
}
