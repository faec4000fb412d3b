//! Who may hear an attribute set: export verdicts as sets of peers, computed once per attribute set.

use std::collections::HashMap;

use rutter_net::Asn;
use rutter_policy::{AudienceSpec, ExportPolicy};
use rutter_wire::attr::Attributes;

use crate::PeerId;
use crate::adj_rib_in::attr_set::AttrSet;
use crate::allocation::allocated;
use crate::peer_set::PeerSet;

/// How a route is changed for some of its recipients: prepends and added well-known communities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub(crate) struct Modification {
    /// How often the neighbor's own AS is put in front once more.
    pub prepend: u8,
    pub add_no_export: bool,
    pub add_no_advertise: bool,
    /// RFC 9494: the route is long-lived stale and carries LLGR_STALE.
    pub long_lived_stale: bool,
}

/// What an audience needs to know of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub asn: Asn,
    /// The session crosses an AS border: NO_EXPORT, where it is honoured, keeps routes from it.
    pub external: bool,
}

/// An audience with its peers looked up.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    spec: Option<AudienceSpec>,
    allowed: PeerSet,
    /// Peers for whom the route changes, disjoint.
    modifications: Vec<(Modification, PeerSet)>,
}

impl Audience {
    fn heap(&self) -> usize {
        let modifications = self.modifications.capacity() * size_of::<(Modification, PeerSet)>();
        let peers: usize = self.modifications.iter().map(|(_, of)| of.heap()).sum();
        self.allowed.heap() + allocated(modifications) + peers
    }

    pub fn allows(&self, peer: PeerId) -> bool {
        self.spec.is_none() || self.allowed.contains(peer)
    }

    /// Those of `peers` that may hear the route.
    pub fn restrict(&self, peers: PeerSet) -> PeerSet {
        match self.spec {
            None => peers,
            Some(_) => peers.and(&self.allowed),
        }
    }

    /// Splits recipients by how the route changes for them.
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

    /// How the route changes for one peer.
    pub fn modification(&self, peer: PeerId) -> Modification {
        self.modifications
            .iter()
            .find(|(_, peers)| peers.contains(peer))
            .map_or(Modification::default(), |(modification, _)| *modification)
    }

    fn add_peer(&mut self, peer: PeerId, of: Client) {
        let Some(spec) = &self.spec else { return };
        let Client { asn, external } = of;
        if spec.allows(asn) && !(spec.no_export && external) {
            self.allowed.insert(peer);
        }
        let modification = Modification {
            prepend: spec.prepends_for(asn),
            add_no_export: spec.adds_no_export_for(asn),
            add_no_advertise: spec.adds_no_advertise_for(asn),
            long_lived_stale: false,
        };
        if modification == Modification::default() {
            return;
        }
        match self
            .modifications
            .iter_mut()
            .find(|(v, _)| *v == modification)
        {
            Some((_, peers)) => peers.insert(peer),
            None => self
                .modifications
                .push((modification, [peer].into_iter().collect())),
        }
    }

    fn remove_peer(&mut self, peer: PeerId) {
        self.allowed.remove(peer);
        for (_, peers) in &mut self.modifications {
            peers.remove(peer);
        }
    }
}

/// Index of the audience that is everybody.
pub(crate) const EVERYONE: u32 = 0;

/// All audiences in use; index 0 is everybody.
pub(crate) struct Audiences {
    policy: std::sync::Arc<ExportPolicy>,
    audiences: Vec<Audience>,
    by_spec: HashMap<AudienceSpec, u32>,
    /// As many as there may be before those that no set needs any more are looked for.
    most: usize,
}

/// Fewer audiences are not worth looking for unused ones.
const MOST: usize = 1_024;

impl Audiences {
    pub fn new(policy: std::sync::Arc<ExportPolicy>) -> Self {
        Audiences {
            policy,
            audiences: vec![Audience::default()],
            by_spec: HashMap::new(),
            most: MOST,
        }
    }

    pub fn policy(&self) -> &std::sync::Arc<ExportPolicy> {
        &self.policy
    }

    /// How many there are, everybody included, and about how many octets they take.
    pub fn size(&self) -> (u64, u64) {
        let list = allocated(self.audiences.capacity() * size_of::<Audience>());
        let index = allocated(self.by_spec.capacity() * size_of::<(AudienceSpec, u32)>());
        let each: usize = self.audiences.iter().map(Audience::heap).sum();
        (self.audiences.len() as u64, (list + index + each) as u64)
    }

    /// Whether it is time to assign them all anew, so that those of sets that are gone go, too: a peer may ask for
    /// another with every route.
    pub fn are_many(&self) -> bool {
        self.audiences.len() > self.most
    }

    /// Those there are now are in use, by `sets` attribute sets: the next look comes when it costs little per audience.
    pub fn are_in_use(&mut self, sets: usize) {
        self.most = MOST.max(2 * self.audiences.len()).max(sets / 16);
    }

    /// The audience of an attribute set, which must have been computed by [`Audiences::assign`].
    pub fn of(&self, set: &AttrSet) -> &Audience {
        self.at(set.audience())
    }

    /// The audience of a set that had this index.
    pub fn at(&self, index: u32) -> &Audience {
        self.audiences
            .get(index as usize)
            .unwrap_or(&self.audiences[0])
    }

    /// Whether routes with these attributes go to everybody as they are, as almost all do; other sets need
    /// [`Audiences::assign`].
    pub fn is_everyone(&self, attributes: &Attributes<'_>) -> bool {
        self.policy.advertises_unchanged(attributes)
    }

    /// A set for everybody whose action communities are scrubbed is still rewritten, so it is not plain.
    fn is_plain(&self, set: &AttrSet, spec: &AudienceSpec) -> bool {
        let rewritten = self.policy.scrub() && self.policy.has_action_community(&set.attributes());
        spec.is_everyone() && !rewritten
    }

    /// Computes and stores the audience of a set. `peers` are all known ones.
    pub fn assign(&mut self, set: &AttrSet, peers: impl Iterator<Item = (PeerId, Client)>) {
        let attributes = set.attributes();
        if self.policy.advertises_unchanged(&attributes) {
            return set.set_audience(EVERYONE);
        }
        let spec = self.policy.audience(&attributes);
        if self.is_plain(set, &spec) {
            return set.set_audience(EVERYONE);
        }
        let index = match self.by_spec.get(&spec) {
            Some(index) => *index,
            None => {
                let index = self.audiences.len() as u32;
                let mut audience = Audience {
                    spec: Some(spec.clone()),
                    ..Audience::default()
                };
                peers.for_each(|(peer, client)| audience.add_peer(peer, client));
                self.audiences.push(audience);
                self.by_spec.insert(spec, index);
                index
            }
        };
        set.set_audience(index);
    }

    pub fn add_peer(&mut self, peer: PeerId, client: Client) {
        for audience in &mut self.audiences {
            audience.add_peer(peer, client);
        }
    }

    pub fn remove_peer(&mut self, peer: PeerId) {
        for audience in &mut self.audiences {
            audience.remove_peer(peer);
        }
    }
}
