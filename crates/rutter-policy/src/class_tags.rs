//! The communities that mark a route with its class.

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};
use rutter_rpki::{PathState, Rov};

use crate::notation::match_fields;
use crate::origin_state_community;
use crate::{Class, ExtendedKind, Field, IrrPrefix, Notation, ParseNotationError, RejectReason};

/// A property of a class that a community can mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagState {
    /// The origin is valid (RFC 6811).
    OriginValid,
    /// The origin is invalid.
    OriginInvalid,
    /// No VRP covers the prefix.
    OriginNotFound,
    /// The path is valid (ASPA).
    PathValid,
    /// The path is invalid.
    PathInvalid,
    /// The ASPAs neither attest nor contradict the path.
    PathUnknown,
    /// The origin is in the neighbor's AS-SETs (IRR).
    IrrOriginPresent,
    /// The origin is not in the neighbor's AS-SETs.
    IrrOriginAbsent,
    /// The prefix is registered for the neighbor.
    IrrPrefixPresent,
    /// The prefix is not registered for the neighbor.
    IrrPrefixAbsent,
    /// Only a ROA registers the prefix.
    IrrPrefixByRoa,
    /// Only ARIN's whois dump registers the prefix.
    IrrPrefixByArin,
    /// Only registro.br's dump registers the prefix.
    IrrPrefixByRegistroBr,
    /// Only a white list allows the prefix.
    WhiteListed,
    /// The route failed a check and is accepted nevertheless; the notation has the field `code`.
    RejectCause,
    /// The same; the notation has the field `peer`, the AS of the neighbor that announced the route.
    RejectedRouteOf,
    /// The route failed a check whose reason has this number ([`RejectReason::code`]), and is accepted nevertheless.
    RejectedFor(u16),
    /// The mark of a custom informational community, by number.
    Custom(u8),
}

impl TagState {
    /// All properties without a number, with their keys in the configuration file.
    pub const ALL: [(TagState, &'static str); 16] = [
        (TagState::OriginValid, "rpki-valid"),
        (TagState::OriginInvalid, "rpki-invalid"),
        (TagState::OriginNotFound, "rpki-not-found"),
        (TagState::PathValid, "aspa-valid"),
        (TagState::PathInvalid, "aspa-invalid"),
        (TagState::PathUnknown, "aspa-unknown"),
        (TagState::IrrOriginPresent, "origin-present-in-as-set"),
        (TagState::IrrOriginAbsent, "origin-not-present-in-as-set"),
        (TagState::IrrPrefixPresent, "prefix-present-in-as-set"),
        (TagState::IrrPrefixAbsent, "prefix-not-present-in-as-set"),
        (TagState::IrrPrefixByRoa, "prefix-validated-via-rpki-roas"),
        (TagState::IrrPrefixByArin, "prefix-validated-via-arin-whois"),
        (
            TagState::IrrPrefixByRegistroBr,
            "prefix-validated-via-registro-br",
        ),
        (TagState::WhiteListed, "route-validated-via-white-list"),
        (TagState::RejectCause, "reject-cause"),
        (TagState::RejectedRouteOf, "rejected-route-announced-by"),
    ];

    /// The key in the configuration file.
    pub fn key(self) -> &'static str {
        let row = Self::ALL.iter().find(|(state, _)| *state == self);
        match self {
            TagState::RejectedFor(_) => "reject-cause-map",
            _ => row.map_or("custom", |(_, key)| key),
        }
    }

    /// Returns whether a class has the property.
    fn applies(self, class: Class) -> bool {
        match self {
            TagState::OriginValid => class.origin == Some(Rov::Valid),
            TagState::OriginInvalid => class.origin == Some(Rov::Invalid),
            TagState::OriginNotFound => class.origin == Some(Rov::NotFound),
            TagState::PathValid => class.path == Some(PathState::Valid),
            TagState::PathInvalid => class.path == Some(PathState::Invalid),
            TagState::PathUnknown => class.path == Some(PathState::Unknown),
            TagState::IrrOriginPresent => class.irr_origin == Some(true),
            TagState::IrrOriginAbsent => class.irr_origin == Some(false),
            TagState::IrrPrefixPresent => class.irr_prefix == Some(IrrPrefix::Registered),
            TagState::IrrPrefixAbsent => class.irr_prefix == Some(IrrPrefix::NotRegistered),
            TagState::IrrPrefixByRoa => class.irr_prefix == Some(IrrPrefix::Roa),
            TagState::IrrPrefixByArin => class.irr_prefix == Some(IrrPrefix::Arin),
            TagState::IrrPrefixByRegistroBr => class.irr_prefix == Some(IrrPrefix::RegistroBr),
            TagState::WhiteListed => class.irr_prefix == Some(IrrPrefix::WhiteListed),
            TagState::RejectCause | TagState::RejectedRouteOf => class.failed.is_some(),
            TagState::RejectedFor(code) => class.failed.is_some_and(|one| one.code() == code),
            TagState::Custom(number) => class.custom.has(number),
        }
    }
}

