//! Makes [`IrrData`] from route objects, lists and the origins of members.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::data::{IrrData, Member};
use crate::entry::{ANY_ORIGIN, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::member_set::SetInterner;
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;
use crate::{IrrMember, IrrRules};

/// A row of a member's list: a prefix, the lengths that match below it, and the origin if the list has origins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ListEntry {
    /// The prefix.
    pub prefix: Prefix,
    /// The shortest length that matches.
    pub min_len: u8,
    /// The longest length that matches.
    pub max_len: u8,
    /// The origin; `None` if the list does not have any. A row with AS 0 registers nothing.
    pub origin: Option<u32>,
    /// The line in the list's file, from 1. Evidence shows it. If a row has one, each row costs
    /// 8 bytes more.
    pub line: Option<u32>,
}

impl From<Prefix> for ListEntry {
    /// A row that matches exactly this prefix with any origin.
    fn from(prefix: Prefix) -> Self {
        ListEntry {
            prefix,
            min_len: prefix.len(),
            max_len: prefix.len(),
            origin: None,
            line: None,
        }
    }
}

/// Collects registrations and builds [`IrrData`].
#[derive(Default)]
pub struct IrrBuilder {
    members: Vec<Option<Member>>,
    sources: Vec<Arc<str>>,
    source_ids: HashMap<Arc<str>, IrrSourceId>,
    origins: Vec<(u32, u16)>,
    white_origins: Vec<(u32, u16)>,
    ipv4: Vec<RawEntry<Ipv4Prefix>>,
    ipv6: Vec<RawEntry<Ipv6Prefix>>,
}

