//! Makes [`IrrData`] from route objects, lists and the origins of members.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use crate::data::{IrrData, Member, MemberList};
use crate::entry::{IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::member_set::{SetInterner, SetRef};
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;
use crate::route_objects::{ObjectCollector, ObjectKey};
use crate::table_edits::{Inputs, TableEdits};
use crate::{Changed, IrrList, IrrMember, IrrRules, PackedRows};

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
    names: Names,
    sources: Names,
    origins: Vec<(u32, u16)>,
    white_origins: Vec<(u32, u16)>,
    /// Route objects and rows of dumps.
    objects: ObjectCollector,
}

/// Names with their numbers.
#[derive(Default)]
struct Names {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, IrrSourceId>,
}

impl Names {
    /// Returns the number of a name. After 65,534 names all further ones share the last number.
    fn add(&mut self, name: &str) -> IrrSourceId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = IrrSourceId(self.names.len().min(usize::from(u16::MAX) - 1) as u16);
        if usize::from(id.0) == self.names.len() {
            let name: Arc<str> = name.into();
            self.names.push(Arc::clone(&name));
            self.ids.insert(name, id);
        }
        id
    }
}

impl From<&[Arc<str>]> for Names {
    fn from(names: &[Arc<str>]) -> Self {
        let ids = (0..).map(IrrSourceId);
        Names {
            ids: names.iter().cloned().zip(ids).collect(),
            names: names.to_vec(),
        }
    }
}

impl IrrBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder with members, the origins that other data have for them, and the route objects of these data.
    pub(crate) fn with_members_of(former: &IrrData, members: Vec<Option<Member>>) -> Self {
        let members_of = |(origin, set): &(u32, SetRef)| {
            let (origin, members) = (*origin, former.sets.members(*set));
            members.into_iter().map(move |member| (origin, member))
        };
        IrrBuilder {
            members,
            names: former.names.as_slice().into(),
            sources: former.sources.as_slice().into(),
            objects: former.objects.clone().into(),
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

    /// Returns the number of a source of route objects. After 65,534 names all further ones share the last number.
    pub fn add_source(&mut self, name: &str) -> IrrSourceId {
        self.sources.add(name)
    }

    /// Adds origins of a member, usually the AS numbers of an AS-SET, whose name evidence shows.
    pub fn add_origins(
        &mut self,
        member: IrrMember,
        as_set: &str,
        origins: impl IntoIterator<Item = u32>,
    ) {
        let source = self.names.add(as_set);
        self.member(member).as_sets.push(source);
        let pairs = origins.into_iter().map(|origin| (origin, member.0));
        self.origins.extend(pairs);
    }

    /// Adds an AS-SET of a member whose AS numbers are not known. Evidence names it.
    pub fn add_unread_set(&mut self, member: IrrMember, as_set: &str) {
        let source = self.names.add(as_set);
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
        if let Some(key) = ObjectKey::new(origin, kind, source) {
            self.objects.add(key, prefix);
        }
    }

    /// As [`Self::add_route_object`] for all prefixes of an origin. Their ranges, origins and lines do not count. Rows that
    /// are the same object as in the former data cost nothing in [`Self::build_after`].
    ///
    /// # Panics
    /// If the kind is not `RouteObject`, `Arin` or `RegistroBr`.
    pub fn add_route_objects(
        &mut self,
        rows: Arc<PackedRows>,
        origin: u32,
        kind: IrrKind,
        source: IrrSourceId,
    ) {
        if let Some(key) = ObjectKey::new(origin, kind, source) {
            self.objects.add_shared(key, rows);
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
        let objects = self.objects.finish();
        let ipv4 = with_lists(objects.raw::<Ipv4Prefix>().collect(), &self.members);
        let ipv4 = FamilyTable::build(ipv4, &origins, &mut sets).ok_or(too_large)?;
        let ipv6 = with_lists(objects.raw::<Ipv6Prefix>().collect(), &self.members);
        let ipv6 = FamilyTable::build(ipv6, &origins, &mut sets).ok_or(too_large)?;
        Ok(IrrData {
            members: self.members,
            names: self.names.names,
            sources: self.sources.names,
            origins,
            white_origins: white,
            ipv4,
            ipv6,
            sets: sets.finish(),
            objects,
            identity: Arc::default(),
            since: None,
        })
    }

    /// Builds the same data as [`Self::build`] from former ones: only lists and route objects that differ are read, and
    /// [`Changed::between`](crate::Changed::between) need not compare. If the sources of route objects are others,
    /// everything is built.
    ///
    /// # Errors
    /// If there are more sets of members or entries than the data can number.
    pub fn build_after(self, former: &IrrData) -> Result<IrrData, IrrTooLarge> {
        // Entries name their sources by number.
        if former.sources != self.sources.names {
            return self.build();
        }
        let mut sets = SetInterner::after(&former.sets);
        let too_large = IrrTooLarge;
        let held = Some((&former.origins, &former.sets));
        let origins = OriginTable::build(self.origins, held, &mut sets).ok_or(too_large)?;
        let held = Some((&former.white_origins, &former.sets));
        let white = OriginTable::build(self.white_origins, held, &mut sets).ok_or(too_large)?;
        let objects = self.objects.finish();
        let after = Inputs {
            members: &self.members,
            objects: &objects,
            origins: &origins,
        };
        let edits = TableEdits::between(former, &after, &mut sets).ok_or(too_large)?;
        let ipv4 = edits.apply((&former.ipv4, &former.sets), &origins, &mut sets);
        let (ipv4, ipv4_edited) = ipv4.ok_or(too_large)?;
        let edits = TableEdits::between(former, &after, &mut sets).ok_or(too_large)?;
        let ipv6 = edits.apply((&former.ipv6, &former.sets), &origins, &mut sets);
        let (ipv6, ipv6_edited) = ipv6.ok_or(too_large)?;
        let mut data = IrrData {
            members: self.members,
            names: self.names.names,
            sources: self.sources.names,
            origins,
            white_origins: white,
            ipv4,
            ipv6,
            sets: sets.finish(),
            objects,
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
        let source = self.names.add(list);
        self.member(member)
            .lists
            .push(MemberList { kind, source, rows });
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
