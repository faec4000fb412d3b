//! Registrations as the builder collects them.

use crate::entry::{IrrKind, IrrSourceId};
use crate::family_table::FamilyPrefix;

/// One registration before equal ones of several members are joined. The order of the fields is the order of sorting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RawEntry<N: FamilyPrefix> {
    pub prefix: N,
    pub kind: IrrKind,
    pub min_len: u8,
    pub max_len: u8,
    pub origin: u32,
    /// Compared before the member, because entries of several sources stay apart.
    pub source: IrrSourceId,
    /// `u16::MAX` if the origin decides which members the entry concerns.
    pub member: u16,
}

impl<N: FamilyPrefix> RawEntry<N> {
    /// Returns whether two registrations differ at most in their member.
    #[inline]
    pub fn joins(&self, other: &Self) -> bool {
        let stated = |raw: &Self| RawEntry { member: 0, ..*raw };
        stated(self) == stated(other)
    }
}
