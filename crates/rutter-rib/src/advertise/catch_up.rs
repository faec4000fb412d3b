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
    /// The client's messages had another style before: see [`CatchUp::restyle`].
    former: Option<Box<Style>>,
}

type HeldPaths = HashMap<Id, RememberedPaths>;

/// The paths of one destination that a client may hold.
#[derive(Debug, Default)]
struct RememberedPaths {
    paths: SmallVec<[u32; 2]>,
    /// All paths that the client was ever sent and may hold are among them. Later ones it is not sent before it is
    /// sent the present state, so they need not be remembered: a peer that changes paths again and again costs
    /// nothing here.
    is_complete: bool,
}

impl RememberedPaths {
    fn add(&mut self, path: u32) {
        if self.paths.len() == self.paths.capacity() && self.paths.spilled() {
            self.remove_duplicates();
        }
        self.paths.push(path);
    }

    fn remove_duplicates(&mut self) {
        self.paths.sort_unstable();
        self.paths.dedup();
        // The next time comes after as many additions as there are paths.
        self.paths.reserve(self.paths.len());
    }
}

impl CatchUp {
    pub fn new(peer: PeerId, style: &Style) -> Self {
        let held = |family| style.add_path[family].then(HeldPaths::default);
        CatchUp {
            peer,
            dirty: style.families.map(|on| on.then(MarkedIds::default)),
            remembered_paths: PerFamily::from_fn(held),
            former: None,
        }
    }

    /// Begins a change from a style to another and marks all destinations. The client holds the
    /// present routes of destinations without a mark, in the former style. Its routes of the others are uncertain.
    pub fn restyle(&mut self, former: &Style, ends: PerFamily<Id>) {
        for family in Family::ALL {
            if let Some(dirty) = &mut self.dirty[family] {
                dirty.make_all_uncertain();
                dirty.mark_all(ends[family]);
            }
        }
        self.former = Some(Box::new(former.clone()));
    }

    /// The style in which the client holds the routes of destinations that have not changed since all were marked.
    pub fn former(&self) -> Option<&Style> {
        self.former.as_deref()
    }

    /// Remembers the paths of a destination that changes: the client may hold them. Returns the number of paths that were read.
    pub fn remember_paths(&mut self, family: Family, id: Id, before: &[(PeerId, u32)]) -> usize {
        let Some(held) = &mut self.remembered_paths[family] else {
            return 0;
        };
        let held = held.entry(id).or_default();
        if std::mem::replace(&mut held.is_complete, true) {
            return 0;
        }
        let sent = before
            .iter()
            .map(|(peer, path_id)| path_id_of(*peer, *path_id));
        sent.for_each(|path| held.add(path));
        before.len()
    }

    /// Remembers a path by its identifier as sent: an unsent message had it.
    pub fn remember_path(&mut self, family: Family, id: Id, sent: u32) {
        if let Some(held) = &mut self.remembered_paths[family] {
            held.entry(id).or_default().add(sent);
        }
    }

    /// Takes the remembered paths of a destination that is about to be advertised again, each once.
    pub fn take_paths(&mut self, family: Family, id: Id) -> SmallVec<[u32; 2]> {
        let held = self.remembered_paths[family].as_mut();
        let held = held.and_then(|held| held.remove(&id));
        held.map_or_else(SmallVec::new, |mut held| {
            held.remove_duplicates();
            held.paths
        })
    }

    /// Takes the next marked destination of a family, and whether the client may hold former routes of it.
    pub fn take_next(&mut self, family: Family) -> Option<(Id, bool)> {
        self.dirty[family].as_mut()?.take_next()
    }

    /// Whether a destination has changed since all were marked, if it is marked.
    pub fn mark_of(&self, family: Family, id: Id) -> Option<bool> {
        self.dirty[family].as_ref()?.mark_of(id)
    }

