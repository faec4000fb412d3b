//! The real table with clients behind imaginary sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{
    Action, ActionCommunity, CheckAction, ClassTag, ExportPolicy, ExportSettings, ImportPolicy,
    ImportRule, ImportSettings, LengthRange, NextHopRule, OutsideData, Rtt, RttThresholds,
    TagState,
};
use rutter_rib::*;
use rutter_rpki::{AspasBuilder, PathState, Relation, Rov, Vrps};
use rutter_wire::attr::{self, AttrContext, code};
use rutter_wire::{nlri, update};

use crate::filters::{Rule, chain};
use crate::handover::Transfer;

/// The attributes of a route in these tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attrs {
    pub path: Vec<u32>,
    pub origin: u8,
    pub med: Option<u32>,
    pub communities: Vec<u32>,
}

pub const LOCAL: u32 = 64_500;

/// The AS of a peer: two peers share each.
pub fn asn(peer: u16) -> u32 {
    1_000 + u32::from(peer) % 3
}

pub fn address(peer: u16) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, peer as u8 + 1)
}

/// BGP Identifiers descend while addresses ascend, so that the steps of the decision differ.
pub fn bgp_id(peer: u16) -> u32 {
    1_000 - u32::from(peer)
}

pub struct World {
    pub rib: Rib,
    pub log_limit: usize,
    batch: Batch,
    /// The steps of a commit. The other routes of an UPDATE wait in `uncommitted` then.
    pub max_steps: Option<usize>,
    /// By peer.
    uncommitted: BTreeMap<u16, Batch>,
    pub clients: Vec<Option<Client>>,
    /// The thread of the clients is late.
    pub is_late: bool,
    /// True if some clients take Add-Path.
    pub has_add_path: bool,
    sweeper: Sweeper,
    now_ms: u64,
    settings: Mutex<Settings>,
    /// A hand-over that has begun.
    pub transfer: Option<Transfer>,
}

/// The settings of peers that differ from [`neighbor`].
#[derive(Default)]
struct Settings {
    /// Round-trip times in milliseconds.
    rtts: BTreeMap<u16, u32>,
    /// Limits on the length of paths.
    longest_paths: BTreeMap<u16, u16>,
    /// Limits on the number of paths.
    path_limits: BTreeMap<u16, u16>,
    /// Import filters.
    filters: BTreeMap<u16, Vec<Rule>>,
    /// Export filters.
    export_filters: BTreeMap<u16, Vec<Rule>>,
    /// The clients to which nothing is exported.
    without_export: BTreeSet<u16>,
}

/// A client and the routes that it holds: by prefix and path identifier, the attribute block and its next hop.
pub struct Client {
    stream: Option<ClientStream>,
    add_path: bool,
    unparsed: Vec<u8>,
    pub held: BTreeMap<(Prefix, u32), Vec<u8>>,
    pub end_of_rib: u32,
    pub messages: u64,
}

/// The thresholds of round-trip times, in milliseconds.
pub const RTT_THRESHOLDS: [u32; 2] = [10, 20];

/// The action communities that an exchange knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Actions {
    /// `0:peer`, `0:self`, `self:peer`, and those by round-trip time; they are sent to the clients.
    #[default]
    Sent,
    /// The same, but scrubbed before sending.
    Scrubbed,
    /// None.
    Unknown,
}

