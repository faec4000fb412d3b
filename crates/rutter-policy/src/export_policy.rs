//! The export policy of an exchange: determines audiences from action communities.

use std::net::IpAddr;

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity, PerFamily};
use rutter_wire::attr::Attributes;

use crate::action_table::ActionTable;
use crate::audience::ExportActions;
use crate::class_tags::ClassTagTable;
use crate::{
    AudienceSpec, Class, ClassTag, Notation, ParseNotationError, Rtt, RttClass, RttThresholds, Tags,
};

/// An action that a community asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Advertise to no peer except those named by `ToPeer`.
    NotToAny,
    /// Do not advertise to the peer.
    NotToPeer,
    /// Advertise to all peers, which is the default.
    ToAny,
    /// Advertise to the peer even if `NotToAny` is present.
    ToPeer,
    /// Advertise to the named peers only: `ToPeer` and `NotToAny` in one.
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
    /// Do not advertise to peers whose round-trip time is at most the threshold.
    NotToRttLower,
    /// Do not advertise to peers whose round-trip time exceeds the threshold.
    NotToRttHigher,
    /// Advertise to peers whose round-trip time is at most the threshold, even if `NotToAny` is present.
    ToRttLower,
    /// Advertise to peers whose round-trip time exceeds the threshold, even if `NotToAny` is present.
    ToRttHigher,
    /// Prepend for peers whose round-trip time is at most the threshold.
    PrependRttLower,
    /// Prepend for peers whose round-trip time exceeds the threshold.
    PrependRttHigher,
    /// The same as BLACKHOLE (RFC 7999), which is added. Only where blackholing is accepted.
    Blackhole,
}

impl Action {
    /// All actions with their keys in the configuration file.
    pub const ALL: [(Action, &'static str); 18] = [
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
        (Action::NotToRttLower, "not-to-rtt-lower"),
        (Action::NotToRttHigher, "not-to-rtt-higher"),
        (Action::ToRttLower, "to-rtt-lower"),
        (Action::ToRttHigher, "to-rtt-higher"),
        (Action::PrependRttLower, "prepend-rtt-lower"),
        (Action::PrependRttHigher, "prepend-rtt-higher"),
        (Action::Blackhole, "blackhole"),
    ];

    /// The key in the configuration file.
    pub fn key(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns whether the action applies to one peer: its notation must have a `peer` field.
    pub fn names_peer(self) -> bool {
        matches!(
            self,
            Action::NotToPeer
                | Action::ToPeer
                | Action::OnlyToPeer
                | Action::PrependPeer
                | Action::NoExportPeer
                | Action::NoAdvertisePeer
        )
    }

    /// Returns whether the action applies to peers by their round-trip time: its notation must have an `rtt` field.
    pub fn names_rtt(self) -> bool {
        matches!(
            self,
            Action::NotToRttLower
                | Action::NotToRttHigher
                | Action::ToRttLower
                | Action::ToRttHigher
                | Action::PrependRttLower
                | Action::PrependRttHigher
        )
    }

    /// Returns whether the notation may have a range.
    pub fn counts(self) -> bool {
        matches!(
            self,
            Action::PrependAny
                | Action::PrependPeer
                | Action::PrependRttLower
                | Action::PrependRttHigher
        )
    }
}

/// An action and its notation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ActionCommunity {
    /// The action.
    pub action: Action,
    /// The notation of its communities.
    pub notation: Notation,
}

impl ActionCommunity {
    /// Combines an action and a notation. Actions on one peer need the field `peer`, actions by
    /// round-trip time the field `rtt`. Only prepends may have a range.
    pub fn new(action: Action, notation: Notation) -> Result<Self, ParseNotationError> {
        let key = action.key();
        if action.names_peer() && !notation.names_peer() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` needs a field `peer`"
            )));
        }
        if action.names_rtt() && !notation.names_rtt() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` needs a field `rtt`"
            )));
        }
        if !action.names_rtt() && notation.names_rtt() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` does not depend on the round-trip time, so no field may be `rtt`"
            )));
        }
        if notation.names_code() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: only `reject-cause` has a field `code`, not `{key}`"
            )));
        }
        if !action.names_peer() && notation.names_peer() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` does not apply to one client, so no field may be `peer`"
            )));
        }
        if action == Action::Blackhole && notation.is_well_known() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: `{key}` is for communities of your own; BLACKHOLE (65535:666) needs no key"
            )));
        }
        if notation.has_range() && !action.counts() {
            return Err(ParseNotationError::new(format!(
                "`{notation}`: a range is for prepends, not for `{key}`"
            )));
        }
        Ok(ActionCommunity { action, notation })
    }

    /// Returns whether some community has two meanings: it matches both notations, neither takes precedence, and the
    /// actions or their counts differ. Equal notations always collide. `local` is our AS.
    pub fn collides(&self, other: &ActionCommunity, local: Asn) -> bool {
        let is_harmless = self.action == other.action && !self.action.counts();
        self.notation == other.notation
            || !is_harmless
                && self.notation.is_variable() == other.notation.is_variable()
                && self.notation.overlaps(&other.notation, local)
    }
}

