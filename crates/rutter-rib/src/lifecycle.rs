//! The lifecycle of neighbors and sessions: how they are added, change and are removed.

use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};

use crate::adj_rib_in::edit::Edited;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::sweeper::{Removal, Sweeper};
use crate::advertise::client_stream::ClientStream;
use crate::advertise::encode::Style;
use crate::advertise::group::Group;
use crate::read::feed::Swept;
use crate::reevaluate::walk_progress::WalkProgress;
use crate::topology::Peer;
use crate::{PeerId, PeerKind, Rib, SessionInfo};

/// The fate of a family's routes when their session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retain {
    /// They are removed.
    Nothing,
    /// They stay as stale (RFC 4724, RFC 8538) until they are swept.
    Stale,
}

impl Rib {
    /// The session is Established: its routes may be announced. Unless it receives nothing, it becomes a client. Drop
    /// the stream before [`Rib::session_down`].
    pub fn session_up(&self, peer: PeerId, session: SessionInfo) -> Option<ClientStream> {
        let (stale, removing) = (self.stale_families(peer), self.families_being_removed(peer));
        for family in Family::ALL {
            // RFC 4724 §4.2: routes of a family that was not agreed again are not kept. Routes that a sweeper still
            // removes would count towards the limits of the new session.
            if removing[family] || stale[family] && session.family(family).is_none() {
                self.sweep_stale(peer, family);
            }
        }
        let (group, ranks) = {
            let mut topology = self.topology.write();
            let held = topology.peer_mut(peer)?;
            held.session = Some(session.clone());
            let style = style(held, &session, self.cluster_id);
            let group = style.map(|style| self.group(style));
            held.group = group.clone();
            let ranks = topology.refresh_rank(peer);
            topology.rank_walks += u32::from(ranks);
            (group, ranks)
        };
        self.changed();
        if ranks {
            // Routes that stayed over a restart came from a speaker with another BGP Identifier.
            self.reorder_routes_of(peer);
        }
        group.map(|group| self.open_stream(peer, group))
    }

    fn stale_families(&self, peer: PeerId) -> PerFamily<bool> {
        let topology = self.topology.read();
        topology
            .peer(peer)
            .map_or(PerFamily::both(false), |held| held.has_stale)
    }

    fn families_being_removed(&self, peer: PeerId) -> PerFamily<bool> {
        let topology = self.topology.read();
        topology
            .peer(peer)
            .map_or(PerFamily::both(false), |held| held.removing)
    }

    fn group(&self, style: Style) -> Arc<Group> {
        let mut groups = self.groups.write();
        if let Some(group) = groups.iter().find(|group| group.style == style) {
            return Arc::clone(group);
        }
        let group = Arc::new(Group::new(
            style,
            self.shards.len(),
            self.seed,
            self.new_file.get().copied(),
        ));
        groups.push(Arc::clone(&group));
        group
    }

