//! The export policy of an exchange: action communities become audiences.

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};
use rutter_wire::attr::Attributes;

use crate::action_table::ActionTable;
use crate::audience::ExportActions;
use crate::{AudienceSpec, Notation, ParseNotationError};

/// What an action community asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Announce to nobody but the peers that `ToPeer` names.
    NotToAny,
    /// Do not announce to the peer.
    NotToPeer,
    /// Announce to all: the default, said aloud.
    ToAny,
    /// Announce to the peer although `NotToAny` is present.
    ToPeer,
    /// Announce to this peer, and to no other that is not named too: `ToPeer` and `NotToAny` in one.
    OnlyToPeer,
    /// Prepend for all.
    PrependAny,
    /// Prepend for the peer.
    PrependPeer,
    /// Add NO_EXPORT for all.
    NoExportAny,
    /// Add NO_EXPORT for the peer.
    NoExportPeer,
    /// Add NO_ADVERTISE for all.
    NoAdvertiseAny,
    /// Add NO_ADVERTISE for the peer.
    NoAdvertisePeer,
}

impl Action {
    /// Every action with its key in the configuration file.
    pub const ALL: [(Action, &'static str); 11] = [
        (Action::NotToAny, "not-to-any"),
        (Action::NotToPeer, "not-to-peer"),
        (Action::ToAny, "to-any"),
        (Action::ToPeer, "to-peer"),
        (Action::OnlyToPeer, "only-to-peer"),
        (Action::PrependAny, "prepend-any"),
        (Action::PrependPeer, "prepend-peer"),
        (Action::NoExportAny, "no-export-any"),
        (Action::NoExportPeer, "no-export-peer"),
        (Action::NoAdvertiseAny, "no-advertise-any"),
        (Action::NoAdvertisePeer, "no-advertise-peer"),
    ];

    /// The key in the configuration file.
    pub fn key(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether one peer is meant: the notation must have a `peer` field.
    pub fn names_peer(self) -> bool {
        self.key().ends_with("-peer")
    }

    /// Whether the notation may have a range.
    pub fn counts(self) -> bool {
        matches!(self, Action::PrependAny | Action::PrependPeer)
    }
}

/// A notation and its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ActionCommunity {
    /// What is asked for.
    pub action: Action,
    /// How it is written.
    pub notation: Notation,
}

impl ActionCommunity {
    /// Joins the two where they go together: `peer` where a peer is meant, a range where something is counted.
    pub fn new(action: Action, notation: Notation) -> Result<Self, ParseNotationError> {
        let key = action.key();
        if action.names_peer() && !notation.names_peer() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` needs a field `peer`"
            )));
        }
        if !action.names_peer() && notation.names_peer() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` means every client, so no field may be `peer`"
            )));
        }
        if notation.has_range() && !action.counts() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: a range counts prepends, `{key}` has nothing to count"
            )));
        }
        Ok(ActionCommunity { action, notation })
    }
}

/// What a received NO_EXPORT or NO_ADVERTISE does (RFC 7947 §2.2.4 leaves it to the operator).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WellKnown {
    /// It travels on to the clients, for whom it was meant.
    #[default]
    Pass,
    /// We obey it ourselves, as a router does (RFC 1997).
    Honour,
}

/// What an [`ExportPolicy`] is built from. The default knows no action community.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportSettings {
    /// Our AS: what `self` stands for.
    pub local_asn: Asn,
    /// The action communities.
    pub actions: Vec<ActionCommunity>,
    /// Received NO_EXPORT and NO_ADVERTISE.
    pub well_known: WellKnown,
    /// Remove action communities before sending.
    pub scrub: bool,
    /// Add NO_EXPORT to routes with BLACKHOLE (RFC 7999 §3.2).
    pub blackhole_no_export: bool,
    /// 16-bit stand-ins for members with 32-bit AS numbers, for use in standard communities.
    pub aliases: Vec<(u16, Asn)>,
}

impl Default for ExportSettings {
    fn default() -> Self {
        ExportSettings {
            local_asn: Asn(0),
            actions: Vec::new(),
            well_known: WellKnown::Pass,
            scrub: true,
            blackhole_no_export: false,
            aliases: Vec::new(),
        }
    }
}

/// The export policy of an exchange: immutable, shared between threads.
///
/// # Precedence
///
/// The order of communities in a route never matters. Whether a client hears the route, first match:
/// 1. NO_ADVERTISE or NO_EXPORT is honoured: no;
/// 2. `not-to-peer` names it: no;
/// 3. `to-peer` or `only-to-peer` names it: yes;
/// 4. `not-to-any` is present, or `only-to-peer` names somebody else: no;
/// 5. otherwise (with or without `to-any`): yes.
///
/// Prepends: the largest `prepend-peer` that names the client, else the largest `prepend-any`. A community that
/// matches a notation without `peer` is not looked up under those with `peer` (`0:self` is not "peer *self*").
#[derive(Debug)]
pub struct ExportPolicy {
    settings: ExportSettings,
    table: ActionTable,
}

