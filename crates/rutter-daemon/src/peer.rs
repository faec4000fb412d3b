//! One neighbor on its thread: its session, its connections and its place in the table.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rutter_config::{Config, LimitAction, MaxPrefix, Neighbor};
use rutter_net::{Family, PerFamily};
use rutter_rib::{
    Batch, ClientStream, FamilyInfo, NotKept, PeerId, Retain, Rib, SessionInfo, Sweeper,
};
use rutter_session::{
    ConnectionId, DownReason, Negotiated, Session, SessionEvent, Severity, State,
};
use rutter_wire::attr::Malformed;

use crate::connection::Connection;
use crate::memory_limits::CHECK_AFTER;
use crate::neighbor_settings::NeighborSettings;
use crate::peer_log_limits::{LineKind, PeerLogLimits, some};
use crate::session_facts::SessionFacts;
use crate::shared::{Shared, unix_us};
use crate::status::{self, PeerStatus};
use crate::transport;

/// A neighbor.
pub(crate) struct Peer {
    pub(crate) settings: NeighborSettings,
    /// The id in the table. A dynamic neighbor gets it when its first session is established.
    pub(crate) id: Option<PeerId>,
    pub(crate) session: Session,
    /// The connections, by the index of their [`ConnectionId`].
    pub(crate) connections: [Option<Connection>; 2],
    pub(crate) established: Option<Established>,
    pub(crate) status: Arc<PeerStatus>,
    published_state: State,
    /// The neighbor exceeds the prefix limit of the family, and the log has a line about it.
    over_limit: PerFamily<bool>,
    /// The received bytes since the memory of the neighbor's routes was last compared with its limit.
    unchecked_bytes: usize,
    /// The neighbor's routes take too much memory, and the log has a line about it.
    over_memory: bool,
    /// A connection was accepted: a dynamic neighbor without connections may be removed.
    pub(crate) had_connection: bool,
}

/// An established session.
pub(crate) struct Established {
    pub(crate) connection: ConnectionId,
    pub(crate) peer: PeerId,
    /// `None` if nothing is sent to the neighbor.
    pub(crate) stream: Option<ClientStream>,
    /// The neighbor may send several paths of a prefix (RFC 7911).
    pub(crate) receives_paths: bool,
    /// The families whose routes the neighbor has requested again, in index order.
    pub(crate) pending_refreshes: PerFamily<bool>,
    /// Routes of handled UPDATEs that are not in the table yet: they take more steps than a turn has. No later message of the
    /// neighbor is handled before.
    pub(crate) uncommitted: Option<Box<Batch>>,
}

/// A prefix limit that a neighbor exceeds.
pub(crate) struct ExceededLimit {
    pub(crate) family: Family,
    pub(crate) limit: MaxPrefix,
    pub(crate) received: u32,
}

/// The cause of the end of a connection.
#[derive(Debug)]
pub(crate) enum EndCause {
    Closed,
    Failed(io::Error),
    /// The neighbor reads nothing (RFC 9687).
    SendHoldExpired,
}

impl Peer {
    /// A neighbor in Idle. `seed` determines the jitter of its timers.
    pub(crate) fn new(settings: NeighborSettings, status: Arc<PeerStatus>, seed: u64) -> Self {
        let session = Session::new(settings.session.clone(), seed);
        Peer {
            settings,
            id: None,
            session,
            connections: [None, None],
            established: None,
            status,
            published_state: State::Idle,
            over_limit: PerFamily::both(false),
            unchecked_bytes: 0,
            over_memory: false,
            had_connection: false,
        }
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.settings.config.address
    }

    /// The neighbor exceeds its prefix limit of a family, and the log has a line about it.
    pub(crate) fn is_over_limit(&self, family: Family) -> bool {
        self.over_limit[family]
    }

    pub(crate) fn set_over_limit(&mut self, family: Family, is_over: bool) {
        self.over_limit[family] = is_over;
    }

    /// The name in logs.
    pub(crate) fn name(&self) -> &str {
        &self.settings.config.name
    }

    pub(crate) fn has_connection(&self) -> bool {
        self.connections.iter().any(Option::is_some)
    }

