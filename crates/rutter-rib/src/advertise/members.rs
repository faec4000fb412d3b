//! The neighbors as audiences see them: by AS, and by kind.

use std::collections::HashMap;

use rutter_net::Asn;
use rutter_policy::{ExportPolicy, Rtt};

use crate::PeerId;
use crate::advertise::audience::ClientKind;
use crate::peer_set::PeerSet;

/// The facts about a peer that an audience depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub asn: Asn,
    /// True if the session crosses an AS border.
    pub external: bool,
    pub rtt: Option<Rtt>,
    pub receives_blackhole: bool,
}

impl Client {
    /// Its kind under a policy.
    pub fn kind(&self, policy: &ExportPolicy) -> ClientKind {
        ClientKind {
            external: self.external,
            rtt: self.rtt.map(|rtt| policy.rtt_class(rtt)),
            receives_blackhole: self.receives_blackhole,
        }
    }
}

/// All neighbors.
#[derive(Clone, Default)]
pub(crate) struct Members {
    /// By id.
    clients: Vec<Option<Client>>,
    by_kind: ByKind,
    by_asn: HashMap<Asn, ByKind>,
}

/// Peers of some AS numbers by kind. There are few kinds.
type ByKind = Vec<(ClientKind, PeerSet)>;

impl Members {
    /// All neighbors in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (PeerId, Client)> + '_ {
        let clients = self.clients.iter().zip(0..);
        clients.filter_map(|(client, id)| Some((PeerId(id), (*client)?)))
    }

    /// Adds a neighbor that is not there.
    pub fn add(&mut self, peer: PeerId, client: Client, policy: &ExportPolicy) {
        let end = self.clients.len().max(peer.index() + 1);
        self.clients.resize(end, None);
        self.clients[peer.index()] = Some(client);
        let kind = client.kind(policy);
        for list in [
            &mut self.by_kind,
            self.by_asn.entry(client.asn).or_default(),
        ] {
            match list.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, peers)) => peers.insert(peer),
                None => list.push((kind, [peer].into_iter().collect())),
            }
        }
    }

    pub fn remove(&mut self, peer: PeerId, policy: &ExportPolicy) {
        let place = self.clients.get_mut(peer.index());
        let Some(client) = place.and_then(Option::take) else {
            return;
        };
        let kind = client.kind(policy);
        let remove = |list: &mut ByKind| {
            for (_, peers) in list.iter_mut().filter(|(other, _)| *other == kind) {
                peers.remove(peer);
            }
            list.retain(|(_, peers)| !peers.is_empty());
        };
        remove(&mut self.by_kind);
        if let Some(list) = self.by_asn.get_mut(&client.asn) {
            remove(list);
            if list.is_empty() {
                self.by_asn.remove(&client.asn);
            }
        }
    }

    /// Calls `each` for sets of peers that an audience serves alike: those of each AS that it names, then all others, by
    /// kind. The others get an AS that it does not name. `named` is sorted. O(named AS numbers + kinds).
    pub fn each_alike(&self, named: Vec<Asn>, mut each: impl FnMut(Asn, ClientKind, &PeerSet)) {
        let mut seen = PeerSet::default();
        for asn in &named {
            for (kind, peers) in self.by_asn.get(asn).into_iter().flatten() {
                seen.extend(peers);
                each(*asn, *kind, peers);
            }
        }
        let is_unnamed = |asn: &Asn| named.binary_search(asn).is_err();
        let Some(unnamed) = (0..=u32::MAX).map(Asn).find(is_unnamed) else {
            return;
        };
        for (kind, peers) in &self.by_kind {
            let others = peers.clone().minus(&seen);
            if !others.is_empty() {
                each(unnamed, *kind, &others);
            }
        }
    }
}
