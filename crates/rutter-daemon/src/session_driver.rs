//! Passes inputs to the sessions of a thread and carries out the outputs.

mod outputs;

use std::collections::BTreeMap;
use std::io;
use std::net::{self, IpAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Registry};
use rutter_config::Neighbor;
use rutter_net::Family;
use rutter_rib::{Batch, Sweeper};
use rutter_session::{ConnectionId, Input, State, Timer};
use rutter_wire::attr::Malformed;

use crate::ao_changes::AoChanges;
use crate::connection::{Connection, ConnectionKey};
use crate::deadlines::Deadlines;
use crate::key_changes::KeyChanges;
use crate::lingering::LingeringSockets;
use crate::peer::{EndCause, Peer};
use crate::peer_log_limits::PeerLogLimits;
use crate::shared::{Shared, unix_us};
use crate::thread_peers::ThreadPeers;
use crate::transport;
use crate::write_queue::WriteQueue;

/// The sessions of a thread, and everything that their outputs act upon: sockets, the table, timers, queues.
///
/// Invariant: after each input all outputs of the session are carried out, and its deadline and state are published.
pub(crate) struct SessionDriver {
    pub(crate) shared: Arc<Shared>,
    registry: Registry,
    thread: usize,
    pub(crate) peers: ThreadPeers,
    pub(crate) deadlines: Deadlines,
    /// The connections whose sockets may have input.
    pub(crate) read_queue: Vec<ConnectionKey>,
    /// The neighbors whose sockets may take bytes.
    pub(crate) write_queue: WriteQueue,
    lingering: LingeringSockets,
    pub(crate) log_limits: PeerLogLimits,
    /// The connections whose TCP MD5 keys change.
    pub(crate) key_changes: KeyChanges,
    /// The connections whose TCP-AO keys change.
    pub(crate) ao_changes: AoChanges,
    /// See [`SessionDriver::delay_connection`].
    delayed_connections: BTreeMap<IpAddr, net::TcpStream>,
    /// Removes the routes of sessions that ended.
    sweeper: Sweeper,
    /// The received bytes since the memory of the table was last compared with its limit.
    pub(crate) unchecked_bytes: usize,
    /// The time at the start of the turn.
    pub(crate) now_ms: u64,
    unix_us: u64,
    /// The daemon stops: the time at which all connections are closed.
    stop_by_ms: Option<u64>,
}

/// The timers of a connection that is to end when its routes are in the table are looked at again after this time.
const ENDING_RETRY_MS: u64 = 10;
/// The longest time from a shutdown to the end of all connections, milliseconds.
const STOP_WITHIN_MS: u64 = 3_000;

impl SessionDriver {
    /// A driver without neighbors.
    pub(crate) fn new(shared: Arc<Shared>, thread: usize, registry: Registry) -> Self {
        SessionDriver {
            shared,
            registry,
            thread,
            peers: ThreadPeers::default(),
            deadlines: Deadlines::default(),
            read_queue: Vec::new(),
            write_queue: WriteQueue::default(),
            lingering: LingeringSockets::default(),
            log_limits: PeerLogLimits::default(),
            key_changes: KeyChanges::default(),
            ao_changes: AoChanges::default(),
            delayed_connections: BTreeMap::new(),
            sweeper: Sweeper::default(),
            unchecked_bytes: 0,
            now_ms: 0,
            unix_us: 0,
            stop_by_ms: None,
        }
    }

    /// Reads the clocks, and returns the time.
    pub(crate) fn start_turn(&mut self) -> Duration {
        let now = self.shared.clock.now();
        self.now_ms = now.as_millis() as u64;
        self.unix_us = unix_us();
        now
    }

    /// Takes over the time of another thread's turn.
    pub(crate) fn set_time_from(&mut self, other: &SessionDriver) {
        self.now_ms = other.now_ms;
    }

    /// Wall time in microseconds since 1970.
    pub(crate) fn unix_us(&self) -> u64 {
        self.unix_us
    }

    /// Closes the lingering sockets whose time is over, and reports log lines that were left out.
    pub(crate) fn end_turn(&mut self) {
        self.log_limits.report(self.now_ms);
        self.lingering
            .close_finished(self.now_ms, self.is_stopping());
    }

    /// Removes some routes of sessions that ended.
    pub(crate) fn sweep(&mut self) {
        if self.is_sweeping() {
            self.sweeper.step(&self.shared.rib);
        }
    }

    /// Returns whether routes of sessions that ended are left.
    pub(crate) fn is_sweeping(&self) -> bool {
        !self.sweeper.is_idle()
    }

