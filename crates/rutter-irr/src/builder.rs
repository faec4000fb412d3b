//! Makes [`IrrData`] from route objects, lists and the origins of members.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::data::{IrrData, Member, MemberList};
use crate::entry::{ANY_ORIGIN, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::member_set::{SetInterner, SetRef};
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;
use crate::table_edits::TableEdits;
use crate::{Changed, IrrList, IrrMember, IrrRules};

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
    /// The line in the list's file, from 1. Evidence shows it.
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
    /// Route objects and rows of dumps.
    ipv4: Vec<RawEntry<Ipv4Prefix>>,
    ipv6: Vec<RawEntry<Ipv6Prefix>>,
}

impl IrrBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder with members, and the origins that other data have for them.
    pub(crate) fn with_members_of(former: &IrrData, members: Vec<Option<Member>>) -> Self {
        let names = former.sources.iter().cloned();
        let ids = (0..).map(IrrSourceId);
        let members_of = |(origin, set): &(u32, SetRef)| {
            let (origin, members) = (*origin, former.sets.members(*set));
            members.into_iter().map(move |member| (origin, member))
        };
        IrrBuilder {
            members,
            source_ids: names.clone().zip(ids).collect(),
            sources: names.collect(),
            origins: former.origins.rows().iter().flat_map(members_of).collect(),
            ..IrrBuilder::default()
        }
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
        if origin == ANY_ORIGIN {
            return;
        }
        match prefix {
            Prefix::V4(prefix) => self.ipv4.push(object(prefix, origin, kind, source)),
            Prefix::V6(prefix) => self.ipv6.push(object(prefix, origin, kind, source)),
        }
    }

    /// Adds a member's list. Evidence shows the list's name.
    pub fn add_list(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        self.add_shared_list(member, list, Arc::new(rows.into_iter().collect()));
    }

    /// As [`Self::add_list`]. A list that is the same object as in the former data costs nothing in
    /// [`Self::build_after`].
    pub fn add_shared_list(&mut self, member: IrrMember, list: &str, rows: Arc<IrrList>) {
        self.push_list(member, list, IrrKind::List, rows);
    }

    /// Adds prefixes to a member's white list. They allow the prefix with any origin; the rows' origins do not count.
    pub fn add_white_prefixes(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let rows = rows.into_iter();
        let rows = rows.map(|row| ListEntry {
            origin: None,
            ..row
        });
        self.push_list(member, list, IrrKind::WhitePrefix, Arc::new(rows.collect()));
    }

    /// Adds routes to a member's white list. They allow prefix and origin. A row without an origin allows all origins.
    pub fn add_white_routes(
        &mut self,
        member: IrrMember,
        list: &str,
        rows: impl IntoIterator<Item = ListEntry>,
    ) {
        let rows = Arc::new(rows.into_iter().collect());
        self.push_list(member, list, IrrKind::WhiteRoute, rows);
    }

    /// Builds the data.
    ///
    /// # Errors
    /// If there are more sets of members or entries than the data can number.
    pub fn build(self) -> Result<IrrData, IrrTooLarge> {
        let mut sets = SetInterner::default();
        let too_large = IrrTooLarge;
        let origins = OriginTable::build(self.origins, None, &mut sets).ok_or(too_large)?;
        let white = OriginTable::build(self.white_origins, None, &mut sets).ok_or(too_large)?;
        let has_objects = !self.ipv4.is_empty() || !self.ipv6.is_empty();
        let ipv4 = with_lists(self.ipv4, &self.members);
        let ipv4 = FamilyTable::build(ipv4, &origins, &mut sets).ok_or(too_large)?;
        let ipv6 = with_lists(self.ipv6, &self.members);
        let ipv6 = FamilyTable::build(ipv6, &origins, &mut sets).ok_or(too_large)?;
        Ok(IrrData {
            members: self.members,
            sources: self.sources,
            origins,
            white_origins: white,
            ipv4,
            ipv6,
            sets: sets.finish(),
            has_objects,
            identity: Arc::default(),
            since: None,
        })
    }

    /// Builds the same data as [`Self::build`] from former ones: only lists that differ are read, and
    /// [`Changed::between`](crate::Changed::between) need not compare. If there are route objects, everything is built.
    ///
    /// # Errors
    /// If there are more sets of members or entries than the data can number.
    pub fn build_after(self, former: &IrrData) -> Result<IrrData, IrrTooLarge> {
        if former.has_objects || !self.ipv4.is_empty() || !self.ipv6.is_empty() {
            return self.build();
        }
        self.build_with_edits(former)
    }

    /// The former data with the members, lists and origins of the builder. Route objects stay as they are, so their origins must
    /// not have other members than before.
    pub(crate) fn build_with_edits(self, former: &IrrData) -> Result<IrrData, IrrTooLarge> {
        let mut sets = SetInterner::after(&former.sets);
        let too_large = IrrTooLarge;
        let held = Some((&former.origins, &former.sets));
        let origins = OriginTable::build(self.origins, held, &mut sets).ok_or(too_large)?;
        let held = Some((&former.white_origins, &former.sets));
        let white = OriginTable::build(self.white_origins, held, &mut sets).ok_or(too_large)?;
        let edits = TableEdits::between(&former.members, &self.members);
        let ipv4 = edits.apply(&former.ipv4, &former.sets, &mut sets);
        let (ipv4, ipv4_edited) = ipv4.ok_or(too_large)?;
        let edits = TableEdits::between(&former.members, &self.members);
        let ipv6 = edits.apply(&former.ipv6, &former.sets, &mut sets);
        let (ipv6, ipv6_edited) = ipv6.ok_or(too_large)?;
        let mut data = IrrData {
            members: self.members,
            sources: self.sources,
            origins,
            white_origins: white,
            ipv4,
            ipv6,
            sets: sets.finish(),
            has_objects: former.has_objects,
            identity: Arc::default(),
            since: None,
        };
        let changed = Changed::of_edits((former, &data), &ipv4_edited, &ipv6_edited);
        data.since = Some((Arc::clone(&former.identity), changed));
        Ok(data)
    }

    fn member(&mut self, member: IrrMember) -> &mut Member {
        let known = self
            .members
            .get_mut(member.index())
            .and_then(Option::as_mut);
        known.unwrap_or_else(|| panic!("add {member:?} before its data"))
    }

    fn push_list(&mut self, member: IrrMember, list: &str, kind: IrrKind, rows: Arc<IrrList>) {
        let source = self.add_source(list);
        self.member(member)
            .lists
            .push(MemberList { kind, source, rows });
    }
}

