//! The routes that a change of the data concerns.

use std::sync::Arc;

use rutter_lpm::FrozenMap;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::data::IrrData;
use crate::entry::Entry;
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::origin_table::OriginTable;
use crate::table_edits::EditedPrefix;
use crate::{IrrMember, IrrRules};

/// The routes whose verdict may differ between two sets of data.
///
/// A route of no change has the same verdict under both. Sources, names and line numbers do not count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changed {
    /// Prefixes with other entries. They concern the routes inside, up to a length.
    ipv4: ChangedPrefixes<Ipv4Prefix>,
    ipv6: ChangedPrefixes<Ipv6Prefix>,
    /// The members with other rules, white lists of AS numbers or origins, in order.
    pub members: Vec<ChangedMember>,
}

/// A member with other rules, white lists of AS numbers or origins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedMember {
    /// The member.
    pub member: IrrMember,
    /// The routes of the member to evaluate again.
    pub routes: ChangedRoutes,
}

/// The routes of one member to evaluate again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangedRoutes {
    /// All routes: the rules changed, the member is new or removed, or its number has come to another AS.
    All,
    /// The routes with these origins, in order.
    Origins(Vec<u32>),
}

/// The longest length of a route that the entries of any member match, by prefix.
type ChangedPrefixes<N> = FrozenMap<N, u8>;

impl Changed {
    /// Compares two sets of data. O(entries), unless the new ones were made from the old ones
    /// ([`IrrBuilder::build_after`](crate::IrrBuilder::build_after)): then the difference is known.
    pub fn between(old: &IrrData, new: &IrrData) -> Self {
        match &new.since {
            Some((former, changed)) if Arc::ptr_eq(former, &old.identity) => changed.clone(),
            _ => Self::compare(old, new),
        }
    }

    /// The difference of two sets of data whose tables differ in these prefixes.
    pub(crate) fn of_edits(
        (old, new): (&IrrData, &IrrData),
        ipv4: &[EditedPrefix<Ipv4Prefix>],
        ipv6: &[EditedPrefix<Ipv6Prefix>],
    ) -> Self {
        fn changed<N: FamilyPrefix>(
            edited: &[EditedPrefix<N>],
            longer: bool,
        ) -> ChangedPrefixes<N> {
            let max_len = |longest: u8| if longer { N::MAX_LEN } else { longest };
            let edited = edited.iter();
            FrozenMap::from_sorted(edited.map(|(prefix, longest)| (*prefix, max_len(*longest))))
        }
        let longer = has_longer(old) || has_longer(new);
        Changed {
            ipv4: changed(ipv4, longer),
            ipv6: changed(ipv6, longer),
            members: changed_members(old, new),
        }
    }

    fn compare(old: &IrrData, new: &IrrData) -> Self {
        let longer = has_longer(old) || has_longer(new);
        Changed {
            ipv4: changed_prefixes(old, &old.ipv4, new, &new.ipv4, longer),
            ipv6: changed_prefixes(old, &old.ipv6, new, &new.ipv6, longer),
            members: changed_members(old, new),
        }
    }

    /// Returns whether no route can have another verdict.
    pub fn is_empty(&self) -> bool {
        self.ipv4.is_empty() && self.ipv6.is_empty() && self.members.is_empty()
    }

    /// The changed prefixes, in order, each with the longest length of the routes inside that it concerns.
    pub fn prefixes(&self) -> impl Iterator<Item = (Prefix, u8)> {
        let ipv4 = self.ipv4.iter().map(|(prefix, len)| (prefix.into(), *len));
        let ipv6 = self.ipv6.iter().map(|(prefix, len)| (prefix.into(), *len));
        ipv4.chain(ipv6)
    }

