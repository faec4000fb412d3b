//! An audience: the clients that may receive an attribute set, as sets of peers.

use rutter_net::{Asn, Community};
use rutter_policy::{AudienceSpec, ChangesId, Recipient, RttClass};

use crate::PeerId;
use crate::adj_rib_in::verdict::ClassId;
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// The modification of a route for some of its recipients: prepends and added well-known communities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub(crate) struct Modification {
    /// The number of times that the neighbor's own AS is prepended.
    pub prepend: u8,
    pub added: AddedCommunities,
    /// The class of the route.
    pub class: ClassId,
    /// The changes of the client's export filter.
    pub changes: ChangesId,
}

/// Well-known communities that are added to a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub(crate) struct AddedCommunities(u8);

impl AddedCommunities {
    pub const NO_EXPORT: u8 = 1;
    pub const NO_ADVERTISE: u8 = 2;
    /// RFC 9494: the route is long-lived stale.
    pub const LLGR_STALE: u8 = 4;
    /// RFC 8326: this speaker is about to stop.
    pub const GRACEFUL_SHUTDOWN: u8 = 8;

    /// Adds a community if `on`.
    #[must_use]
    pub fn with(self, community: u8, on: bool) -> Self {
        AddedCommunities(if on { self.0 | community } else { self.0 })
    }

    pub fn iter(self) -> impl Iterator<Item = Community> {
        [
            (Self::NO_EXPORT, Community::NO_EXPORT),
            (Self::NO_ADVERTISE, Community::NO_ADVERTISE),
            (Self::LLGR_STALE, Community::LLGR_STALE),
            (Self::GRACEFUL_SHUTDOWN, Community::GRACEFUL_SHUTDOWN),
        ]
        .into_iter()
        .filter_map(move |(bit, community)| (self.0 & bit != 0).then_some(community))
    }
}

/// The facts about a client that audiences depend on, but for its AS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientKind {
    /// True if the session crosses an AS border: NO_EXPORT, where it is honoured, keeps routes from it.
    pub external: bool,
    pub rtt: Option<RttClass>,
    pub receives_blackhole: bool,
}

/// The way in which an audience serves a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    is_allowed: bool,
    /// It receives the routes that were accepted for BLACKHOLE.
    receives_blackhole: bool,
    modification: Modification,
}

impl Outcome {
    /// The outcome for the clients of an AS that are of one kind.
    pub fn of(spec: &AudienceSpec, asn: Asn, kind: ClientKind) -> Self {
        let external = kind.external;
        let recipient = Recipient { asn, rtt: kind.rtt };
        let added = AddedCommunities::default()
            .with(AddedCommunities::NO_EXPORT, spec.adds_no_export_for(asn))
            .with(
                AddedCommunities::NO_ADVERTISE,
                spec.adds_no_advertise_for(asn),
            )
            .with(
                AddedCommunities::GRACEFUL_SHUTDOWN,
                spec.add_graceful_shutdown && external,
            );
        Outcome {
            is_allowed: spec.allows(recipient) && !(spec.no_export && external),
            receives_blackhole: !spec.blackhole || kind.receives_blackhole,
            modification: Modification {
                prepend: spec.prepends_for(recipient),
                added,
                class: ClassId::PLAIN,
                changes: ChangesId::NONE,
            },
        }
    }
}

/// An audience, resolved to peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audience {
    is_everyone: bool,
    allowed: PeerSet,
    /// The peers that do not receive the routes that were accepted for BLACKHOLE.
    no_blackhole: PeerSet,
    /// The modifications of the route, with disjoint sets of peers.
    modifications: Vec<(Modification, PeerSet)>,
}

impl Audience {
    /// All clients receive the route unchanged.
    pub fn everyone() -> Self {
        Audience {
            is_everyone: true,
            ..Audience::default()
        }
    }

    /// Bytes of heap.
    pub fn heap(&self) -> usize {
        let modifications = self.modifications.capacity() * size_of::<(Modification, PeerSet)>();
        let peers: usize = self.modifications.iter().map(|(_, of)| of.heap()).sum();
        self.allowed.heap() + self.no_blackhole.heap() + allocated(modifications) + peers
    }

    pub fn allows(&self, peer: PeerId) -> bool {
        self.is_everyone || self.allowed.contains(peer)
    }

    /// Returns whether a peer receives the routes that were accepted for BLACKHOLE.
    pub fn allows_blackhole(&self, peer: PeerId) -> bool {
        !self.no_blackhole.contains(peer)
    }

    /// The peers among these that may receive the route. `is_blackhole`: it was accepted for BLACKHOLE.
    pub fn restrict(&self, peers: PeerSet, is_blackhole: impl Fn() -> bool) -> PeerSet {
        if self.is_everyone {
            return peers;
        }
        let peers = peers.and(&self.allowed);
        match !self.no_blackhole.is_empty() && is_blackhole() {
            true => peers.minus(&self.no_blackhole),
            false => peers,
        }
    }

    /// Splits recipients by the modification of the route for them.
    pub fn split_by_modification(
        &self,
        mut peers: PeerSet,
        mut each: impl FnMut(Modification, PeerSet),
    ) {
        for (modification, of) in &self.modifications {
            let part = peers.clone().and(of);
            if !part.is_empty() {
                peers = peers.minus(&part);
                each(*modification, part);
            }
        }
        if !peers.is_empty() {
            each(Modification::default(), peers);
        }
    }

    /// The number of distinct modifications.
    pub fn modification_count(&self) -> usize {
        self.modifications.len()
    }

    /// The modification of the route for one peer.
    pub fn modification(&self, peer: PeerId) -> Modification {
        self.modifications
            .iter()
            .find(|(_, peers)| peers.contains(peer))
            .map_or(Modification::default(), |(modification, _)| *modification)
    }

    /// Adds peers that are served alike.
    pub fn add(&mut self, peers: &PeerSet, outcome: Outcome) {
        if outcome.is_allowed {
            self.allowed.extend(peers);
        }
        if !outcome.receives_blackhole {
            self.no_blackhole.extend(peers);
        }
        let modification = outcome.modification;
        if modification == Modification::default() || peers.is_empty() {
            return;
        }
        let mut known = self.modifications.iter_mut();
        match known.find(|(other, _)| *other == modification) {
            Some((_, of)) => of.extend(peers),
            None => self.modifications.push((modification, peers.clone())),
        }
    }
}
