//! The numbers of prefixes that clients receive, for limits on them.
//!
//! Nothing is counted per client while routes change: a client is a bit in the recipients of a route. A walk counts the
//! prefixes that all receive once, and for each client only the exceptions.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix};
use smallvec::SmallVec;

use crate::adj_rib_in::route::Route;
use crate::adj_rib_in::shard::{MAX_VISITED, Shard, Stored};
use crate::adj_rib_in::table::Id;
use crate::advertise::export_view::{ClientSet, GroupScope, Rules};
use crate::advertise::fast_path::is_plain;
use crate::peer_set::PeerSet;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Topology;
use crate::{PeerId, Rib};

/// The counts of a walk.
struct Counts {
    clients: PeerSet,
    /// The prefixes that all clients receive, except those counted in `missing`.
    common: u32,
    /// By peer: the common prefixes that it does not receive, and the others that it receives.
    missing: Vec<u32>,
    own: Vec<u32>,
}

impl Rib {
    /// The number of prefixes of a family that each of these clients receives now; 0 without a session. Routes that change
    /// during the walk count as they were or as they are. O(destinations + exceptions), in slices; updates of peers pass
    /// in between.
    pub fn advertised_prefixes(&self, family: Family, clients: &[PeerId]) -> Vec<u32> {
        let size = clients.iter().map(|peer| peer.index() + 1).max();
        let mut counts = Counts {
            clients: clients.iter().copied().collect(),
            common: 0,
            missing: vec![0; size.unwrap_or(0)],
            own: vec![0; size.unwrap_or(0)],
        };
        match family {
            Family::Ipv4Unicast => self.count_advertised::<Ipv4Prefix>(&mut counts),
            Family::Ipv6Unicast => self.count_advertised::<Ipv6Prefix>(&mut counts),
        }
        let topology = self.topology.read();
        let receives = |peer: PeerId| {
            let group = topology.peer(peer).and_then(|held| held.group.as_ref());
            group.is_some_and(|group| group.style.families[family])
        };
        let count = |peer: &PeerId| match receives(*peer) {
            true => {
                counts.common.saturating_sub(counts.missing[peer.index()])
                    + counts.own[peer.index()]
            }
            false => 0,
        };
        clients.iter().map(count).collect()
    }

    /// The largest number of prefixes of a family that a client can receive. O(shards).
    pub fn most_prefixes(&self, family: Family) -> u32 {
        let of = |shard: &Shard| match family {
            Family::Ipv4Unicast => Ipv4Prefix::table(shard).id_end(),
            Family::Ipv6Unicast => Ipv6Prefix::table(shard).id_end(),
        };
        self.shards.iter().map(|shard| of(&shard.lock())).sum()
    }

    fn count_advertised<K: Stored>(&self, counts: &mut Counts) {
        let mut no_notice = || {};
        let mut progress = WalkProgress::new(self, &mut no_notice);
        self.walk(&mut progress, |topology, shard, from| {
            let end = K::table(shard).id_end();
            let slice = from..end.min(from + MAX_VISITED);
            let groups = groups(topology, &counts.clients);
            for id in slice.clone() {
                counts.add::<K>(topology, shard, &groups, id);
            }
            (slice.end < end).then_some(slice.end)
        });
    }
}

/// The clients of each group, with one member as its example.
fn groups(topology: &Topology, clients: &PeerSet) -> Vec<(PeerId, PeerSet)> {
    let mut groups: Vec<(PeerId, PeerSet)> = Vec::new();
    for client in clients.iter() {
        let group = |peer: PeerId| topology.peer(peer)?.group.as_ref();
        let Some(own) = group(client) else { continue };
        let is_same = |(example, _): &&mut (PeerId, PeerSet)| {
            group(*example).is_some_and(|known| std::sync::Arc::ptr_eq(known, own))
        };
        match groups.iter_mut().find(is_same) {
            Some((_, members)) => members.insert(client),
            None => groups.push((client, [client].into_iter().collect())),
        }
    }
    groups
}

impl Counts {
    fn add<K: Stored>(
        &mut self,
        topology: &Topology,
        shard: &Shard,
        groups: &[(PeerId, PeerSet)],
        id: Id,
    ) {
        let routes: SmallVec<[&Route; 4]> = shard.accepted::<K>(id).iter().collect();
        let Some(first) = routes.first() else {
            return;
        };
        let plain = |route: &&Route| is_plain(K::FAMILY, route);
        if topology.uniform && routes.iter().all(plain) {
            self.common += 1;
            let is_alone = routes.iter().all(|route| route.peer == first.peer);
            if is_alone && let Some(missing) = self.missing.get_mut(first.peer.index()) {
                *missing += 1;
            }
            return;
        }
        let prefix = K::table(shard).get(id).prefix;
        let mut receive = PeerSet::default();
        for (example, members) in groups {
            let held = topology.peer(*example).and_then(|held| held.group.as_ref());
            let Some(group) = held else { continue };
            let scope = GroupScope {
                topology,
                style: &group.style,
            };
            let scope = scope.at(prefix);
            for route in &routes {
                receive.extend(&members.recipients(&scope, Rules::Present, route));
            }
        }
        let missing = self.clients.clone().minus(&receive);
        if missing.len() <= receive.len() {
            self.common += 1;
            missing
                .iter()
                .for_each(|peer| self.missing[peer.index()] += 1);
        } else {
            receive.iter().for_each(|peer| self.own[peer.index()] += 1);
        }
    }
}
