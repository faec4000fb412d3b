//! The class of an accepted route: what the import policy and outside data made of it.

use rutter_irr::{PrefixState, RegisteredBy};
use rutter_rpki::{PathState, Rov};

use crate::{ChangesId, CustomMarks, RejectReason};

/// The class of an accepted route. Clients receive routes of different classes differently: with other communities,
/// another next hop, or not at all. The received attributes themselves never change, so another evaluation can undo a
/// class.
///
/// A class has only the states for which the policy asks. So a change of outside data that changes nothing that clients
/// receive leaves the class as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Class {
    /// The validation state of the origin (RFC 6811), where the policy marks routes with it.
    pub origin: Option<Rov>,
    /// The state of the path (ASPA), where the policy marks routes with it.
    pub path: Option<PathState>,
    /// Whether the origin is in the neighbor's AS-SETs (IRR), where the policy marks routes with it.
    pub irr_origin: Option<bool>,
    /// The registration of the prefix (IRR), where the policy marks routes with it.
    pub irr_prefix: Option<IrrPrefix>,
    /// The custom informational communities of the route.
    pub custom: CustomMarks,
    /// The check that the route failed, where the policy marks such routes instead of rejecting them.
    pub failed: Option<RejectReason>,
    /// The route carries BLACKHOLE, and the policy accepts it for that (RFC 7999).
    pub blackhole: bool,
    /// ONLY_TO_CUSTOMER with the neighbor's AS belongs to the route (RFC 9234 §5).
    pub add_otc: bool,
    /// The changes that the operator's filters make.
    pub changes: ChangesId,
}

/// The registration of a route's prefix for a neighbor, as marks distinguish it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IrrPrefix {
    /// A route object or a list registers it.
    Registered = 1,
    /// Only a ROA registers it.
    Roa,
    /// Only ARIN's whois dump registers it.
    Arin,
    /// Only registro.br's dump registers it.
    RegistroBr,
    /// Only a white list allows it.
    WhiteListed,
    /// It is not registered.
    NotRegistered,
}

impl IrrPrefix {
    const ALL: [IrrPrefix; 6] = [
        IrrPrefix::Registered,
        IrrPrefix::Roa,
        IrrPrefix::Arin,
        IrrPrefix::RegistroBr,
        IrrPrefix::WhiteListed,
        IrrPrefix::NotRegistered,
    ];

    /// The mark for a state, `None` without data. `bound`: the prefix must be registered with the route's origin.
    pub(crate) fn of(state: PrefixState, bound: bool) -> Option<Self> {
        Some(match state {
            PrefixState::Unchecked => return None,
            PrefixState::Registered(RegisteredBy::RouteObject) => IrrPrefix::Registered,
            PrefixState::Registered(RegisteredBy::Roa) => IrrPrefix::Roa,
            PrefixState::Registered(RegisteredBy::Arin) => IrrPrefix::Arin,
            PrefixState::Registered(RegisteredBy::RegistroBr) => IrrPrefix::RegistroBr,
            PrefixState::WhiteListed(_) => IrrPrefix::WhiteListed,
            PrefixState::AnyOrigin | PrefixState::OtherOrigin if !bound => IrrPrefix::Registered,
            PrefixState::AnyOrigin | PrefixState::OtherOrigin | PrefixState::NotRegistered => {
                IrrPrefix::NotRegistered
            }
        })
    }
}

const BLACKHOLE: u32 = 1;
const ADD_OTC: u32 = 2;
const ORIGIN_SHIFT: u32 = 2;
const IRR_ORIGIN_SHIFT: u32 = 4;
const IRR_PREFIX_SHIFT: u32 = 6;
const PATH_SHIFT: u32 = 9;
const FAILED_SHIFT: u32 = 16;
const CUSTOM_SHIFT: u32 = 32;
/// The lower eight bits of the number of changes, and the upper seven.
const CHANGES_SHIFT: u32 = 24;
const MORE_CHANGES_SHIFT: u32 = 56;

impl Class {
    /// The class of almost all routes: clients receive them as they were received.
    pub const PLAIN: Class = Class {
        origin: None,
        path: None,
        irr_origin: None,
        irr_prefix: None,
        custom: CustomMarks::NONE,
        failed: None,
        blackhole: false,
        add_otc: false,
        changes: ChangesId::NONE,
    };

