//! The outcome of processing one record, shared by all readers of MRT files.

use std::fmt;

use rutter_net::AfiSafi;
use rutter_wire::attr::Malformed;
use rutter_wire::mrt::{MrtError, MrtFault};

/// The outcome of processing one record: what is to be reported about it, in the order found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RecordOutcome {
    /// Each kind once; at most [`MAX_FINDINGS`].
    findings: Vec<Finding>,
}

/// A fact about a record that is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// The record, or a part of it, holds no IPv4 or IPv6 unicast routes.
    Skipped(Skipped),
    /// The record was read as it stands, but it is odd.
    Odd(Odd),
    /// The record, or a part of it, could not be read.
    Unreadable(Unreadable),
}

/// An oddity of a record whose routes can all be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Odd {
    /// An RFC forbids one of its values.
    Value(Malformed),
    /// The next hop of IPv6 routes is in NEXT_HOP alone.
    OnlyNextHop,
    /// A peer has two routes with the same path identifier, or without one. The later one counts.
    Repeated,
    /// There are octets after the BGP message, or after the last entry. They are left out.
    Trailing,
}

/// A part of a file that holds no IPv4 or IPv6 unicast routes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Skipped {
    /// A record of this type and subtype.
    Type(u16, u16),
    /// Routes of another family in an UPDATE.
    Family(AfiSafi),
}

/// The reason why a record, or a part of it, cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// The record itself is malformed.
    Record(MrtFault),
    /// A route belongs to a peer that no PEER_INDEX_TABLE lists.
    NoSuchPeer(u16),
    /// The BGP message is malformed or truncated.
    Message,
    /// The lengths inside an UPDATE do not add up.
    Update,
    /// A part of an UPDATE or of a table entry is malformed, so that its value is not known.
    Part(Malformed),
    /// The withdrawn IPv4 routes of an UPDATE are malformed.
    Withdrawn(Malformed),
    /// A route has no next hop that could be sent.
    NextHop,
}

/// The most findings that are kept of one record.
const MAX_FINDINGS: usize = 8;

impl RecordOutcome {
    /// The whole record was read, and nothing is odd.
    pub const READ: Self = RecordOutcome {
        findings: Vec::new(),
    };

    /// Returns whether there is nothing to report.
    pub fn is_read(&self) -> bool {
        self.findings.is_empty()
    }

    /// The findings, each kind once.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The first part that could not be read.
    pub fn unreadable(&self) -> Option<Unreadable> {
        self.findings.iter().find_map(|finding| match finding {
            Finding::Unreadable(fault) => Some(*fault),
            _ => None,
        })
    }

    /// Adds the outcome of a further part of the record.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if self.is_read() {
            return other;
        }
        self.add(&other);
        self
    }

    /// Adds the outcome of a further part of the record.
    pub fn add(&mut self, other: &Self) {
        other
            .findings
            .iter()
            .for_each(|finding| self.note(*finding));
    }

    /// If there is no room, the finding takes the place of a weaker one.
    fn note(&mut self, finding: Finding) {
        if self.findings.iter().any(|held| held.is_like(&finding)) {
            return;
        }
        if self.findings.len() < MAX_FINDINGS {
            return self.findings.push(finding);
        }
        let is_weaker = |held: &&mut Finding| held.rank() < finding.rank();
        if let Some(weaker) = self.findings.iter_mut().rfind(is_weaker) {
            *weaker = finding;
        }
    }
}

impl Finding {
    /// Returns whether two findings differ only in numbers that differ from record to record.
    fn is_like(&self, other: &Finding) -> bool {
        match (self, other) {
            (Finding::Odd(Odd::Value(one)), Finding::Odd(Odd::Value(other)))
            | (
                Finding::Unreadable(Unreadable::Part(one)),
                Finding::Unreadable(Unreadable::Part(other)),
            )
            | (
                Finding::Unreadable(Unreadable::Withdrawn(one)),
                Finding::Unreadable(Unreadable::Withdrawn(other)),
            ) => (one.code, one.fault) == (other.code, other.fault),
            (
                Finding::Unreadable(Unreadable::NoSuchPeer(_)),
                Finding::Unreadable(Unreadable::NoSuchPeer(_)),
            ) => true,
            _ => self == other,
        }
    }

    /// The weakest has the lowest.
    fn rank(&self) -> u8 {
        match self {
            Finding::Skipped(_) => 0,
            Finding::Odd(_) => 1,
            Finding::Unreadable(_) => 2,
        }
    }

