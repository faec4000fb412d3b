//! The class of an accepted route: what the import policy and outside data made of it.

use rutter_rpki::Rov;

use crate::RejectReason;

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
    /// The check that the route failed, where the policy marks such routes instead of rejecting them.
    pub failed: Option<RejectReason>,
    /// The route carries BLACKHOLE, and the policy accepts it for that (RFC 7999).
    pub blackhole: bool,
    /// ONLY_TO_CUSTOMER with the neighbor's AS belongs to the route (RFC 9234 §5).
    pub add_otc: bool,
}

const BLACKHOLE: u32 = 1;
const ADD_OTC: u32 = 2;
const ORIGIN_SHIFT: u32 = 2;
const FAILED_SHIFT: u32 = 8;

impl Class {
    /// The class of almost all routes: clients receive them as they were received.
    pub const PLAIN: Class = Class {
        origin: None,
        failed: None,
        blackhole: false,
        add_otc: false,
    };

    /// Returns whether clients receive the route as it was received.
    pub fn is_plain(self) -> bool {
        self == Class::PLAIN
    }

    /// The class as a number; 0 is [`Class::PLAIN`].
    pub fn to_bits(self) -> u32 {
        let origin = match self.origin {
            None => 0,
            Some(Rov::NotFound) => 1,
            Some(Rov::Invalid) => 2,
            Some(Rov::Valid) => 3,
        };
        let failed = self.failed.map_or(0, |reason| reason as u32 + 1);
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        flag(self.blackhole, BLACKHOLE)
            | flag(self.add_otc, ADD_OTC)
            | origin << ORIGIN_SHIFT
            | failed << FAILED_SHIFT
    }

    /// The class of a number from [`Class::to_bits`].
    pub fn from_bits(bits: u32) -> Self {
        let failed = (bits >> FAILED_SHIFT) as u8;
        Class {
            origin: match bits >> ORIGIN_SHIFT & 3 {
                0 => None,
                1 => Some(Rov::NotFound),
                2 => Some(Rov::Invalid),
                _ => Some(Rov::Valid),
            },
            failed: failed.checked_sub(1).and_then(RejectReason::from_u8),
            blackhole: bits & BLACKHOLE != 0,
            add_otc: bits & ADD_OTC != 0,
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
        let reasons = RejectReason::ALL.iter().copied().map(Some);
        for failed in reasons.chain([None]) {
            for origin in origins {
                for flags in 0..4 {
                    let class = Class {
                        origin,
                        failed,
                        blackhole: flags & 1 != 0,
                        add_otc: flags & 2 != 0,
                    };
                    assert_eq!(Class::from_bits(class.to_bits()), class);
                    assert!(seen.insert(class.to_bits()));
                }
            }
        }
        assert_eq!(Class::PLAIN.to_bits(), 0);
        assert!(Class::default().is_plain());
    }
}