    /// The bytes gathered for the neighbor that its socket has not taken.
    pub(crate) fn unsent_bytes(&self) -> usize {
        let stream = self.established.as_ref().and_then(|e| e.stream.as_ref());
        stream.map_or(0, ClientStream::queued)
    }

    /// The time at which a dynamic neighbor that left is removed. `None` while it has a connection or stale routes.
    ///
    /// After faults it stays for a while, so that idle hold limits a neighbor that flaps.
    pub(crate) fn gone_at_ms(&self) -> Option<u64> {
        let is_gone = self.settings.dynamic.is_some()
            && self.had_connection
            && !self.has_connection()
            && self.session.stale() == PerFamily::both(false);
        is_gone.then(|| self.session.remembers_faults_until().unwrap_or(0))
    }

    /// Adds the neighbor to the table unless it is there. Returns its id.
    pub(crate) fn register(&mut self, rib: &Rib) -> Option<PeerId> {
        if self.id.is_none() {
            match rib.add_neighbor(self.settings.table.clone()) {
                Ok(id) => self.id = Some(id),
                Err(error) => tracing::error!(peer = self.name(), %error, "neighbor not added"),
            }
            let id = self.id;
            self.status.with(|details| details.peer = id);
        }
        self.id
    }

    /// Completes the settings with facts of the new session: the AS of a dynamic neighbor, and our own address for
    /// next-hop-self.
    pub(crate) fn complete_settings(
        &mut self,
        shared: &Shared,
        id: ConnectionId,
        negotiated: &Negotiated,
    ) {
        if let Some(section) = self.settings.dynamic.clone() {
            let config = Arc::clone(&shared.config.read());
            let (address, asn) = (self.address(), negotiated.remote_asn);
            self.settings = NeighborSettings::dynamic(&config, &section, address, asn);
            let config = Arc::clone(&self.settings.config);
            self.status.with(|details| details.config = config);
        }
        let connection = self.connections[id.index()].as_ref();
        if let Some(local) = connection.and_then(|c| c.socket.local_addr().ok()) {
            self.settings.set_local(transport::canonical(local.ip()));
        }
        if let Some(id) = self.id {
            shared.rib.replace_neighbor(id, self.settings.table.clone());
        }
    }

    /// Adds facts of the established session to new settings: the AS of a dynamic neighbor and our own address. Returns
    /// whether the settings lacked one, because the session was established after they were made.
    pub(crate) fn keep_facts(&self, config: &Config, settings: &mut NeighborSettings) -> bool {
        let Some(established) = &self.established else {
            return false;
        };
        let (address, asn) = (self.address(), self.settings.config.asn);
        let section = settings
            .dynamic
            .clone()
            .filter(|_| settings.config.asn != asn);
        let lacks_asn = section.is_some();
        if let Some(section) = section {
            *settings = NeighborSettings::dynamic(config, &section, address, asn);
        }
        let known = (settings.table.local_ipv4, settings.table.local_ipv6);
        let connection = self.connections[established.connection.index()].as_ref();
        if let Some(local) = connection.and_then(|c| c.socket.local_addr().ok()) {
            settings.set_local(transport::canonical(local.ip()));
        }
        lacks_asn || known != (settings.table.local_ipv4, settings.table.local_ipv6)
    }

    /// Starts the session in the table. Returns `false` if the table has no place for the neighbor.
    pub(crate) fn join_table(
        &mut self,
        shared: &Shared,
        connection: ConnectionId,
        negotiated: &Negotiated,
        unix_us: u64,
        sweeper: &mut Sweeper,
    ) -> bool {
        let Some(peer) = self.register(&shared.rib) else {
            return false;
        };
        let session = session_info(negotiated);
        let stream = shared.rib.session_up_in_steps(peer, session, sweeper);
        self.established = Some(Established {
            connection,
            peer,
            stream,
            receives_paths: negotiated
                .families
                .iter()
                .flatten()
                .any(|f| f.add_path_receive),
            pending_refreshes: PerFamily::both(false),
            uncommitted: None,
        });
        shared.rib.publish_peer_up(peer, unix_us);
        true
    }

    /// Returns whether its session is established, and no routes are advertised to it.
    pub(crate) fn is_sent_nothing(&self) -> bool {
        self.established
            .as_ref()
            .is_some_and(|e| e.stream.is_none())
    }