    /// The remembered paths of each destination, and whether they are all that the client may hold.
    pub fn remembered_paths(&self, family: Family) -> impl Iterator<Item = (Id, bool, &[u32])> {
        let held = self.remembered_paths[family].iter().flatten();
        held.map(|(id, held)| (*id, held.is_complete, &held.paths[..]))
    }

    /// Restores what [`CatchUp::mark_of`] returned.
    pub fn restore_mark(&mut self, family: Family, id: Id, has_changed: bool) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.mark(id);
            if !has_changed {
                let (word, bit) = dirty.place(id);
                dirty.sure[word] |= bit;
            }
        }
    }

    /// Restores what [`CatchUp::remembered_paths`] returned.
    pub fn restore_paths(&mut self, family: Family, id: Id, is_complete: bool, paths: &[u32]) {
        if let Some(held) = &mut self.remembered_paths[family] {
            let paths = SmallVec::from_slice(paths);
            held.insert(id, RememberedPaths { paths, is_complete });
        }
    }

    /// Forgets a destination that is freed: the client holds nothing of it.
    pub fn forget(&mut self, family: Family, id: Id) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.forget(id);
        }
        if let Some(held) = &mut self.remembered_paths[family] {
            held.remove(&id);
        }
    }

    /// Returns whether the client may hold a route of a destination that has none any more.
    pub fn may_hold(&self, family: Family, id: Id) -> bool {
        let dirty = self.dirty[family].as_ref();
        dirty.is_some_and(|dirty| dirty.may_hold(id))
    }

    /// The number of remembered paths, some more than once.
    #[cfg(test)]
    fn remembered(&self) -> usize {
        let held = self.remembered_paths.iter().flatten();
        held.flat_map(HashMap::values)
            .map(|held| held.paths.len())
            .sum()
    }

    /// Marks a destination of which the client may hold any former routes.
    pub fn mark(&mut self, family: Family, id: Id) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.mark(id);
        }
    }

    /// Marks a destination that changes. `was_empty`: there was no accepted route before.
    pub fn mark_change(&mut self, family: Family, id: Id, was_empty: bool) {
        if let Some(dirty) = &mut self.dirty[family] {
            // After a change of style, only the differences of certain destinations are sent: new ones are not certain.
            match self.former {
                None => dirty.mark_change(id, was_empty),
                Some(_) => dirty.mark(id),
            }
        }
    }

    /// Marks all destinations: the client is sent all their routes again. It holds the present routes of each, or nothing.
    pub fn mark_all(&mut self, family: Family, end: Id) {
        if let Some(dirty) = &mut self.dirty[family] {
            dirty.mark_all(end);
            if self.former.is_some() {
                // The difference between the styles is not enough.
                dirty.make_all_uncertain();
            }
        }
    }

    /// The number of marked destinations in both families.
    pub fn left(&self) -> usize {
        self.dirty.iter().flatten().map(|dirty| dirty.count).sum()
    }
}

/// A set of destination ids that is consumed in ascending order, round and round. Two bits for each id say what the client
/// holds of a destination:
///
/// | `held` | `sure` | the id | the client holds |
/// | --- | --- | --- | --- |
/// | 0 | 0 | is not marked | the present routes |
/// | 1 | 0 | is marked | any former routes |
/// | 1 | 1 | is marked | the present routes, or nothing |
/// | 0 | 1 | is marked | nothing |
#[derive(Debug, Default)]
pub(crate) struct MarkedIds {
    held: Vec<u64>,
    sure: Vec<u64>,
    count: usize,
    /// The word where the next search begins.
    scan: usize,
}

impl MarkedIds {
    /// Marks an id: the client may hold any former routes.
    pub fn mark(&mut self, id: Id) {
        let (word, bit) = self.place(id);
        if (self.held[word] | self.sure[word]) & bit == 0 {
            self.count += 1;
        }
        self.held[word] |= bit;
        self.sure[word] &= !bit;
    }

