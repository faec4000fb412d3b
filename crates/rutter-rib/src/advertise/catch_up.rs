//! Catch-up: the state of clients that do not follow their group's log, two bits a destination.

use std::collections::HashMap;

use rutter_net::{Family, PerFamily};
use smallvec::SmallVec;

use crate::adj_rib_in::table::Id;
use crate::advertise::encode::Style;
use crate::advertise::recorder::path_id_of;
use crate::{PeerId, advertise::group};

/// The destinations in one shard whose present state a client has not been sent yet.
#[derive(Debug)]
pub(crate) struct CatchUp {
    pub peer: PeerId,
    /// `None` for a family that the client did not negotiate.
    pub dirty: PerFamily<Option<MarkedIds>>,
    /// With Add-Path: the path identifiers that the client may hold of a marked destination, besides present ones.
    /// `None` without Add-Path.
    remembered_paths: PerFamily<Option<HeldPaths>>,
}

type HeldPaths = HashMap<Id, SmallVec<[u32; 2]>>;

impl CatchUp {
    pub fn new(peer: PeerId, style: &Style) -> Self {
        let held = |family| style.add_path[family].then(HeldPaths::default);
        CatchUp {
            peer,
            dirty: style.families.map(|on| on.then(MarkedIds::default)),
            remembered_paths: PerFamily::from_fn(held),
        }
    }

    /// Remembers the paths of a destination that changes: the client may hold them.
    pub fn remember_paths(&mut self, family: Family, id: Id, before: &[(PeerId, u32)]) {
        for (peer, path_id) in before {
            self.remember_path(family, id, path_id_of(*peer, *path_id));
        }
    }

    /// As [`CatchUp::remember_paths`] for an identifier as sent.
    pub fn remember_path(&mut self, family: Family, id: Id, sent: u32) {
        if let Some(held) = &mut self.remembered_paths[family] {
            let paths = held.entry(id).or_default();
            if !paths.contains(&sent) {
                paths.push(sent);
            }
        }
    }

    /// Takes the remembered paths of a destination that is about to be advertised again.
    pub fn take_paths(&mut self, family: Family, id: Id) -> SmallVec<[u32; 2]> {
        let held = self.remembered_paths[family].as_mut();
        held.and_then(|held| held.remove(&id)).unwrap_or_default()
    }

    pub fn mark(&mut self, family: Family, id: Id) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.mark(id);
        }
    }

    /// Marks all destinations. The client holds the present routes of each, or nothing.
    pub fn mark_all(&mut self, family: Family, end: Id) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.mark_all(end);
        }
    }

    /// The number of marked destinations in both families.
    pub fn left(&self) -> usize {
        self.dirty.iter().flatten().map(|dirty| dirty.count).sum()
    }
}

/// A set of destination ids that is consumed in ascending order, round and round.
#[derive(Debug, Default)]
pub(crate) struct MarkedIds {
    words: Vec<u64>,
    /// The marked ids whose destinations have not changed since all were marked. The client holds no outdated route
    /// of them.
    unchanged: Vec<u64>,
    count: usize,
    /// The word where the next search begins.
    scan: usize,
}

impl MarkedIds {
    pub fn mark(&mut self, id: Id) {
        let word = id as usize / 64;
        self.grow(word + 1);
        let bit = 1 << (id % 64);
        self.unchanged[word] &= !bit;
        if self.words[word] & bit == 0 {
            self.words[word] |= bit;
            self.count += 1;
        }
    }

    /// Marks all ids before `end`, 64 at a time.
    fn mark_all(&mut self, end: Id) {
        self.grow((end as usize).div_ceil(64));
        for word in 0..(end as usize).div_ceil(64) {
            let ids = match end - word as Id * 64 {
                ids @ 0..64 => (1 << ids) - 1,
                _ => u64::MAX,
            };
            let new = ids & !self.words[word];
            self.words[word] |= new;
            self.unchanged[word] |= new;
            self.count += new.count_ones() as usize;
        }
    }

    fn grow(&mut self, words: usize) {
        if words > self.words.len() {
            self.words.resize(words, 0);
            self.unchanged.resize(words, 0);
        }
    }

    /// Takes up to `most` ids out of the set. Each comes with whether its destination may have changed since all were
    /// marked.
    pub fn take(&mut self, most: usize, out: &mut Vec<(Id, bool)>) {
        while self.count > 0 && out.len() < most {
            if self.scan >= self.words.len() {
                self.scan = 0;
            }
            let word = &mut self.words[self.scan];
            while *word != 0 && out.len() < most {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                self.count -= 1;
                let unchanged = &mut self.unchanged[self.scan];
                let changed = *unchanged >> bit & 1 == 0;
                *unchanged &= !(1 << bit);
                out.push((self.scan as Id * 64 + bit, changed));
            }
            if *word == 0 {
                self.scan += 1;
            }
        }
    }
}

/// The phase of a client's catch-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// It follows the log.
    Live,
    /// It has left the log at `until` (position), reads it up to there, then catches up.
    Leaving { until: u64 },
    /// It is sent the marked destinations.
    CatchingUp,
}

/// The messages that complete a catch-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ending {
    /// End-of-RIB for each family (RFC 4724 §2), after the first catch-up of a session.
    pub end_of_rib: bool,
    /// The end of a refresh (RFC 7313 §4), per family.
    pub end_of_refresh: PerFamily<bool>,
}

impl Ending {
    /// Writes the messages in the group's family order.
    pub fn write(&mut self, style: &Style, out: &mut crate::advertise::encode::MessageWriter) {
        for family in Family::ALL {
            if !style.families[family] {
                continue;
            }
            if self.end_of_rib {
                out.end_of_rib(family);
            }
            if self.end_of_refresh[family] {
                out.route_refresh(family, group::END_OF_REFRESH);
            }
        }
        *self = Ending::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_once_and_the_search_wraps() {
        let mut dirty = MarkedIds::default();
        for id in [3, 64, 65, 1000] {
            dirty.mark(id);
            dirty.mark(id);
        }
        let mut out = Vec::new();
        dirty.take(3, &mut out);
        dirty.mark(1);
        dirty.take(9, &mut out);
        assert_eq!(out, [3, 64, 65, 1000, 1].map(|id| (id, true)));
        assert_eq!(dirty.count, 0);
    }

    #[test]
    fn a_change_counts_before_and_after_all_were_marked() {
        for end in [0, 1, 63, 64, 65, 200] {
            let mut dirty = MarkedIds::default();
            dirty.mark(0);
            dirty.mark(130);
            dirty.mark_all(end);
            dirty.mark(64);
            let mut out = Vec::new();
            dirty.take(1_000, &mut out);
            let changed = [0, 64, 130];
            let marked = |id: &Id| *id < end || changed.contains(id);
            let expected: Vec<_> = (0..200).filter(marked).collect();
            assert_eq!(
                out,
                expected
                    .iter()
                    .map(|id| (*id, changed.contains(id)))
                    .collect::<Vec<_>>()
            );
            assert_eq!(dirty.count, 0);
            assert!(dirty.unchanged.iter().all(|word| *word == 0));
        }
    }
}
