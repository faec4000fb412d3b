//! The process that goes on: it reads what the one before passes, and touches no socket before the word to go.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rutter_net::Asn;
use rutter_rib::{
    ClientStream, ImportedSets, ImportedTable, Monitored, Neighbor, PeerId, TableImport,
};
use rutter_wire::handover::{BadRecord, Reader, VERSION, Writer};

use super::channel::{Channel, Kind, describe};
use super::end_watch::EndWatch;
use super::peer_record::{self, TakenPeer};
use super::{TakenService, kinds_of_data};
use crate::connection::Connection;
use crate::privileges;
use crate::shared::{Shared, unix_us};

/// The process before, at the other end of standard input.
pub(crate) struct Predecessor {
    channel: Channel,
    /// Ends this process with the other one.
    end_watch: EndWatch,
    /// The time of its clock now, milliseconds.
    pub(crate) now_ms: u64,
    /// Its listening sockets.
    pub(crate) listeners: Vec<TcpListener>,
    /// [`rutter_config::Config::dynamic_members`] of its configuration.
    pub(crate) dynamic_members: BTreeSet<(IpAddr, Asn)>,
    /// Its id.
    process: u32,
}

/// What arrived of the other process's state.
struct Arrived {
    peers: Vec<Taken>,
    services: Vec<TakenService>,
    table: ImportedTable,
}

/// Takes the services over that are given. An error is for the operator.
pub(crate) type TakeServices<'a> = &'a mut dyn FnMut(Vec<TakenService>) -> Result<(), String>;

/// A neighbor with its socket.
type Taken = (TakenPeer, Option<Connection>);

/// The time limit for each step of the other process. It waits for a quiet moment first.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The time limit for its end, longer than the one that it has itself.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which this process looks whether the other one is gone.
const PARENT_INTERVAL: Duration = Duration::from_millis(5);

impl Predecessor {
    /// Receives the clock and the listening sockets. The errors of all methods are for the operator.
    pub(crate) fn greet() -> Result<Self, String> {
        let input = io::stdin().as_fd().try_clone_to_owned();
        let input = input.map_err(|error| error.to_string())?;
        let mut channel = Channel::new(UnixStream::from(input));
        channel.set_timeout(TIMEOUT).map_err(|e| describe(&e))?;
        let end_watch = EndWatch::start(&channel, end_with_it).map_err(|e| e.to_string())?;
        let mut record = Vec::new();
        let greeted = channel.expect(Kind::Hello, &mut record);
        greeted.map_err(|error| {
            format!("--take-over is only for a process that a running daemon starts: {error}")
        })?;
        let mut hello = Reader::new(&record);
        let version: u32 = hello.number("version").map_err(text)?;
        let mut predecessor = Predecessor {
            channel,
            end_watch,
            now_ms: 0,
            listeners: Vec::new(),
            dynamic_members: BTreeSet::new(),
            process: parent_id(),
        };
        if version != VERSION {
            return Err(predecessor.fail(format!(
                "it understands version {VERSION} of the hand-over, not {version}: restart the daemon instead"
            )));
        }
        let taken = predecessor.take_clock_and_listeners(&mut hello);
        taken.map_err(|error| predecessor.fail(error))?;
        Ok(predecessor)
    }

    fn take_clock_and_listeners(&mut self, hello: &mut Reader<'_>) -> Result<(), String> {
        let now_ms: u64 = hello.number("clock").map_err(text)?;
        let then_us: u64 = hello.number("time").map_err(text)?;
        let count = hello.number("count of sockets").map_err(text)?;
        while !hello.is_empty() {
            let address = hello
                .address("address of a dynamic neighbor")
                .map_err(text)?;
            let asn = hello.number("AS of a dynamic neighbor").map_err(text)?;
            self.dynamic_members.insert((address, Asn(asn)));
        }
        self.now_ms = now_ms + unix_us().saturating_sub(then_us) / 1_000;
        let sockets = self.channel.receive_sockets(count);
        let sockets = sockets.map_err(|error| describe(&error))?;
        self.listeners = sockets.into_iter().map(TcpListener::from).collect();
        Ok(())
    }

    /// Reports to the other process why this one cannot take over. Returns the reason.
    pub(crate) fn fail(&mut self, why: String) -> String {
        let _ = self.channel.send(Kind::Failed, why.as_bytes());
        why
    }