    /// Continues an established session, which is already in the table.
    pub(crate) fn continue_session(
        &mut self,
        peer: PeerId,
        stream: Option<ClientStream>,
        pending_refreshes: PerFamily<bool>,
    ) {
        let connection = self.session.established();
        let negotiated = self.session.negotiated().cloned();
        let (Some(connection), Some(negotiated)) = (connection, negotiated) else {
            return;
        };
        let mut families = negotiated.families.iter().flatten();
        self.established = Some(Established {
            connection,
            peer,
            stream,
            receives_paths: families.any(|family| family.add_path_receive),
            pending_refreshes,
            uncommitted: None,
        });
        self.publish_negotiated(connection, &negotiated);
    }

    /// Publishes the state of a session that another process began.
    pub(crate) fn publish_continued(&mut self) {
        self.publish_counters();
        self.status.publish_stale(&self.session);
        self.published_state = self.session.state();
        let state = status::state(self.published_state);
        self.status.with(|details| details.state = state);
    }

    /// Ends the session in the table: removes its routes or, in families of `keep`, makes them stale. Without a
    /// sweeper the routes stay, and those that wait to be put into the table do not come there.
    pub(crate) fn leave_table(
        &mut self,
        shared: &Shared,
        keep: PerFamily<bool>,
        reason: &str,
        unix_us: u64,
        sweeper: Option<&mut Sweeper>,
    ) {
        let Some(mut established) = self.established.take() else {
            return;
        };
        let id = established.peer;
        if let Some(mut uncommitted) = established.uncommitted.take() {
            // Otherwise routes would stay that the neighbor has withdrawn or replaced.
            match keep.iter().any(|keep| *keep) && sweeper.is_some() {
                true => _ = shared.rib.commit(&mut uncommitted),
                false => uncommitted.discard(&shared.rib),
            }
        }
        drop(established);
        self.over_limit = PerFamily::both(false);
        self.over_memory = false;
        let retain = keep.map(|keep| if keep { Retain::Stale } else { Retain::Nothing });
        shared.rib.publish_peer_down(id, retain, reason, unix_us);
        if let Some(sweeper) = sweeper {
            shared.rib.end_session(id, retain, sweeper);
        }
    }

    fn has_prefix_limit(&self) -> bool {
        let limits = self.settings.table.limits.prefixes;
        limits.iter().any(Option::is_some)
    }

    /// Returns a limit that the neighbor exceeds for the first time since its routes were last within the limit.
    pub(crate) fn exceeded_limit(&mut self, rib: &Rib) -> Option<ExceededLimit> {
        let established = self.established.as_ref()?;
        let config = &self.settings.config;
        let limits = PerFamily::from_fn(|family| config.family(family).max_prefix);
        if limits.iter().all(Option::is_none) {
            return None;
        }
        let intake = rib.intake(established.peer);
        for family in Family::ALL {
            let received = intake.counts[family].received;
            // Blocked routes count only where they are kept.
            let is_over = |l: &MaxPrefix| received > l.limit || intake.lacks_routes[family];
            let Some(limit) = limits[family].filter(is_over) else {
                let was_over = std::mem::replace(&mut self.over_limit[family], false);
                let action = limits[family].map(|limit| limit.action);
                if was_over && action == Some(LimitAction::Block { keeps: true }) {
                    self.status.has_room.store(true, Ordering::Relaxed);
                }
                continue;
            };
            if !std::mem::replace(&mut self.over_limit[family], true) {
                return Some(ExceededLimit {
                    family,
                    limit,
                    received,
                });
            }
        }
        None
    }

    /// After a change of the settings: limits that changed are checked like new ones. A session over a limit that only warned
    /// is closed if the new one says so.
    pub(crate) fn check_changed_limits_again(&mut self, before: &Neighbor) {
        let now = &self.settings.config;
        for family in Family::ALL {
            if now.family(family).max_prefix != before.family(family).max_prefix {
                self.over_limit[family] = false;
            }
        }
        if now.session.max_memory != before.session.max_memory {
            self.over_memory = false;
        }
    }

