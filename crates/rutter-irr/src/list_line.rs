//! Where in a file a row of a list is.

use crate::IrrMember;
use crate::entry::{Entry, IrrKind, IrrSourceId};
use crate::family_table::FamilyPrefix;
use crate::raw_entry::RawEntry;

/// The line of one row. Only rows of files have one. The order of the fields is the order of sorting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ListLine<N: FamilyPrefix> {
    pub prefix: N,
    pub member: u16,
    pub kind: IrrKind,
    pub min_len: u8,
    pub max_len: u8,
    pub origin: u32,
    pub source: IrrSourceId,
    pub line: u32,
}

impl<N: FamilyPrefix> ListLine<N> {
    pub fn new(raw: RawEntry<N>, line: u32) -> Self {
        ListLine {
            prefix: raw.prefix,
            member: raw.member,
            kind: raw.kind,
            min_len: raw.min_len,
            max_len: raw.max_len,
            origin: raw.origin,
            source: raw.source,
            line,
        }
    }

    /// The lines of an entry's rows in a member's lists. `lines` are in order.
    pub fn rows(lines: &[Self], prefix: N, entry: Entry, member: IrrMember) -> &[Self] {
        let wanted = (
            prefix,
            member.0,
            entry.kind(),
            entry.min_len,
            entry.max_len,
            entry.origin,
        );
        let from = lines.partition_point(|line| line.key() < wanted);
        let to = lines.partition_point(|line| line.key() <= wanted);
        &lines[from..to]
    }

    fn key(&self) -> (N, u16, IrrKind, u8, u8, u32) {
        (
            self.prefix,
            self.member,
            self.kind,
            self.min_len,
            self.max_len,
            self.origin,
        )
    }
}