    /// Takes the neighbors, their sockets and the table, when this process is prepared. Its I/O threads must have their
    /// event loops, but not run. Returns when the other process has handed over, with the attribute sets of the table, which
    /// may be released.
    pub(crate) fn take(
        &mut self,
        shared: &Shared,
        take_services: TakeServices<'_>,
    ) -> Result<ImportedSets, String> {
        let mut hello = Writer::default();
        hello.string(env!("CARGO_PKG_VERSION"));
        for (_, is_here) in kinds_of_data(&shared.rib.outside_data()) {
            hello.bool(is_here);
        }
        self.send(Kind::Hello, &hello)?;
        let Arrived {
            peers,
            services,
            table,
        } = self.receive(shared)?;
        let sessions = peers.iter().filter(|(_, socket)| socket.is_some()).count();
        continue_peers(shared, peers, table.streams)?;
        take_services(services)?;
        let mut ready = Writer::default();
        ready.count(sessions);
        ready.number(table.totals.routes);
        self.end_watch.stop();
        self.send(Kind::Ready, &ready)?;
        self.channel.expect(Kind::Go, &mut Vec::new())?;
        Ok(table.sets)
    }

    fn send(&mut self, kind: Kind, record: &Writer) -> Result<(), String> {
        let sent = self.channel.send(kind, &record.bytes);
        sent.map_err(|error| describe(&error))
    }

    fn receive(&mut self, shared: &Shared) -> Result<Arrived, String> {
        let config = Arc::clone(&shared.config.read());
        let mut record = Vec::new();
        let mut kind = self.next(&mut record)?;
        let mut in_table = self.receive_monitored(&mut kind, &mut record)?;
        if kind != Kind::InTable {
            return Err(unexpected(kind));
        }
        in_table.extend(peer_record::read_in_table(&config, &record).map_err(text)?);
        let mut import = shared.rib.import(in_table);
        self.receive_table(&mut import)?;
        while self.receive_stage(&mut import)? == Kind::Staged {}
        let mut peers: Vec<Taken> = Vec::new();
        let mut kind = self.next(&mut record)?;
        while kind == Kind::Neighbor {
            let peer = peer_record::read(shared, &config, &record).map_err(text)?;
            let socket = peer.bytes.clone().map(|bytes| {
                let sockets = self.channel.receive_sockets(1)?;
                let socket = sockets.into_iter().next().map(TcpStream::from);
                let socket = socket.ok_or(io::ErrorKind::UnexpectedEof)?;
                let socket = mio::net::TcpStream::from_std(socket);
                Ok(Connection::continued(socket, bytes))
            });
            let socket = socket
                .transpose()
                .map_err(|error: io::Error| describe(&error))?;
            peers.push((peer, socket));
            kind = self.next(&mut record)?;
        }
        let mut in_table = self.receive_monitored(&mut kind, &mut record)?;
        let mut services = Vec::new();
        while kind == Kind::Service {
            services.push(self.receive_service(&record)?);
            kind = self.next(&mut record)?;
        }
        let ids = peers.iter().map(|(taken, _)| &taken.peer);
        in_table.extend(ids.filter_map(|peer| Some((peer.id?, peer.settings.table.clone()))));
        import.begin_last_stage(in_table);
        while kind == Kind::Table {
            import.record(&record).map_err(text)?;
            kind = self.next(&mut record)?;
        }
        match kind {
            Kind::Ready => Ok(Arrived {
                peers,
                services,
                table: import.finish().map_err(text)?,
            }),
            other => Err(unexpected(other)),
        }
    }

    /// Reads the peers of monitored routers and files, if they are in this record, and receives the next one.
    fn receive_monitored(
        &mut self,
        kind: &mut Kind,
        record: &mut Vec<u8>,
    ) -> Result<Vec<(PeerId, Neighbor)>, String> {
        if *kind != Kind::Monitored {
            return Ok(Vec::new());
        }
        let peers = Monitored::read_peers(record).map_err(text)?;
        *kind = self.next(record)?;
        Ok(peers)
    }

