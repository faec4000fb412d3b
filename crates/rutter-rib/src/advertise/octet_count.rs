//! Counts the long attributes that clients must be sent: a neighbor chooses their length, and the changes that send them.

use crate::AttrSet;

/// The octets of attribute sets beyond those of usual ones. Adjacent uses of one set share messages, so they count less, but not
/// nothing: there is little room beside long attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OctetCount {
    octets: usize,
    /// The address of the last set, 0 before the first.
    last_set: usize,
    /// The octets of the next use of this set.
    again: usize,
}

/// The octets after which a slice of work ends, but for those of its last destination. Where communities are removed, they
/// take a millisecond or two.
pub(crate) const SLICE_OCTETS: usize = 256 * 1024;
/// The octets that cost as much as one route: they are rewritten, copied and written.
const OCTETS_PER_STEP: usize = 64;
/// The octets of an attribute set that cost no more than the route itself. A neighbor can withdraw a route with five octets,
/// and another route, with up to 64 KB of attributes, takes its place.
const USUAL_OCTETS: usize = 128;
/// The octets of a usual message for attributes and prefixes (RFC 4271 §4.3).
const MESSAGE_OCTETS: usize = 4_096 - 23;
/// The octets of a prefix at most in most cases.
const PREFIX_OCTETS: usize = 8;

impl OctetCount {
    /// Counts the set of a route.
    #[inline(always)]
    pub fn add(&mut self, set: &AttrSet) {
        let address = set.address();
        if std::mem::replace(&mut self.last_set, address) != address {
            let beyond = set.octets().saturating_sub(USUAL_OCTETS);
            self.again = if beyond == 0 { 0 } else { shared(beyond) };
            self.octets += beyond;
        } else {
            self.octets += self.again;
        }
    }

    /// The steps that so many octets take.
    pub fn steps(octets: usize) -> usize {
        octets / OCTETS_PER_STEP
    }

    /// The sum.
    #[inline(always)]
    pub fn octets(&self) -> usize {
        self.octets
    }
}

/// The share of a prefix in the attributes of a message.
#[cold]
fn shared(beyond: usize) -> usize {
    let room = MESSAGE_OCTETS.saturating_sub(beyond + USUAL_OCTETS);
    beyond / (room / PREFIX_OCTETS).max(1)
}