    /// Returns whether clients receive the route as it was received.
    pub fn is_plain(self) -> bool {
        self == Class::PLAIN
    }

    /// The class as a number below 2⁶³; 0 is [`Class::PLAIN`].
    pub fn to_bits(self) -> u64 {
        let origin = match self.origin {
            None => 0,
            Some(Rov::NotFound) => 1,
            Some(Rov::Invalid) => 2,
            Some(Rov::Valid) => 3,
        };
        let path = match self.path {
            None => 0,
            Some(PathState::Unknown) => 1,
            Some(PathState::Invalid) => 2,
            Some(PathState::Valid) => 3,
        };
        let irr_origin = self.irr_origin.map_or(0, |known| 1 + u32::from(known));
        let irr_prefix = self.irr_prefix.map_or(0, |state| state as u32);
        let failed = self.failed.map_or(0, |reason| reason as u32 + 1);
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        let checked = flag(self.blackhole, BLACKHOLE)
            | flag(self.add_otc, ADD_OTC)
            | origin << ORIGIN_SHIFT
            | irr_origin << IRR_ORIGIN_SHIFT
            | irr_prefix << IRR_PREFIX_SHIFT
            | path << PATH_SHIFT
            | failed << FAILED_SHIFT;
        let changes = u64::from(self.changes.to_bits());
        u64::from(checked)
            | u64::from(self.custom.to_bits()) << CUSTOM_SHIFT
            | (changes & 0xff) << CHANGES_SHIFT
            | changes >> 8 << MORE_CHANGES_SHIFT
    }

    /// The class of a number from [`Class::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        let custom = CustomMarks::from_bits((bits >> CUSTOM_SHIFT) as u32);
        let changes = bits >> MORE_CHANGES_SHIFT & 0x7f;
        let changes = (changes << 8) as u16 | (bits >> CHANGES_SHIFT & 0xff) as u16;
        let bits = bits as u32;
        let failed = (bits >> FAILED_SHIFT) as u8;
        let irr_prefix = (bits >> IRR_PREFIX_SHIFT & 7) as usize;
        Class {
            origin: match bits >> ORIGIN_SHIFT & 3 {
                0 => None,
                1 => Some(Rov::NotFound),
                2 => Some(Rov::Invalid),
                _ => Some(Rov::Valid),
            },
            path: match bits >> PATH_SHIFT & 3 {
                0 => None,
                1 => Some(PathState::Unknown),
                2 => Some(PathState::Invalid),
                _ => Some(PathState::Valid),
            },
            irr_origin: match bits >> IRR_ORIGIN_SHIFT & 3 {
                0 => None,
                known => Some(known > 1),
            },
            irr_prefix: irr_prefix
                .checked_sub(1)
                .and_then(|index| IrrPrefix::ALL.get(index).copied()),
            custom,
            failed: failed.checked_sub(1).and_then(RejectReason::from_u8),
            blackhole: bits & BLACKHOLE != 0,
            add_otc: bits & ADD_OTC != 0,
            changes: ChangesId::from_bits(changes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_number_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        let origins = [
            None,
            Some(Rov::NotFound),
            Some(Rov::Invalid),
            Some(Rov::Valid),
        ];
        let paths = [
            None,
            Some(PathState::Unknown),
            Some(PathState::Invalid),
            Some(PathState::Valid),
        ];
        let reasons = RejectReason::ALL.iter().copied().map(Some);
        for failed in reasons.chain([None]) {
            for (origin, path) in origins
                .into_iter()
                .flat_map(|o| paths.map(|path| (o, path)))
            {
                for flags in 0..12 {
                    for irr_prefix in IrrPrefix::ALL.map(Some).into_iter().chain([None]) {
                        let class = Class {
                            origin,
                            path,
                            failed,
                            irr_origin: [None, Some(false), Some(true)][flags >> 2],
                            irr_prefix,
                            custom: CustomMarks::of(flags as u8 * 3),
                            blackhole: flags & 1 != 0,
                            add_otc: flags & 2 != 0,
                            changes: ChangesId::from_bits([0, 1, 255, 256, 32_767][flags % 5]),
                        };
                        assert_eq!(Class::from_bits(class.to_bits()), class);
                        assert!(seen.insert(class.to_bits()));
                    }
                }
            }
        }
        assert_eq!(Class::PLAIN.to_bits(), 0);
        assert!(Class::default().is_plain());
    }
}
