//! Decides which new answers come into force.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rutter_irr::OriginSet;

use super::record::{Record, View};
use super::store::{FileContent, FileKey, IrrStore};
use super::wanted::Wanted;
use crate::{Shrink, ShrinkGuard};

/// The answers that wait for an operator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Refusals {
    /// The prefixes of all members together.
    pub overall: Option<Shrink>,
    /// The prefixes or AS numbers of single sets.
    pub sets: BTreeMap<OriginSet, Shrink>,
    /// The rows of single files.
    pub files: BTreeMap<FileKey, Shrink>,
}

impl Refusals {
    pub fn is_empty(&self) -> bool {
        self.overall.is_none() && self.sets.is_empty() && self.files.is_empty()
    }

    /// Puts new contents of files in force, except those that shrank too much. Returns whether anything changed.
    pub fn decide_files(&mut self, store: &mut IrrStore, limit: Option<u8>) -> bool {
        self.files.clear();
        let mut changed = false;
        for (key, record) in &mut store.files {
            let len = |view| record.get(view).map_or(0, FileContent::len);
            match check(limit, len(View::Good), len(View::Next)) {
                Some(shrink) => drop(self.files.insert(key.clone(), shrink)),
                None => changed |= record.promote(),
            }
        }
        changed
    }

    /// Puts new answers of servers in force. An AS-SET that became empty or lost many entries keeps its last answer, and
    /// its origins their prefixes. If all members together lost too much, only answers without an older one come into
    /// force. Returns whether anything changed.
    pub fn decide_answers(
        &mut self,
        store: &mut IrrStore,
        wanted: &Wanted,
        limit: Option<u8>,
    ) -> bool {
        self.sets = refused_sets(store, wanted, limit);
        let mut held = HeldBack::new(store, &self.sets);
        let old = store.needed_origins(wanted, View::Good);
        let old = old.iter().map(|origin| store.prefixes(*origin, View::Good));
        self.overall = check(limit, old.sum(), held.entries(store, wanted));
        held.all = self.overall.is_some();
        let mut changed = false;
        for (name, record) in &mut store.sets {
            let set = OriginSet::Named(name.clone());
            changed |= held.promote(record, held.sets.contains(&set));
        }
        for (origin, record) in &mut store.origins {
            changed |= held.promote(record, held.origins.contains(origin));
        }
        changed
    }

    /// Puts everything in force that was refused. Returns whether there was anything.
    pub fn accept(&mut self, store: &mut IrrStore) -> bool {
        let refused = std::mem::take(self);
        if refused.is_empty() {
            return false;
        }
        for record in store.files.values_mut() {
            record.promote();
        }
        for record in store.sets.values_mut() {
            record.promote();
        }
        for record in store.origins.values_mut() {
            record.promote();
        }
        true
    }
}

/// The answers that do not come into force.
struct HeldBack {
    /// Everything that replaces an older answer.
    all: bool,
    sets: BTreeSet<OriginSet>,
    origins: HashSet<u32>,
}

impl HeldBack {
    fn new(store: &IrrStore, refused: &BTreeMap<OriginSet, Shrink>) -> Self {
        let sets: BTreeSet<OriginSet> = refused.keys().cloned().collect();
        let asns = sets.iter().filter_map(|set| store.asns(set, View::Good));
        let shrank = |origin: &u32| {
            store.prefixes(*origin, View::Next) < store.prefixes(*origin, View::Good)
        };
        let origins = asns.flatten().copied().filter(shrank).collect();
        HeldBack {
            all: false,
            sets,
            origins,
        }
    }

    /// The number of prefixes of all members, if what is not held back comes into force.
    fn entries(&self, store: &IrrStore, wanted: &Wanted) -> usize {
        let view = |is_held: bool| if is_held { View::Good } else { View::Next };
        let sets = wanted.sets.iter().filter(|set| !store.has_prefixes(set));
        let origins: HashSet<u32> = sets
            .filter_map(|set| store.asns(set, view(self.sets.contains(set))))
            .flatten()
            .copied()
            .collect();
        let prefixes = |origin: &u32| store.prefixes(*origin, view(self.origins.contains(origin)));
        origins.iter().map(prefixes).sum()
    }

    fn promote<T: PartialEq>(&self, record: &mut Record<T>, is_held: bool) -> bool {
        let is_held = is_held || (self.all && record.good.is_some());
        !is_held && record.promote()
    }
}

fn refused_sets(
    store: &IrrStore,
    wanted: &Wanted,
    limit: Option<u8>,
) -> BTreeMap<OriginSet, Shrink> {
    let sets = wanted.sets.iter().filter(|set| !store.has_prefixes(set));
    sets.filter_map(|set| {
        let entries = |view| store.entries(set, view);
        let asns = |view| store.asns(set, view).map_or(0, <[u32]>::len);
        let shrink = check_set(limit, entries(View::Good), entries(View::Next));
        let shrink = shrink.or_else(|| check_set(limit, asns(View::Good), asns(View::Next)));
        Some((set.clone(), shrink?))
    })
    .collect()
}

/// Small sets lose large shares in normal operation. So a set is refused only if it is empty, or lost many entries.
fn check_set(limit: Option<u8>, old: usize, new: usize) -> Option<Shrink> {
    let shrink = check(limit, old, new)?;
    (new == 0 || old - new >= MANY_ENTRIES).then_some(shrink)
}

fn check(limit: Option<u8>, old: usize, new: usize) -> Option<Shrink> {
    ShrinkGuard::new(limit).check(old, new).err()
}

/// A set that lost fewer entries than this is never refused, unless it is empty.
const MANY_ENTRIES: usize = 100;
