//! The export policy of an exchange: action communities become audiences.

use rutter_net::{Asn, Community, ExtendedCommunity, LargeCommunity};
use rutter_wire::attr::Attributes;

use crate::{AudienceSpec, Notation};

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

/// A notation and its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ActionCommunity {
    /// What is asked for.
    pub action: Action,
    /// How it is written.
    pub notation: Notation,
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
            blackhole_no_export: true,
            aliases: Vec::new(),
        }
    }
}

/// The export policy of an exchange: immutable, shared between threads.
#[derive(Debug, Default)]
pub struct ExportPolicy {
    settings: ExportSettings,
}

impl ExportPolicy {
    /// Compiles the settings.
    pub fn new(settings: ExportSettings) -> Self {
        ExportPolicy { settings }
    }

    /// What the policy was built from.
    pub fn settings(&self) -> &ExportSettings {
        &self.settings
    }

    /// Who may hear routes with these attributes, and how.
    pub fn audience(&self, _attributes: &Attributes<'_>) -> AudienceSpec {
        todo!()
    }

    /// Whether action communities are to be removed before sending (false where none is configured).
    pub fn scrub(&self) -> bool {
        self.settings.scrub && !self.settings.actions.is_empty()
    }

    /// Whether a standard community is an action community.
    pub fn is_action_community(&self, _community: Community) -> bool {
        todo!()
    }

    /// Whether an extended community is an action community.
    pub fn is_action_extended(&self, _community: ExtendedCommunity) -> bool {
        todo!()
    }

    /// Whether a large community is an action community.
    pub fn is_action_large(&self, _community: LargeCommunity) -> bool {
        todo!()
    }

    /// Whether anything in these attributes would be scrubbed.
    pub fn has_action_community(&self, _attributes: &Attributes<'_>) -> bool {
        todo!()
    }
}
