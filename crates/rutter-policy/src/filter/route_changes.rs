//! The changes that filters make to a route.

use std::fmt;

use rutter_net::{Community, ExtendedCommunity, LargeCommunity};

use super::community_pattern::{AnyCommunity, CommunityPattern};

/// The changes that filters make to a route. The received attributes stay as they are: the decision process and the
/// encoder apply the changes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RouteChanges {
    /// The LOCAL_PREF in place of the received one.
    pub local_pref: Option<u32>,
    /// The MULTI_EXIT_DISC in place of the received one.
    pub med: Option<MedChange>,
    /// How often the first AS of the path is repeated.
    pub prepend: u8,
    /// The communities that are removed.
    pub removed: RemovedCommunities,
    /// The communities that are added after that, without duplicates.
    pub added: Vec<AddedCommunity>,
}

/// Another MULTI_EXIT_DISC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MedChange {
    /// This value.
    Set(u32),
    /// None.
    Remove,
}

/// A set of communities to remove.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RemovedCommunities {
    /// The communities that match a pattern.
    Matching(Vec<CommunityPattern>),
    /// All, whatever their kind.
    All,
}

/// A community to add.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddedCommunity {
    community: AnyCommunity,
    /// The same as a pattern, so that later changes find it and people can read it.
    pattern: CommunityPattern,
}

/// The most repetitions of an AS by one rule, and by all rules together.
pub const MAX_PREPEND: u8 = 20;

impl AddedCommunity {
    /// The community of a pattern without wildcards; `None` for any other pattern.
    pub fn new(pattern: CommunityPattern) -> Option<Self> {
        let community = pattern.exact()?;
        Some(AddedCommunity { community, pattern })
    }

    pub(super) fn community(&self) -> AnyCommunity {
        self.community
    }
}

impl fmt::Display for AddedCommunity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

impl Default for RemovedCommunities {
    /// None.
    fn default() -> Self {
        RemovedCommunities::Matching(Vec::new())
    }
}

impl RemovedCommunities {
    fn any(&self, matches: impl Fn(&CommunityPattern) -> bool) -> bool {
        match self {
            RemovedCommunities::All => true,
            RemovedCommunities::Matching(patterns) => patterns.iter().any(matches),
        }
    }

    fn removes(&self, community: AnyCommunity) -> bool {
        self.any(|pattern| match community {
            AnyCommunity::Standard(one) => pattern.matches_standard(one),
            AnyCommunity::Extended(one) => pattern.matches_extended(one),
            AnyCommunity::Large(one) => pattern.matches_large(one),
        })
    }

    fn extend(&mut self, later: &RemovedCommunities) {
        match (&mut *self, later) {
            (RemovedCommunities::All, _) => {}
            (_, RemovedCommunities::All) => *self = RemovedCommunities::All,
            (RemovedCommunities::Matching(held), RemovedCommunities::Matching(more)) => {
                let new = more.iter().filter(|pattern| !held.contains(pattern));
                let new: Vec<CommunityPattern> = new.copied().collect();
                held.extend(new);
            }
        }
    }
}

impl RouteChanges {
    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == RouteChanges::default()
    }

    /// Returns whether the decision process compares changed values.
    pub fn concern_decision(&self) -> bool {
        self.local_pref.is_some() || self.med.is_some() || self.prepend > 0
    }

    /// Applies later changes to the result of these.
    pub fn then(&mut self, later: &RouteChanges) {
        self.local_pref = later.local_pref.or(self.local_pref);
        self.med = later.med.or(self.med);
        self.prepend = self.prepend.saturating_add(later.prepend).min(MAX_PREPEND);
        self.added
            .retain(|one| !later.removed.removes(one.community));
        self.removed.extend(&later.removed);
        for one in &later.added {
            if !self.added.contains(one) {
                self.added.push(*one);
            }
        }
    }

    /// The MULTI_EXIT_DISC of a route that was received with this one.
    pub fn med_of(&self, received: Option<u32>) -> Option<u32> {
        match self.med {
            None => received,
            Some(MedChange::Set(value)) => Some(value),
            Some(MedChange::Remove) => None,
        }
    }

    /// Changes a list of standard communities.
    pub fn change_standard(&self, communities: &mut Vec<Community>) {
        communities.retain(|one| !self.removed.removes(AnyCommunity::Standard(*one)));
        self.add(communities, |community| match community {
            AnyCommunity::Standard(one) => Some(one),
            _ => None,
        });
    }

    /// Changes a list of extended communities.
    pub fn change_extended(&self, communities: &mut Vec<ExtendedCommunity>) {
        communities.retain(|one| !self.removed.removes(AnyCommunity::Extended(*one)));
        self.add(communities, |community| match community {
            AnyCommunity::Extended(one) => Some(one),
            _ => None,
        });
    }

    /// Changes a list of large communities.
    pub fn change_large(&self, communities: &mut Vec<LargeCommunity>) {
        communities.retain(|one| !self.removed.removes(AnyCommunity::Large(*one)));
        self.add(communities, |community| match community {
            AnyCommunity::Large(one) => Some(one),
            _ => None,
        });
    }

    /// Changes a list of communities of all kinds.
    pub fn change_any(&self, communities: &mut Vec<AddedCommunity>) {
        communities.retain(|one| !self.removed.removes(one.community));
        for one in &self.added {
            if !communities.contains(one) {
                communities.push(*one);
            }
        }
    }

    fn add<C: PartialEq>(&self, to: &mut Vec<C>, of_kind: impl Fn(AnyCommunity) -> Option<C>) {
        for one in self.added.iter().filter_map(|one| of_kind(one.community)) {
            if !to.contains(&one) {
                to.push(one);
            }
        }
    }
}

impl fmt::Display for RouteChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut add = |key: &str, value: &dyn fmt::Display| parts.push(format!("{key} {value}"));
        if let Some(value) = self.local_pref {
            add("local-pref", &value);
        }
        match self.med {
            Some(MedChange::Set(value)) => add("med", &value),
            Some(MedChange::Remove) => add("med", &"removed"),
            None => {}
        }
        if self.prepend > 0 {
            add("prepend", &self.prepend);
        }
        match &self.removed {
            RemovedCommunities::All => add("remove-communities", &"all"),
            RemovedCommunities::Matching(patterns) => {
                for pattern in patterns {
                    add("remove-communities", pattern);
                }
            }
        }
        for one in &self.added {
            add("add-communities", &one.pattern);
        }
        f.write_str(&parts.join(", "))
    }
}