    /// Marks an id whose destination changes. A client that held nothing still does. `was_empty`: the destination had no
    /// routes, so that a client that held the present ones holds nothing.
    fn mark_change(&mut self, id: Id, was_empty: bool) {
        let (word, bit) = self.place(id);
        match self.bits(id) {
            (false, false) if was_empty => {
                self.sure[word] |= bit;
                self.count += 1;
            }
            (false, true) => {}
            _ => self.mark(id),
        }
    }

    fn place(&mut self, id: Id) -> (usize, u64) {
        let word = id as usize / 64;
        self.grow(word + 1);
        (word, 1 << (id % 64))
    }

    fn bits(&self, id: Id) -> (bool, bool) {
        let (word, bit) = (id as usize / 64, 1 << (id % 64));
        let has = |words: &[u64]| words.get(word).is_some_and(|word| word & bit != 0);
        (has(&self.held), has(&self.sure))
    }

    /// Whether a marked id's destination may have changed; `None` if it is not marked.
    fn mark_of(&self, id: Id) -> Option<bool> {
        match self.bits(id) {
            (false, false) => None,
            (held, sure) => Some(!(held && sure)),
        }
    }

    fn may_hold(&self, id: Id) -> bool {
        self.bits(id).0
    }

    fn forget(&mut self, id: Id) {
        if self.bits(id) != (false, false) {
            let (word, bit) = self.place(id);
            self.held[word] &= !bit;
            self.sure[word] &= !bit;
            self.count -= 1;
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
            let new = ids & !(self.held[word] | self.sure[word]);
            self.held[word] |= new;
            self.sure[word] |= new;
            self.count += new.count_ones() as usize;
        }
    }

    /// The client may hold any former routes of the marked ids.
    fn make_all_uncertain(&mut self) {
        for (held, sure) in self.held.iter_mut().zip(&mut self.sure) {
            *held |= std::mem::take(sure);
        }
    }

    fn grow(&mut self, words: usize) {
        if words > self.held.len() {
            self.held.resize(words, 0);
            self.sure.resize(words, 0);
        }
    }

    /// Takes the next id out of the set, and whether the client may hold former routes.
    pub fn take_next(&mut self) -> Option<(Id, bool)> {
        if self.count == 0 {
            return None;
        }
        loop {
            if self.scan >= self.held.len() {
                self.scan = 0;
            }
            let (held, sure) = (&mut self.held[self.scan], &mut self.sure[self.scan]);
            let marked = *held | *sure;
            if marked == 0 {
                self.scan += 1;
                continue;
            }
            let bit = marked.trailing_zeros();
            let taken = (self.scan as Id * 64 + bit, *sure >> bit & 1 == 0);
            *held &= !(1 << bit);
            *sure &= !(1 << bit);
            self.count -= 1;
            return Some(taken);
        }
    }
}

