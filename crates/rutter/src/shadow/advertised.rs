//! The routes that the other route server advertises to each member, in a table that only stores them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rutter_api::PeerSelector;
use rutter_config::{Config, Neighbor};
use rutter_daemon::OfflineTable;
use rutter_mrt::{
    FilePeer, FileUpdate, Input, PeerEvent, PeerReader, RecordOutcome, UpdateFamilies, UpdateForm,
};
use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy};
use rutter_rib::{FamilyInfo, Monitored, PeerId, PeerKind, Rib, RibConfig, TooManyNeighbors, View};
use rutter_wire::bmp::PeerType;

use super::bird_routes::{self, BirdRoutes};
use super::files;
use super::shadow_peer::ShadowPeer;
use crate::failure::Failure;

/// The other route server's Adj-RIBs-Out.
pub(super) struct Advertised<'a> {
    /// The table that stores the routes. Its peers are the members that they are advertised to.
    pub(super) rib: Rib,
    /// The members of which a file was read, in the order of the configuration.
    pub(super) members: Vec<Member>,
    /// The place among the members of each peer of the table.
    places: Vec<usize>,
    /// Facts about the files that a reader of the comparison should know.
    pub(super) notes: Vec<String>,
    table: &'a OfflineTable,
    own_asn: Asn,
}

/// A member with the routes that the other route server sends it.
pub(super) struct Member {
    /// Its place among the configured neighbors.
    pub(super) neighbor: usize,
    /// By family: it is sent several paths of a prefix.
    pub(super) add_path: PerFamily<bool>,
    fed: ShadowPeer,
}

/// An argument of `--advertised`.
struct Source {
    text: String,
    path: PathBuf,
    /// The neighbors that it is about.
    neighbors: Vec<usize>,
    /// The argument names the member.
    is_named: bool,
}

/// The peers of one source, and the members that they are about.
#[derive(Default)]
struct Matches {
    /// The members of each peer of the files, once it was seen.
    by_number: Vec<Option<Vec<usize>>>,
    /// The members that some peer is about.
    found: BTreeSet<usize>,
    /// The peers with UPDATEs or entries.
    with_routes: BTreeSet<FilePeer>,
}

impl<'a> Advertised<'a> {
    /// Loads the files of `--advertised`.
    pub(super) fn load(
        config: &Config,
        table: &'a OfflineTable,
        arguments: &[String],
    ) -> Result<Self, Failure> {
        let mut advertised = Advertised {
            rib: Rib::new(RibConfig {
                shards: 1,
                cluster_id: 0,
                log_limit: 0,
                export: Arc::new(ExportPolicy::new(ExportSettings::default())),
                seed: 0,
                always_compare_med: false,
            }),
            members: Vec::new(),
            places: Vec::new(),
            notes: Vec::new(),
            table,
            own_asn: config.asn,
        };
        let import = Arc::new(ImportPolicy::collecting());
        for argument in arguments {
            let source = source(table, argument)?;
            advertised.read(&source, &import)?;
        }
        for member in &mut advertised.members {
            member.fed.commit(&advertised.rib);
            let name = &table.neighbors[member.neighbor].config.name;
            if member.fed.malformed > 0 {
                advertised.notes.push(format!(
                    "{name}: {} UPDATEs that it is sent are malformed, and are read as they stand",
                    member.fed.malformed
                ));
            }
        }
        advertised.members.sort_by_key(|member| member.neighbor);
        advertised.places = vec![0; advertised.members.len()];
        for (place, member) in advertised.members.iter().enumerate() {
            advertised.places[member.fed.peer().index()] = place;
        }
        Ok(advertised)
    }

    /// The place among the members of a peer of the table.
    pub(super) fn member_of(&self, peer: PeerId) -> usize {
        self.places[peer.index()]
    }