    /// The finding without numbers that differ from record to record.
    pub(crate) fn summary(&self) -> String {
        match self {
            Finding::Unreadable(Unreadable::NoSuchPeer(_)) => {
                "its peer is in no PEER_INDEX_TABLE before it".into()
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Skipped(skipped) => skipped.fmt(f),
            Finding::Odd(odd) => odd.fmt(f),
            Finding::Unreadable(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Odd::Value(malformed) => malformed.summary().fmt(f),
            Odd::OnlyNextHop => f.write_str("IPv6 routes whose next hop is in NEXT_HOP alone"),
            Odd::Trailing => {
                f.write_str("octets after its BGP message or last entry, which are left out")
            }
            Odd::Repeated => f.write_str(
                "a peer has two routes of one path identifier, and the later one counts",
            ),
        }
    }
}

impl From<Finding> for RecordOutcome {
    fn from(finding: Finding) -> Self {
        RecordOutcome {
            findings: vec![finding],
        }
    }
}

impl From<Skipped> for RecordOutcome {
    fn from(skipped: Skipped) -> Self {
        Finding::Skipped(skipped).into()
    }
}

impl From<Odd> for RecordOutcome {
    fn from(odd: Odd) -> Self {
        Finding::Odd(odd).into()
    }
}

impl From<Unreadable> for RecordOutcome {
    fn from(fault: Unreadable) -> Self {
        Finding::Unreadable(fault).into()
    }
}

impl From<MrtError> for RecordOutcome {
    fn from(error: MrtError) -> Self {
        Unreadable::from(error).into()
    }
}

impl<F: Into<Unreadable>> From<Result<(), F>> for RecordOutcome {
    fn from(result: Result<(), F>) -> Self {
        match result {
            Ok(()) => RecordOutcome::READ,
            Err(fault) => fault.into().into(),
        }
    }
}

impl From<MrtError> for Unreadable {
    fn from(error: MrtError) -> Self {
        Unreadable::Record(error.fault)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Record(fault) => fault.fmt(f),
            Unreadable::NoSuchPeer(index) => {
                write!(f, "peer {index} is in no PEER_INDEX_TABLE before it")
            }
            Unreadable::Message => f.write_str("its BGP message is malformed or cut off"),
            Unreadable::Update => f.write_str("the lengths inside its UPDATE do not add up"),
            Unreadable::NextHop => f.write_str("a route has no next hop that could be sent"),
            Unreadable::Part(malformed) => malformed.summary().fmt(f),
            Unreadable::Withdrawn(malformed) => {
                f.write_str(&malformed.summary_in("withdrawn routes"))
            }
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::Family(family) => match family_name(*family) {
                Some(name) => write!(f, "UPDATE with {name} routes"),
                None => write!(f, "UPDATE with routes of {family}"),
            },
            Skipped::Type(kind, subtype) => match type_name(*kind, *subtype) {
                Some(name) => f.write_str(name),
                None => write!(f, "type {kind}, subtype {subtype}"),
            },
        }
    }
}

/// The names of the families that files hold most often.
fn family_name(family: AfiSafi) -> Option<&'static str> {
    Some(match (family.afi, family.safi) {
        (1, 2) => "IPv4 multicast",
        (2, 2) => "IPv6 multicast",
        (1 | 2, 4) => "labeled",
        (1 | 2, 128) => "VPN",
        (1 | 2, 133) => "flow specification",
        (25, 70) => "EVPN",
        _ => return None,
    })
}

/// The names of RFC 6396 and RFC 8050. Those of old types are in appendix B of RFC 6396.
fn type_name(kind: u16, subtype: u16) -> Option<&'static str> {
    Some(match (kind, subtype) {
        (0, _) => "NULL",
        (1, _) => "START",
        (2, _) => "DIE",
        (3, _) => "I_AM_DEAD",
        (4, _) => "PEER_DOWN",
        (5, _) => "BGP without an UPDATE",
        (6, _) => "RIP",
        (7, _) => "IDRP",
        (8, _) => "RIPNG",
        (9 | 10, _) => "BGP4PLUS",
        (11 | 48 | 49, _) => "OSPF",
        (32 | 33, _) => "ISIS",
        (13, 3) => "RIB_IPV4_MULTICAST",
        (13, 5) => "RIB_IPV6_MULTICAST",
        (13, 6) => "RIB_GENERIC",
        (13, 7) => "GEO_PEER_TABLE",
        (13, 9) => "RIB_IPV4_MULTICAST_ADDPATH",
        (13, 11) => "RIB_IPV6_MULTICAST_ADDPATH",
        (13, 12) => "RIB_GENERIC_ADDPATH",
        (16 | 17, 2) => "BGP4MP_ENTRY",
        (16 | 17, 3) => "BGP4MP_SNAPSHOT",
        _ => return None,
    })
}
