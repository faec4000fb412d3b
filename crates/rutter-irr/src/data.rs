//! The data that routes are checked against.

use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::entry::{ANY_ORIGIN, Entry, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::list_line::ListLine;
use crate::member_set::SetPool;
use crate::origin_table::OriginTable;
use crate::{IrrMember, IrrRules, IrrVerdict, OriginState, PrefixState, RegisteredBy, WhiteList};

/// Route objects, lists and origins of all members. Immutable: share it in an `Arc`.
#[derive(Debug)]
pub struct IrrData {
    pub(crate) members: Vec<Option<Member>>,
    pub(crate) sources: Vec<Arc<str>>,
    pub(crate) origins: OriginTable,
    pub(crate) white_origins: OriginTable,
    pub(crate) ipv4: FamilyTable<Ipv4Prefix>,
    pub(crate) ipv6: FamilyTable<Ipv6Prefix>,
    pub(crate) sets: SetPool,
    pub(crate) lines_ipv4: Vec<ListLine<Ipv4Prefix>>,
    pub(crate) lines_ipv6: Vec<ListLine<Ipv6Prefix>>,
}

/// A member: its rules, and the names that evidence shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Member {
    pub rules: IrrRules,
    /// Nothing about it is known yet, and its routes are not checked.
    pub is_unchecked: bool,
    pub as_sets: Vec<IrrSourceId>,
    /// AS-SETs whose AS numbers are not known.
    pub unread_sets: Vec<IrrSourceId>,
    pub lists: Vec<IrrSourceId>,
}

/// The statements of the entries that match a route, as bits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Facts(u8);

impl Facts {
    const EXACT: u8 = 1;
    const ANY: u8 = 2;
    const OTHER: u8 = 4;
    const ARIN: u8 = 8;
    const REGISTRO_BR: u8 = 16;
    const WHITE_PREFIX: u8 = 32;
    const WHITE_ROUTE: u8 = 64;

    fn has(self, fact: u8) -> bool {
        self.0 & fact != 0
    }

    /// Returns whether the facts speak for the route.
    pub fn is_for(self) -> bool {
        self.has(!Facts::OTHER)
    }
}

impl IrrData {
    /// Checks a route of a member: [`check_with`](Self::check_with) without a valid ROA.
    #[inline]
    pub fn check(&self, member: IrrMember, prefix: Prefix, origin: Option<u32>) -> IrrVerdict {
        self.check_with(member, prefix, origin, false)
    }