/// The phase of a client's catch-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Advertisement is deferred (RFC 4724 §4.1): it is sent nothing yet.
    Deferred,
    /// It follows the log.
    Live,
    /// It has left the log at `until` (position), reads it up to there, then catches up.
    Leaving { until: u64 },
    /// It has left the log at `until`, and its unread part of the log becomes marks, slice by slice.
    Discarding { until: u64 },
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
    use crate::advertise::test_support::plain_style;

    fn with_add_path() -> CatchUp {
        let style = Style {
            add_path: PerFamily::both(true),
            ..plain_style()
        };
        CatchUp::new(PeerId(1), &style)
    }

    #[test]
    fn paths_that_come_and_go_while_a_client_reads_nothing_are_not_remembered() {
        let mut client = with_add_path();
        let family = Family::Ipv4Unicast;
        client.remember_path(family, 7, path_id_of(PeerId(2), 9));
        client.remember_paths(family, 7, &[(PeerId(2), 0), (PeerId(3), 0)]);
        for path_id in 1..100_000 {
            client.remember_paths(family, 7, &[(PeerId(2), path_id)]);
        }
        let held = [(2, 0), (2, 9), (3, 0)].map(|(peer, path)| path_id_of(PeerId(peer), path));
        assert_eq!(client.take_paths(family, 7).to_vec(), held);
        client.remember_paths(family, 7, &[(PeerId(2), 5)]);
        assert_eq!(client.take_paths(family, 7).len(), 1);
    }

    #[test]
    fn paths_of_unsent_messages_are_remembered_once() {
        let mut client = with_add_path();
        for path in 0..1_000_000 {
            client.remember_path(Family::Ipv4Unicast, 7, path % 1_000);
        }
        assert!(client.remembered() < 5_000, "{}", client.remembered());
        let paths = client.take_paths(Family::Ipv4Unicast, 7);
        assert_eq!(paths.to_vec(), (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn marks_are_taken_once_and_the_search_wraps() {
        let mut dirty = MarkedIds::default();
        for id in [3, 64, 65, 1000] {
            dirty.mark(id);
            dirty.mark(id);
        }
        let next = std::iter::from_fn(|| dirty.take_next());
        let mut out: Vec<_> = next.take(3).collect();
        dirty.mark(1);
        out.extend(std::iter::from_fn(|| dirty.take_next()));
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
            let out: Vec<_> = std::iter::from_fn(|| dirty.take_next()).collect();
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
            assert!(dirty.sure.iter().all(|word| *word == 0));
        }
    }

    /// All sequences of operations on one id, beside a twin that knows what the client holds.
    #[test]
    fn marks_know_what_a_client_may_hold() {
        // The number of the route that the client was sent, and that of the present one. What it may hold at most.
        type Twin = (Option<u32>, Option<u32>, bool);
        fn explore(operations: &mut Vec<u8>, check: &impl Fn(&[u8])) {
            check(operations);
            if operations.len() < 7 {
                for operation in 0..4 {
                    operations.push(operation);
                    explore(operations, check);
                    operations.pop();
                }
            }
        }
        let run = |operations: &[u8]| {
            let mut dirty = MarkedIds::default();
            let (mut sent, mut present, mut is_kept): Twin = (None, None, false);
            for (number, operation) in operations.iter().enumerate() {
                match operation {
                    0 => {
                        dirty.mark_change(7, present.is_none());
                        present = Some(number as u32);
                    }
                    1 if present.is_some() => {
                        dirty.mark_change(7, false);
                        present = None;
                        is_kept = dirty.may_hold(7);
                        if !is_kept {
                            dirty.forget(7);
                        }
                    }
                    2 => dirty.mark_all(8),
                    3 => {
                        let taken = std::iter::from_fn(|| dirty.take_next()).take(9);
                        for (id, may_hold_former) in taken.filter(|(id, _)| *id == 7) {
                            let is_outdated = sent.is_some() && sent != present;
                            assert!(may_hold_former || !is_outdated, "{id} in {operations:?}");
                            sent = present;
                        }
                    }
                    _ => {}
                }
                let is_outdated = sent != present;
                assert!(!is_outdated || dirty.mark_of(7).is_some(), "{operations:?}");
                let is_lost = sent.is_some() && present.is_none() && !is_kept;
                assert!(!is_lost, "the prefix is gone in {operations:?}");
                let marked = (0..200).filter(|id| dirty.mark_of(*id).is_some()).count();
                assert_eq!(marked, dirty.count);
            }
        };
        explore(&mut Vec::new(), &run);
    }

    #[test]
    fn a_destination_that_came_and_went_unsent_is_held_by_nobody() {
        let mut dirty = MarkedIds::default();
        dirty.mark_change(3, true);
        dirty.mark_change(3, false);
        assert!(!dirty.may_hold(3));
        dirty.forget(3);
        assert_eq!((dirty.mark_of(3), dirty.count), (None, 0));
        // An unsent message may have announced it before.
        dirty.mark_change(3, true);
        dirty.mark(3);
        assert!(dirty.may_hold(3));
        assert_eq!(dirty.count, 1);
    }
}
