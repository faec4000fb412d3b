//! The route server: the real table, with one session for each client.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportSettings};
use rutter_rib::{
    Batch, ClientStream, FamilyInfo, Neighbor, PeerId, PeerKind, Retain, Rib, RibConfig,
    SessionInfo, Sweeper,
};
use rutter_session::{
    Config, ConnectionId, Negotiated, Output, RemoteAs, SelectionDeferral, Session,
};

use crate::client::asn;
use crate::configuration::ClientRules;
use crate::endpoint::{Endpoint, UpdateOutcome};
use crate::setup::Setup;
use crate::world::SERVER_AS;

/// The server's side of one client.
pub(crate) struct Peer {
    pub end: Endpoint,
    pub id: PeerId,
    pub stream: Option<ClientStream>,
}

pub(crate) struct Server {
    pub rib: Arc<Rib>,
    pub batch: Batch,
    pub peers: Vec<Peer>,
    /// Removes stale routes and those of ended sessions, one slice a turn.
    pub sweeper: Sweeper,
    /// The clients with Graceful Restart, with the families for which they send End-of-RIB.
    pub kept: BTreeMap<u16, PerFamily<bool>>,
    /// After a restart: nothing is advertised yet.
    pub deferral: Option<SelectionDeferral<u16>>,
}

impl Server {
    /// A server with one neighbor for each of the import settings.
    pub fn new(setup: Setup, passive: impl Fn(u16) -> bool, seed: u64) -> Self {
        let rib = empty_table(2, setup.log_limit, setup.export, seed);
        let peer = |((import, rules), index): ((_, &ClientRules), _)| Peer {
            end: Endpoint::new(Session::new(config(index, passive(index), rules), seed)),
            id: rib
                .add_neighbor(neighbor(index, import, rules))
                .expect("few clients"),
            stream: None,
        };
        let clients = setup.imports.into_iter().zip(&setup.rules);
        let peers = clients.zip(0..).map(peer).collect();
        Server {
            rib: Arc::new(rib),
            batch: Batch::new(),
            peers,
            sweeper: Sweeper::default(),
            kept: BTreeMap::new(),
            deferral: None,
        }
    }

    /// The server after its restart. As the daemon does, it knows of the run before only which clients keep its routes.
    pub fn restarted(mut self, kept: BTreeMap<u16, PerFamily<bool>>, ends_at_ms: u64) -> Self {
        self.kept = kept;
        self.deferral = Some(SelectionDeferral::new(self.kept.clone(), ends_at_ms));
        self.rib.defer_advertisement();
        self
    }

    /// A client sent End-of-RIB.
    pub fn end_of_rib(&mut self, index: u16, family: Family, now_ms: u64) {
        if let Some(deferral) = &mut self.deferral {
            deferral.end_of_rib(index, family, now_ms);
        }
    }

    /// Begins to advertise if the deferral is over. Returns whether it lasts.
    pub fn defers(&mut self, now_ms: u64) -> bool {
        let is_over = |deferral: &SelectionDeferral<u16>| deferral.end(now_ms).is_some();
        if self
            .deferral
            .take_if(|deferral| is_over(deferral))
            .is_some()
        {
            self.rib.begin_advertisement();
        }
        self.deferral.is_some()
    }

    /// Handles an output of a session that concerns routes.
    pub fn handle_output(&mut self, peer: usize, output: Output) {
        let Peer { id, stream, .. } = &mut self.peers[peer];
        let sweeper = &mut self.sweeper;
        match output {
            Output::Established { negotiated, .. } => {
                let families = negotiated.end_of_rib_families();
                match families == PerFamily::both(false) {
                    true => self.kept.remove(&(peer as u16)),
                    false => self.kept.insert(peer as u16, families),
                };
                if let Some(deferral) = &mut self.deferral {
                    deferral.established(peer as u16, &negotiated);
                }
                let session = session_info(&negotiated);
                // The daemon reads nothing from the client until then.
                while !self.rib.can_begin_session(*id) {
                    sweeper.step(&self.rib);
                }
                *stream = self.rib.session_up_in_steps(*id, session, sweeper);
            }
            Output::Down { keep, .. } => {
                *stream = None;
                let retain = keep.map(|keep| if keep { Retain::Stale } else { Retain::Nothing });
                self.rib.end_session(*id, retain, sweeper);
            }
            Output::RefreshRequested(family) => {
                if let Some(stream) = stream {
                    self.rib.refresh_client(stream, family);
                }
            }
            Output::MarkStale(family) => self.rib.begin_refresh(*id, family),
            Output::SweepStale(family) => {
                self.rib.sweep_stale_in_steps(*id, family, sweeper);
            }
            Output::StartLongLivedStale(family) => self.rib.start_long_lived_stale(*id, family),
            _ => {}
        }
        self.rib.flush();
    }

    /// Applies the present settings of a neighbor to the routes that it is sent.
    pub fn restyle(&mut self, peer: usize) {
        let Peer { id, stream, .. } = &mut self.peers[peer];
        self.rib.restyle_client(*id, stream);
    }

