//! The lifecycle of neighbors and sessions: how they are added, change and are removed.

use std::sync::Arc;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};

use crate::adj_rib_in::epochs::{EpochSet, Epochs, NO_EPOCH};
use crate::adj_rib_in::sweeper::{Removal, StaleRoutes, Sweeper};
use crate::advertise::client_stream::ClientStream;
use crate::advertise::encode::Style;
use crate::advertise::export_filter::ExportFilter;
use crate::advertise::group::Group;
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
    /// As [`Rib::session_up_in_steps`], with the walk over the table.
    pub fn session_up(&self, peer: PeerId, session: SessionInfo) -> Option<ClientStream> {
        let mut sweeper = Sweeper::default();
        let stream = self.session_up_in_steps(peer, session, &mut sweeper);
        sweeper.run(self);
        stream
    }

    /// The session is Established: its routes may be announced. Unless it receives nothing, it becomes a client. Drop
    /// the stream before [`Rib::session_down`].
    ///
    /// Stale routes of families that were not agreed again are left to the sweeper (RFC 4724 §4.2), and so are routes that
    /// take another place because the neighbor has another BGP Identifier now. The routes of
    /// former sessions that it still removes do not concern this one. [`Rib::can_begin_session`] must be true.
    pub fn session_up_in_steps(
        &self,
        peer: PeerId,
        session: SessionInfo,
        sweeper: &mut Sweeper,
    ) -> Option<ClientStream> {
        let group = self.establish(peer, session, sweeper);
        group.map(|group| self.open_stream(peer, group))
    }

    /// As [`Rib::session_up`] for a table that only answers: the peer is a client that nothing is written for. What it
    /// would be sent is known by [`Rib::exports_of`] and [`Rib::explain`].
    pub fn session_up_without_stream(&self, peer: PeerId, session: SessionInfo) {
        let mut sweeper = Sweeper::default();
        self.establish(peer, session, &mut sweeper);
        sweeper.run(self);
    }

    /// Puts a session in force. Returns the group of its client, if it is one.
    fn establish(
        &self,
        peer: PeerId,
        session: SessionInfo,
        sweeper: &mut Sweeper,
    ) -> Option<Arc<Group>> {
        for family in Family::ALL {
            if session.family(family).is_none() {
                self.sweep_stale_in_steps(peer, family, sweeper);
            }
        }
        let (group, ranks) = {
            let mut topology = self.topology.write();
            let held = topology.peer_mut(peer)?;
            held.session = Some(session.clone());
            for family in Family::ALL {
                debug_assert_ne!(held.epochs[family].present, NO_EPOCH, "it must wait");
                held.counts.begin_resend(family);
            }
            let style = style(held, &session, self.cluster_id);
            let style = style.filter(|style| style.advertises);
            let group = style.map(|style| self.group(style));
            held.group = group.clone();
            let ranks = topology.refresh_rank(peer);
            topology.rank_walks += u32::from(ranks);
            (group, ranks)
        };
        self.changed();
        if ranks {
            // Routes that stayed over a restart came from a speaker with another BGP Identifier.
            sweeper.add_ranked(peer);
        }
        group
    }

    /// Applies the present settings of a neighbor to what its established session is sent: the next hop, our AS in the
    /// path, the number of paths, or whether it receives routes at all. `stream` is the session's, on the thread that owns
    /// it. The client is sent only routes that it receives now and did not before, or in another form, and withdrawals.
    pub fn restyle_client(&self, peer: PeerId, stream: &mut Option<ClientStream>) {
        let group = {
            let mut topology = self.topology.write();
            let Some(held) = topology.peer_mut(peer) else {
                return;
            };
            let Some(session) = held.session.clone() else {
                return;
            };
            let Some(style) = style(held, &session, self.cluster_id) else {
                return;
            };
            let is_known = |group: &Arc<Group>| group.style == style;
            if held.group.as_ref().is_some_and(is_known) || stream.is_none() && !style.advertises {
                return;
            }
            let group = self.group(style);
            held.group = Some(Arc::clone(&group));
            group
        };
        match stream {
            Some(stream) => stream.restyle(self, group),
            None => *stream = Some(self.open_stream(peer, group)),
        }
        self.drop_unused_groups();
        self.changed();
    }

    pub(crate) fn group(&self, style: Style) -> Arc<Group> {
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
        ClientStream::new(self, peer, group)
    }

    /// Ends a session. `retain` is the fate of the routes per family (index order).
    ///
    /// Works in slices: O(destinations), with other peers' updates in between.
    pub fn session_down(&self, peer: PeerId, retain: PerFamily<Retain>) {
        let mut sweeper = Sweeper::default();
        self.end_session(peer, retain, &mut sweeper);
        sweeper.run(self);
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
            self.end_epoch(peer, family, retain[family], sweeper);
        }
        self.changed();
    }

    /// Ends the epoch of a session's routes. Routes that were stale before are removed (RFC 4724 §4.2).
    fn end_epoch(&self, peer: PeerId, family: Family, retain: Retain, sweeper: &mut Sweeper) {
        let mut topology = self.topology.write();
        let Some(held) = topology.peer_mut(peer) else {
            return;
        };
        let epochs = &mut held.epochs[family];
        let count = |epochs| held.counts.received(family, epochs);
        let ended = EpochSet::of(epochs.present);
        let removals = match retain {
            Retain::Stale => [(epochs.stale, true), (EpochSet::default(), false)],
            // Readers of the feed know the end of the session, and with it that of all routes.
            Retain::Nothing => [(epochs.stale, false), (ended, false)],
        };
        for (removed, is_published) in removals {
            epochs.stale = epochs.stale.minus(removed);
            if count(removed) > 0 {
                epochs.remove(removed);
                sweeper.add(Removal {
                    peer,
                    family,
                    epochs: removed,
                    neighbor: epochs.neighbor,
                    is_published,
                });
            }
        }
        if count(ended) == 0 {
            return;
        }
        if retain == Retain::Stale {
            epochs.stale = ended;
        }
        epochs.end_present();
    }

    /// Returns whether a session of a neighbor can begin. After several that ended within one walk of the sweeper, the
    /// next one waits until the sweeper has removed the routes of one: read nothing from the neighbor until then.
    pub fn can_begin_session(&self, peer: PeerId) -> bool {
        let topology = self.topology.read();
        let waits = |epochs: &Epochs| epochs.present == NO_EPOCH;
        topology
            .peer(peer)
            .is_none_or(|held| !held.epochs.iter().any(waits))
    }

    /// Drops groups that neither a neighbor nor a stream has. Whatever the number of neighbors: it is called for each
    /// session that ends.
    fn drop_unused_groups(&self) {
        // A group is given to a neighbor under this lock.
        let _topology = self.topology.read();
        let mut groups = self.groups.write();
        groups.retain(|group| Arc::strong_count(group) > 1);
    }

    /// As [`Rib::remove_neighbor_in_steps`], with the walk over the table.
    pub fn remove_neighbor(&self, peer: PeerId) {
        let mut sweeper = Sweeper::default();
        self.remove_neighbor_in_steps(peer, &mut sweeper);
        sweeper.run(self);
    }

    /// Removes a neighbor whose session is down, with all its routes: these are left to the sweeper. Until it has
    /// removed them the id stays in use.
    pub fn remove_neighbor_in_steps(&self, peer: PeerId, sweeper: &mut Sweeper) {
        let mut topology = self.topology.write();
        let Some(held) = topology.peer_mut(peer) else {
            return;
        };
        held.is_leaving = true;
        for family in Family::ALL {
            let epochs = &mut held.epochs[family];
            // A sweeper of another thread may be at work.
            let removals = [
                (epochs.removing, false),
                (EpochSet::ALL.minus(epochs.removing), true),
            ];
            for (removed, is_published) in removals {
                if held.counts.received(family, removed) > 0 {
                    epochs.remove(removed);
                    sweeper.add(Removal {
                        peer,
                        family,
                        epochs: removed,
                        neighbor: epochs.neighbor,
                        is_published,
                    });
                }
            }
        }
        sweeper.add_leaving(peer);
        drop(topology);
        self.changed();
    }

    /// Makes all routes of a neighbor and family stale (RFC 7313 BoRR, RFC 4724). This changes one number. Routes that
    /// were stale before stay stale.
    pub fn mark_stale(&self, peer: PeerId, family: Family) {
        let mut topology = self.topology.write();
        if let Some(held) = topology.peer_mut(peer) {
            let epochs = &mut held.epochs[family];
            let ended = EpochSet::of(epochs.present);
            // Without an unused epoch, the routes since the refresh before count as refreshed.
            if held.counts.received(family, ended) > 0 && epochs.begin_next() {
                epochs.stale = epochs.stale.or(ended);
            }
        }
        drop(topology);
        self.changed();
    }

    /// Begins a refresh that the neighbor frames (RFC 7313 BoRR): its routes become stale. While a sweeper still removes
    /// the stale routes of the refresh before, this does nothing: one sweep at a time, however often a peer asks.
    pub fn begin_refresh(&self, peer: PeerId, family: Family) {
        let is_idle = |epochs: Epochs| epochs.removing.is_empty();
        if self.epochs(peer, family).is_some_and(is_idle) {
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
        let epochs = &mut held.epochs[family];
        let stale = std::mem::take(&mut epochs.stale);
        if held.counts.received(family, stale) == 0 {
            return;
        }
        epochs.remove(stale);
        sweeper.add(Removal {
            peer,
            family,
            epochs: stale,
            neighbor: epochs.neighbor,
            is_published: true,
        });
        drop(topology);
        self.changed();
    }

    /// Removes the neighbor's stale routes of a family (EoRR, End-of-RIB, restart timer).
    pub fn sweep_stale(&self, peer: PeerId, family: Family) {
        let mut sweeper = Sweeper::default();
        self.sweep_stale_in_steps(peer, family, &mut sweeper);
        sweeper.run(self);
    }

    fn epochs(&self, peer: PeerId, family: Family) -> Option<Epochs> {
        let topology = self.topology.read();
        topology.peer(peer).map(|held| held.epochs[family])
    }

    /// As [`Rib::start_long_lived_stale_in_steps`], with the walk over the table.
    pub fn start_long_lived_stale(&self, peer: PeerId, family: Family) {
        let mut sweeper = Sweeper::default();
        self.start_long_lived_stale_in_steps(peer, family, &mut sweeper);
        sweeper.run(self);
    }

    /// RFC 9494: stale routes become least preferred and are sent with LLGR_STALE; those with NO_LLGR are removed. All of
    /// this is left to the sweeper.
    pub fn start_long_lived_stale_in_steps(
        &self,
        peer: PeerId,
        family: Family,
        sweeper: &mut Sweeper,
    ) {
        let Some(epochs) = self.epochs(peer, family) else {
            return;
        };
        if !epochs.stale.is_empty() {
            sweeper.add_long_lived(StaleRoutes {
                peer,
                family,
                epochs: epochs.stale,
                neighbor: epochs.neighbor,
            });
        }
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
}

/// The style of a client's messages; `None` for a collector, which is sent nothing.
pub(crate) fn style(peer: &Peer, session: &SessionInfo, cluster_id: u32) -> Option<Style> {
    let neighbor = &peer.neighbor;
    if neighbor.kind == PeerKind::Collector {
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
        advertises: neighbor.export_allowed,
        filter: (!neighbor.client.export_filters.is_empty())
            .then(|| Arc::new(ExportFilter::new(neighbor.client.export_filters.clone()))),
    })
}
