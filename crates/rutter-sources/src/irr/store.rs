//! The answers of servers and the content of files, between refreshes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rutter_irr::{AsSetName, IrrList, OriginSet, PackedRows, PrefixLimits};

use super::record::{Record, View};
use super::wanted::Wanted;
use crate::file_stamp::FileStamp;

/// The AS numbers of an AS-SET and of all sets inside it, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SetAnswer {
    /// The server has the set.
    pub exists: bool,
    pub asns: Box<[u32]>,
}

/// The role of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum FileKey {
    /// A list of the AS-SET or AS number with this name.
    List(String),
    Arin,
    RegistroBr,
    PeeringDb,
}

/// The content of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FileContent {
    /// AS numbers of a list, in order.
    pub asns: Box<[u32]>,
    /// Prefixes of a list or dump.
    pub rows: Arc<IrrList>,
    /// AS-SETs by AS number, of PeeringDB.
    pub as_sets: BTreeMap<u32, Vec<AsSetName>>,
    /// Recommended limits, of PeeringDB. `None`: a last good copy of an earlier version, which has none.
    pub prefix_limits: Option<Arc<PrefixLimits>>,
}

impl FileContent {
    /// The number of the entries that Rutter uses.
    pub fn len(&self) -> usize {
        self.rows.len() + self.asns.len() + self.facts()
    }

    /// The number of networks of which PeeringDB has AS-SETs, and of those of which it has limits.
    pub fn facts(&self) -> usize {
        self.as_sets.len() + self.prefix_limits.as_ref().map_or(0, |limits| limits.len())
    }
}

/// All answers that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct IrrStore {
    pub sets: BTreeMap<AsSetName, Record<SetAnswer>>,
    /// The prefixes of the route objects with an origin.
    pub origins: HashMap<u32, Record<Arc<PackedRows>>>,
    pub files: BTreeMap<FileKey, Record<FileContent>>,
    /// The states in which files were read. A file in the same state is not read again.
    pub stamps: BTreeMap<FileKey, FileStamp>,
}

impl IrrStore {
    /// The list in a file for a set.
    pub fn list(&self, set: &OriginSet) -> Option<&FileContent> {
        self.file(&FileKey::List(set.to_string()))
    }

    /// Returns whether a file is configured for a set, and nothing of it is known.
    pub fn is_unreadable(&self, set: &OriginSet) -> bool {
        let record = self.files.get(&FileKey::List(set.to_string()));
        record.is_some_and(|record| record.good.is_none() && record.pending.is_none())
    }

    /// The content of a file that is in force.
    pub fn file(&self, key: &FileKey) -> Option<&FileContent> {
        self.files.get(key)?.good.as_ref()
    }

    /// The AS numbers of a set; `None` if nothing is known about it.
    pub fn asns<'a>(&'a self, set: &'a OriginSet, view: View) -> Option<&'a [u32]> {
        let list = self.list(set).map(|list| &*list.asns);
        match (list.filter(|asns| !asns.is_empty()), set) {
            (Some(asns), _) => Some(asns),
            (None, OriginSet::Asn(asn)) => Some(std::slice::from_ref(asn)),
            (None, OriginSet::Named(_)) if self.is_unreadable(set) => None,
            (None, OriginSet::Named(name)) => {
                let answer = self.sets.get(name)?.get(view)?;
                Some(&answer.asns)
            }
        }
    }

    /// Returns whether a file has the prefixes of a set, so that those of its origins are not needed.
    pub fn has_prefixes(&self, set: &OriginSet) -> bool {
        self.list(set).is_some_and(|list| !list.rows.is_empty())
    }

    /// The number of prefixes of an origin.
    pub fn prefixes(&self, origin: u32, view: View) -> usize {
        let record = self.origins.get(&origin);
        record
            .and_then(|record| record.get(view))
            .map_or(0, |rows| rows.len())
    }

    /// The number of prefixes that a set registers.
    pub fn entries(&self, set: &OriginSet, view: View) -> usize {
        if self.has_prefixes(set) {
            return self.list(set).map_or(0, |list| list.rows.len());
        }
        let asns = self.asns(set, view).unwrap_or_default();
        asns.iter().map(|asn| self.prefixes(*asn, view)).sum()
    }

    /// The origins whose prefixes the members need.
    pub fn needed_origins(&self, wanted: &Wanted, view: View) -> HashSet<u32> {
        let sets = wanted.sets.iter();
        let sets = sets.filter(|set| !self.has_prefixes(set));
        sets.filter_map(|set| self.asns(set, view))
            .flatten()
            .copied()
            .collect()
    }

    /// Removes what no member needs.
    pub fn retain(&mut self, wanted: &Wanted) {
        let named: HashSet<&AsSetName> = wanted.named().collect();
        self.sets.retain(|name, _| named.contains(name));
        let mut origins = self.needed_origins(wanted, View::Good);
        origins.extend(self.needed_origins(wanted, View::Next));
        self.origins.retain(|origin, _| origins.contains(origin));
        self.origins.shrink_to_fit();
    }
}