/// A property and the community that marks it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClassTag {
    /// The property.
    pub state: TagState,
    /// The notation of the community.
    pub notation: Notation,
}

impl ClassTag {
    /// Combines a property and a notation: numbers, `self`, and `code` for [`TagState::RejectCause`] only.
    pub fn new(state: TagState, notation: Notation) -> Result<Self, ParseNotationError> {
        let key = state.key();
        let error = |why: String| Err(ParseNotationError::new(format!("`{notation}`: {why}")));
        let names_peer = notation.names_peer() && state != TagState::RejectedRouteOf;
        if names_peer || notation.names_rtt() || notation.has_range() {
            return error(format!(
                "`{key}` takes numbers and `self`, no `peer` and no range"
            ));
        }
        if notation.names_code() && state != TagState::RejectCause {
            return error(format!(
                "only `reject-cause` has a field `code`, not `{key}`"
            ));
        }
        Ok(ClassTag { state, notation })
    }
}

/// Communities to add to a route.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tags {
    /// Standard communities.
    pub standard: Vec<Community>,
    /// Extended communities.
    pub extended: Vec<ExtendedCommunity>,
    /// Large communities.
    pub large: Vec<LargeCommunity>,
}

/// The compiled marks: which communities a class gets, and which received communities only Rutter may set.
#[derive(Debug)]
pub(crate) struct ClassTagTable {
    tags: Vec<ClassTag>,
    send_origin_state: bool,
}

impl ClassTagTable {
    /// Compiles the marks, with our AS in place of `self`.
    pub(crate) fn new(tags: &[ClassTag], send_origin_state: bool, local: Asn) -> Self {
        let resolve = |tag: &ClassTag| ClassTag {
            notation: resolved(tag.notation, local.0),
            ..*tag
        };
        ClassTagTable {
            tags: tags.iter().map(resolve).collect(),
            send_origin_state,
        }
    }

    /// The communities for routes of a class that a neighbor with this AS announced.
    pub(crate) fn tags_of(&self, class: Class, sender: Asn) -> Tags {
        let mut out = Tags::default();
        for tag in self.tags.iter().filter(|tag| tag.state.applies(class)) {
            let code = class.failed.map_or(0, |reason| u32::from(reason.code()));
            let variable = match tag.state {
                TagState::RejectedRouteOf => sender.0,
                _ => code,
            };
            match tag.notation {
                Notation::Standard(fields) => {
                    let [high, low] = fields.map(|field| value(field, variable) as u16);
                    out.standard.push(Community::new(high, low));
                }
                Notation::Extended(kind, fields) => {
                    let [high, low] = fields.map(|field| value(field, variable));
                    out.extended.push(extended(kind, high, low));
                }
                Notation::Large(fields) => {
                    let [global, local1, local2] = fields.map(|field| value(field, variable));
                    out.large.push(LargeCommunity {
                        global,
                        local1,
                        local2,
                    });
                }
            }
        }
        if self.send_origin_state
            && let Some(state) = class.origin
        {
            out.extended.push(origin_state_community::of(state));
        }
        out
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tags.is_empty() && !self.send_origin_state
    }

    pub(crate) fn is_standard(&self, community: Community) -> bool {
        let parts = [u32::from(community.high()), u32::from(community.low())];
        self.any(|notation| match notation {
            Notation::Standard(fields) => match_fields(fields, parts).is_some(),
            _ => false,
        })
    }

    pub(crate) fn is_extended(&self, community: ExtendedCommunity) -> bool {
        self.send_origin_state && origin_state_community::is_origin_state(community)
            || self.any(|notation| match notation {
                Notation::Extended(kind, [a, b]) => {
                    let codes = RejectReason::ALL
                        .iter()
                        .map(|reason| u32::from(reason.code()));
                    { codes }
                        .any(|code| extended(*kind, value(*a, code), value(*b, code)) == community)
                }
                _ => false,
            })
    }

    pub(crate) fn is_large(&self, community: LargeCommunity) -> bool {
        let parts = [community.global, community.local1, community.local2];
        self.any(|notation| match notation {
            Notation::Large(fields) => match_fields(fields, parts).is_some(),
            _ => false,
        })
    }

    fn any(&self, matches: impl Fn(&Notation) -> bool) -> bool {
        self.tags.iter().any(|tag| matches(&tag.notation))
    }
}

