//! The difference between the lists of members and between route objects, and a table after it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::data::{Member, MemberList};
use crate::entry::{Entry, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable, TableRows};
use crate::irr_list::{ListRow, stating};
use crate::member_set::{SetInterner, SetPool, SetRef};
use crate::origin_table::OriginTable;
use crate::raw_entry::RawEntry;
use crate::route_objects::RouteObjects;
use crate::{IrrData, IrrList};

/// The inputs of a table.
pub(crate) struct Inputs<'a> {
    pub members: &'a [Option<Member>],
    pub objects: &'a RouteObjects,
    pub origins: &'a OriginTable,
}

/// The rows that members get and lose, in order.
pub(crate) struct TableEdits<N: FamilyPrefix>(Vec<Edit<N>>);

/// A row that a member gets or loses, or a route object that comes, leaves, or has other members. The order of the fields is
/// the order of edits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Edit<N: FamilyPrefix> {
    row: RawEntry<N>,
    /// The member has the row afterwards, or there is the route object.
    is_added: bool,
}

/// A prefix whose entries differ, with the longest length that one of them matched or matches.
pub(crate) type EditedPrefix<N> = (N, u8);

impl<N: FamilyPrefix> TableEdits<N> {
    /// Compares the lists of all members and the route objects. `None` if there are too many sets. O(rows of the lists and of
    /// the origins that differ).
    pub fn between(
        former: &IrrData,
        after: &Inputs<'_>,
        sets: &mut SetInterner<'_>,
    ) -> Option<Self> {
        let (old, new) = (&former.members, after.members);
        fn lists(members: &[Option<Member>], number: usize) -> &[MemberList] {
            let member = members.get(number).and_then(Option::as_ref);
            member.map_or(&[], |member| &member.lists)
        }
        let mut edits = Vec::new();
        for number in 0..old.len().max(new.len()) {
            let (old, new) = (lists(old, number), lists(new, number));
            compare_member(number as u16, old, new, &mut edits);
        }
        let mut is_full = false;
        let has_other_members = |origin: u32| {
            let old = former.origins.members(origin);
            let kept = old.map(|old| sets.keep(old));
            is_full |= kept == Some(None);
            kept.flatten() != after.origins.members(origin)
        };
        former
            .objects
            .compare(after.objects, has_other_members, |row, is_added| {
                edits.push(Edit { row, is_added });
            });
        edits.sort_unstable();
        (!is_full).then_some(TableEdits(edits))
    }

    /// The table after the edits, and the prefixes whose entries differ. `None` if there are too many entries or sets.
    /// O(entries), but most of them are only copied.
    /// `origins` are those of the new data.
    pub fn apply(
        &self,
        (table, pool): (&FamilyTable<N>, &SetPool),
        origins: &OriginTable,
        sets: &mut SetInterner<'_>,
    ) -> Option<(FamilyTable<N>, Vec<EditedPrefix<N>>)> {
        let mut after = After {
            rows: TableRows::like(table, self.0.len()),
            edited: Vec::new(),
            pool,
            origins,
            sets,
        };
        let mut held = table.iter().peekable();
        for edits in self
            .0
            .chunk_by(|one, next| one.row.prefix == next.row.prefix)
        {
            let prefix = edits[0].row.prefix;
            while let Some((other, entries)) = held.next_if(|(other, _)| *other < prefix) {
                after.keep(other, entries)?;
            }
            let entries = held.next_if(|(other, _)| *other == prefix);
            after.edit(prefix, entries.map_or(&[], |(_, entries)| entries), edits)?;
        }
        for (prefix, entries) in held {
            after.keep(prefix, entries)?;
        }
        Some((after.rows.finish()?, after.edited))
    }
}

/// A table that is being built from another.
struct After<'a, 'b, N> {
    rows: TableRows<N>,
    edited: Vec<EditedPrefix<N>>,
    /// The sets of the other table.
    pool: &'a SetPool,
    origins: &'a OriginTable,
    sets: &'a mut SetInterner<'b>,
}

impl<N: FamilyPrefix> After<'_, '_, N> {
    /// Takes over a prefix without an edit.
    #[inline]
    fn keep(&mut self, prefix: N, entries: &[Entry]) -> Option<()> {
        if self.sets.keeps_all() {
            return self.rows.push_all(prefix, entries);
        }
        entries.iter().try_for_each(|entry| {
            let set = self.sets.keep(entry.set())?;
            self.rows.push(prefix, entry.with_set(set))
        })
    }

    fn edit(&mut self, prefix: N, entries: &[Entry], edits: &[Edit<N>]) -> Option<()> {
        let mut is_other = false;
        let mut held = entries.iter().peekable();
        for edits in edits.chunk_by(|one, next| one.row.joins(&next.row)) {
            let row = &edits[0].row;
            while let Some(entry) = held.next_if(|entry| order(entry) < order_of(row)) {
                self.keep(prefix, std::slice::from_ref(entry))?;
            }
            let entry = held.next_if(|entry| order(entry) == order_of(row));
            let (set, differs) = match row.kind.is_by_origin() {
                true => self.set_of_object(entry, edits)?,
                false => self.set_of_row(entry, edits)?,
            };
            is_other |= differs;
            if let Some(set) = set {
                let lengths = (row.min_len, row.max_len);
                let entry = Entry::new(row.kind, row.origin, lengths, set, row.source);
                self.rows.push(prefix, entry)?;
            }
        }
        for entry in held {
            self.keep(prefix, std::slice::from_ref(entry))?;
        }
        if is_other {
            let lengths = entries.iter().map(|entry| entry.max_len);
            let lengths = lengths.chain(edits.iter().map(|edit| edit.row.max_len));
            self.edited.push((prefix, lengths.max().unwrap_or(0)));
        }
        Some(())
    }
}