/// The treatment of a received NO_EXPORT or NO_ADVERTISE (RFC 7947 §2.2.4 leaves it to the operator).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WellKnown {
    /// Pass it on to the clients.
    #[default]
    Pass,
    /// Honour it here, as a router does (RFC 1997).
    Honour,
}

/// The settings of an [`ExportPolicy`]. The default has no action communities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportSettings {
    /// Our AS, which replaces `self` in notations.
    pub local_asn: Asn,
    /// The action communities.
    pub actions: Vec<ActionCommunity>,
    /// The treatment of received NO_EXPORT and NO_ADVERTISE.
    pub well_known: WellKnown,
    /// Remove action communities before advertising.
    pub scrub: bool,
    /// Add NO_EXPORT to routes that were accepted for BLACKHOLE (RFC 7999 §3.2).
    pub blackhole_no_export: bool,
    /// Some neighbor's routes with BLACKHOLE are accepted for it (RFC 7999).
    pub accepts_blackhole: bool,
    /// Add GRACEFUL_SHUTDOWN to all routes that leave our AS: this speaker is about to stop (RFC 8326 §4.2).
    pub graceful_shutdown: bool,
    /// The communities that mark routes with their class.
    pub class_tags: Vec<ClassTag>,
    /// Mark routes with the validation state of their origin as RFC 8097 has it.
    pub send_origin_state: bool,
    /// The next hop of routes that were accepted for BLACKHOLE, where it replaces the received one.
    pub blackhole_next_hop: PerFamily<Option<IpAddr>>,
    /// 16-bit aliases of members with 32-bit AS numbers, for standard communities.
    pub aliases: Vec<(u16, Asn)>,
    /// The round-trip times that communities can name.
    pub rtt_thresholds: RttThresholds,
}

impl Default for ExportSettings {
    fn default() -> Self {
        ExportSettings {
            local_asn: Asn(0),
            actions: Vec::new(),
            well_known: WellKnown::Pass,
            scrub: true,
            blackhole_no_export: false,
            accepts_blackhole: false,
            graceful_shutdown: false,
            class_tags: Vec::new(),
            send_origin_state: false,
            blackhole_next_hop: PerFamily::both(None),
            aliases: Vec::new(),
            rtt_thresholds: RttThresholds::default(),
        }
    }
}