    /// Reads the files of a source. A file with one peer is about the member that the argument names, whatever the peer.
    fn read(&mut self, source: &Source, import: &Arc<ImportPolicy>) -> Result<(), Failure> {
        let inputs = files::find(std::slice::from_ref(&source.path))?;
        if let Some(text) = files::text(&inputs, bird_routes::is_text)? {
            return self.read_text(source, &text, import);
        }
        let mut matches = Matches::default();
        self.read_as(source, &inputs, import, &mut matches, None)?;
        if !matches.found.is_empty() {
            return Ok(());
        }
        let is_clear =
            source.is_named && !self.has_twins(source) && !inputs.contains(&Input::Stdin);
        let only = matches.with_routes.first().copied();
        match only.filter(|_| is_clear && matches.with_routes.len() == 1) {
            Some(only) => {
                self.read_as(source, &inputs, import, &mut Matches::default(), Some(only))
            }
            None => Err(self.no_peer(source, &matches)),
        }
    }

    /// Reads the routes that `birdc show route export` printed for one member.
    fn read_text(
        &mut self,
        source: &Source,
        text: &str,
        import: &Arc<ImportPolicy>,
    ) -> Result<(), Failure> {
        let failed = |why: &str| Failure::text(format!("{}: {why}", source.path.display()));
        if !source.is_named {
            return Err(failed(
                "BIRD's routes do not name the member that they are advertised to: write MEMBER=PATH",
            ));
        }
        if self.has_twins(source) {
            return Err(self.no_peer(source, &Matches::default()));
        }
        let found = BirdRoutes::parse(text).map_err(|why| failed(&why))?;
        let mut of_family = PerFamily::both(0);
        for family in Family::ALL {
            let config = |at: &usize| &self.table.neighbors[*at].config;
            let carries = |at: &&usize| config(at).family(family).enabled;
            let neighbor = source.neighbors.iter().find(carries);
            let neighbor = neighbor.unwrap_or(&source.neighbors[0]);
            let has_routes = found
                .routes
                .iter()
                .any(|route| route.prefix.family() == family);
            if has_routes || found.routes.is_empty() {
                let member = self.member(*neighbor, import);
                of_family[family] = member.map_err(|why| failed(&why.to_string()))?;
            }
        }
        self.store_text(&found, of_family)
            .map_err(|why| failed(&why))?;
        self.note_unknown(source, &found);
        Ok(())
    }

    /// Stores the routes of a text for the members of each family.
    fn store_text(
        &mut self,
        found: &BirdRoutes,
        of_family: PerFamily<usize>,
    ) -> Result<(), String> {
        let mut body = Vec::new();
        let has_paths = PerFamily::from_fn(|family| found.has_paths(family));
        for route in &found.routes {
            let family = route.prefix.family();
            let add_path = has_paths[family];
            route.write_update(&mut body, add_path);
            let update = FileUpdate {
                form: UpdateForm {
                    as4: true,
                    add_path,
                },
                families: UpdateFamilies::of(family),
                is_local: false,
                body: &body,
            };
            let member = &mut self.members[of_family[family]];
            member.add_path[family] |= add_path;
            let outcome = member.fed.entry(&self.rib, &update, 0, None);
            if let Some(fault) = outcome.unreadable() {
                return Err(format!("{}: {fault}", route.prefix));
            }
        }
        Ok(())
    }

    fn note_unknown(&mut self, source: &Source, found: &BirdRoutes) {
        let path = source.path.display();
        for unknown in found.unknown.iter().take(NAMED_ATTRIBUTES) {
            let note = format!("{path}: the attribute {unknown} is not compared");
            self.notes.push(note);
        }
        let more = found.unknown.len().saturating_sub(NAMED_ATTRIBUTES);
        if more > 0 {
            let note = format!("{path}: {more} more attributes are not compared");
            self.notes.push(note);
        }
    }