    /// Counts received bytes. Now and then returns the bytes of the neighbor's routes, if they exceed the limit for the first
    /// time since they were last within it.
    pub(crate) fn exceeded_memory(&mut self, rib: &Rib, received: usize) -> Option<u64> {
        self.unchecked_bytes += received;
        if self.unchecked_bytes < CHECK_AFTER {
            return None;
        }
        self.unchecked_bytes = 0;
        let limit = self.settings.config.session.max_memory.limit?;
        let bytes = rib.peer_memory(self.established.as_ref()?.peer);
        let was_over = std::mem::replace(&mut self.over_memory, bytes > limit);
        (bytes > limit && !was_over).then_some(bytes)
    }

    /// Publishes the number of routes that the table did not keep, and logs that there are more paths among them.
    pub(crate) fn check_not_kept(&self, rib: &Rib, limits: &mut PeerLogLimits, now_ms: u64) {
        let is_limited = |e: &&Established| e.receives_paths || self.has_prefix_limit();
        let Some(established) = self.established.as_ref().filter(is_limited) else {
            return;
        };
        let NotKept { paths, blocked } = rib.intake(established.peer).not_kept;
        self.status.blocked_routes.store(blocked, Ordering::Relaxed);
        let not_kept = paths;
        let before = self.status.paths_not_kept.swap(not_kept, Ordering::Relaxed);
        if not_kept > before
            && let Some(not_logged) = limits.pass(self.address(), LineKind::PathsNotKept, now_ms)
        {
            tracing::warn!(
                peer = self.name(),
                paths = not_kept - before,
                not_logged = some(not_logged),
                "paths not kept: the neighbor has too many of one prefix"
            );
        }
    }

    /// Publishes the Hold Time of the established session, which a shorter one of ours may have shortened.
    pub(crate) fn publish_hold_time(&self) {
        if let Some(negotiated) = self.session.negotiated() {
            self.status.with(|details| {
                if let Some(row) = &mut details.negotiated {
                    row.hold_time_s = negotiated.hold_time_s;
                    row.keepalive_s = negotiated.keepalive_s;
                }
            });
        }
    }

    /// Publishes the result of the negotiation.
    pub(crate) fn publish_established(
        &mut self,
        id: ConnectionId,
        negotiated: &Negotiated,
        now_ms: u64,
    ) {
        self.publish_negotiated(id, negotiated);
        self.status.with(|details| {
            details.established_count += 1;
            details.state_since_ms = now_ms;
        });
    }

    fn publish_negotiated(&self, id: ConnectionId, negotiated: &Negotiated) {
        let connection = self.connections[id.index()].as_ref();
        let local = connection.and_then(|c| c.socket.local_addr().ok());
        let remote = connection.and_then(|c| c.socket.peer_addr().ok());
        let row = status::negotiated_row(negotiated, local, remote);
        let config = self.session.config();
        let addresses = (local, remote);
        let monitored = SessionFacts::new(self.address(), config, negotiated, addresses, unix_us());
        self.status.with(|details| {
            details.negotiated = Some(row);
            details.monitored = Some(Arc::new(monitored));
        });
    }

    /// Publishes the reason why the session went down.
    pub(crate) fn publish_down(&mut self, reason: &DownReason, now_ms: u64) {
        self.status.with(|details| {
            details.last_error = Some((reason.to_string(), now_ms));
            details.last_down = Some(reason.clone());
            details.negotiated = None;
            details.monitored = None;
        });
    }

    /// Publishes the counters and the timers of the session.
    pub(crate) fn publish_counters(&self) {
        self.status.publish_messages(self.session.stats());
        self.status.publish_timers(&self.session);
    }

    /// Publishes the state, the counters and the timers of the session.
    pub(crate) fn publish_session(&mut self, now_ms: u64) {
        self.publish_counters();
        self.status.publish_stale(&self.session);
        let state = self.session.state();
        if state != self.published_state {
            self.published_state = state;
            self.status.with(|details| {
                details.state = status::state(state);
                details.state_since_ms = now_ms;
            });
        }
    }

    /// Logs that the session was established.
    pub(crate) fn log_established(
        &self,
        negotiated: &Negotiated,
        limits: &mut PeerLogLimits,
        now_ms: u64,
    ) {
        if let Some(not_logged) = limits.pass(self.address(), LineKind::Established, now_ms) {
            tracing::info!(
                peer = self.name(), asn = %negotiated.remote_asn, hold_time_s = negotiated.hold_time_s,
                negotiated = %status::summary(negotiated),
                not_negotiated = %status::one_sided(negotiated),
                not_logged = some(not_logged), "session established"
            );
        }
    }