fn resolved(notation: Notation, local: u32) -> Notation {
    let resolve = |field: Field| match field {
        Field::Local => Field::Number(local),
        other => other,
    };
    match notation {
        Notation::Standard(fields) => Notation::Standard(fields.map(resolve)),
        Notation::Extended(kind, fields) => Notation::Extended(kind, fields.map(resolve)),
        Notation::Large(fields) => Notation::Large(fields.map(resolve)),
    }
}

fn value(field: Field, variable: u32) -> u32 {
    match field {
        Field::Number(number) => number,
        Field::Code | Field::Peer => variable,
        Field::Local | Field::Rtt | Field::Range(..) | Field::Times(..) => 0,
    }
}

fn extended(kind: ExtendedKind, high: u32, low: u32) -> ExtendedCommunity {
    match u16::try_from(high) {
        Ok(asn) => ExtendedCommunity::two_octet_as(kind.subtype(), asn, low),
        Err(_) => ExtendedCommunity::four_octet_as(kind.subtype(), high, low as u16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route_target(high: u32, low: u32) -> ExtendedCommunity {
        extended(ExtendedKind::RouteTarget, high, low)
    }

    fn table(tags: &[(TagState, &str)], send_origin_state: bool) -> ClassTagTable {
        let tag = |(state, notation): &(TagState, &str)| {
            ClassTag::new(*state, notation.parse().unwrap()).unwrap()
        };
        let tags: Vec<ClassTag> = tags.iter().map(tag).collect();
        ClassTagTable::new(&tags, send_origin_state, Asn(64_500))
    }

    #[test]
    fn a_class_gets_the_communities_of_its_states() {
        let table = table(
            &[
                (TagState::OriginValid, "self:1000:1"),
                (TagState::OriginInvalid, "64500:4"),
                (TagState::OriginInvalid, "rt:64500:4"),
                (TagState::RejectCause, "self:1101:code"),
            ],
            true,
        );
        let invalid = Class {
            origin: Some(Rov::Invalid),
            failed: Some(RejectReason::PrefixLength),
            ..Class::PLAIN
        };
        let tags = table.tags_of(invalid, Asn(1));
        assert_eq!(tags.standard, ["64500:4".parse().unwrap()]);
        assert_eq!(tags.large, ["64500:1101:13".parse().unwrap()]);
        let state = ExtendedCommunity([0x43, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(tags.extended, [route_target(64_500, 4), state]);
        assert_eq!(table.tags_of(Class::PLAIN, Asn(1)), Tags::default());
    }

    /// Each reason may have a community of its own, beside the one with its number.
    #[test]
    fn a_reason_gets_its_own_communities() {
        let tags = [
            (TagState::RejectCause, "self:1101:code"),
            (TagState::RejectedFor(13), "self:2:13"),
            (TagState::RejectedFor(13), "ro:64500:13"),
            (TagState::RejectedFor(14), "self:2:14"),
        ];
        let table = table(&tags, false);
        let failed = |reason| Class {
            failed: Some(reason),
            ..Class::PLAIN
        };
        let tags = table.tags_of(failed(RejectReason::PrefixLength), Asn(1));
        let large = ["64500:1101:13", "64500:2:13"].map(|text| text.parse().unwrap());
        assert_eq!(tags.large, large);
        let own = extended(ExtendedKind::RouteOrigin, 64_500, 13);
        assert_eq!(tags.extended, [own]);
        assert!(table.is_extended(own));
        assert!(!table.is_extended(route_target(64_500, 13)));
        let tags = table.tags_of(failed(RejectReason::Bogon), Asn(1));
        assert_eq!(tags.large, ["64500:1101:2".parse().unwrap()]);
    }

    #[test]
    fn received_marks_are_recognised() {
        let tags = [
            (TagState::OriginValid, "64500:1"),
            (TagState::RejectCause, "self:1101:code"),
            (TagState::RejectCause, "rt:self:code"),
        ];
        let table = table(&tags, true);
        assert!(table.is_standard("64500:1".parse().unwrap()));
        assert!(!table.is_standard("64500:2".parse().unwrap()));
        assert!(table.is_large("64500:1101:7".parse().unwrap()));
        assert!(!table.is_large("64500:1102:7".parse().unwrap()));
        assert!(table.is_extended(route_target(64_500, 9)));
        assert!(table.is_extended(origin_state_community::of(Rov::Valid)));
        assert!(!table.is_extended(route_target(64_501, 9)));
    }

    #[test]
    fn notations_that_cannot_mark_are_refused() {
        for (state, notation) in [
            (TagState::OriginValid, "64500:peer"),
            (TagState::OriginValid, "self:1:code"),
            (TagState::RejectCause, "self:1..3:code"),
        ] {
            assert!(ClassTag::new(state, notation.parse().unwrap()).is_err());
        }
    }
}