/// A registration that concerns all members that have its origin.
fn object<N: FamilyPrefix>(
    prefix: N,
    origin: u32,
    kind: IrrKind,
    source: IrrSourceId,
) -> RawEntry<N> {
    RawEntry {
        prefix,
        kind,
        min_len: prefix.prefix_len(),
        max_len: prefix.prefix_len(),
        origin,
        source,
        member: u16::MAX,
    }
}

/// Adds the rows of all lists.
fn with_lists<N: FamilyPrefix>(
    mut raw: Vec<RawEntry<N>>,
    members: &[Option<Member>],
) -> Vec<RawEntry<N>> {
    let lists = || {
        let members = (0..)
            .zip(members)
            .filter_map(|(number, member)| Some((number, member.as_ref()?)));
        members.flat_map(|(number, member)| member.lists.iter().map(move |list| (number, list)))
    };
    raw.reserve(lists().map(|(_, list)| N::rows(&list.rows).len()).sum());
    for (member, list) in lists() {
        raw.extend(N::rows(&list.rows).iter().map(|row| RawEntry {
            prefix: row.prefix(),
            kind: list.kind,
            min_len: row.min_len,
            max_len: row.max_len,
            origin: row.origin,
            source: IrrSourceId::NONE,
            member,
        }));
    }
    raw
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
