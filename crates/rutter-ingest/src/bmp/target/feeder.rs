//! The table, then the feed, to a station: from the beginning again after every trouble.

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

/// Events that may wait for the station; more and everything is told anew.
const QUEUE: usize = 1 << 17;
/// The thread looks this often whether it is to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it is seen whether the station is still there.
const CHECK: Duration = Duration::from_secs(1);
/// Time before the first further try; doubled until [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Feeds the station until the collector ends.
pub(super) fn run(context: &Context, address: SocketAddr) {
    let mut pause = PAUSE;
    while !context.shutdown.is_triggered() {
        let (reader, peers) = context.rib.subscribe(QUEUE);
        let mut feeder = Feeder {
            context,
            address,
            peers: HashMap::new(),
            connections: HashMap::new(),
            told: None,
        };
        match feeder.feed(&reader, &peers) {
            Ok(()) => return feeder.connections.into_values().for_each(Connection::close),
            Err(_) if context.shutdown.is_triggered() => return,
            Err(trouble) => {
                // It was well in between, and for a while.
                if feeder
                    .told
                    .is_some_and(|since| since.elapsed() >= LONGEST_PAUSE)
                {
                    pause = PAUSE;
                }
                let seconds = pause.as_secs();
                tracing::warn!(station = %address, %trouble, retry_in_s = seconds, "BMP target");
                if matches!(trouble, Trouble::Lost(_)) {
                    pause = PAUSE;
                    continue;
                }
            }
        }
        context.shutdown.wait(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why a station must be told everything anew.
enum Trouble {
    /// It cannot be reached, or takes nothing.
    Io(io::Error),
    /// It is so slow that events were lost.
    Lost(u64),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Io(error) => error.fmt(f),
            Trouble::Lost(lost) => {
                write!(
                    f,
                    "too slow: {lost} events were lost, everything is told anew"
                )
            }
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

struct Feeder<'a> {
    context: &'a Context,
    address: SocketAddr,
    /// Those that the station has heard of.
    peers: HashMap<PeerId, Peer>,
    /// By name of the router.
    connections: HashMap<String, Connection>,
    /// Since when the station has the table.
    told: Option<Instant>,
}

impl Feeder<'_> {
    fn feed(&mut self, reader: &FeedReader, peers: &[PeerSummary]) -> Result<(), Trouble> {
        // So that a station that is away is noticed before there is anything to say.
        self.connection("")?;
        for summary in peers {
            self.up(summary, unix_us())?;
        }
        self.tell_table()?;
        self.told = Some(Instant::now());
        tracing::info!(station = %self.address, peers = self.peers.len(), "BMP target has the table");
        let mut checked = Instant::now();
        while !self.context.shutdown.is_triggered() {
            if checked.elapsed() >= CHECK {
                checked = Instant::now();
                let mut connections = self.connections.values_mut();
                connections.try_for_each(Connection::check)?;
            }
            match reader.next(PATIENCE) {
                Some(event) => self.event(&event)?,
                None => self
                    .connections
                    .values_mut()
                    .try_for_each(Connection::flush)?,
            }
        }
        Ok(())
    }

    fn tell_table(&mut self) -> Result<(), Trouble> {
        let snapshot = self.context.rib.snapshot();
        for family in Family::ALL {
            for destination in snapshot.destinations(family) {
                for route in &destination.routes {
                    // Of peers that came since, the feed tells everything.
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

    fn event(&mut self, event: &FeedEvent) -> Result<(), Trouble> {
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
            // Stale routes went with the session: BMP knows no graceful restart.
            FeedEvent::Swept { .. } => {}
            FeedEvent::Gap { lost } => return Err(Trouble::Lost(*lost)),
        }
        Ok(())
    }

    fn up(&mut self, summary: &PeerSummary, unix_us: u64) -> Result<(), Trouble> {
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
        // Views of one session share its address: one Peer Up stands for all of them.
        let first = !self.is_up(&peer);
        let connection = self.connection(&peer.router)?;
        if first {
            peer.write_up(&mut connection.out, unix_us);
        }
        self.peers.insert(summary.id, peer);
        Ok(())
    }

    /// Whether the station has heard of the session that a peer is a view of.
    fn is_up(&self, peer: &Peer) -> bool {
        self.peers
            .values()
            .any(|known| known.is_of_same_session(peer))
    }

    fn down(&mut self, id: PeerId, unix_us: u64) -> Result<(), Trouble> {
        let Some(peer) = self.peers.remove(&id) else {
            return Ok(());
        };
        let last = !self.is_up(&peer);
        let connection = self.connection(&peer.router)?;
        if last {
            peer.write_down(&mut connection.out, unix_us);
        }
        let alone = self.peers.values().all(|other| other.router != peer.router);
        if alone && !peer.router.is_empty() {
            // The router's last peer: it may be gone, and others come under other names.
            if let Some(connection) = self.connections.remove(&peer.router) {
                connection.close();
            }
        }
        Ok(())
    }

    /// The connection for a router's name; the collector's own where it is empty.
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