    /// Returns the number of changed prefixes.
    pub fn prefix_count(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// Returns whether a changed prefix concerns the routes of a destination, whichever member sent them.
    pub fn concerns_prefix(&self, prefix: Prefix) -> bool {
        match prefix {
            Prefix::V4(prefix) => concerns(&self.ipv4, prefix),
            Prefix::V6(prefix) => concerns(&self.ipv6, prefix),
        }
    }

    /// Returns whether a changed member concerns its routes with this origin, whatever their prefix.
    pub fn concerns_origin(&self, member: IrrMember, origin: Option<u32>) -> bool {
        let at = self.members.binary_search_by_key(&member, |row| row.member);
        match at.map(|at| &self.members[at].routes) {
            Ok(ChangedRoutes::All) => true,
            Ok(ChangedRoutes::Origins(origins)) => {
                origin.is_some_and(|origin| origins.binary_search(&origin).is_ok())
            }
            Err(_) => false,
        }
    }

    /// The origins of all changed members, in order: a route with another origin has another verdict only for its prefix.
    /// `None` if all routes of a member may have another one.
    pub fn origins(&self) -> Option<Vec<u32>> {
        let mut all = Vec::new();
        for member in &self.members {
            match &member.routes {
                ChangedRoutes::All => return None,
                ChangedRoutes::Origins(origins) => all.extend_from_slice(origins),
            }
        }
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    /// Returns whether a route may have another verdict.
    pub fn concerns(&self, member: IrrMember, prefix: Prefix, origin: Option<u32>) -> bool {
        self.concerns_origin(member, origin) || self.concerns_prefix(prefix)
    }
}

fn concerns<N: FamilyPrefix>(changed: &ChangedPrefixes<N>, prefix: N) -> bool {
    let mut covering = changed.covering(prefix);
    covering.any(|(at, _)| {
        let max_len = changed.value_at(at);
        max_len.is_some_and(|max_len| prefix.prefix_len() <= *max_len)
    })
}

/// Returns whether any member accepts longer prefixes.
fn has_longer(data: &IrrData) -> bool {
    let mut members = data.members.iter().flatten();
    members.any(|member| member.rules.longer)
}

fn changed_prefixes<N: FamilyPrefix>(
    old: &IrrData,
    old_table: &FamilyTable<N>,
    new: &IrrData,
    new_table: &FamilyTable<N>,
    longer: bool,
) -> ChangedPrefixes<N> {
    let mut changed = Vec::new();
    let mut push = |prefix: N, one: &[Entry], other: &[Entry]| {
        let longest = one.iter().chain(other).map(|entry| entry.max_len).max();
        let max_len = if longer {
            N::MAX_LEN
        } else {
            longest.unwrap_or(0)
        };
        changed.push((prefix, max_len));
    };
    let (mut before, mut after) = (old_table.iter().peekable(), new_table.iter().peekable());
    loop {
        match (before.peek().copied(), after.peek().copied()) {
            (Some((prefix, entries)), other) if other.is_none_or(|(next, _)| prefix < next) => {
                push(prefix, entries, &[]);
                before.next();
            }
            (other, Some((prefix, entries))) if other.is_none_or(|(next, _)| prefix < next) => {
                push(prefix, entries, &[]);
                after.next();
            }
            (Some((prefix, one)), Some((_, other))) => {
                if !same_entries(old, one, new, other) {
                    push(prefix, one, other);
                }
                before.next();
                after.next();
            }
            _ => return FrozenMap::from_sorted(changed),
        }
    }
}

fn same_entries(old: &IrrData, one: &[Entry], new: &IrrData, other: &[Entry]) -> bool {
    let same = |(one, other): (&Entry, &Entry)| {
        one.describes_as(*other) && old.sets.same(one.set(), &new.sets, other.set())
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn changed_members(old: &IrrData, new: &IrrData) -> Vec<ChangedMember> {
    let mut origins = Vec::new();
    changed_origins(old, &old.origins, new, &new.origins, &mut origins);
    changed_origins(
        old,
        &old.white_origins,
        new,
        &new.white_origins,
        &mut origins,
    );
    origins.sort_unstable();
    origins.dedup();
    let mut members = Vec::new();
    let mut rest = origins.as_slice();
    for index in 0..old.members.len().max(new.members.len()) {
        let member = IrrMember(index as u16);
        let len = rest.partition_point(|(of, _)| *of <= member.0);
        let (own, behind) = rest.split_at(len);
        rest = behind;
        let rules = |data: &IrrData| -> (Option<u32>, Option<IrrRules>, bool) {
            let rules = data.rules(member);
            (data.asn(member), rules, data.is_unchecked(member))
        };
        let routes = if rules(old) != rules(new) {
            ChangedRoutes::All
        } else if own.is_empty() {
            continue;
        } else {
            ChangedRoutes::Origins(own.iter().map(|(_, origin)| *origin).collect())
        };
        members.push(ChangedMember { member, routes });
    }
    members
}

/// Adds the pairs of member and origin that are in one table only.
fn changed_origins(
    old: &IrrData,
    old_table: &OriginTable,
    new: &IrrData,
    new_table: &OriginTable,
    changed: &mut Vec<(u16, u32)>,
) {
    let (mut before, mut after) = (old_table.rows().iter(), new_table.rows().iter());
    let (mut one, mut other) = (before.next(), after.next());
    loop {
        let origin = match (one, other) {
            (Some(a), Some(b)) => a.0.min(b.0),
            (Some(row), None) | (None, Some(row)) => row.0,
            (None, None) => return,
        };
        let was = one.filter(|row| row.0 == origin);
        let is = other.filter(|row| row.0 == origin);
        if !matches!((was, is), (Some(a), Some(b)) if old.sets.same(a.1, &new.sets, b.1)) {
            let was = was.map_or_else(Vec::new, |row| old.sets.members(row.1));
            let is = is.map_or_else(Vec::new, |row| new.sets.members(row.1));
            let only_was = was.iter().filter(|member| !is.contains(member));
            let only_is = is.iter().filter(|member| !was.contains(member));
            changed.extend(only_was.chain(only_is).map(|member| (*member, origin)));
        }
        if was.is_some() {
            one = before.next();
        }
        if is.is_some() {
            other = after.next();
        }
    }
}