    fn open_stream(&self, peer: PeerId, group: Arc<Group>) -> ClientStream {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.begin_catch_up(peer, &group.style);
            shard.mark_all::<Ipv4Prefix>(peer);
            shard.mark_all::<Ipv6Prefix>(peer);
        }
        ClientStream::new(peer, group)
    }

    /// Ends a session. `retain` is the fate of the routes per family (index order).
    ///
    /// Works in slices: O(destinations), with other peers' updates in between.
    pub fn session_down(&self, peer: PeerId, retain: PerFamily<Retain>) {
        let mut sweeper = Sweeper::default();
        self.end_session(peer, retain, &mut sweeper);
        while !sweeper.is_idle() {
            sweeper.step(self);
            self.encode(&self.topology.read());
        }
    }

    /// As [`Rib::session_down`], but leaves the walk over the table to a sweeper. Its owner runs it in steps, so that
    /// others need not wait. Readers of the table do not see the routes any more.
    pub fn end_session(&self, peer: PeerId, retain: PerFamily<Retain>, sweeper: &mut Sweeper) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            shard.clients.leave(peer);
            shard.end_catch_up(peer);
        }
        {
            let mut topology = self.topology.write();
            if let Some(held) = topology.peer_mut(peer) {
                held.session = None;
                held.group = None;
            }
        }
        self.drop_unused_groups();
        self.changed();
        for family in Family::ALL {
            match retain[family] {
                Retain::Nothing => self.remove_in_steps(peer, family, sweeper),
                Retain::Stale => self.mark_stale(peer, family),
            }
        }
    }

    /// Leaves the removal of all routes of a neighbor and family to a sweeper.
    fn remove_in_steps(&self, peer: PeerId, family: Family, sweeper: &mut Sweeper) {
        if self.counts(peer)[family].received == 0 {
            return self.set_stale(peer, family, false);
        }
        self.mark_stale(peer, family);
        let mut topology = self.topology.write();
        if let Some(held) = topology.peer_mut(peer) {
            held.removing[family] = true;
            sweeper.add(Removal {
                peer,
                family,
                epoch: held.epoch[family],
                is_published: false,
            });
        }
    }

    fn drop_unused_groups(&self) {
        let topology = self.topology.read();
        self.groups.write().retain(|group| {
            topology
                .iter()
                .any(|(_, peer)| peer.group.as_ref().is_some_and(|g| Arc::ptr_eq(g, group)))
        });
    }

    /// Removes a neighbor whose session is down, with all its routes.
    pub fn remove_neighbor(&self, peer: PeerId) {
        for family in Family::ALL {
            self.remove_and_publish(peer, family, |_| true);
            self.set_stale(peer, family, false);
        }
        self.topology.write().remove(peer);
        self.changed();
    }

    /// Makes all routes of a neighbor and family stale (RFC 7313 BoRR, RFC 4724). This flips one bit. Routes that
    /// were stale before are swept first (RFC 4724 §4.2).
    pub fn mark_stale(&self, peer: PeerId, family: Family) {
        if self.stale_families(peer)[family] {
            self.sweep_stale(peer, family);
        }
        let mut topology = self.topology.write();
        if let Some(held) = topology.peer_mut(peer) {
            held.epoch[family] = !held.epoch[family];
            held.has_stale[family] = true;
        }
        drop(topology);
        self.changed();
    }

    /// Begins a refresh that the neighbor frames (RFC 7313 BoRR): its routes become stale. While a sweeper still removes
    /// the stale routes of the refresh before, this does nothing: one sweep at a time, however often a peer asks.
    pub fn begin_refresh(&self, peer: PeerId, family: Family) {
        if !self.families_being_removed(peer)[family] {
            self.mark_stale(peer, family);
        }
    }

    /// As [`Rib::sweep_stale`], but leaves the walk over the table to a sweeper. Its owner runs it in steps, so that no
    /// message of a peer takes a walk over the table. Snapshots do not show the routes any more.
    pub fn sweep_stale_in_steps(&self, peer: PeerId, family: Family, sweeper: &mut Sweeper) {
        let mut topology = self.topology.write();
        let Some(held) = topology.peer_mut(peer) else {
            return;
        };
        if !held.has_stale[family] || held.removing[family] {
            return;
        }
        held.removing[family] = true;
        sweeper.add(Removal {
            peer,
            family,
            epoch: held.epoch[family],
            is_published: true,
        });
        drop(topology);
        self.changed();
    }

    /// Removes the neighbor's stale routes of a family (EoRR, End-of-RIB, restart timer).
    pub fn sweep_stale(&self, peer: PeerId, family: Family) {
        if !self.stale_families(peer)[family] {
            return;
        }
        let epoch = self.epoch(peer, family);
        self.remove_and_publish(peer, family, |route| route.state.has(State::EPOCH) != epoch);
        self.set_stale(peer, family, false);
    }

    /// Removes routes that nobody withdraws, and publishes that to the readers of the feed.
    fn remove_and_publish(&self, peer: PeerId, family: Family, goes: impl Fn(&Route) -> bool) {
        let mut swept = Swept::new(self, peer);
        self.edit(peer, family, |prefix, route| {
            if !goes(route) {
                return Edited::Keep;
            }
            swept.note(prefix, route);
            Edited::Remove
        });
        swept.publish();
    }

    fn epoch(&self, peer: PeerId, family: Family) -> bool {
        let topology = self.topology.read();
        topology.peer(peer).is_some_and(|held| held.epoch[family])
    }

    fn set_stale(&self, peer: PeerId, family: Family, stale: bool) {
        if let Some(held) = self.topology.write().peer_mut(peer) {
            held.has_stale[family] = stale;
            held.removing[family] &= stale;
        }
    }

    /// RFC 9494: stale routes become least preferred and are sent with LLGR_STALE; those with NO_LLGR are removed.
    pub fn start_long_lived_stale(&self, peer: PeerId, family: Family) {
        use crate::adj_rib_in::attr_set::SetFlags;
        let epoch = self.epoch(peer, family);
        let mut swept = Swept::new(self, peer);
        self.edit(peer, family, |prefix, route| {
            if route.state.has(State::EPOCH) == epoch {
                return Edited::Keep;
            }
            if route.attrs.summary().flags.has(SetFlags::NO_LLGR) {
                swept.note(prefix, route);
                return Edited::Remove;
            }
            let mut kept = route.clone();
            kept.state = kept.state.with(State::LONG_LIVED_STALE, true);
            Edited::Replace(kept)
        });
        swept.publish();
    }

    /// Advertises a family to a client again (RFC 2918), framed by BoRR and EoRR where RFC 7313 was agreed.
    pub fn refresh_client(&self, stream: &mut ClientStream, family: Family) {
        let framed = {
            let topology = self.topology.read();
            let session = topology
                .peer(stream.peer())
                .and_then(|p| p.session.as_ref());
            session.is_some_and(|session| session.enhanced_refresh)
        };
        stream.refresh(self, family, framed);
    }

    /// Edits all routes of one peer and family.
    fn edit(
        &self,
        peer: PeerId,
        family: Family,
        mut edit: impl FnMut(rutter_net::Prefix, &Route) -> Edited,
    ) {
        let mut edit = |prefix, route: &Route| match route.peer == peer {
            true => edit(prefix, route),
            false => Edited::Keep,
        };
        let mut no_notice = || {};
        let mut progress = WalkProgress::new(self, &mut no_notice);
        self.edit_routes(family, &[peer], &mut progress, &mut edit);
    }
}