    /// Checks a route of a member.
    ///
    /// `origin` is `None` for a route whose AS path is empty or ends in an AS_SET. `rov_valid` states that origin
    /// validation (RFC 6811) found the route Valid. If the member's rules have `roas`, and the origin is in the member's
    /// AS-SETs or white list of origins, the ROA then counts as a route object. A ROA never puts an origin into a set.
    ///
    /// Where several facts apply, the prefix's state is the first of: registered by a route object with this origin;
    /// (unless the rules are bound) in a list without origins, with another origin; in the white list of routes, of
    /// prefixes; a ROA; ARIN's dump; registro.br's dump; (if the rules are bound) in a list without origins, with
    /// another origin; not registered.
    #[inline]
    pub fn check_with(
        &self,
        member: IrrMember,
        prefix: Prefix,
        origin: Option<u32>,
        rov_valid: bool,
    ) -> IrrVerdict {
        let Some(rules) = self.rules(member).filter(|_| !self.is_unchecked(member)) else {
            return IrrVerdict {
                origin: OriginState::Unchecked,
                prefix: PrefixState::Unchecked,
                rules: IrrRules::default(),
            };
        };
        let origin = origin.unwrap_or(ANY_ORIGIN);
        let state = self.origin_state(member, origin);
        let facts = match prefix {
            Prefix::V4(prefix) => self.facts(&self.ipv4, member, (rules, state), prefix, origin),
            Prefix::V6(prefix) => self.facts(&self.ipv6, member, (rules, state), prefix, origin),
        };
        let roa = rules.roas && rov_valid && state != OriginState::NotInSet;
        IrrVerdict {
            origin: match state {
                OriginState::NotInSet if facts.has(Facts::WHITE_ROUTE) => {
                    OriginState::WhiteListed(WhiteList::Route)
                }
                state => state,
            },
            prefix: prefix_state(facts, rules.bound, roa),
            rules,
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

    /// Returns the bytes that the data take on the heap, without the names.
    pub fn memory(&self) -> usize {
        let tables = self.ipv4.memory() + self.ipv6.memory();
        let origins = self.origins.memory() + self.white_origins.memory();
        let lines = self.lines_ipv4.capacity() * size_of::<ListLine<Ipv4Prefix>>()
            + self.lines_ipv6.capacity() * size_of::<ListLine<Ipv6Prefix>>();
        tables + origins + self.sets.memory() + lines
    }

    #[inline]
    fn origin_state(&self, member: IrrMember, origin: u32) -> OriginState {
        let has = |table: &OriginTable| {
            let members = table.members(origin);
            members.is_some_and(|set| self.sets.contains(set, member))
        };
        if origin == ANY_ORIGIN {
            OriginState::NotInSet
        } else if has(&self.origins) {
            OriginState::InSet
        } else if has(&self.white_origins) {
            OriginState::WhiteListed(WhiteList::Asn)
        } else {
            OriginState::NotInSet
        }
    }

    /// The facts that decide. Nothing is better than a registration of exactly this prefix and origin, and only an origin
    /// that is not in the member's sets still needs a white list: the search ends there.
    #[inline]
    fn facts<N: FamilyPrefix>(
        &self,
        table: &FamilyTable<N>,
        member: IrrMember,
        (rules, state): (IrrRules, OriginState),
        prefix: N,
        origin: u32,
    ) -> Facts {
        let longest = if rules.longer { N::MAX_LEN } else { 0 };
        let len = prefix.prefix_len();
        let mut facts = Facts::default();
        for (_, entries) in table.covering(prefix) {
            for entry in entries {
                if entry.allows_len(len, longest) && self.sets.contains(entry.set(), member) {
                    facts.0 |= fact(*entry, origin).0;
                }
            }
            if facts.has(Facts::EXACT) && state != OriginState::NotInSet {
                break;
            }
        }
        facts
    }
}

/// The statement about a route with this origin, of an entry that matches its prefix and member.
#[inline]
pub(crate) fn fact(entry: Entry, origin: u32) -> Facts {
    let is_origin = entry.origin == origin && origin != ANY_ORIGIN;
    let any = entry.origin == ANY_ORIGIN;
    Facts(match entry.kind() {
        IrrKind::RouteObject | IrrKind::List if is_origin => Facts::EXACT,
        IrrKind::RouteObject | IrrKind::List if any => Facts::ANY,
        IrrKind::RouteObject | IrrKind::List => Facts::OTHER,
        IrrKind::Arin if is_origin => Facts::ARIN,
        IrrKind::RegistroBr if is_origin => Facts::REGISTRO_BR,
        IrrKind::WhitePrefix => Facts::WHITE_PREFIX,
        IrrKind::WhiteRoute if is_origin || any => Facts::WHITE_ROUTE,
        IrrKind::Arin | IrrKind::RegistroBr | IrrKind::WhiteRoute => 0,
    })
}

#[inline]
fn prefix_state(facts: Facts, bound: bool, roa: bool) -> PrefixState {
    let unbound = || {
        if facts.has(Facts::ANY) {
            PrefixState::AnyOrigin
        } else if facts.has(Facts::OTHER) {
            PrefixState::OtherOrigin
        } else {
            PrefixState::NotRegistered
        }
    };
    if facts.has(Facts::EXACT) {
        PrefixState::Registered(RegisteredBy::RouteObject)
    } else if !bound && facts.has(Facts::ANY | Facts::OTHER) {
        unbound()
    } else if facts.has(Facts::WHITE_ROUTE) {
        PrefixState::WhiteListed(WhiteList::Route)
    } else if facts.has(Facts::WHITE_PREFIX) {
        PrefixState::WhiteListed(WhiteList::Prefix)
    } else if roa {
        PrefixState::Registered(RegisteredBy::Roa)
    } else if facts.has(Facts::ARIN) {
        PrefixState::Registered(RegisteredBy::Arin)
    } else if facts.has(Facts::REGISTRO_BR) {
        PrefixState::Registered(RegisteredBy::RegistroBr)
    } else {
        unbound()
    }
}
