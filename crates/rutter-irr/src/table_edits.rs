//! The difference between the lists of members, and a table after it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::IrrList;
use crate::data::{Member, MemberList};
use crate::entry::{Entry, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable, TableRows};
use crate::irr_list::{ListRow, stating};
use crate::member_set::{SetInterner, SetPool};
use crate::raw_entry::RawEntry;

/// The rows that members get and lose, in order.
pub(crate) struct TableEdits<N: FamilyPrefix>(Vec<Edit<N>>);

/// A row that a member gets or loses. The order of the fields is the order of edits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Edit<N: FamilyPrefix> {
    row: RawEntry<N>,
    /// The member has the row afterwards.
    is_added: bool,
}

/// A prefix whose entries differ, with the longest length that one of them matched or matches.
pub(crate) type EditedPrefix<N> = (N, u8);

impl<N: FamilyPrefix> TableEdits<N> {
    /// Compares the lists of all members. O(rows of the lists that differ).
    pub fn between(old: &[Option<Member>], new: &[Option<Member>]) -> Self {
        fn lists(members: &[Option<Member>], number: usize) -> &[MemberList] {
            let member = members.get(number).and_then(Option::as_ref);
            member.map_or(&[], |member| &member.lists)
        }
        let mut edits = Vec::new();
        for number in 0..old.len().max(new.len()) {
            let (old, new) = (lists(old, number), lists(new, number));
            compare_member(number as u16, old, new, &mut edits);
        }
        edits.sort_unstable();
        TableEdits(edits)
    }

    /// The table after the edits, and the prefixes whose entries differ. `None` if there are too many entries or sets.
    /// O(entries), but most of them are only copied.
    pub fn apply(
        &self,
        table: &FamilyTable<N>,
        pool: &SetPool,
        sets: &mut SetInterner<'_>,
    ) -> Option<(FamilyTable<N>, Vec<EditedPrefix<N>>)> {
        let mut after = After {
            rows: TableRows::like(table, self.0.len()),
            edited: Vec::new(),
            pool,
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
            let old = entry.map_or_else(Vec::new, |entry| self.pool.members(entry.set()));
            let new = members_after(&old, edits);
            is_other |= old != new;
            if !new.is_empty() {
                let set = match entry.filter(|_| old == new) {
                    Some(entry) => self.sets.keep(entry.set())?,
                    None => self.sets.intern(&new)?,
                };
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

/// The order of the entries of a prefix, apart from sources: rows of lists do not have any.
fn order(entry: &Entry) -> (IrrKind, u8, u8, u32) {
    (entry.kind(), entry.min_len, entry.max_len, entry.origin)
}

fn order_of<N: FamilyPrefix>(row: &RawEntry<N>) -> (IrrKind, u8, u8, u32) {
    (row.kind, row.min_len, row.max_len, row.origin)
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
