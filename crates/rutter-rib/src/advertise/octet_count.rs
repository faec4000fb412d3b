//! Counts the long attributes that clients must be sent: a neighbor chooses their length, and the changes that send them.

use crate::AttrSet;

/// The octets of attribute sets beyond those of usual ones. Adjacent uses of one set count once: they mostly share messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OctetCount {
    octets: usize,
    /// The address of the last set, 0 before the first.
    last_set: usize,
}

/// The octets after which a slice of work ends, but for those of its last destination. Where communities are removed, they
/// take a millisecond or two.
pub(crate) const SLICE_OCTETS: usize = 256 * 1024;
/// The octets that cost as much as one route: they are rewritten, copied and written.
const OCTETS_PER_STEP: usize = 64;
/// The octets of an attribute set that cost no more than the route itself. A neighbor can withdraw a route with five octets,
/// and another route, with up to 64 KB of attributes, takes its place.
const USUAL_OCTETS: usize = 128;

impl OctetCount {
    /// Counts the set of a route.
    #[inline(always)]
    pub fn add(&mut self, set: &AttrSet) {
        let address = set.address();
        if std::mem::replace(&mut self.last_set, address) != address {
            self.octets += set.octets().saturating_sub(USUAL_OCTETS);
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