pub fn export(actions: Actions) -> Arc<ExportPolicy> {
    let action =
        |action, notation: &str| ActionCommunity::new(action, notation.parse().unwrap()).unwrap();
    let known = vec![
        action(Action::NotToPeer, "0:peer"),
        action(Action::NotToAny, "0:self"),
        action(Action::ToPeer, "self:peer"),
        action(Action::NotToRttLower, "64:rtt"),
        action(Action::ToRttHigher, "65:rtt"),
        action(Action::PrependRttHigher, "66..67:rtt"),
    ];
    Arc::new(ExportPolicy::new(ExportSettings {
        local_asn: Asn(LOCAL),
        actions: match actions {
            Actions::Unknown => Vec::new(),
            Actions::Sent | Actions::Scrubbed => known,
        },
        scrub: actions == Actions::Scrubbed,
        rtt_thresholds: RttThresholds::new(RTT_THRESHOLDS.to_vec()).unwrap(),
        class_tags: [
            (TagState::OriginValid, Rov::Valid),
            (TagState::OriginInvalid, Rov::Invalid),
            (TagState::OriginNotFound, Rov::NotFound),
        ]
        .map(|(tag, state)| (tag, mark(state)))
        .into_iter()
        .chain(
            [
                (TagState::PathValid, PathState::Valid),
                (TagState::PathInvalid, PathState::Invalid),
                (TagState::PathUnknown, PathState::Unknown),
            ]
            .map(|(tag, state)| (tag, path_mark(state))),
        )
        .map(|(tag, mark)| {
            let notation = format!("{}:{}", mark >> 16, mark & 0xffff);
            ClassTag::new(tag, notation.parse().unwrap()).unwrap()
        })
        .collect(),
        ..ExportSettings::default()
    }))
}

/// The community that marks a route with the state of its origin.
pub fn mark(state: Rov) -> u32 {
    65_001 << 16 | state as u32
}

/// The community that marks a route with the state of its path.
pub fn path_mark(state: PathState) -> u32 {
    65_002 << 16 | state as u32
}

/// The action for invalid paths, by peer.
pub fn on_invalid_path(peer: u16) -> CheckAction {
    match peer % 4 {
        0 | 1 => CheckAction::Reject,
        2 => CheckAction::Tag,
        _ => CheckAction::Off,
    }
}

/// The action for invalid origins, by peer.
pub fn on_invalid(peer: u16) -> CheckAction {
    match peer % 3 {
        0 => CheckAction::Reject,
        1 => CheckAction::Tag,
        _ => CheckAction::LeastPreferred,
    }
}

/// With Add-Path peer 5 takes the best two routes, the others take all.
pub fn add_path_limit(peer: u16) -> u16 {
    if peer == 5 { 2 } else { 0 }
}

pub fn neighbor(peer: u16) -> Neighbor {
    Neighbor {
        name: format!("peer {peer}").into(),
        address: IpAddr::V4(address(peer)),
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(LOCAL),
        remote_asn: Asn(asn(peer)),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::Checks,
            local_asn: Asn(LOCAL),
            peer_asn: Asn(asn(peer)),
            next_hop: NextHopRule::Any,
            reject_bogons: false,
            require_global_unicast: false,
            reject_invalid_asns: false,
            prefix_length: PerFamily::both(LengthRange { min: 0, max: 128 }),
            rpki_invalid: on_invalid(peer),
            marked_origins: match on_invalid(peer) {
                CheckAction::Tag => vec![Rov::Valid, Rov::NotFound, Rov::Invalid],
                _ => Vec::new(),
            },
            relation: Some(Relation::RouteServerClient),
            aspa_invalid: on_invalid_path(peer),
            marked_paths: match on_invalid_path(peer) {
                CheckAction::Tag => vec![PathState::Valid, PathState::Unknown, PathState::Invalid],
                _ => Vec::new(),
            },
            ..ImportSettings::default()
        })),
        monitored: None,
        export_allowed: true,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: add_path_limit(peer),
        client: Default::default(),
        role: None,
    }
}

/// A file for long runs, without a name.
pub fn file() -> io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("rutter-twin-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    let file = options.open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// The same, whose routes are all rejected.
pub fn closed_neighbor(peer: u16) -> Neighbor {
    Neighbor {
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::None,
            ..ImportSettings::default()
        })),
        ..neighbor(peer)
    }
}

/// The same, whose longer paths are rejected.
fn short_neighbor(peer: u16, longest_path: u16) -> Neighbor {
    Neighbor {
        import: Arc::new(ImportPolicy::new(ImportSettings {
            max_as_path_len: longest_path,
            ..neighbor(peer).import.settings().clone()
        })),
        ..neighbor(peer)
    }
}