impl ExportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ExportSettings) -> Self {
        ExportPolicy {
            table: ActionTable::new(&settings),
            settings,
        }
    }

    /// What the policy was built from.
    pub fn settings(&self) -> &ExportSettings {
        &self.settings
    }

    /// Who may hear routes with these attributes, and how. Does not allocate where nobody is named.
    pub fn audience(&self, attributes: &Attributes<'_>) -> AudienceSpec {
        let mut actions = ExportActions::default();
        for community in attributes.communities() {
            match self.table.standard(community) {
                Some(hit) => actions.add(hit),
                None => self.well_known(community, &mut actions),
            }
        }
        if self.table.has_extended() {
            let hits = attributes.extended_communities();
            hits.filter_map(|c| self.table.extended(c))
                .for_each(|hit| actions.add(hit));
        }
        if self.table.has_large() {
            let hits = attributes.large_communities();
            hits.filter_map(|c| self.table.large(c))
                .for_each(|hit| actions.add(hit));
        }
        actions.audience()
    }

    /// Whether the route goes to everybody as it is: nothing in these attributes asks for anything, and nothing would
    /// be scrubbed. Cheaper than [`ExportPolicy::audience`], and true of almost all sets.
    pub fn advertises_unchanged(&self, attributes: &Attributes<'_>) -> bool {
        let honour = self.settings.well_known == WellKnown::Honour;
        let well_known = |community| match community {
            Community::NO_ADVERTISE | Community::NO_EXPORT | Community::NO_EXPORT_SUBCONFED => {
                honour
            }
            Community::BLACKHOLE => self.settings.blackhole_no_export,
            _ => false,
        };
        let plain = |community| !well_known(community) && !self.is_action_community(community);
        let (mut extended, mut large) = (
            attributes.extended_communities(),
            attributes.large_communities(),
        );
        attributes.communities().all(plain)
            && !(self.table.has_extended() && extended.any(|c| self.is_action_extended(c)))
            && !(self.table.has_large() && large.any(|c| self.is_action_large(c)))
    }

    /// Whether `other` sends routes with these attributes to the same clients in the same words.
    pub fn has_same_effect(&self, other: &ExportPolicy, attributes: &Attributes<'_>) -> bool {
        if self.advertises_unchanged(attributes) && other.advertises_unchanged(attributes) {
            return true;
        }
        let removes = |policy: &ExportPolicy, is_action: bool| policy.scrub() && is_action;
        self.audience(attributes) == other.audience(attributes)
            && attributes.communities().all(|c| {
                removes(self, self.is_action_community(c))
                    == removes(other, other.is_action_community(c))
            })
            && attributes.extended_communities().all(|c| {
                removes(self, self.is_action_extended(c))
                    == removes(other, other.is_action_extended(c))
            })
            && attributes.large_communities().all(|c| {
                removes(self, self.is_action_large(c)) == removes(other, other.is_action_large(c))
            })
    }

    fn well_known(&self, community: Community, actions: &mut ExportActions) {
        let honour = self.settings.well_known == WellKnown::Honour;
        match community {
            Community::NO_ADVERTISE if honour => actions.no_advertise = true,
            Community::NO_EXPORT | Community::NO_EXPORT_SUBCONFED if honour => {
                actions.no_export = true;
            }
            Community::BLACKHOLE if self.settings.blackhole_no_export => {
                actions.add_no_export = true;
            }
            _ => {}
        }
    }

    /// Whether action communities are to be removed before sending (false where none is configured).
    pub fn scrub(&self) -> bool {
        self.settings.scrub && !self.settings.actions.is_empty()
    }

    /// Whether a standard community is an action community.
    pub fn is_action_community(&self, community: Community) -> bool {
        self.table.standard(community).is_some()
    }

    /// Whether an extended community is an action community.
    pub fn is_action_extended(&self, community: ExtendedCommunity) -> bool {
        self.table.extended(community).is_some()
    }

    /// Whether a large community is an action community.
    pub fn is_action_large(&self, community: LargeCommunity) -> bool {
        self.table.large(community).is_some()
    }

    /// Whether anything in these attributes would be scrubbed.
    pub fn has_action_community(&self, attributes: &Attributes<'_>) -> bool {
        attributes
            .communities()
            .any(|c| self.is_action_community(c))
            || attributes
                .extended_communities()
                .any(|c| self.is_action_extended(c))
            || attributes
                .large_communities()
                .any(|c| self.is_action_large(c))
    }
}

impl Default for ExportPolicy {
    fn default() -> Self {
        Self::new(ExportSettings::default())
    }
}
