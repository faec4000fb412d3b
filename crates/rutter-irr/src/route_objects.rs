//! Registrations that concern all members with their origin, by origin.

use std::sync::Arc;

use rutter_net::Prefix;

use crate::PackedRows;
use crate::entry::{ANY_ORIGIN, IrrKind, IrrSourceId};
use crate::family_table::FamilyPrefix;
use crate::raw_entry::RawEntry;

/// The rows of one origin in one source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ObjectKey {
    pub origin: u32,
    pub kind: IrrKind,
    pub source: IrrSourceId,
}

impl ObjectKey {
    /// `None` where the rows name no origin.
    ///
    /// # Panics
    /// If the kind belongs to a member.
    pub fn new(origin: u32, kind: IrrKind, source: IrrSourceId) -> Option<Self> {
        assert!(kind.is_by_origin(), "{kind:?} belongs to a member");
        let key = ObjectKey {
            origin,
            kind,
            source,
        };
        (origin != ANY_ORIGIN).then_some(key)
    }
}

/// All rows, in order of their keys. Rows that did not change are the same object as in former data.
#[derive(Clone, Default, Debug)]
pub(crate) struct RouteObjects(Vec<(ObjectKey, Arc<PackedRows>)>);

/// The rows that a builder collects.
#[derive(Default)]
pub(crate) struct ObjectCollector {
    shared: Vec<(ObjectKey, Arc<PackedRows>)>,
    single: Vec<(ObjectKey, Prefix)>,
}

impl ObjectCollector {
    pub fn add(&mut self, key: ObjectKey, prefix: Prefix) {
        self.single.push((key, prefix));
    }

    pub fn add_shared(&mut self, key: ObjectKey, rows: Arc<PackedRows>) {
        self.shared.push((key, rows));
    }

    pub fn finish(mut self) -> RouteObjects {
        self.single.sort_unstable();
        for rows in self.single.chunk_by(|one, other| one.0 == other.0) {
            let prefixes = rows.iter().map(|(_, prefix)| *prefix).collect();
            let packed = PackedRows::of_prefixes(prefixes);
            self.shared.push((rows[0].0, Arc::new(packed)));
        }
        self.shared.sort_by_key(|(key, _)| *key);
        self.shared.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                let rows = kept.1.iter().chain(next.1.iter());
                let joined = PackedRows::of_prefixes(rows.map(|row| row.prefix).collect());
                kept.1 = Arc::new(joined);
            }
            is_same
        });
        RouteObjects(self.shared)
    }
}

impl From<RouteObjects> for ObjectCollector {
    fn from(objects: RouteObjects) -> Self {
        ObjectCollector {
            shared: objects.0,
            single: Vec::new(),
        }
    }
}

impl RouteObjects {
    /// The rows of one family as registrations, by key.
    pub fn raw<N: FamilyPrefix>(&self) -> impl Iterator<Item = RawEntry<N>> + '_ {
        self.0.iter().flat_map(|(key, rows)| {
            let prefixes = rows.iter().filter_map(|row| N::of(row.prefix));
            prefixes.map(|prefix| raw(*key, prefix))
        })
    }

    /// Calls back for each row that one side has alone, and for each row whose origin has other members. `true` if the
    /// second side has it. `has_other_members` answers once for each origin. Rows that are the same object on both sides
    /// are not read, if the members are the same.
    pub fn compare<N: FamilyPrefix>(
        &self,
        new: &RouteObjects,
        mut has_other_members: impl FnMut(u32) -> bool,
        mut differs: impl FnMut(RawEntry<N>, bool),
    ) {
        let (mut old, mut new) = (self.0.as_slice(), new.0.as_slice());
        let mut last: Option<(u32, bool)> = None;
        loop {
            let key = match (old.first(), new.first()) {
                (Some((one, _)), Some((other, _))) => *one.min(other),
                (Some((key, _)), None) | (None, Some((key, _))) => *key,
                (None, None) => return,
            };
            let was = take(&mut old, key);
            let is = take(&mut new, key);
            let other_members = match last {
                Some((origin, other)) if origin == key.origin => other,
                _ => has_other_members(key.origin),
            };
            last = Some((key.origin, other_members));
            let is_same = matches!((was, is), (Some(a), Some(b)) if Arc::ptr_eq(a, b) || a == b);
            if is_same && !other_members {
                continue;
            }
            compare_rows(
                &prefixes::<N>(was),
                &prefixes(is),
                |prefix, side| match side {
                    Side::Old => differs(raw(key, prefix), false),
                    Side::New => differs(raw(key, prefix), true),
                    Side::Both if other_members => differs(raw(key, prefix), true),
                    Side::Both => {}
                },
            );
        }
    }
}

/// Takes the first rows if they have this key.
fn take<'a>(
    rest: &mut &'a [(ObjectKey, Arc<PackedRows>)],
    key: ObjectKey,
) -> Option<&'a Arc<PackedRows>> {
    let (found, behind) = rest.split_first().filter(|(first, _)| first.0 == key)?;
    *rest = behind;
    Some(&found.1)
}

/// The prefixes of one family, in order.
fn prefixes<N: FamilyPrefix>(rows: Option<&Arc<PackedRows>>) -> Vec<N> {
    let rows = rows.into_iter().flat_map(|rows| rows.iter());
    let mut prefixes: Vec<N> = rows.filter_map(|row| N::of(row.prefix)).collect();
    // Those of a last good copy are as the copy has them.
    prefixes.sort_unstable_by_key(|prefix| prefix.sort_key());
    prefixes.dedup();
    prefixes
}

/// The side that has a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Old,
    New,
    Both,
}

fn compare_rows<N: FamilyPrefix>(old: &[N], new: &[N], mut each: impl FnMut(N, Side)) {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let (prefix, side) = match (old.peek(), new.peek()) {
            (Some(one), Some(other)) if one == other => (**one, Side::Both),
            (Some(one), other) if other.is_none_or(|other| one.sort_key() < other.sort_key()) => {
                (**one, Side::Old)
            }
            (_, Some(other)) => (**other, Side::New),
            _ => return,
        };
        if side != Side::New {
            old.next();
        }
        if side != Side::Old {
            new.next();
        }
        each(prefix, side);
    }
}

/// The members of an origin decide which members the registration concerns.
fn raw<N: FamilyPrefix>(key: ObjectKey, prefix: N) -> RawEntry<N> {
    RawEntry {
        prefix,
        kind: key.kind,
        min_len: prefix.prefix_len(),
        max_len: prefix.prefix_len(),
        origin: key.origin,
        source: key.source,
        member: u16::MAX,
    }
}