    fn receive_service(&mut self, record: &[u8]) -> Result<TakenService, String> {
        let mut state = Reader::new(record);
        let name = state.string("name of a service").map_err(text)?;
        let count = state.number("count of sockets").map_err(text)?;
        let record = state.octets("state of a service").map_err(text)?;
        let sockets = self.channel.receive_sockets(count);
        let sockets = sockets.map_err(|error| describe(&error))?;
        Ok(TakenService::new(name, record, sockets))
    }

    /// Receives the first stage, which is the whole table, while the other process still serves.
    fn receive_table(&mut self, import: &mut TableImport<'_>) -> Result<(), String> {
        let receive = || {
            privileges::yield_to_routing();
            match self.receive_stage(import)? {
                Kind::Staged => Ok(()),
                other => Err(unexpected(other)),
            }
        };
        thread::scope(|scope| {
            let receiving = thread::Builder::new().name("receive table".into());
            let receiving = receiving.spawn_scoped(scope, receive);
            let receiving = receiving.map_err(|error| format!("no thread: {error}"))?;
            receiving
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Receives a stage up to its end, which it confirms, or up to the word that the other process holds still.
    fn receive_stage(&mut self, import: &mut TableImport<'_>) -> Result<Kind, String> {
        let mut record = Vec::new();
        loop {
            match self.next(&mut record)? {
                Kind::Table => import.record(&record).map_err(text)?,
                Kind::Staged => {
                    self.send(Kind::Staged, &Writer::default())?;
                    return Ok(Kind::Staged);
                }
                Kind::Held => return Ok(Kind::Held),
                other => return Err(unexpected(other)),
            }
        }
    }

    fn next(&mut self, record: &mut Vec<u8>) -> Result<Kind, String> {
        let received = self.channel.receive(record);
        received.map_err(|error| describe(&error))
    }

    /// Waits until the other process has ended and its paths and addresses are free.
    pub(crate) fn wait_for_end(mut self) {
        let _ = self.channel.set_timeout(END_TIMEOUT);
        self.channel.wait_for_end();
        // The kernel closes the files of a process one by one, and gives its children another parent after the last.
        let until = Instant::now() + END_TIMEOUT;
        while parent_id() == self.process && Instant::now() < until {
            thread::sleep(PARENT_INTERVAL);
        }
    }
}

/// Ends this process: the other one ended before it had said Go. No socket was touched, and nothing is to be written.
fn end_with_it() {
    tracing::error!("the process that hands over has ended: this one ends too");
    std::process::exit(1);
}

/// Gives the neighbors to their threads.
fn continue_peers(
    shared: &Shared,
    peers: Vec<Taken>,
    streams: Vec<ClientStream>,
) -> Result<(), String> {
    let mut streams: HashMap<PeerId, ClientStream> =
        streams.into_iter().map(|s| (s.peer(), s)).collect();
    for (taken, mut connection) in peers {
        let TakenPeer {
            peer,
            pending_refreshes,
            ..
        } = taken;
        if let Some(negotiated) = peer.session.negotiated() {
            shared.restart.established(peer.address(), negotiated);
        }
        let address = peer.address();
        let section = peer.settings.dynamic.as_ref();
        let network = section.map(|section| section.prefix);
        let status = Arc::clone(&peer.status);
        shared.peers.continue_with(address, status, network);
        let stream = peer.id.and_then(|id| streams.remove(&id));
        if let (Some(connection), Some(stream)) = (&mut connection, &stream) {
            connection.continue_stream(stream);
        }
        let thread = peer.status.with(|details| details.thread);
        let mut reactor = shared.threads[thread].reactor.lock();
        let reactor = reactor.as_mut().ok_or("an I/O thread is missing")?;
        if let (Some(id), Some(_)) = (peer.id, &connection) {
            let driver = reactor.driver();
            let slot = driver
                .continue_peer(peer, connection)
                .map_err(|e| e.to_string())?;
            if let Some(peer) = driver.peers.get_mut(slot) {
                peer.continue_session(id, stream, pending_refreshes);
            }
        } else {
            let continued = reactor.driver().continue_peer(peer, connection);
            continued.map_err(|error| error.to_string())?;
        }
    }
    match streams.is_empty() {
        true => Ok(()),
        false => Err("the other process sent a client without a session".to_owned()),
    }
}

fn unexpected(kind: Kind) -> String {
    format!("the other process sent {kind:?} in place of the table")
}

fn text(error: BadRecord) -> String {
    error.to_string()
}