    /// Logs that the session went down.
    pub(crate) fn log_down(&self, reason: &str, limits: &mut PeerLogLimits, now_ms: u64) {
        if let Some(not_logged) = limits.pass(self.address(), LineKind::Down, now_ms) {
            let not_logged = some(not_logged);
            tracing::warn!(peer = self.name(), %reason, not_logged, "session down");
        }
    }

    /// Logs that the neighbor exceeded a prefix limit.
    pub(crate) fn log_limit(
        &self,
        exceeded: &ExceededLimit,
        limits: &mut PeerLogLimits,
        now_ms: u64,
    ) {
        if let Some(not_logged) = limits.pass(self.address(), LineKind::PrefixLimit, now_ms) {
            let ExceededLimit {
                family,
                limit,
                received,
            } = exceeded;
            tracing::warn!(
                peer = self.name(), %family, received, limit = limit.limit,
                action = ?limit.action, not_logged = some(not_logged), "prefix limit exceeded"
            );
        }
    }

    /// Logs an event of the session.
    pub(crate) fn log_event(
        &mut self,
        event: &SessionEvent,
        limits: &mut PeerLogLimits,
        now_ms: u64,
    ) {
        if let SessionEvent::Ended(_, reason) = event {
            if *reason != DownReason::ConnectFailed {
                let text = reason.to_string();
                self.status
                    .with(|details| details.last_error = Some((text, now_ms)));
            }
            // A NOTIFICATION and the end of an established session have lines of their own.
            tracing::debug!(peer = self.name(), "{event}");
            return;
        }
        let peer = self.name();
        if event.severity() == Severity::Debug {
            tracing::debug!(peer, "{event}");
            return;
        }
        let kind = LineKind::Event(std::mem::discriminant(event));
        let Some(not_logged) = limits.pass(self.address(), kind, now_ms) else {
            return;
        };
        let not_logged = some(not_logged);
        match event.severity() {
            Severity::Warn => tracing::warn!(peer, not_logged, "{event}"),
            _ => tracing::info!(peer, not_logged, "{event}"),
        }
    }

    /// Counts a malformed UPDATE and logs its faults.
    pub(crate) fn log_faults(
        &mut self,
        faults: &[Malformed],
        limits: &mut PeerLogLimits,
        now_ms: u64,
    ) {
        self.status.count_malformed();
        for fault in faults {
            let Some(not_logged) = limits.pass(self.address(), LineKind::Malformed, now_ms) else {
                continue;
            };
            tracing::warn!(
                peer = self.name(), attribute = ?fault.code, offset = fault.offset,
                outcome = %fault.disposition(), rfc = fault.rfc(), not_logged,
                "malformed UPDATE: {fault}"
            );
        }
    }
}

fn session_info(negotiated: &Negotiated) -> SessionInfo {
    let family = |family: Family| {
        negotiated.family(family).map(|options| FamilyInfo {
            add_path_receive: options.add_path_receive,
            add_path_send: options.add_path_send,
            extended_next_hop: options.extended_next_hop,
        })
    };
    SessionInfo {
        remote_bgp_id: negotiated.remote_bgp_id,
        remote_asn: negotiated.remote_asn,
        as4: negotiated.as4,
        max_message_len: negotiated.max_message_len,
        families: PerFamily::from_fn(family),
        enhanced_refresh: negotiated.enhanced_refresh,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rutter_config::Config;

    use super::*;

    /// A neighbor at this address.
    pub(crate) fn peer(address: IpAddr) -> Peer {
        let text = format!(
            "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.254\"\nlan = [\"192.0.2.0/24\"]\n\
             [[member]]\nasn = 64501\naddress = [\"{address}\"]\n"
        );
        let config = Config::parse(&text, "test".as_ref())
            .expect("a configuration")
            .config;
        let settings = NeighborSettings::new(&config, &config.neighbors[0]);
        let config = Arc::clone(&settings.config);
        Peer::new(settings, Arc::new(PeerStatus::new(config, 0, false, 0)), 1)
    }
}