impl<N: FamilyPrefix> After<'_, '_, N> {
    /// The members of a row of lists, and whether they are others. `Some((None, _))`: none.
    fn set_of_row(
        &mut self,
        entry: Option<&Entry>,
        edits: &[Edit<N>],
    ) -> Option<(Option<SetRef>, bool)> {
        let old = entry.map_or_else(Vec::new, |entry| self.pool.members(entry.set()));
        let new = members_after(&old, edits);
        let differs = old != new;
        let set = match entry.filter(|_| !differs) {
            Some(entry) => Some(self.sets.keep(entry.set())?),
            None if new.is_empty() => None,
            None => Some(self.sets.intern(&new)?),
        };
        Some((set, differs))
    }

    /// The same for a route object.
    fn set_of_object(
        &mut self,
        entry: Option<&Entry>,
        edits: &[Edit<N>],
    ) -> Option<(Option<SetRef>, bool)> {
        let is_there = edits.iter().any(|edit| edit.is_added);
        let origin = edits[0].row.origin;
        let new = self.origins.members(origin).filter(|_| is_there);
        let old = match entry {
            Some(entry) => Some(self.sets.keep(entry.set())?),
            None => None,
        };
        Some((new, old != new))
    }
}

/// The order of the entries of a prefix. Rows of lists share one source.
fn order(entry: &Entry) -> (IrrKind, u8, u8, u32, IrrSourceId) {
    let lengths = (entry.min_len, entry.max_len);
    (
        entry.kind(),
        lengths.0,
        lengths.1,
        entry.origin,
        entry.source,
    )
}

fn order_of<N: FamilyPrefix>(row: &RawEntry<N>) -> (IrrKind, u8, u8, u32, IrrSourceId) {
    (row.kind, row.min_len, row.max_len, row.origin, row.source)
}

fn members_after<N: FamilyPrefix>(old: &[u16], edits: &[Edit<N>]) -> Vec<u16> {
    let mut members = old.to_vec();
    for edit in edits {
        let member = edit.row.member;
        match (members.binary_search(&member), edit.is_added) {
            (Ok(at), false) => drop(members.remove(at)),
            (Err(at), true) => members.insert(at, member),
            (Ok(_), true) | (Err(_), false) => {}
        }
    }
    members
}

/// Adds the rows that a member gets and loses. Lists that are the same object on both sides are not read, except to find
/// rows that another list loses.
fn compare_member<N: FamilyPrefix>(
    member: u16,
    old: &[MemberList],
    new: &[MemberList],
    edits: &mut Vec<Edit<N>>,
) {
    let is_in = |list: &MemberList, lists: &[MemberList]| {
        let same =
            |other: &MemberList| list.kind == other.kind && Arc::ptr_eq(&list.rows, &other.rows);
        lists.iter().any(same)
    };
    for kind in [IrrKind::List, IrrKind::WhitePrefix, IrrKind::WhiteRoute] {
        let of_kind =
            |lists: &'_ [MemberList], others: &[MemberList], in_both: bool| -> Vec<Arc<IrrList>> {
                let wanted = lists
                    .iter()
                    .filter(|list| list.kind == kind && is_in(list, others) == in_both);
                wanted.map(|list| Arc::clone(&list.rows)).collect()
            };
        let (lost, got) = (of_kind(old, new, false), of_kind(new, old, false));
        if lost.is_empty() && got.is_empty() {
            continue;
        }
        let kept = of_kind(new, old, true);
        let is_kept = |row: ListRow<N>| {
            let states = |list: &Arc<IrrList>| !stating(N::rows(list), row.statement()).is_empty();
            kept.iter().any(states)
        };
        compare_rows(&joined::<N>(&lost), &joined(&got), |row, is_added| {
            if !is_kept(row) {
                let row = RawEntry {
                    prefix: row.prefix(),
                    kind,
                    min_len: row.min_len,
                    max_len: row.max_len,
                    origin: row.origin,
                    source: IrrSourceId::NONE,
                    member,
                };
                edits.push(Edit { row, is_added });
            }
        });
    }
}

/// The rows of some lists, in order.
fn joined<N: FamilyPrefix>(lists: &[Arc<IrrList>]) -> Cow<'_, [ListRow<N>]> {
    match lists {
        [] => Cow::Borrowed(&[]),
        [list] => Cow::Borrowed(N::rows(list)),
        lists => {
            let mut rows: Vec<ListRow<N>> = lists
                .iter()
                .flat_map(|list| N::rows(list))
                .copied()
                .collect();
            rows.sort();
            Cow::Owned(rows)
        }
    }
}

/// Calls back for each statement that is on one side only, with `true` for the second side.
fn compare_rows<N: FamilyPrefix>(
    old: &[ListRow<N>],
    new: &[ListRow<N>],
    mut differs: impl FnMut(ListRow<N>, bool),
) {
    let (mut old, mut new) = (old, new);
    loop {
        match (old.first(), new.first()) {
            (Some(one), Some(other)) if one.statement() == other.statement() => {
                (old, new) = (behind(old), behind(new));
            }
            (Some(one), other) if other.is_none_or(|other| one.statement() < other.statement()) => {
                differs(*one, false);
                old = behind(old);
            }
            (_, Some(other)) => {
                differs(*other, true);
                new = behind(new);
            }
            _ => return,
        }
    }
}

/// The rows behind the group that states the same as the first.
#[inline]
fn behind<N: FamilyPrefix>(rows: &[ListRow<N>]) -> &[ListRow<N>] {
    let mut behind = &rows[1..];
    while let Some(next) = behind.first()
        && next.statement() == rows[0].statement()
    {
        behind = &behind[1..];
    }
    behind
}