impl World {
    pub fn new(peers: u16, shards: usize, log_limit: usize) -> Self {
        let rib = Rib::new(RibConfig {
            shards,
            cluster_id: 1,
            log_limit,
            export: export(Actions::Sent),
            seed: 7,
            always_compare_med: false,
        });
        for peer in 0..peers {
            assert_eq!(rib.add_neighbor(neighbor(peer)), Ok(PeerId(peer)));
        }
        World {
            rib,
            log_limit,
            batch: Batch::new(),
            max_steps: None,
            uncommitted: BTreeMap::new(),
            clients: (0..peers).map(|_| None).collect(),
            is_late: false,
            has_add_path: true,
            sweeper: Sweeper::default(),
            now_ms: 0,
            settings: Mutex::default(),
            transfer: None,
        }
    }

    pub fn up(&mut self, peer: u16, add_path: bool) {
        self.wait_for_sweeper(peer);
        let client = Client::up_in_steps(&self.rib, peer, add_path, &mut self.sweeper);
        self.clients[usize::from(peer)] = Some(client);
    }

    /// As [`World::up`], with another BGP Identifier than usual.
    pub fn up_as(&mut self, peer: u16, remote_bgp_id: u32) {
        self.wait_for_sweeper(peer);
        let family = FamilyInfo::default();
        let client = Client::up_with(&self.rib, peer, family, remote_bgp_id, &mut self.sweeper);
        self.clients[usize::from(peer)] = Some(client);
    }

    pub fn down(&mut self, peer: u16, retain: Retain) {
        if self.clients[usize::from(peer)].take().is_some() {
            if let Some(mut uncommitted) = self.uncommitted.remove(&peer) {
                match retain {
                    Retain::Nothing => uncommitted.discard(&self.rib),
                    Retain::Stale => _ = self.rib.commit(&mut uncommitted),
                }
            }
            let sweeper = &mut self.sweeper;
            self.rib
                .end_session(PeerId(peer), PerFamily::both(retain), sweeper);
            self.rib.flush();
        }
    }

    /// The next session may have to wait for routes of former ones.
    fn wait_for_sweeper(&mut self, peer: u16) {
        while !self.rib.can_begin_session(PeerId(peer)) {
            self.sweep();
        }
    }

    /// Removes some routes of ended sessions.
    fn sweep(&mut self) {
        if !self.sweeper.is_idle() {
            self.sweeper.step(&self.rib);
            self.rib.flush();
        }
    }

    /// Removes all routes of ended sessions.
    pub fn sweep_all(&mut self) {
        while !self.sweeper.is_idle() {
            self.sweep();
        }
    }

    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    pub fn announce(&mut self, peer: u16, prefixes: &[Prefix], attrs: &Attrs) {
        self.send(peer, &announcement(peer, prefixes, attrs));
    }

    pub fn withdraw(&mut self, peer: u16, prefixes: &[Prefix]) {
        self.send(peer, &withdrawal(prefixes));
    }

    /// Announces prefixes in several messages that are read at once.
    pub fn announce_many(&mut self, peer: u16, prefixes: &[Prefix], attrs: &Attrs) {
        for some in prefixes.chunks(900) {
            self.push(peer, &announcement(peer, some, attrs));
        }
        self.commit(peer);
    }

    /// Sends the bodies of several UPDATEs that are read at once.
    pub fn send_at_once(&mut self, peer: u16, bodies: &[Vec<u8>]) {
        bodies.iter().for_each(|body| self.push(peer, body));
        self.commit(peer);
    }

    /// Runs `happens` after an UPDATE was parsed and before its commit.
    pub fn announce_around(
        &mut self,
        peer: u16,
        prefixes: &[Prefix],
        attrs: &Attrs,
        happens: impl FnOnce(&Rib),
    ) {
        self.push(peer, &announcement(peer, prefixes, attrs));
        happens(&self.rib);
        self.rib.commit(&mut self.batch);
        self.rib.flush();
    }

    fn push(&mut self, peer: u16, body: &[u8]) {
        self.commit_rest(peer);
        let pushed = self.batch.push(&self.rib, PeerId(peer), body, 0);
        assert!(
            pushed.faults.is_empty() && pushed.reset.is_none(),
            "{pushed:?}"
        );
    }

