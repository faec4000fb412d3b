//! Sends the table, then the feed, to a station. After an error it starts again from the beginning.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rutter_net::Family;
use rutter_rib::{FeedEvent, FeedReader, PeerId, PeerSummary};

use super::connection::Connection;
use super::encode::Peer;
use crate::clock::unix_us;
use rutter_service::Context;

/// The number of events that may wait for the station. If there are more, the whole table is sent again.
const QUEUE: usize = 1 << 17;
/// The interval at which the thread checks for shutdown.
const FEED_WAIT: Duration = Duration::from_millis(100);
/// The interval at which the thread checks whether the station closed the connection.
const CHECK: Duration = Duration::from_secs(1);
/// The delay before the first retry. It doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Feeds the station until the collector stops.
pub(super) fn run(context: &Context, address: SocketAddr) {
    let mut pause = PAUSE;
    while !context.shutdown.is_triggered() {
        let (reader, peers) = context.rib.subscribe(QUEUE);
        let mut feeder = Feeder {
            context,
            address,
            peers: HashMap::new(),
            connections: HashMap::new(),
            complete_since: None,
        };
        match feeder.feed(&reader, &peers) {
            Ok(()) => return feeder.connections.into_values().for_each(Connection::close),
            Err(_) if context.shutdown.is_triggered() => return,
            Err(trouble) => {
                // The station had the table for a while: start with the shortest delay again.
                if feeder
                    .complete_since
                    .is_some_and(|since| since.elapsed() >= LONGEST_PAUSE)
                {
                    pause = PAUSE;
                }
                let seconds = pause.as_secs();
                tracing::warn!(station = %address, %trouble, retry_in_s = seconds, "BMP target");
                if matches!(trouble, FeedError::Lost(_)) {
                    pause = PAUSE;
                    continue;
                }
            }
        }
        context.shutdown.wait(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The reason why a station must receive the whole table again.
enum FeedError {
    /// The station cannot be reached, or reads nothing.
    Io(io::Error),
    /// The station was so slow that events were lost.
    Lost(u64),
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeedError::Io(error) => error.fmt(f),
            FeedError::Lost(lost) => {
                write!(
                    f,
                    "too slow: {lost} events were lost, so the whole table is sent again"
                )
            }
        }
    }
}

impl From<io::Error> for FeedError {
    fn from(error: io::Error) -> Self {
        FeedError::Io(error)
    }
}

struct Feeder<'a> {
    context: &'a Context,
    address: SocketAddr,
    /// The peers that the station knows.
    peers: HashMap<PeerId, Peer>,
    /// The connections, by name of the router.
    connections: HashMap<String, Connection>,
    /// The time at which the station had received the table.
    complete_since: Option<Instant>,
}

impl Feeder<'_> {
    fn feed(&mut self, reader: &FeedReader, peers: &[PeerSummary]) -> Result<(), FeedError> {
        // Connects before there is data to send, so that an unreachable station is noticed.
        self.connection("")?;
        for summary in peers {
            self.up(summary, unix_us())?;
        }
        self.send_table()?;
        self.complete_since = Some(Instant::now());
        tracing::info!(station = %self.address, peers = self.peers.len(), "BMP target has the table");
        let mut checked = Instant::now();
        while !self.context.shutdown.is_triggered() {
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                let mut connections = self.connections.values_mut();
                connections.try_for_each(Connection::check)?;
            }
            match reader.next(FEED_WAIT) {
                Some(event) => self.event(&event)?,
                None => self
                    .connections
                    .values_mut()
                    .try_for_each(Connection::flush)?,
            }
        }
        Ok(())
    }

    fn send_table(&mut self) -> Result<(), FeedError> {
        let snapshot = self.context.rib.snapshot();
        for family in Family::ALL {
            for destination in snapshot.destinations(family) {
                for route in &destination.routes {
                    // The feed carries all routes of peers that were added since.
                    let Some(peer) = self.peers.get(&route.peer) else {
                        continue;
                    };
                    if let Some(connection) = self.connections.get_mut(&peer.router) {
                        peer.write_route(&mut connection.out, destination.prefix, route);
                        connection.flush_some()?;
                    }
                }
            }
            for peer in self.peers.values() {
                if let Some(connection) = self.connections.get_mut(&peer.router) {
                    peer.write_end_of_rib(&mut connection.out, family);
                }
            }
        }
        Ok(self
            .connections
            .values_mut()
            .try_for_each(Connection::flush)?)
    }

    fn event(&mut self, event: &FeedEvent) -> Result<(), FeedError> {
        match event {
            FeedEvent::Update {
                peer,
                unix_us,
                body,
            } => {
                if let Some(peer) = self.peers.get(peer).cloned() {
                    let connection = self.connection(&peer.router)?;
                    peer.write_update(&mut connection.out, body, *unix_us);
                    connection.flush_some()?;
                }
            }
            FeedEvent::PeerUp { peer, unix_us } => self.up(peer, *unix_us)?,
            FeedEvent::PeerDown { peer, unix_us, .. } => self.down(*peer, *unix_us)?,
            // BMP has no graceful restart: the Peer Down removed stale routes already.
            FeedEvent::Swept { .. } => {}
            FeedEvent::Gap { lost } => return Err(FeedError::Lost(*lost)),
        }
        Ok(())
    }

    fn up(&mut self, summary: &PeerSummary, unix_us: u64) -> Result<(), FeedError> {
        let Some(peer) = Peer::of(summary) else {
            return Ok(());
        };
        if let Some(known) = self.peers.get(&summary.id) {
            if known.is_read_like(&peer) {
                self.peers.insert(summary.id, peer);
                return Ok(());
            }
            self.down(summary.id, unix_us)?;
        }
        // The views of one session share its address, so one Peer Up covers them all.
        let first = !self.is_up(&peer);
        let connection = self.connection(&peer.router)?;
        if first {
            peer.write_peer_up(&mut connection.out, unix_us);
        }
        self.peers.insert(summary.id, peer);
        Ok(())
    }

    /// Returns whether the station knows the session of this view.
    fn is_up(&self, peer: &Peer) -> bool {
        self.peers
            .values()
            .any(|known| known.is_of_same_session(peer))
    }

    fn down(&mut self, id: PeerId, unix_us: u64) -> Result<(), FeedError> {
        let Some(peer) = self.peers.remove(&id) else {
            return Ok(());
        };
        let last = !self.is_up(&peer);
        let connection = self.connection(&peer.router)?;
        if last {
            peer.write_peer_down(&mut connection.out, unix_us);
        }
        let alone = self.peers.values().all(|other| other.router != peer.router);
        if alone && !peer.router.is_empty() {
            // This was the router's last peer. The router may be gone, or return under another name.
            if let Some(connection) = self.connections.remove(&peer.router) {
                connection.close();
            }
        }
        Ok(())
    }

    /// Returns the connection for a router; an empty name means the collector itself.
    fn connection(&mut self, router: &str) -> io::Result<&mut Connection> {
        if !self.connections.contains_key(router) {
            let name = match router {
                "" => &*self.context.collector,
                name => name,
            };
            let opened = Connection::open(self.address, name, &self.context.shutdown)?;
            self.connections.insert(router.to_owned(), opened);
        }
        self.connections
            .get_mut(router)
            .ok_or_else(|| io::Error::other("no connection"))
    }
}