/// The style of a client's messages; `None` where nothing is sent to it.
fn style(peer: &Peer, session: &SessionInfo, cluster_id: u32) -> Option<Style> {
    let neighbor = &peer.neighbor;
    if neighbor.kind == PeerKind::Collector || !neighbor.export_allowed {
        return None;
    }
    let families = session.families.map(|family| family.is_some());
    let add_path = session.families.map(|f| f.is_some_and(|f| f.add_path_send));
    let own = neighbor.next_hop_self || neighbor.kind == PeerKind::External;
    let reflects = matches!(
        neighbor.kind,
        PeerKind::Internal | PeerKind::ReflectorClient
    );
    Some(Style {
        kind: neighbor.kind,
        local_asn: neighbor.local_asn,
        next_hop_self: own.then_some((neighbor.local_ipv4, neighbor.local_ipv6)),
        as4: session.as4,
        max_message_len: session.max_message_len,
        families,
        add_path,
        add_path_limit: if add_path == PerFamily::both(false) {
            0
        } else {
            neighbor.add_path_limit
        },
        extended_next_hop: session
            .family(Family::Ipv4Unicast)
            .is_some_and(|family| family.extended_next_hop),
        add_otc: neighbor.adds_otc(),
        prepend_own_as: neighbor.kind == PeerKind::External
            || neighbor.kind == PeerKind::RouteServerClient && neighbor.client.prepends_own_as,
        cluster_id: if reflects { cluster_id } else { 0 },
    })
}