    /// The next neighbor whose deadline has passed.
    pub(crate) fn next_due(&mut self) -> Option<usize> {
        self.deadlines.pop_due(self.now_ms)
    }

    /// The time of the next work without an event.
    pub(crate) fn next_deadline(&mut self) -> Option<u64> {
        let timer = self.deadlines.next_deadline();
        let linger = self.lingering.next_deadline();
        let report = self.log_limits.next_deadline();
        let keys = self.key_changes.next_deadline();
        let ao_keys = self.ao_changes.next_deadline();
        [timer, linger, report, keys, ao_keys]
            .into_iter()
            .flatten()
            .min()
    }

    /// Starts the end of all sessions. The thread ends when their connections are closed.
    pub(crate) fn begin_stop(&mut self) {
        self.stop_by_ms = Some(self.now_ms + STOP_WITHIN_MS);
    }

    /// Returns whether the daemon stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_by_ms.is_some()
    }

    /// Returns whether all connections are closed after a shutdown, or its time is over.
    pub(crate) fn has_ended(&self) -> bool {
        let Some(stop_by_ms) = self.stop_by_ms else {
            return false;
        };
        let is_open = self.peers.iter().any(Peer::has_connection);
        let busy = is_open || !self.lingering.is_empty();
        !busy || self.now_ms >= stop_by_ms
    }

    /// Makes the next poll of this thread return at once.
    pub(crate) fn wake_self(&self) {
        self.shared.threads[self.thread].mailbox.wake();
    }

    /// Returns whether a timer of a session is due.
    pub(crate) fn is_due(&self, slot: usize, timer: Timer) -> bool {
        let deadline = self.peers.get(slot).and_then(|p| p.session.deadline(timer));
        deadline.is_some_and(|at| at <= self.now_ms)
    }

    /// Returns whether the next session of a neighbor waits until routes of former ones are removed.
    pub(crate) fn must_wait(&self, slot: usize) -> bool {
        let peer = self.peers.get(slot);
        let id = peer.and_then(|peer| peer.id.filter(|_| peer.established.is_none()));
        id.is_some_and(|id| !self.shared.rib.can_begin_session(id))
    }

    /// Returns whether the daemon stops and this thread has not begun to.
    pub(crate) fn must_stop(&self) -> bool {
        self.shared.stopping.load(Ordering::Relaxed) && !self.is_stopping()
    }

    /// Queues a connection to be read without an event.
    pub(crate) fn queue_read(&mut self, key: ConnectionKey) {
        if let Some(connection) = self.peers.connection_mut(key)
            && !std::mem::replace(&mut connection.readable, true)
        {
            self.read_queue.push(key);
        }
    }

    /// Counts bytes that were handled. Returns whether the neighbor has sent more than its share lately.
    pub(crate) fn count_share(&mut self, key: ConnectionKey, bytes: usize) -> bool {
        let now_ms = self.now_ms;
        self.peers.connection_mut(key).is_some_and(|connection| {
            connection.share.count(bytes, now_ms);
            connection.share.is_used(now_ms)
        })
    }

    /// Notes that a commit of so many routes of a neighbor took more steps.
    fn note_steps(&mut self, slot: usize, routes: usize, steps: usize) {
        let now_ms = self.now_ms;
        let peer = self.peers.get_mut(slot);
        let connections = peer.into_iter().flat_map(|peer| &mut peer.connections);
        for connection in connections.flatten() {
            connection.share.note_steps(routes, steps, now_ms);
        }
    }

    /// Notes the steps of a commit of so many routes of a neighbor besides one for each. Checks its limits when nothing is left:
    /// before, announcements may be in the table without the withdrawals that the neighbor sent first.
    pub(crate) fn committed(
        &mut self,
        slot: usize,
        (routes, left): (usize, usize),
        more_steps: usize,
    ) {
        if more_steps > 0 {
            self.note_steps(slot, routes, more_steps);
        }
        if left == 0 {
            self.check_limits(slot);
        }
    }

    /// Returns whether a neighbor has sent more than its share lately.
    pub(crate) fn is_share_used(&mut self, key: ConnectionKey) -> bool {
        let now_ms = self.now_ms;
        let connection = self.peers.connection_mut(key);
        connection.is_some_and(|connection| connection.share.is_used(now_ms))
    }

    /// Queues a connection whose socket became ready.
    pub(crate) fn socket_ready(&mut self, key: ConnectionKey, event: &mio::event::Event) {
        let Some(connection) = self.peers.connection_mut(key) else {
            return;
        };
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.read_closed |= event.is_read_closed() || event.is_error();
            if !connection.readable {
                connection.readable = true;
                self.read_queue.push(key);
            }
        }
        if (event.is_writable() || event.is_error()) && !connection.writable {
            connection.writable = true;
            self.write_queue.push(key.slot);
        }
    }

    /// Passes an input to a session and carries out its outputs.
    pub(crate) fn handle(&mut self, slot: usize, input: Input<'_>) {
        let now_ms = self.now_ms;
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        peer.session.handle(now_ms, input);
        self.carry_out(slot);
        self.publish(slot);
    }

    /// Fires the timers of a session.
    pub(crate) fn tick(&mut self, slot: usize) {
        self.note_unread(slot);
        if self.is_ending(slot) {
            // A hold timer would end the session with an error, and graceful restart would not keep the routes.
            return self
                .deadlines
                .arm(slot, Some(self.now_ms + ENDING_RETRY_MS));
        }
        self.handle(slot, Input::Tick);
    }

    /// Notes whether a connection whose routes wait is to end because the neighbor reads nothing. It may read again.
    fn note_unread(&mut self, slot: usize) {
        let Some(id) = self.uncommitted_on(slot) else {
            return;
        };
        let is_unread = self.is_due(slot, Timer::SendHold(id));
        let Some(connection) = self.peers.connection_mut(ConnectionKey { slot, id }) else {
            return;
        };
        match connection.ending {
            None if is_unread => connection.ending = Some(EndCause::SendHoldExpired),
            Some(EndCause::SendHoldExpired) if !is_unread => connection.ending = None,
            _ => {}
        }
    }

    /// Registers a socket as a connection of a neighbor, for both directions and once. Events are edge-triggered, so
    /// an idle or a full socket costs nothing.
    pub(crate) fn open(
        &mut self,
        key: ConnectionKey,
        mut socket: TcpStream,
        connecting: bool,
    ) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(&mut socket, key.token(), both)?;
        if let Some(peer) = self.peers.get_mut(key.slot) {
            peer.connections[key.id.index()] = Some(Connection::new(socket, connecting));
        }
        Ok(())
    }

    /// Logs the faults of a malformed UPDATE.
    pub(crate) fn log_faults(&mut self, slot: usize, faults: &[Malformed]) {
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.log_faults(faults, &mut self.log_limits, self.now_ms);
        }
    }

    /// Arms the deadline of a session, publishes its state, and removes a dynamic neighbor that left.
    fn publish(&mut self, slot: usize) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        self.deadlines.arm(slot, peer.session.next_deadline());
        peer.publish_session(self.now_ms);
        match peer.gone_at_ms() {
            Some(at) if at <= self.now_ms => self.remove_peer(slot),
            at => self.deadlines.arm(slot, at),
        }
    }

    /// Adds a neighbor whose session another process began, with its established connection. Returns its slot.
    pub(crate) fn continue_peer(
        &mut self,
        mut peer: Peer,
        connection: Option<Connection>,
    ) -> io::Result<usize> {
        let id = peer.session.established();
        let is_blocked = id.is_some_and(|id| peer.session.deadline(Timer::SendHold(id)).is_some());
        peer.publish_continued();
        let deadline = peer.session.next_deadline();
        let slot = self.peers.insert(peer);
        self.deadlines.arm(slot, deadline);
        if let (Some(id), Some(mut connection)) = (id, connection) {
            let key = ConnectionKey { slot, id };
            let both = Interest::READABLE | Interest::WRITABLE;
            self.registry
                .register(&mut connection.socket, key.token(), both)?;
            connection.blocked = is_blocked;
            if connection.readable {
                self.read_queue.push(key);
            }
            if let Some(peer) = self.peers.get_mut(slot) {
                peer.connections[id.index()] = Some(connection);
            }
        }
        self.write_queue.push(slot);
        Ok(slot)
    }

    /// Adds a neighbor; its session does not start.
    pub(crate) fn insert_peer(&mut self, peer: Peer) -> usize {
        self.peers.insert(peer)
    }

    /// Removes a neighbor whose session is down. Its routes leave the table in steps.
    pub(crate) fn remove_peer(&mut self, slot: usize) {
        if let Some(address) = self.take_out(slot) {
            self.forget(address);
        }
    }

    /// As [`SessionDriver::remove_peer`], but another neighbor follows at the address at once.
    pub(crate) fn take_out(&mut self, slot: usize) -> Option<IpAddr> {
        let peer = self.peers.remove(slot)?;
        if let Some(id) = peer.id {
            let rib = &self.shared.rib;
            rib.remove_neighbor_in_steps(id, &mut self.sweeper);
        }
        self.deadlines.forget(slot);
        self.shared.restart.removed(peer.address());
        Some(peer.address())
    }

    /// Forgets a neighbor that is not on this thread any more.
    pub(crate) fn forget(&mut self, address: IpAddr) {
        self.shared.peer_removed(address, self.thread);
    }

    /// The number of this thread.
    pub(crate) fn thread(&self) -> usize {
        self.thread
    }

    /// The longest message to accept from a connection; `None` if it is closed.
    pub(crate) fn max_message_len(&self, key: ConnectionKey) -> Option<usize> {
        let peer = self.peers.get(key.slot)?;
        peer.connections[key.id.index()].as_ref()?;
        Some(peer.session.max_receive_len(key.id))
    }

    /// Counts UPDATEs that went to the table.
    pub(crate) fn updates_received(&mut self, slot: usize, updates: u64) {
        if let Some(peer) = self.peers.get_mut(slot)
            && peer.session.state() == State::Established
        {
            peer.session.updates_received(self.now_ms, updates);
            peer.publish_counters();
        }
    }

    /// The neighbor sent End-of-RIB; its UPDATEs before it are in the table.
    pub(crate) fn end_of_rib(&mut self, slot: usize, family: Family) {
        self.handle(slot, Input::EndOfRib { family });
        if let Some(peer) = self.peers.get(slot) {
            self.shared
                .restart
                .end_of_rib(peer.address(), family, self.now_ms);
            peer.status.with(|details| {
                if let Some(monitored) = &details.monitored {
                    monitored.received_end_of_rib(family);
                }
            });
        }
    }

    /// Applies what changed in a neighbor's settings to its established session, which goes on: the routes that it is sent,
    /// the TTL and the keys of TCP MD5 or TCP-AO. `before` are the former settings.
    pub(crate) fn change_live(&mut self, slot: usize, before: &Neighbor) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        peer.publish_hold_time();
        let Some(established) = &mut peer.established else {
            return;
        };
        let rib = &self.shared.rib;
        rib.restyle_client(established.peer, &mut established.stream);
        self.shared.policy_changes.fetch_add(1, Ordering::Relaxed);
        self.write_queue.push(slot);
        let now = Arc::clone(&peer.settings.config);
        let connection = peer.connections[established.connection.index()].as_ref();
        if before.session.ttl_security != now.session.ttl_security
            && let Some(connection) = connection
            && let Err(error) = transport::change_hops(connection.socket.as_fd(), &now)
        {
            tracing::error!(peer = peer.name(), %error, "cannot change the TTL of the connection");
        }
        if before.session.password != now.session.password {
            let keys = (
                before.session.password.clone(),
                now.session.password.clone(),
            );
            self.key_changes.begin(now.address, keys);
            tracing::info!(
                peer = peer.name(),
                "the TCP MD5 key changes: the session goes on with the old one until the neighbor uses the new one"
            );
        }
        if before.session.tcp_ao != now.session.tcp_ao
            && let Some(connection) = connection
        {
            let (old, socket) = (&before.session.tcp_ao, connection.socket.as_fd());
            for error in self.ao_changes.begin(&peer.settings, old, socket) {
                tracing::error!(peer = peer.name(), %error, "cannot change the TCP-AO keys");
            }
            tracing::info!(
                peer = peer.name(),
                "the TCP-AO keys change: a removed one goes when the neighbor does not use it any more"
            );
        }
    }

    /// Requests all routes of a family from a neighbor, because some are missing that have room now.
    pub(crate) fn request_refresh(&mut self, slot: usize, family: Family) {
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(established) = &peer.established else {
            return;
        };
        let rib = &self.shared.rib;
        rib.begin_resend(established.peer, family);
        tracing::info!(peer = peer.name(), %family, "routes requested again: there is room for those not kept");
        self.handle(slot, Input::RequestRefresh { family });
    }

    /// The connection of a neighbor whose UPDATEs were handled but are not all in the table yet.
    pub(crate) fn uncommitted_on(&self, slot: usize) -> Option<ConnectionId> {
        let established = self.peers.get(slot)?.established.as_ref()?;
        { established.uncommitted.as_ref() }.map(|_| established.connection)
    }

    /// Keeps routes of a neighbor for a later turn. If its session has ended, they are not needed any more.
    pub(crate) fn keep_uncommitted(&mut self, key: ConnectionKey, mut batch: Batch) {
        let peer = self.peers.get_mut(key.slot);
        match peer.and_then(|peer| peer.established.as_mut()) {
            Some(established) => established.uncommitted = Some(Box::new(batch)),
            None => batch.discard(&self.shared.rib),
        }
        if let Some(connection) = self.peers.connection_mut(key) {
            connection.readable = true;
        }
    }

    /// Takes the routes of [`SessionDriver::keep_uncommitted`].
    pub(crate) fn take_uncommitted(&mut self, slot: usize) -> Option<Batch> {
        let established = self.peers.get_mut(slot)?.established.as_mut()?;
        established.uncommitted.take().map(|batch| *batch)
    }

    /// Puts all routes that wait for a later turn into the table. Sessions may end.
    pub(crate) fn commit_all(&mut self) {
        for slot in 0..self.peers.slot_count() {
            let Some(id) = self.uncommitted_on(slot) else {
                continue;
            };
            if let Some(mut batch) = self.take_uncommitted(slot) {
                self.shared.rib.commit(&mut batch);
            }
            self.check_limits(slot);
            let key = ConnectionKey { slot, id };
            self.end_connection_that_waited(key);
        }
    }

    /// All routes of a connection are in the table: ends it if it waited for that.
    pub(crate) fn end_connection_that_waited(&mut self, key: ConnectionKey) {
        let connection = self.peers.connection_mut(key);
        if let Some(cause) = connection.and_then(|connection| connection.ending.take()) {
            self.connection_ended(key, cause);
        }
    }

    /// Keeps a new connection of a neighbor until its routes that wait are in the table. The connection ends the session, and to
    /// put all routes into the table now could take long. A later connection replaces it.
    pub(crate) fn delay_connection(&mut self, remote: IpAddr, stream: net::TcpStream) {
        self.delayed_connections.insert(remote, stream);
    }

    /// Returns whether connections are delayed.
    pub(crate) fn has_delayed_connections(&self) -> bool {
        !self.delayed_connections.is_empty()
    }

    /// Takes the delayed connections that need not wait any longer.
    pub(crate) fn take_delayed_connections(&mut self) -> Vec<(IpAddr, net::TcpStream)> {
        if self.delayed_connections.is_empty() {
            return Vec::new();
        }
        let must_wait = |remote: &IpAddr| {
            let slot = self.peers.find(*remote);
            slot.is_some_and(|slot| self.uncommitted_on(slot).is_some())
        };
        let remotes = self.delayed_connections.keys().copied();
        let ready: Vec<IpAddr> = remotes.filter(|remote| !must_wait(remote)).collect();
        let taken = ready
            .into_iter()
            .filter_map(|remote| self.delayed_connections.remove_entry(&remote));
        taken.collect()
    }

    /// Returns whether a connection is to end while routes of it wait. The reader ends it when they are in the table.
    fn is_ending(&self, slot: usize) -> bool {
        let connection = self.uncommitted_on(slot).and_then(|id| {
            let peer = self.peers.get(slot)?;
            peer.connections[id.index()].as_ref()
        });
        connection.is_some_and(|connection| connection.ending.is_some())
    }

    /// A connection was closed by the neighbor or lost, or the neighbor reads nothing from it.
    pub(crate) fn connection_ended(&mut self, key: ConnectionKey, cause: EndCause) {
        if self.uncommitted_on(key.slot) == Some(key.id) {
            // The reader ends it. To put all routes into the table now could take long.
            if let Some(connection) = self.peers.connection_mut(key) {
                connection.ending = Some(cause);
                connection.writable = false;
            }
            return;
        }
        if let EndCause::SendHoldExpired = cause {
            return self.handle(key.slot, Input::Tick);
        }
        let Some(peer) = self.peers.get_mut(key.slot) else {
            return;
        };
        let Some(ended) = peer.connections[key.id.index()].take() else {
            return;
        };
        if let EndCause::Failed(error) = &cause {
            tracing::debug!(peer = peer.name(), %error, "connection failed");
        }
        let connection = key.id;
        let input = if ended.connecting {
            Input::ConnectFailed { connection }
        } else {
            Input::Disconnected { connection }
        };
        drop(ended);
        self.handle(key.slot, input);
    }

    /// The socket of an attempt to connect became writable: the attempt succeeded or failed.
    pub(crate) fn connect_decided(&mut self, key: ConnectionKey) {
        let Some(connection) = self.peers.connection_mut(key) else {
            return;
        };
        let error = connection.socket.take_error();
        if let Ok(Some(error)) | Err(error) = error {
            self.connection_ended(key, EndCause::Failed(error));
        } else if connection.socket.peer_addr().is_ok() {
            connection.connecting = false;
            if connection.readable {
                // The input arrived with the same event, while the attempt was undecided.
                self.read_queue.push(key);
            }
            let input = Input::Connected {
                connection: key.id,
                outgoing: true,
            };
            self.handle(key.slot, input);
        } else {
            connection.writable = false;
        }
    }
}