    /// Applies an UPDATE body.
    pub fn apply(rib: &Rib, batch: &mut Batch, peer: PeerId, body: &[u8]) -> UpdateOutcome {
        let pushed = batch.push(rib, peer, body, 0);
        rib.commit(batch);
        rib.flush();
        UpdateOutcome {
            end_of_rib: pushed.end_of_rib.and_then(|family| family.family()),
            reset: pushed.reset,
        }
    }

    /// The parts of a peer that [`Endpoint::receive`] needs at once.
    pub fn split(&mut self, peer: usize) -> (&Rib, &mut Batch, &mut Peer) {
        (&self.rib, &mut self.batch, &mut self.peers[peer])
    }

    /// Returns up to `room` bytes for the connection: messages of the session first, then the stream.
    pub fn gather(&mut self, peer: usize, connection: ConnectionId, room: usize) -> Vec<u8> {
        let Peer { end, stream, .. } = &mut self.peers[peer];
        let unsent = &mut end.unsent[connection.index()];
        let mut out = Vec::new();
        let established = end.session.established() == Some(connection);
        let boundary = stream
            .as_ref()
            .is_none_or(ClientStream::at_message_boundary);
        if !established || boundary {
            out.extend(unsent.drain(..unsent.len().min(room)));
            if !unsent.is_empty() {
                return out;
            }
        }
        if let (true, Some(stream)) = (established, stream) {
            read_stream(stream, &self.rib, room - out.len(), &mut out);
        }
        out
    }

    /// Removes lagging clients from the log while the table is congested.
    pub fn relieve(&mut self, now_ms: u64) {
        // Here a single segment may exceed the limit of a log, also when all clients have read it.
        if !self.rib.congested() || self.has_sent_all() {
            if !self.sweeper.is_idle() {
                self.sweeper.step(&self.rib);
                self.rib.flush();
            }
            return;
        }
        let streams = self.peers.iter_mut();
        for stream in streams.filter_map(|peer| peer.stream.as_mut()) {
            stream.note_backlog(&self.rib);
            stream.check_lag(&self.rib, false, now_ms);
        }
    }

    /// Returns whether everything is sent, and no route waits to be removed.
    pub fn is_idle(&self) -> bool {
        self.sweeper.is_idle() && self.has_sent_all()
    }

    fn has_sent_all(&self) -> bool {
        let is_sent = |stream: &ClientStream| stream.is_drained() && !stream.has_more();
        let streams = self.peers.iter().filter_map(|peer| peer.stream.as_ref());
        streams.into_iter().all(is_sent)
    }
}

pub(crate) fn empty_table(
    shards: usize,
    log_limit: usize,
    export: ExportSettings,
    seed: u64,
) -> Rib {
    Rib::new(RibConfig {
        shards,
        cluster_id: 1,
        log_limit,
        export: Arc::new(ExportPolicy::new(export)),
        seed,
        always_compare_med: false,
    })
}

fn read_stream(stream: &mut ClientStream, rib: &Rib, room: usize, out: &mut Vec<u8>) {
    if stream.is_drained() {
        stream.fill(rib, room.max(1));
    }
    let mut slices: Vec<IoSlice<'_>> = Vec::new();
    stream.slices(&mut slices);
    let mut left = room;
    for slice in &slices {
        let part = slice.len().min(left);
        out.extend_from_slice(&slice[..part]);
        left -= part;
    }
    let taken = room - left;
    drop(slices);
    stream.consume(taken, 0);
}

/// The restart time that the server offers, seconds.
pub(crate) const RESTART_TIME_S: u16 = 15;

pub(crate) fn config(index: u16, passive: bool, rules: &ClientRules) -> Config {
    let remote = RemoteAs::One(Asn(asn(index)));
    let mut config = Config::new(Asn(SERVER_AS), remote, 1);
    config.passive = passive;
    config.hold_time_s = rules.hold_time_s;
    config.connect_retry_s = 4;
    config.idle_hold.max_ms = 8_000;
    config.send_hold_time_s = 20;
    if let Some(restart) = &mut config.graceful_restart {
        restart.restart_time_s = RESTART_TIME_S;
        restart.max_restart_time_s = 15;
        restart.stale_path_time_s = 30;
    }
    config
}

pub(crate) fn neighbor(index: u16, import: ImportSettings, rules: &ClientRules) -> Neighbor {
    Neighbor {
        name: format!("client {index}").into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, index as u8 + 1)),
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(SERVER_AS),
        remote_asn: Asn(asn(index)),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(import)),
        monitored: None,
        export_allowed: rules.export,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
    }
}

fn session_info(negotiated: &Negotiated) -> SessionInfo {
    let family = |family: Family| {
        negotiated.family(family).map(|agreed| FamilyInfo {
            add_path_receive: agreed.add_path_receive,
            add_path_send: agreed.add_path_send,
            extended_next_hop: agreed.extended_next_hop,
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
