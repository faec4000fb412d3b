//! The members that each AS number is an origin of.

use rutter_lpm::{Directory, prefetch};

use crate::member_set::{SetInterner, SetPool, SetRef};

/// AS numbers with the members whose AS-SETs (or white lists) contain them.
#[derive(Debug)]
pub(crate) struct OriginTable {
    /// In order of the AS numbers.
    rows: Vec<(u32, SetRef)>,
    directory: Directory,
}

impl OriginTable {
    /// Builds the table from pairs of AS number and member. Sets of the former table, with its pool, are taken over.
    /// `None` if there are too many sets.
    pub fn build(
        mut pairs: Vec<(u32, u16)>,
        former: Option<(&OriginTable, &SetPool)>,
        sets: &mut SetInterner<'_>,
    ) -> Option<Self> {
        // The pairs of each AS-SET are in order, and a stable sort merges what is in order.
        pairs.sort();
        pairs.dedup();
        let mut rows = Vec::new();
        let mut members = Vec::new();
        let mut before = former.map_or(&[][..], |(table, _)| table.rows.as_slice());
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let origin = group[0].0;
            members.clear();
            members.extend(group.iter().map(|(_, member)| *member));
            while let [(other, _), rest @ ..] = before
                && *other < origin
            {
                before = rest;
            }
            let held = before.first().filter(|(other, _)| *other == origin);
            let held = held
                .zip(former)
                .filter(|((_, set), (_, pool))| pool.is(*set, &members));
            let set = match held {
                Some(((_, set), _)) => sets.keep(*set)?,
                None => sets.intern(&members)?,
            };
            rows.push((origin, set));
        }
        rows.shrink_to_fit();
        let directory = Directory::new(rows.len(), |at| rows[at].0);
        Some(OriginTable { rows, directory })
    }

    /// The members that have this origin.
    #[inline]
    pub fn members(&self, origin: u32) -> Option<SetRef> {
        let (from, to) = self.directory.bucket(origin);
        let bucket = &self.rows[from..to];
        let at = bucket.binary_search_by_key(&origin, |row| row.0).ok()?;
        Some(bucket[at].1)
    }

    /// [`Self::members`] of many origins side by side, so that their cache misses overlap. Prefetches the sets.
    pub fn members_of_all(&self, sets: &SetPool, origins: &[u32], out: &mut [Option<SetRef>]) {
        for origin in origins {
            let (from, to) = self.directory.bucket(*origin);
            let middle = usize::midpoint(from, to);
            self.rows.get(middle).into_iter().for_each(prefetch);
        }
        for (out, origin) in out.iter_mut().zip(origins) {
            *out = self.members(*origin);
            if let Some(set) = *out {
                sets.prefetch(set);
            }
        }
    }

    /// All AS numbers with their members, in order.
    pub fn rows(&self) -> &[(u32, SetRef)] {
        &self.rows
    }

    /// The bytes of the table.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<(u32, SetRef)>() + self.directory.memory()
    }
}
