//! Why a route has its verdict: the entries that speak for and against it.

use rutter_net::Prefix;

use crate::data::IrrData;
use crate::entry::{ANY_ORIGIN, Entry, IrrKind, IrrSourceId};
use crate::family_table::{FamilyPrefix, FamilyTable};
use crate::irr_list::{ListRow, stating};
use crate::member_checks::fact;
use crate::{IrrMember, IrrVerdict};

/// The evidence of a route's verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrrEvidence<'a> {
    /// The verdict.
    pub verdict: IrrVerdict,
    /// The AS-SETs that give the member its origins.
    pub as_sets: Vec<&'a str>,
    /// The member's AS-SETs whose AS numbers are not known yet.
    pub unread_sets: Vec<&'a str>,
    /// The names of the member's lists.
    pub lists: Vec<&'a str>,
    /// The entries whose prefix covers the route, the longest prefix first. At most [`IrrEvidence::MAX_FINDINGS`], those
    /// of the member before those of others.
    pub findings: Vec<IrrFinding<'a>>,
}

impl IrrEvidence<'_> {
    /// The longest list of findings.
    pub const MAX_FINDINGS: usize = 256;
}

/// An entry whose prefix covers the route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrrFinding<'a> {
    /// The prefix of the entry.
    pub prefix: Prefix,
    /// The shortest length that matches.
    pub min_len: u8,
    /// The longest length that matches. The member's rule `longer` overrides it.
    pub max_len: u8,
    /// The kind of the entry.
    pub kind: IrrKind,
    /// The origin; `None` if the entry has none.
    pub origin: Option<u32>,
    /// The name of the registry or list. `None` for a list of other members.
    pub source: Option<&'a str>,
    /// The line in the source, if the source has lines.
    pub line: Option<u32>,
    /// The meaning of the entry for the route.
    pub bearing: IrrBearing,
}

/// The meaning of an entry for a route.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IrrBearing {
    /// It registers or allows the route's prefix, with this origin or any.
    For,
    /// It registers the prefix for the member, with another origin.
    OtherOrigin,
    /// It registers another length than the route's.
    OtherLength,
    /// It concerns other members only.
    OtherMember,
}

impl IrrData {
    /// Collects the evidence of [`check_with`](Self::check_with). For operators: it allocates.
    pub fn find(
        &self,
        member: IrrMember,
        prefix: Prefix,
        origin: Option<u32>,
        rov_valid: bool,
    ) -> IrrEvidence<'_> {
        let verdict = self.check_with(member, prefix, origin, rov_valid);
        let origin = origin.unwrap_or(ANY_ORIGIN);
        let mut findings = match prefix {
            Prefix::V4(prefix) => self.findings(&self.ipv4, member, prefix, origin),
            Prefix::V6(prefix) => self.findings(&self.ipv6, member, prefix, origin),
        };
        findings.sort_by_key(|finding| finding.bearing == IrrBearing::OtherMember);
        findings.truncate(IrrEvidence::MAX_FINDINGS);
        let known = self.members.get(member.index()).and_then(Option::as_ref);
        let names = |ids: &[IrrSourceId]| ids.iter().filter_map(|id| self.name(*id)).collect();
        IrrEvidence {
            verdict,
            as_sets: known.map_or_else(Vec::new, |known| names(&known.as_sets)),
            unread_sets: known.map_or_else(Vec::new, |known| names(&known.unread_sets)),
            lists: known.map_or_else(Vec::new, |known| {
                let lists = known.lists.iter().filter(|list| list.kind == IrrKind::List);
                lists.filter_map(|list| self.name(list.source)).collect()
            }),
            findings,
        }
    }

    fn findings<N: FamilyPrefix>(
        &self,
        table: &FamilyTable<N>,
        member: IrrMember,
        prefix: N,
        origin: u32,
    ) -> Vec<IrrFinding<'_>> {
        let mut findings = Vec::new();
        for (registered, entries) in table.covering(prefix) {
            for entry in entries {
                let bearing = self.bearing(*entry, member, prefix, origin);
                let mine = bearing != IrrBearing::OtherMember;
                let first = findings.len();
                let rows = self.rows_of(registered, entry, member).filter(|_| mine);
                for (list, row) in rows {
                    let row = (self.name(list), row.line());
                    findings.push(finding(registered, *entry, row, bearing));
                }
                if findings.len() == first {
                    let row = (self.source(entry.source), None);
                    findings.push(finding(registered, *entry, row, bearing));
                }
            }
        }
        findings
    }

    /// The rows of a member's lists that an entry was made from.
    fn rows_of<N: FamilyPrefix>(
        &self,
        prefix: N,
        entry: &Entry,
        member: IrrMember,
    ) -> impl Iterator<Item = (IrrSourceId, ListRow<N>)> {
        let known = self.members.get(member.index()).and_then(Option::as_ref);
        let lists = known.map_or(&[][..], |known| &known.lists);
        let statement = (
            prefix.words(),
            prefix.prefix_len(),
            entry.min_len,
            entry.max_len,
            entry.origin,
        );
        let of_kind = lists.iter().filter(|list| list.kind == entry.kind());
        of_kind.flat_map(move |list| {
            let rows = stating(N::rows(&list.rows), statement);
            rows.iter().map(|row| (list.source, *row))
        })
    }

    fn bearing<N: FamilyPrefix>(
        &self,
        entry: Entry,
        member: IrrMember,
        prefix: N,
        origin: u32,
    ) -> IrrBearing {
        let longer = self.rules(member).is_some_and(|rules| rules.longer);
        let longest = if longer { N::MAX_LEN } else { 0 };
        if !self.sets.contains(entry.set(), member) {
            IrrBearing::OtherMember
        } else if !entry.allows_len(prefix.prefix_len(), longest) {
            IrrBearing::OtherLength
        } else if fact(entry, origin).is_for() {
            IrrBearing::For
        } else {
            IrrBearing::OtherOrigin
        }
    }

    /// The name of an AS-SET or list.
    fn name(&self, id: IrrSourceId) -> Option<&str> {
        self.names.get(usize::from(id.0)).map(AsRef::as_ref)
    }

    /// The name of the source of a route object.
    fn source(&self, id: IrrSourceId) -> Option<&str> {
        self.sources.get(usize::from(id.0)).map(AsRef::as_ref)
    }
}

fn finding<'a, N: FamilyPrefix>(
    prefix: N,
    entry: Entry,
    (source, line): (Option<&'a str>, Option<u32>),
    bearing: IrrBearing,
) -> IrrFinding<'a> {
    IrrFinding {
        prefix: prefix.into(),
        min_len: entry.min_len,
        max_len: entry.max_len,
        kind: entry.kind(),
        origin: (entry.origin != ANY_ORIGIN).then_some(entry.origin),
        source,
        line,
        bearing,
    }
}