    fn read_as(
        &mut self,
        source: &Source,
        inputs: &[Input],
        import: &Arc<ImportPolicy>,
        matches: &mut Matches,
        only: Option<FilePeer>,
    ) -> Result<(), Failure> {
        let mut reader = PeerReader::new();
        let (mut failed, mut dump_us) = (None, None);
        files::read("advertised", inputs, |record| {
            let outcome = reader.read(record, |number, peer, event| {
                if matches!(event, PeerEvent::Listed { .. }) {
                    dump_us = Some(record.unix_us);
                }
                if matches.by_number.len() <= number {
                    matches.by_number.resize(number + 1, None);
                }
                if matches.by_number[number].is_none() {
                    let about = self.about(source, peer, only);
                    let members = about.iter().map(|at| self.member(*at, import));
                    let members: Result<Vec<usize>, TooManyNeighbors> = members.collect();
                    let members = members.unwrap_or_else(|why| {
                        failed = Some(why.to_string());
                        Vec::new()
                    });
                    matches.found.extend(&about);
                    matches.by_number[number] = Some(members);
                }
                if matches!(event, PeerEvent::Update(_)) {
                    matches.with_routes.insert(*peer);
                }
                let members = matches.by_number[number].as_deref().unwrap_or_default();
                let (rib, own_asn, unix_us) = (&self.rib, self.own_asn, record.unix_us);
                let events = members.iter().map(|member| {
                    let member = &mut self.members[*member];
                    let outcome = member.event(rib, peer, own_asn, event, unix_us, dump_us);
                    if let Some(why) = member.fed.conflict.take() {
                        let name = &self.table.neighbors[member.neighbor].config.name;
                        failed = Some(format!("{name}: {why}"));
                    }
                    outcome
                });
                events.fold(RecordOutcome::READ, RecordOutcome::and)
            });
            files::check_peers("--advertised", reader.peers().len())?;
            match failed.take() {
                Some(why) => Err(Failure::Text(format!(
                    "--advertised {}: {why}",
                    source.text
                ))),
                None => Ok(outcome),
            }
        })
    }

    /// Returns the place among the members of a neighbor. Adds it, if it is new.
    fn member(
        &mut self,
        neighbor: usize,
        import: &Arc<ImportPolicy>,
    ) -> Result<usize, TooManyNeighbors> {
        let known = self
            .members
            .iter()
            .position(|member| member.neighbor == neighbor);
        if let Some(known) = known {
            return Ok(known);
        }
        let config = &self.table.neighbors[neighbor].config;
        let peer = self.rib.add_neighbor(stored(config, import))?;
        let families = PerFamily::both(Some(FamilyInfo {
            extended_next_hop: true,
            ..FamilyInfo::default()
        }));
        self.members.push(Member {
            neighbor,
            add_path: PerFamily::both(false),
            fed: ShadowPeer::new(peer, config.asn, families),
        });
        Ok(self.members.len() - 1)
    }

    /// The neighbors of a source that the routes of a peer are advertised to.
    fn about(&self, source: &Source, peer: &FilePeer, only: Option<FilePeer>) -> Vec<usize> {
        let neighbors = source.neighbors.iter().copied();
        let of_peer = neighbors.filter(|at| match only {
            Some(only) => {
                let address = self.table.neighbors[*at].config.address;
                let is_family = address.is_ipv4() == peer.address.is_ipv4();
                only == *peer && (is_family || source.neighbors.len() == 1)
            }
            None => self.is_about(source, peer, *at),
        });
        of_peer.collect()
    }

    fn is_about(&self, source: &Source, peer: &FilePeer, neighbor: usize) -> bool {
        let config = |at: usize| &self.table.neighbors[at].config;
        let neighbor = config(neighbor);
        let named = source.neighbors.iter().map(|at| config(*at));
        let mut others =
            named.filter(|one| one.asn == neighbor.asn && one.address != neighbor.address);
        let is_family = |address: std::net::IpAddr| address.is_ipv4() == neighbor.address.is_ipv4();
        let is_only = |asn: Asn, address| asn == neighbor.asn && is_family(address);
        let is_alone = !others.any(|one| is_family(one.address));
        // The peer is the member itself: a file with a peer for each member.
        if peer.address == neighbor.address
            || peer.asn != self.own_asn && is_alone && is_only(peer.asn, peer.address)
        {
            return true;
        }
        // The peer is the route server, and the file was taken at the member.
        let is_at_member = peer.local.is_some_and(|(local, asn)| {
            local == neighbor.address || is_alone && is_only(asn, peer.address)
        });
        let has_one_session = source.neighbors.len() == 1;
        let is_named = source.is_named && (is_alone && is_family(peer.address) || has_one_session);
        peer.asn == self.own_asn && (is_at_member || is_named)
    }

    /// Returns whether two neighbors of a source have an address of one family.
    fn has_twins(&self, source: &Source) -> bool {
        let address = |at: &usize| self.table.neighbors[*at].config.address;
        let ipv4 = source.neighbors.iter().filter(|at| address(at).is_ipv4());
        let ipv4 = ipv4.count();
        ipv4 > 1 || source.neighbors.len() - ipv4 > 1
    }

