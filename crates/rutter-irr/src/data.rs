//! The data that routes are checked against.

use std::sync::Arc;

use rutter_lpm::Place;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::entry::{IrrKind, IrrSourceId};
use crate::family_table::FamilyTable;
use crate::member_set::SetPool;
use crate::origin_table::OriginTable;
use crate::route_objects::RouteObjects;
use crate::{Changed, IrrList, IrrMember, IrrRules, IrrVerdict, MemberChecks};

/// Route objects, lists and origins of all members. Immutable: share it in an `Arc`.
#[derive(Debug)]
pub struct IrrData {
    pub(crate) members: Vec<Option<Member>>,
    /// The names of AS-SETs and lists.
    pub(crate) names: Vec<Arc<str>>,
    /// The names of the sources of route objects.
    pub(crate) sources: Vec<Arc<str>>,
    pub(crate) origins: OriginTable,
    pub(crate) white_origins: OriginTable,
    pub(crate) ipv4: FamilyTable<Ipv4Prefix>,
    pub(crate) ipv6: FamilyTable<Ipv6Prefix>,
    pub(crate) sets: SetPool,
    /// The route objects and rows of dumps in the tables.
    pub(crate) objects: RouteObjects,
    /// No other data have the same object.
    pub(crate) identity: Arc<()>,
    /// The identity of the data from which these were made, and the difference.
    pub(crate) since: Option<(Arc<()>, Changed)>,
}

/// A member: its rules, and the names that evidence shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Member {
    /// Its AS. The number of a member that left may belong to another AS before the data say so.
    pub asn: u32,
    pub rules: IrrRules,
    /// Nothing about it is known yet, and its routes are not checked.
    pub is_unchecked: bool,
    pub as_sets: Vec<IrrSourceId>,
    /// AS-SETs whose AS numbers are not known.
    pub unread_sets: Vec<IrrSourceId>,
    pub lists: Vec<MemberList>,
}

/// A list or white list of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemberList {
    pub kind: IrrKind,
    /// The name of the list.
    pub source: IrrSourceId,
    pub rows: Arc<IrrList>,
}

impl IrrData {
    /// Checks a route of a member: [`check_with`](Self::check_with) without a valid ROA.
    #[inline]
    pub fn check(&self, member: IrrMember, prefix: Prefix, origin: Option<u32>) -> IrrVerdict {
        self.check_with(member, prefix, origin, false)
    }

    /// As [`MemberChecks::check`] for one route. A member without data has no faults.
    pub fn check_with(
        &self,
        member: IrrMember,
        prefix: Prefix,
        origin: Option<u32>,
        rov_valid: bool,
    ) -> IrrVerdict {
        let Some(rules) = self.rules(member) else {
            return IrrVerdict::UNCHECKED;
        };
        let checks = MemberChecks::new(self, member, rules);
        let origin = (origin, checks.origin_state(origin));
        checks.check(self.locate(prefix), prefix, origin, rov_valid)
    }

    /// The checks of the routes of a member with this AS; `None` if there are no data for it. The data of another AS that
    /// had the number before are not its own.
    pub fn of_member(&self, member: IrrMember, asn: u32) -> Option<MemberChecks<'_>> {
        let known = self.members.get(member.index())?.as_ref()?;
        let is_own = known.asn == asn;
        is_own.then(|| MemberChecks::new(self, member, known.rules))
    }

    /// The AS of a member, `None` if there are no data for it.
    pub(crate) fn asn(&self, member: IrrMember) -> Option<u32> {
        let known = self.members.get(member.index())?.as_ref()?;
        Some(known.asn)
    }

    /// Finds the longest registered prefix that covers `prefix`. All routes of the prefix share this place.
    #[inline]
    pub fn locate(&self, prefix: Prefix) -> Place {
        match prefix {
            Prefix::V4(prefix) => self.ipv4.locate(prefix),
            Prefix::V6(prefix) => self.ipv6.locate(prefix),
        }
    }

    /// The rules of a member, `None` if there are no data for it.
    #[inline]
    pub fn rules(&self, member: IrrMember) -> Option<IrrRules> {
        let known = self.members.get(member.index())?.as_ref()?;
        Some(known.rules)
    }

    /// Returns whether nothing about a member is known yet, so that its routes are not checked.
    #[inline]
    pub fn is_unchecked(&self, member: IrrMember) -> bool {
        let known = self.members.get(member.index()).and_then(Option::as_ref);
        known.is_some_and(|known| known.is_unchecked)
    }

    /// Returns the number of different prefixes.
    pub fn prefixes(&self) -> usize {
        self.ipv4.prefixes() + self.ipv6.prefixes()
    }

    /// Returns the number of entries: prefixes with a kind, origin and range of lengths.
    pub fn entries(&self) -> usize {
        self.ipv4.entries() + self.ipv6.entries()
    }

    /// Returns the bytes that the data take on the heap, without the names, the rows of lists and those of route objects.
    pub fn memory(&self) -> usize {
        let tables = self.ipv4.memory() + self.ipv6.memory();
        let origins = self.origins.memory() + self.white_origins.memory();
        tables + origins + self.sets.memory()
    }
}