    fn send(&mut self, peer: u16, body: &[u8]) {
        self.push(peer, body);
        self.commit(peer);
        self.sweep();
    }

    fn commit(&mut self, peer: u16) {
        match self.max_steps {
            None => _ = self.rib.commit(&mut self.batch),
            Some(max_steps) => {
                let batch = std::mem::take(&mut self.batch);
                self.uncommitted.insert(peer, batch);
                self.commit_some(peer, max_steps);
            }
        }
        self.rib.flush();
    }

    /// Puts some of the routes into the table that wait for it.
    pub fn commit_some(&mut self, peer: u16, max_steps: usize) {
        if let Some(mut batch) = self.uncommitted.remove(&peer) {
            self.rib.commit_some(&mut batch, max_steps);
            if !batch.is_empty() {
                self.uncommitted.insert(peer, batch);
            }
        }
        self.rib.flush();
    }

    /// Puts the routes of a peer into the table that wait for it. Nothing else of the peer comes before.
    pub fn commit_rest(&mut self, peer: u16) {
        if self.uncommitted.contains_key(&peer) {
            self.commit_some(peer, usize::MAX);
        }
    }

    /// As [`World::commit_rest`] for all peers.
    pub fn commit_rests(&mut self) {
        (0..self.clients.len() as u16).for_each(|peer| self.commit_rest(peer));
    }

    /// Replaces the exchange's action communities.
    pub fn set_actions(&self, actions: Actions) {
        self.rib.replace_export(export(actions), || {});
        self.rib.flush();
    }