    fn no_peer(&self, source: &Source, matches: &Matches) -> Failure {
        let text = &source.text;
        let peers: Vec<String> = matches
            .with_routes
            .iter()
            .take(NAMED_PEERS)
            .map(peer_text)
            .collect();
        let more = matches.with_routes.len().saturating_sub(NAMED_PEERS);
        let peers = match (peers.is_empty(), more) {
            (true, _) => "none".to_owned(),
            (_, 0) => peers.join(", "),
            _ => format!("{}, and {more} more", peers.join(", ")),
        };
        let wanted = match source.is_named {
            true if self.has_twins(source) => {
                "the member has several sessions of one family: name one \
                                               by its address, as in 192.0.2.1=PATH"
                    .to_owned()
            }
            true => format!(
                "neither the route server (AS{}) nor the member is a peer of the file",
                self.own_asn.0
            ),
            false => "no peer of the file is a neighbor of the configuration; \
                      if one member received all of it, write MEMBER=PATH"
                .to_owned(),
        };
        Failure::text(format!(
            "--advertised {text}: {wanted}\npeers with routes: {peers}"
        ))
    }
}

/// The number of peers that an error names.
const NAMED_PEERS: usize = 8;

/// The number of attributes of a text that the notes name.
const NAMED_ATTRIBUTES: usize = 8;

fn peer_text(peer: &FilePeer) -> String {
    format!("{} AS{}", peer.address, peer.asn.0)
}

impl Member {
    fn event(
        &mut self,
        rib: &Rib,
        peer: &FilePeer,
        own_asn: Asn,
        event: PeerEvent<'_>,
        unix_us: u64,
        dump_us: Option<u64>,
    ) -> RecordOutcome {
        match event {
            // The messages of a member to its route server are not advertised to it.
            PeerEvent::Update(update) if update.is_local && peer.asn == own_asn => {}
            PeerEvent::Update(update) => {
                for family in Family::ALL {
                    self.add_path[family] |=
                        update.families.unicast[family] && update.form.add_path;
                }
                return self.fed.update(rib, peer, &update, unix_us, dump_us);
            }
            PeerEvent::Down => self.fed.down(rib),
            PeerEvent::Listed { .. } | PeerEvent::Opened { .. } | PeerEvent::Established => {}
        }
        RecordOutcome::READ
    }
}

/// Reads an argument: `MEMBER=PATH`, or a path.
fn source(table: &OfflineTable, argument: &str) -> Result<Source, Failure> {
    let named = argument
        .split_once('=')
        .filter(|(member, _)| !member.contains('/'));
    let (neighbors, path) = match named {
        Some((member, path)) => (select(table, member)?, path),
        None => ((0..table.neighbors.len()).collect(), argument),
    };
    Ok(Source {
        text: argument.to_owned(),
        path: path.into(),
        neighbors,
        is_named: named.is_some(),
    })
}

/// The neighbors with a name, an address or an AS number.
pub(super) fn select(table: &OfflineTable, member: &str) -> Result<Vec<usize>, Failure> {
    let selector = PeerSelector::new(member);
    let is_meant = |config: &Neighbor| selector.matches(&config.name, config.address, config.asn.0);
    let all = table.neighbors.iter().enumerate();
    let found: Vec<usize> = all
        .filter(|(_, neighbor)| is_meant(&neighbor.config))
        .map(|(at, _)| at)
        .collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::text(format!(
            "`{member}` is no name, address or AS number of a neighbor in the configuration"
        ))),
    }
}

/// A neighbor whose routes are stored as they are.
fn stored(config: &Neighbor, import: &Arc<ImportPolicy>) -> rutter_rib::Neighbor {
    rutter_rib::Neighbor {
        name: config.name.as_str().into(),
        address: config.address,
        kind: PeerKind::Collector,
        local_asn: config.local_asn,
        remote_asn: config.asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::clone(import),
        export_allowed: false,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
        // A report of a file is kept as it stands, whatever an RFC forbids.
        monitored: Some(Arc::new(Monitored {
            router: "shadow".into(),
            source: rutter_rib::Source::Mrt,
            view: View::AdjRibInPre,
            peer_type: PeerType::Global,
            distinguisher: 0,
        })),
    }
}
