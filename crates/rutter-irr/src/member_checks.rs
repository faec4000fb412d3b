//! The checks of one member's routes.

use rutter_lpm::Place;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::data::IrrData;
use crate::entry::{ANY_ORIGIN, Entry, IrrKind};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::origin_table::OriginTable;
use crate::{IrrMember, IrrRules, IrrVerdict, OriginState, PrefixState, RegisteredBy, WhiteList};

/// The checks of one member's routes, prepared for many of them. A check does not allocate.
///
/// The state of an origin does not depend on the prefix, and the place of a prefix ([`IrrData::locate`]) does not depend on
/// the route: a caller finds both once for all routes that share them.
#[derive(Clone, Copy, Debug)]
pub struct MemberChecks<'a> {
    data: &'a IrrData,
    member: IrrMember,
    rules: IrrRules,
    is_unchecked: bool,
}

/// The number of look-ups that advance together in [`MemberChecks::origin_states`].
const LANES: usize = 32;

impl<'a> MemberChecks<'a> {
    pub(crate) fn new(data: &'a IrrData, member: IrrMember, rules: IrrRules) -> Self {
        MemberChecks {
            data,
            member,
            rules,
            is_unchecked: data.is_unchecked(member),
        }
    }

    /// The rules of the member.
    pub fn rules(&self) -> IrrRules {
        self.rules
    }

    /// [`IrrData::locate`].
    #[inline]
    pub fn locate(&self, prefix: Prefix) -> Place {
        self.data.locate(prefix)
    }

    /// [`Self::locate`] for many prefixes side by side, so that their cache misses overlap.
    pub fn locate_all_ipv4(&self, prefixes: &[Ipv4Prefix], places: &mut [Place]) {
        let data = self.data;
        data.ipv4.locate_all(&data.sets, prefixes, places);
    }

    /// [`Self::locate`] for many prefixes side by side, so that their cache misses overlap.
    pub fn locate_all_ipv6(&self, prefixes: &[Ipv6Prefix], places: &mut [Place]) {
        let data = self.data;
        data.ipv6.locate_all(&data.sets, prefixes, places);
    }

    /// The state of an origin: whether it is in the member's AS-SETs or white list of AS numbers.
    pub fn origin_state(&self, origin: Option<u32>) -> OriginState {
        let mut states = [OriginState::Unchecked];
        self.origin_states(&[origin.unwrap_or(ANY_ORIGIN)], &mut states);
        states[0]
    }

    /// [`Self::origin_state`] of many origins side by side, so that their cache misses overlap. 0 stands for none.
    pub fn origin_states(&self, origins: &[u32], states: &mut [OriginState]) {
        if self.is_unchecked {
            return states.fill(OriginState::Unchecked);
        }
        for (origins, states) in origins.chunks(LANES).zip(states.chunks_mut(LANES)) {
            let mut sets = [None; LANES];
            let (table, pool) = (&self.data.origins, &self.data.sets);
            table.members_of_all(pool, origins, &mut sets);
            for ((origin, set), state) in origins.iter().zip(sets).zip(states) {
                let is_in_set = set.is_some_and(|set| pool.contains(set, self.member));
                *state = match is_in_set && *origin != ANY_ORIGIN {
                    true => OriginState::InSet,
                    false => self.state_outside(*origin),
                };
            }
        }
    }

    /// The state of an origin that is not in the AS-SETs.
    fn state_outside(&self, origin: u32) -> OriginState {
        let white: &OriginTable = &self.data.white_origins;
        let is_in = |set| self.data.sets.contains(set, self.member);
        match origin != ANY_ORIGIN && white.members(origin).is_some_and(is_in) {
            true => OriginState::WhiteListed(WhiteList::Asn),
            false => OriginState::NotInSet,
        }
    }

    /// Checks a route. `place` is that of its prefix, and `origin` comes with its [`Self::origin_state`].
    ///
    /// The origin is `None` for a route whose AS path is empty or ends in an AS_SET. `rov_valid` states that origin
    /// validation (RFC 6811) found the route Valid. If the member's rules have `roas`, and the origin is in the member's
    /// AS-SETs or white list of origins, the ROA then counts as a route object. A ROA never puts an origin into a set.
    ///
    /// Where several facts apply, the prefix's state is the first of: registered by a route object with this origin;
    /// (unless the rules are bound) in a list without origins, with another origin; in the white list of routes, of
    /// prefixes; a ROA; ARIN's dump; registro.br's dump; (if the rules are bound) in a list without origins, with
    /// another origin; not registered.
    #[inline]
    pub fn check(
        &self,
        place: Place,
        prefix: Prefix,
        (origin, state): (Option<u32>, OriginState),
        rov_valid: bool,
    ) -> IrrVerdict {
        if self.is_unchecked {
            return IrrVerdict::UNCHECKED;
        }
        let origin = origin.unwrap_or(ANY_ORIGIN);
        let len = prefix.len();
        let facts = match prefix {
            Prefix::V4(_) => self.facts(&self.data.ipv4, place, len, (origin, state)),
            Prefix::V6(_) => self.facts(&self.data.ipv6, place, len, (origin, state)),
        };
        let roa = self.rules.roas && rov_valid && state != OriginState::NotInSet;
        IrrVerdict {
            origin: match state {
                OriginState::NotInSet if facts.has(Facts::WHITE_ROUTE) => {
                    OriginState::WhiteListed(WhiteList::Route)
                }
                state => state,
            },
            prefix: prefix_state(facts, self.rules.bound, roa),
            rules: self.rules,
        }
    }

    /// Returns whether the longest registered prefix has a route object or a row of a list that allows a route with this
    /// origin, which is in the member's sets: such a route breaks no rule. The arguments are those of [`Self::check`].
    /// This is the shortest way to the judgement on most routes. `false` does not mean that the route breaks a rule.
    #[inline]
    pub fn is_registered(
        &self,
        place: Place,
        prefix: Prefix,
        (origin, state): (Option<u32>, OriginState),
    ) -> bool {
        let origin = origin.unwrap_or(ANY_ORIGIN);
        let is_known = state != OriginState::NotInSet && state != OriginState::Unchecked;
        if origin == ANY_ORIGIN || !is_known {
            return false;
        }
        let (entries, longest) = match prefix {
            Prefix::V4(_) => (self.data.ipv4.entries_at(place), Ipv4Prefix::MAX_LEN),
            Prefix::V6(_) => (self.data.ipv6.entries_at(place), Ipv6Prefix::MAX_LEN),
        };
        let longest = if self.rules.longer { longest } else { 0 };
        for entry in entries {
            // Most entries of a prefix have another origin.
            if entry.origin != origin {
                continue;
            }
            if entry.registers(origin)
                && entry.allows_len(prefix.len(), longest)
                && self.data.sets.contains(entry.set(), self.member)
            {
                return true;
            }
        }
        false
    }

    /// The facts that decide. Nothing is better than a registration of exactly this prefix and origin, and only an origin
    /// that is not in the member's sets still needs a white list: the search ends there.
    #[inline]
    fn facts<N: FamilyPrefix>(
        &self,
        table: &FamilyTable<N>,
        place: Place,
        len: u8,
        (origin, state): (u32, OriginState),
    ) -> Facts {
        let longest = if self.rules.longer { N::MAX_LEN } else { 0 };
        let sets = &self.data.sets;
        let mut facts = Facts::default();
        for (_, entries) in table.covering_from(place) {
            for entry in entries {
                if entry.allows_len(len, longest) && sets.contains(entry.set(), self.member) {
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