impl IrrBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member with its AS and its rules. Without this, every state of the member is `Unchecked`.
    ///
    /// # Panics
    /// If the number is above [`IrrMember::MAX`].
    pub fn add_member(&mut self, member: IrrMember, asn: u32, rules: IrrRules) {
        assert!(member <= IrrMember::MAX, "{member:?} is reserved");
        if self.members.len() <= member.index() {
            self.members.resize_with(member.index() + 1, || None);
        }
        let known = self.members[member.index()].get_or_insert_default();
        known.asn = asn;
        known.rules = rules;
    }

    /// Adds a member about which nothing is known yet: every state of it is `Unchecked`, and no rule rejects its routes.
    ///
    /// # Panics
    /// If the number is above [`IrrMember::MAX`].
    pub fn add_unchecked_member(&mut self, member: IrrMember, asn: u32) {
        self.add_member(member, asn, IrrRules::default());
        self.member(member).is_unchecked = true;
    }

    /// Returns the number of a source's name. After 65,534 names all further ones share the last number.
    pub fn add_source(&mut self, name: &str) -> IrrSourceId {
        if let Some(id) = self.source_ids.get(name) {
            return *id;
        }
        let id = IrrSourceId(self.sources.len().min(usize::from(u16::MAX) - 1) as u16);
        if usize::from(id.0) == self.sources.len() {
            let name: Arc<str> = name.into();
            self.sources.push(Arc::clone(&name));
            self.source_ids.insert(name, id);
        }
        id
    }

    /// Adds origins of a member, usually the AS numbers of an AS-SET, whose name evidence shows.
    pub fn add_origins(
        &mut self,
        member: IrrMember,
        as_set: &str,
        origins: impl IntoIterator<Item = u32>,
    ) {
        let source = self.add_source(as_set);
        self.member(member).as_sets.push(source);
        let pairs = origins.into_iter().map(|origin| (origin, member.0));
        self.origins.extend(pairs);
    }

    /// Adds an AS-SET of a member whose AS numbers are not known. Evidence names it.
    pub fn add_unread_set(&mut self, member: IrrMember, as_set: &str) {
        let source = self.add_source(as_set);
        self.member(member).unread_sets.push(source);
    }

    /// Adds AS numbers to a member's white list of origins.
    pub fn add_white_origins(&mut self, member: IrrMember, origins: impl IntoIterator<Item = u32>) {
        let pairs = origins.into_iter().map(|origin| (origin, member.0));
        self.white_origins.extend(pairs);
    }

    /// Adds a registration of a prefix with an origin. It concerns all members that have the origin.
    ///
    /// # Panics
    /// If the kind is not `RouteObject`, `Arin` or `RegistroBr`.
    pub fn add_route_object(
        &mut self,
        prefix: Prefix,
        origin: u32,
        kind: IrrKind,
        source: IrrSourceId,
    ) {
        assert!(kind.is_by_origin(), "{kind:?} belongs to a member");
        let row = ListEntry {
            origin: Some(origin),
            ..prefix.into()
        };
        self.push(row, kind, Owner::Origin(source));
    }

    /// Adds a member's list. Evidence shows the list's name.
    pub fn add_list(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let source = self.add_source(list);
        self.member(member).lists.push(source);
        self.push_rows(member, source, IrrKind::List, rows);
    }

    /// Adds prefixes to a member's white list. They allow the prefix with any origin; the rows' origins do not count.
    pub fn add_white_prefixes(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let source = self.add_source(list);
        let rows = rows.into_iter();
        let rows = rows.map(|row| ListEntry {
            origin: None,
            ..row
        });
        self.push_rows(member, source, IrrKind::WhitePrefix, rows);
    }

    /// Adds routes to a member's white list. They allow prefix and origin. A row without an origin allows all origins.
    pub fn add_white_routes(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let source = self.add_source(list);
        self.push_rows(member, source, IrrKind::WhiteRoute, rows);
    }

    /// Builds the data.
    ///
    /// # Errors
    /// If there are more sets of members or entries than the data can number.
    pub fn build(self) -> Result<IrrData, IrrTooLarge> {
        let mut sets = SetInterner::default();
        let origins = OriginTable::build(self.origins, &mut sets).ok_or(IrrTooLarge)?;
        let white = OriginTable::build(self.white_origins, &mut sets).ok_or(IrrTooLarge)?;
        let ipv4 = FamilyTable::build(self.ipv4, &origins, &mut sets).ok_or(IrrTooLarge)?;
        let ipv6 = FamilyTable::build(self.ipv6, &origins, &mut sets).ok_or(IrrTooLarge)?;
        Ok(IrrData {
            members: self.members,
            sources: self.sources,
            origins,
            white_origins: white,
            ipv4,
            ipv6,
            sets: sets.finish(),
        })
    }

    fn member(&mut self, member: IrrMember) -> &mut Member {
        let known = self
            .members
            .get_mut(member.index())
            .and_then(Option::as_mut);
        known.unwrap_or_else(|| panic!("add {member:?} before its data"))
    }

    fn push_rows(
        &mut self,
        member: IrrMember,
        list: IrrSourceId,
        kind: IrrKind,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let owner = Owner::Member(member, list);
        for row in rows {
            self.push(row, kind, owner);
        }
    }

    fn push(&mut self, row: ListEntry, kind: IrrKind, owner: Owner) {
        if row.origin == Some(ANY_ORIGIN) {
            return;
        }
        match row.prefix {
            Prefix::V4(prefix) => self.ipv4.push(raw(prefix, row, kind, owner)),
            Prefix::V6(prefix) => self.ipv6.push(raw(prefix, row, kind, owner)),
        }
    }
}

/// Whom a registration concerns.
#[derive(Clone, Copy)]
enum Owner {
    /// The members that have its origin. It is from this source.
    Origin(IrrSourceId),
    /// The member that has it in this list.
    Member(IrrMember, IrrSourceId),
}

fn raw<N: FamilyPrefix>(prefix: N, row: ListEntry, kind: IrrKind, owner: Owner) -> RawEntry<N> {
    let (source, member, list) = match owner {
        Owner::Origin(source) => (source, u16::MAX, IrrSourceId::NONE),
        Owner::Member(member, list) => (IrrSourceId::NONE, member.0, list),
    };
    RawEntry {
        prefix,
        kind,
        min_len: row.min_len,
        max_len: row.max_len,
        origin: row.origin.unwrap_or(ANY_ORIGIN),
        source,
        member,
        list,
        line: row.line.unwrap_or(0),
    }
}

/// The data have more entries or sets of members than can be numbered: about four thousand million entries, or 268
/// million numbers of members in sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IrrTooLarge;

impl fmt::Display for IrrTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the IRR data have too many entries: remove lists or members")
    }
}

impl std::error::Error for IrrTooLarge {}