    /// Replaces the VRPs: exact prefixes with their origins.
    pub fn set_vrps(&self, vrps: &[(Prefix, u32)]) {
        let vrp = |(prefix, asn): &(Prefix, u32)| {
            let len = prefix.len();
            format!(r#"{{"prefix":"{prefix}","maxLength":{len},"asn":{asn}}}"#)
        };
        let all: Vec<String> = vrps.iter().map(vrp).collect();
        let json = format!(r#"{{"roas":[{}]}}"#, all.join(","));
        self.set_data(OutsideData {
            vrps: Some(Arc::new(Vrps::parse(json.as_bytes()).unwrap())),
            ..OutsideData::clone(&self.rib.outside_data())
        });
    }

    /// Replaces the ASPAs: pairs of customer and provider.
    pub fn set_aspas(&self, pairs: &[(u32, u32)]) {
        let mut builder = AspasBuilder::new();
        for (customer, provider) in pairs {
            builder.add(Asn(*customer), [Asn(*provider)]).unwrap();
        }
        self.set_data(OutsideData {
            aspas: Some(Arc::new(builder.build())),
            ..OutsideData::clone(&self.rib.outside_data())
        });
    }

    fn set_data(&self, data: OutsideData) {
        self.rib.replace_outside_data(Arc::new(data), || {
            self.rib.flush();
        });
        self.rib.flush();
    }

    /// Replaces the import policies of these neighbors.
    pub fn limit_paths(&self, peers: &[u16], longest_path: u16) {
        let mut settings = self.settings.lock().unwrap();
        let limits = peers.iter().map(|peer| (*peer, longest_path));
        settings.longest_paths.extend(limits);
        self.replace(peers, &settings);
    }

    /// Replaces the import filters of these neighbors.
    pub fn set_filters(&self, peers: &[u16], rules: &[Rule]) {
        let mut settings = self.settings.lock().unwrap();
        let rules = peers.iter().map(|peer| (*peer, rules.to_vec()));
        settings.filters.extend(rules);
        self.replace(peers, &settings);
    }

    /// Replaces round-trip times, in milliseconds.
    pub fn set_rtts(&self, rtts: &[(u16, u32)]) {
        let mut settings = self.settings.lock().unwrap();
        settings.rtts.extend(rtts.iter().copied());
        let peers: Vec<u16> = rtts.iter().map(|(peer, _)| *peer).collect();
        self.replace(&peers, &settings);
    }

    /// Replaces the limit on paths of a client, or whether it receives routes at all. Its session goes on.
    pub fn restyle(&mut self, peer: u16, path_limit: Option<u16>, export: bool) {
        let mut settings = self.settings.lock().unwrap();
        match path_limit {
            Some(limit) => settings.path_limits.insert(peer, limit),
            None => settings.path_limits.remove(&peer),
        };
        match export {
            true => settings.without_export.remove(&peer),
            false => settings.without_export.insert(peer),
        };
        self.replace(&[peer], &settings);
        if let Some(client) = &mut self.clients[usize::from(peer)] {
            let stream = &mut client.stream;
            self.rib.restyle_client(PeerId(peer), stream);
        }
    }

    /// Replaces the export filters of a client. Its session goes on.
    pub fn set_export_filters(&mut self, peer: u16, rules: &[Rule]) {
        let mut settings = self.settings.lock().unwrap();
        settings.export_filters.insert(peer, rules.to_vec());
        self.replace(&[peer], &settings);
        if let Some(client) = &mut self.clients[usize::from(peer)] {
            let stream = &mut client.stream;
            self.rib.restyle_client(PeerId(peer), stream);
        }
    }

    fn replace(&self, peers: &[u16], settings: &Settings) {
        let present = |peer: &u16| {
            let mut present = match settings.longest_paths.get(peer) {
                Some(longest) => short_neighbor(*peer, *longest),
                None => neighbor(*peer),
            };
            if let Some(rules) = settings.filters.get(peer) {
                present.import = Arc::new(ImportPolicy::new(ImportSettings {
                    filters: chain(rules),
                    ..present.import.settings().clone()
                }));
            }
            if let Some(rules) = settings.export_filters.get(peer) {
                present.client.export_filters = chain(rules);
            }
            let rtt = settings.rtts.get(peer);
            if let Some(limit) = settings.path_limits.get(peer) {
                present.add_path_limit = *limit;
            }
            present.export_allowed = !settings.without_export.contains(peer);
            present.client.rtt = rtt.and_then(|ms| Rtt::from_micros(ms * 1_000));
            (PeerId(*peer), present)
        };
        let changes = peers.iter().map(present).collect();
        self.rib.replace_neighbors(changes, || {
            self.rib.flush();
        });
        self.rib.flush();
    }

    pub fn refresh(&mut self, peer: u16, family: Family) {
        if let Some(client) = &mut self.clients[usize::from(peer)] {
            self.rib.refresh_client(client.stream(), family);
        }
    }

    /// The client's socket accepts up to so many bytes.
    pub fn read(&mut self, peer: u16, octets: usize) {
        self.now_ms += 1;
        if let Some(client) = &mut self.clients[usize::from(peer)] {
            client.read(&self.rib, octets, self.now_ms);
        }
    }

    /// Lets a long time pass for clients that read nothing.
    pub fn wait(&mut self) {
        for _ in 0..30 {
            self.check_lags(500);
        }
    }

    /// After a pause, does for all clients what a turn does: checks their pace if a log is long.
    pub fn check_lags(&mut self, pause_ms: u64) {
        self.now_ms += pause_ms;
        for client in self.clients.iter_mut().flatten() {
            client.stream().note_backlog(&self.rib);
            client.stream().discard_some(&self.rib);
        }
        if self.rib.has_long_log() {
            for client in self.clients.iter_mut().flatten() {
                client
                    .stream()
                    .check_lag(&self.rib, self.is_late, self.now_ms);
            }
        }
    }

    /// A client reads until nothing is left.
    pub fn drain(&mut self, peer: u16) {
        if let Some(client) = &mut self.clients[usize::from(peer)] {
            client.drain(&self.rib, self.now_ms);
        }
    }

    /// All clients read until nothing is left, and the routes of ended sessions are removed.
    pub fn settle(&mut self) {
        self.commit_rests();
        self.sweep_all();
        (0..self.clients.len() as u16).for_each(|peer| self.drain(peer));
    }
}

impl Client {
    pub fn up(rib: &Rib, peer: u16, add_path: bool) -> Self {
        Client::up_in_steps(rib, peer, add_path, &mut Sweeper::default())
    }

    /// As [`Client::up`] with routes of former sessions that the sweeper removes.
    fn up_in_steps(rib: &Rib, peer: u16, add_path: bool, sweeper: &mut Sweeper) -> Self {
        let family = FamilyInfo {
            add_path_send: add_path,
            ..FamilyInfo::default()
        };
        Client::up_with(rib, peer, family, bgp_id(peer), sweeper)
    }

    /// Establishes a session with several paths a prefix in both directions.
    pub fn up_with_paths(rib: &Rib, peer: u16) -> Self {
        let family = FamilyInfo {
            add_path_send: true,
            add_path_receive: true,
            ..FamilyInfo::default()
        };
        Client::up_with(rib, peer, family, bgp_id(peer), &mut Sweeper::default())
    }

    fn up_with(
        rib: &Rib,
        peer: u16,
        family: FamilyInfo,
        remote_bgp_id: u32,
        sweeper: &mut Sweeper,
    ) -> Self {
        let session = SessionInfo {
            remote_bgp_id,
            remote_asn: Asn(asn(peer)),
            as4: true,
            max_message_len: 4096,
            families: PerFamily::both(Some(family)),
            enhanced_refresh: false,
        };
        Client {
            stream: Some(
                rib.session_up_in_steps(PeerId(peer), session, sweeper)
                    .expect("a client"),
            ),
            add_path: family.add_path_send,
            unparsed: Vec::new(),
            held: BTreeMap::new(),
            end_of_rib: 0,
            messages: 0,
        }
    }

    pub fn stream(&mut self) -> &mut ClientStream {
        self.stream.as_mut().expect("a client")
    }

    pub fn drain(&mut self, rib: &Rib, now_ms: u64) {
        while self.stream().has_more() || !self.stream().is_drained() {
            self.read(rib, 1_000, now_ms);
        }
        assert!(self.unparsed.is_empty(), "whole messages");
        assert!(self.stream().at_message_boundary());
    }

    pub fn must_hold(&self, expected: &BTreeMap<(Prefix, u32), Vec<u8>>) {
        let differs = |key: &&(Prefix, u32)| self.held.get(key) != expected.get(key);
        let all = self.held.keys().chain(expected.keys());
        let wrong: Vec<_> = all.filter(differs).collect();
        let peer = self.stream.as_ref().map(ClientStream::peer);
        assert!(wrong.is_empty(), "{peer:?} is wrong about {wrong:?}");
    }

    pub fn check_lag(&mut self, rib: &Rib, now_ms: u64) {
        self.stream().check_lag(rib, false, now_ms);
    }

    pub fn read(&mut self, rib: &Rib, octets: usize, now_ms: u64) {
        if self.stream().is_drained() {
            self.stream().fill(rib, 500);
        }
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        self.stream().slices(&mut slices);
        let bytes: Vec<u8> = slices
            .iter()
            .flat_map(|s| s.to_vec())
            .take(octets)
            .collect();
        drop(slices);
        self.stream().consume(bytes.len(), now_ms);
        self.unparsed.extend(bytes);
        assert_eq!(
            self.stream().at_message_boundary(),
            self.parse(),
            "the stream knows where messages begin"
        );
    }

    /// Takes complete messages. Returns whether nothing is left.
    fn parse(&mut self) -> bool {
        while let Some(len) = self.unparsed.get(16..18) {
            let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
            if self.unparsed.len() < len {
                break;
            }
            let message: Vec<u8> = self.unparsed.drain(..len).collect();
            assert_eq!(message[18], 2, "an UPDATE");
            self.messages += 1;
            self.take(&message[19..]);
        }
        self.unparsed.is_empty()
    }

    fn take(&mut self, body: &[u8]) {
        if update::is_end_of_rib(body).is_some() {
            self.end_of_rib += 1;
            return;
        }
        let sections = update::split(body).unwrap();
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let mut block = Vec::new();
        attributes.write_canonical(&mut block);
        let (mut withdrawn, mut new) = (Vec::new(), Vec::new());
        nlri::parse_ipv4(sections.withdrawn, self.add_path, &mut withdrawn).unwrap();
        nlri::parse_ipv4(sections.nlri, self.add_path, &mut new).unwrap();
        for (path, prefix) in withdrawn {
            self.held.remove(&(prefix.into(), path));
        }
        for (path, prefix) in new {
            self.held.insert((prefix.into(), path), block.clone());
        }
        let (mut withdrawn, mut new) = (Vec::new(), Vec::new());
        if let Some(unreach) = attributes.mp_unreach() {
            nlri::parse_ipv6(unreach.withdrawn, self.add_path, &mut withdrawn).unwrap();
        }
        if let Some(reach) = attributes.mp_reach() {
            nlri::parse_ipv6(reach.nlri, self.add_path, &mut new).unwrap();
            block.extend_from_slice(reach.next_hop);
        }
        for (path, prefix) in withdrawn {
            self.held.remove(&(prefix.into(), path));
        }
        for (path, prefix) in new {
            self.held.insert((prefix.into(), path), block.clone());
        }
    }
}

/// The canonical block of a route, which a client must hold byte for byte.
pub fn block(peer: u16, attrs: &Attrs, family: Family) -> Vec<u8> {
    let mut out = Vec::new();
    attr::write_attr(&mut out, 0x40, code::ORIGIN, &[attrs.origin]);
    let mut path = vec![2, attrs.path.len() as u8];
    path.extend(attrs.path.iter().flat_map(|asn| asn.to_be_bytes()));
    attr::write_attr(&mut out, 0x40, code::AS_PATH, &path);
    if family == Family::Ipv4Unicast {
        attr::write_attr(&mut out, 0x40, code::NEXT_HOP, &address(peer).octets());
    }
    if let Some(med) = attrs.med {
        attr::write_attr(&mut out, 0x80, code::MULTI_EXIT_DISC, &med.to_be_bytes());
    }
    if !attrs.communities.is_empty() {
        let value: Vec<u8> = attrs
            .communities
            .iter()
            .flat_map(|c| c.to_be_bytes())
            .collect();
        attr::write_attr(&mut out, 0xc0, code::COMMUNITIES, &value);
    }
    out
}

pub fn ipv6_next_hop(peer: u16) -> [u8; 16] {
    let mut octets = [0; 16];
    octets[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    octets[15] = peer as u8;
    octets
}

pub fn announcement(peer: u16, prefixes: &[Prefix], attrs: &Attrs) -> Vec<u8> {
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for prefix in prefixes {
        match prefix {
            Prefix::V4(prefix) => nlri::write_ipv4(&mut ipv4, None, *prefix),
            Prefix::V6(prefix) => nlri::write_ipv6(&mut ipv6, None, *prefix),
        }
    }
    let mut attributes = Vec::new();
    let family = if ipv4.is_empty() {
        Family::Ipv6Unicast
    } else {
        Family::Ipv4Unicast
    };
    if !ipv6.is_empty() {
        let mut value = vec![0, 2, 1, 16];
        value.extend(ipv6_next_hop(peer));
        value.push(0);
        value.extend(&ipv6);
        attr::write_attr(&mut attributes, 0x80, code::MP_REACH_NLRI, &value);
    }
    attributes.extend(block(peer, attrs, family));
    body(&[], &attributes, &ipv4)
}

pub fn withdrawal(prefixes: &[Prefix]) -> Vec<u8> {
    let (mut ipv4, mut ipv6) = (Vec::new(), vec![0, 2, 1]);
    for prefix in prefixes {
        match prefix {
            Prefix::V4(prefix) => nlri::write_ipv4(&mut ipv4, None, *prefix),
            Prefix::V6(prefix) => nlri::write_ipv6(&mut ipv6, None, *prefix),
        }
    }
    let mut attributes = Vec::new();
    if ipv6.len() > 3 {
        attr::write_attr(&mut attributes, 0x80, code::MP_UNREACH_NLRI, &ipv6);
    }
    body(&ipv4, &attributes, &[])
}

pub fn body(withdrawn: &[u8], attributes: &[u8], nlri: &[u8]) -> Vec<u8> {
    let mut out = (withdrawn.len() as u16).to_be_bytes().to_vec();
    out.extend(withdrawn);
    out.extend((attributes.len() as u16).to_be_bytes());
    out.extend(attributes);
    out.extend(nlri);
    out
}
