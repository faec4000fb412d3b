//! Where in a file a row of a list is.

use crate::IrrMember;
use crate::entry::{Entry, IrrSourceId};
use crate::family_table::FamilyPrefix;
use crate::raw_entry::RawEntry;

/// The list and the line of one row of a member. Eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListLine {
    pub member: u16,
    pub list: IrrSourceId,
    /// The line with [`FIRST`], which marks the first row of each entry. 0 if the row has no line.
    line_and_first: u32,
}

const FIRST: u32 = 1 << 31;

impl ListLine {
    fn new<N: FamilyPrefix>(raw: &RawEntry<N>) -> Self {
        ListLine {
            member: raw.member,
            list: raw.list,
            line_and_first: raw.line & !FIRST,
        }
    }

    /// The line, from 1.
    pub fn line(self) -> Option<u32> {
        Some(self.line_and_first & !FIRST).filter(|line| *line > 0)
    }
}

/// The lines of all rows of a table's entries, in the order of the entries. Empty if no row has a line.
#[derive(Debug, Default)]
pub(crate) struct ListLines {
    /// Each entry has at least one.
    rows: Vec<ListLine>,
    /// The position of the first row of each [`STEP`]th entry.
    starts: Vec<u32>,
    entries: usize,
}

/// Entries between two known positions. A search steps over fewer than this.
const STEP: usize = 16;

impl ListLines {
    /// Adds the rows of the next entry.
    pub fn push<N: FamilyPrefix>(&mut self, rows: &[RawEntry<N>]) {
        if self.entries.is_multiple_of(STEP) {
            self.starts.push(self.rows.len() as u32);
        }
        self.entries += 1;
        let first = self.rows.len();
        self.rows.extend(rows.iter().map(ListLine::new));
        self.rows[first].line_and_first |= FIRST;
    }

    /// Gives back memory.
    pub fn finish(mut self) -> Self {
        self.rows.shrink_to_fit();
        self.starts.shrink_to_fit();
        self
    }

    /// The lines of the entry at a position that are in a member's lists.
    pub fn of_entry(
        &self,
        position: usize,
        member: IrrMember,
    ) -> impl Iterator<Item = (IrrSourceId, u32)> {
        let start = self.starts.get(position / STEP);
        let rows = start.map_or(&[][..], |start| &self.rows[*start as usize..]);
        let mut entries = rows.chunk_by(|_, next| next.line_and_first & FIRST == 0);
        let own = entries.nth(position % STEP).unwrap_or_default();
        let own = own.iter().filter(move |row| row.member == member.0);
        own.filter_map(|row| Some((row.list, row.line()?)))
    }

    /// The bytes of the lines.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<ListLine>() + self.starts.capacity() * size_of::<u32>()
    }
}

const _: () = assert!(size_of::<ListLine>() == 8 && size_of::<Entry>() == 12);