/// The export policy of an exchange: immutable, shared between threads.
///
/// # Precedence
///
/// The order of communities in a route does not matter. The first rule that applies decides whether a client
/// receives the route:
/// 1. NO_ADVERTISE or NO_EXPORT is honoured: no;
/// 2. `not-to-peer` names the client: no;
/// 3. `to-peer` or `only-to-peer` names the client: yes;
/// 4. `not-to-rtt-lower` or `not-to-rtt-higher` applies to the client's round-trip time: no;
/// 5. `to-rtt-lower` or `to-rtt-higher` applies to it: yes;
/// 6. `not-to-any` is present, or `only-to-peer` names another client: no;
/// 7. otherwise (with or without `to-any`): yes.
///
/// Prepends: the largest `prepend-peer` that names the client, else `prepend-rtt-higher` with the highest threshold that
/// applies, else `prepend-rtt-lower` with the lowest, else the largest `prepend-any`. Notations without `peer` take precedence over notations with `peer` (`0:self` is not "peer *self*").
#[derive(Debug)]
pub struct ExportPolicy {
    settings: ExportSettings,
    table: ActionTable,
    tags: ClassTagTable,
}

impl ExportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ExportSettings) -> Self {
        ExportPolicy {
            table: ActionTable::new(&settings),
            tags: ClassTagTable::new(
                &settings.class_tags,
                settings.send_origin_state,
                settings.local_asn,
            ),
            settings,
        }
    }

    /// The settings of the policy.
    pub fn settings(&self) -> &ExportSettings {
        &self.settings
    }

    /// Returns the audience of routes with these attributes. Allocates only for communities that name a peer.
    pub fn audience(&self, attributes: &Attributes<'_>) -> AudienceSpec {
        let thresholds = &self.settings.rtt_thresholds;
        let mut actions = ExportActions::default();
        for community in attributes.communities() {
            match self.table.standard(community) {
                Some(hit) => actions.add(hit, thresholds),
                None => self.well_known(community, &mut actions),
            }
        }
        if self.table.has_extended() {
            let hits = attributes.extended_communities();
            hits.filter_map(|c| self.table.extended(c))
                .for_each(|hit| actions.add(hit, thresholds));
        }
        if self.table.has_large() {
            let hits = attributes.large_communities();
            hits.filter_map(|c| self.table.large(c))
                .for_each(|hit| actions.add(hit, thresholds));
        }
        actions.blackhole &= self.settings.accepts_blackhole;
        actions.add_graceful_shutdown = self.settings.graceful_shutdown;
        actions.audience(thresholds)
    }

    /// Returns whether the route is advertised unchanged to all clients: no community asks for an action, and none is
    /// scrubbed. This is cheaper than [`ExportPolicy::audience`] and true for almost all attribute sets.
    pub fn advertises_unchanged(&self, attributes: &Attributes<'_>) -> bool {
        if self.settings.graceful_shutdown {
            return false;
        }
        let honour = self.settings.well_known == WellKnown::Honour;
        let well_known = |community| match community {
            Community::NO_ADVERTISE | Community::NO_EXPORT | Community::NO_EXPORT_SUBCONFED => {
                honour
            }
            Community::BLACKHOLE => self.settings.accepts_blackhole,
            _ => false,
        };
        let has_tags = !self.tags.is_empty();
        let plain = |community| {
            let is_tag = || has_tags && self.tags.is_standard(community);
            !(well_known(community) || self.is_action_community(community) || is_tag())
        };
        let (mut extended, mut large) = (
            attributes.extended_communities(),
            attributes.large_communities(),
        );
        attributes.communities().all(plain)
            && !(self.concerns_extended()
                && extended.any(|c| self.is_action_extended(c) || self.tags.is_extended(c)))
            && !(self.concerns_large()
                && large.any(|c| self.is_action_large(c) || self.tags.is_large(c)))
    }

    /// Returns whether `other` advertises routes with these attributes to the same clients with the same result.
    pub fn has_same_effect(&self, other: &ExportPolicy, attributes: &Attributes<'_>) -> bool {
        if self.advertises_unchanged(attributes) && other.advertises_unchanged(attributes) {
            return true;
        }
        let (one, two) = (self.audience(attributes), other.audience(attributes));
        // With other thresholds the same classes have other clients.
        let same_classes = self.settings.rtt_thresholds == other.settings.rtt_thresholds;
        one == two
            && (same_classes || !one.depends_on_rtt())
            && attributes
                .communities()
                .all(|c| self.removes(c) == other.removes(c))
            && attributes
                .extended_communities()
                .all(|c| self.removes_extended(c) == other.removes_extended(c))
            && attributes
                .large_communities()
                .all(|c| self.removes_large(c) == other.removes_large(c))
    }

    /// Returns whether `other` marks and changes routes of every class in the same way.
    pub fn has_same_class_effect(&self, other: &ExportPolicy) -> bool {
        let (one, two) = (&self.settings, &other.settings);
        one.class_tags == two.class_tags
            && one.send_origin_state == two.send_origin_state
            && one.blackhole_next_hop == two.blackhole_next_hop
            && one.blackhole_no_export == two.blackhole_no_export
    }

    /// The communities that mark routes of a class that a neighbor with this AS announced.
    pub fn tags_of(&self, class: Class, sender: Asn) -> Tags {
        self.tags.tags_of(class, sender)
    }

    /// The class of a client by its round-trip time.
    pub fn rtt_class(&self, rtt: Rtt) -> RttClass {
        self.settings.rtt_thresholds.class_of(rtt)
    }

    fn concerns_extended(&self) -> bool {
        self.table.has_extended() || !self.tags.is_empty()
    }

    fn concerns_large(&self) -> bool {
        self.table.has_large() || !self.tags.is_empty()
    }

    fn well_known(&self, community: Community, actions: &mut ExportActions) {
        let honour = self.settings.well_known == WellKnown::Honour;
        match community {
            Community::NO_ADVERTISE if honour => actions.no_advertise = true,
            Community::NO_EXPORT | Community::NO_EXPORT_SUBCONFED if honour => {
                actions.no_export = true;
            }
            Community::BLACKHOLE => actions.blackhole = true,
            _ => {}
        }
    }

    /// Returns whether communities may have to be removed before advertising: action communities, and marks that only
    /// Rutter sets.
    pub fn scrub(&self) -> bool {
        self.scrubs_actions() || !self.tags.is_empty()
    }

    fn scrubs_actions(&self) -> bool {
        self.settings.scrub && !self.settings.actions.is_empty()
    }

    /// Returns whether a received community is removed before advertising.
    pub fn removes(&self, community: Community) -> bool {
        self.scrubs_actions() && self.is_action_community(community)
            || self.tags.is_standard(community)
    }

    /// As [`Self::removes`] for an extended community.
    pub fn removes_extended(&self, community: ExtendedCommunity) -> bool {
        self.scrubs_actions() && self.is_action_extended(community)
            || self.tags.is_extended(community)
    }

    /// As [`Self::removes`] for a large community.
    pub fn removes_large(&self, community: LargeCommunity) -> bool {
        self.scrubs_actions() && self.is_action_large(community) || self.tags.is_large(community)
    }

    /// Returns whether a community of these attributes is removed before advertising.
    pub fn removes_any(&self, attributes: &Attributes<'_>) -> bool {
        attributes.communities().any(|c| self.removes(c))
            || attributes
                .extended_communities()
                .any(|c| self.removes_extended(c))
            || attributes
                .large_communities()
                .any(|c| self.removes_large(c))
    }

    /// Returns whether a standard community is an action community.
    pub fn is_action_community(&self, community: Community) -> bool {
        self.table.standard(community).is_some()
    }

    /// Returns whether an extended community is an action community.
    pub fn is_action_extended(&self, community: ExtendedCommunity) -> bool {
        self.table.extended(community).is_some()
    }

    /// Returns whether a large community is an action community.
    pub fn is_action_large(&self, community: LargeCommunity) -> bool {
        self.table.large(community).is_some()
    }

    /// Returns whether these attributes contain an action community.
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
