//! A file as the loader and the feed have it, and as a slow model reads it from the routes of each record.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rutter_events::{AttrColumns, Decoder, Kind, Now, Row};
use rutter_ingest::MrtLoader;
use rutter_mrt::{Odd, RecordOutcome, Skipped, Unreadable, UpdateForm, UpdateReader, UpdateRoutes};
use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{FeedReader, PeerSummary, Rib, RibConfig};
use rutter_wire::mrt::{Content, Record, Records};

/// Peer, prefix and path identifier.
pub type Key = (Peer, Prefix, u32);
/// Address, AS, and the number of peers with both before it in its PEER_INDEX_TABLE.
pub type Peer = (IpAddr, Asn, u32);
pub type Routes = BTreeMap<Key, AttrColumns>;

/// The table after the loader has read a file.
pub struct Loaded {
    pub routes: Routes,
    pub outcomes: Vec<RecordOutcome>,
}

impl Loaded {
    /// Loads a file. The feed must lead to the same table.
    pub fn of(bytes: &[u8]) -> Self {
        let rib = Arc::new(Rib::new(RibConfig {
            shards: 1,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 7,
            always_compare_med: false,
        }));
        let (feed, known) = rib.subscribe(1 << 16);
        let mut loader = MrtLoader::new(&rib, "a file");
        let records = Records::new(bytes).map_while(Result::ok);
        let outcomes = records.map(|record| loader.take(&record).expect("room for the peer"));
        let outcomes = outcomes.collect();
        loader.finish();
        let routes = table(&rib);
        assert_eq!(routes, of_feed(&feed, &known), "{bytes:02x?}");
        Loaded { routes, outcomes }
    }
}

fn table(rib: &Rib) -> Routes {
    let snapshot = rib.snapshot();
    let mut routes = Routes::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                let peer = &snapshot.peer(route.peer).expect("its peer").neighbor;
                let of_peer = (peer.address, peer.remote_asn, listed_before(&peer.name));
                let key = (of_peer, destination.prefix, route.path_id);
                routes.insert(key, AttrColumns::of(route.attrs));
            }
        }
    }
    routes
}

/// The loader ends the name of a second peer with `#2`.
fn listed_before(name: &str) -> u32 {
    let number = name.split_once('#').map(|(_, number)| number);
    number.map_or(0, |number| number.parse::<u32>().expect("a number") - 1)
}

/// The routes that the rows of the feed announce, which every sink, archive and stream receives.
fn of_feed(feed: &FeedReader, known: &[PeerSummary]) -> Routes {
    let now = Now {
        unix_us: 0,
        monotonic_us: 0,
    };
    let mut decoder = Decoder::new("here", known, now);
    let mut routes = Routes::new();
    while let Some(event) = feed.next(Duration::ZERO) {
        decoder.decode(&event, now, &mut |row| apply(row, &mut routes));
    }
    routes
}

fn apply(row: &Row<'_>, routes: &mut Routes) {
    let peer = row.peer.expect("a peer");
    let of_peer = (peer.address, peer.asn, listed_before(&peer.name));
    match (row.kind, row.prefix) {
        (Kind::PeerDown { .. }, _) => {
            routes.retain(|(of, ..), _| *of != of_peer);
        }
        (Kind::Announce, Some(prefix)) => {
            let columns = (**row.attrs.expect("attributes")).clone();
            routes.insert((of_peer, prefix, row.path_id), columns);
        }
        (Kind::Withdraw, Some(prefix)) => {
            routes.remove(&(of_peer, prefix, row.path_id));
        }
        _ => {}
    }
}

/// The routes that remain after each record was read one by one, as `rutter mrt` prints them.
#[derive(Default)]
pub struct Model {
    pub routes: Routes,
    pub outcomes: Vec<RecordOutcome>,
    peers: Vec<Peer>,
    reader: UpdateReader,
}

impl Model {
    pub fn of(bytes: &[u8]) -> Self {
        let mut model = Model::default();
        for record in Records::new(bytes).map_while(Result::ok) {
            let outcome = model.record(&record);
            model.outcomes.push(outcome);
        }
        model
    }

    fn record(&mut self, record: &Record<'_>) -> RecordOutcome {
        let form = |as4, add_path| UpdateForm { as4, add_path };
        let content = match record.decode() {
            Ok(content) => content,
            Err(error) => return error.into(),
        };
        match content {
            Content::PeerIndexTable(table) => {
                self.peers.clear();
                for peer in table.peers() {
                    match peer {
                        Ok(peer) => {
                            let of = |before: u32| (peer.address, peer.asn, before);
                            let new = (0..).map(of).find(|of| !self.peers.contains(of));
                            self.peers.push(new.expect("a number"));
                        }
                        Err(error) => return error.into(),
                    }
                }
                RecordOutcome::READ
            }
            Content::Rib(rib) => {
                let (mut outcome, mut before) = (RecordOutcome::READ, Vec::new());
                for entry in rib.entries() {
                    outcome = outcome.and(match entry {
                        Err(error) => error.into(),
                        Ok(entry) => match self.peers.get(usize::from(entry.peer_index)) {
                            None => Unreadable::NoSuchPeer(entry.peer_index).into(),
                            Some(peer) => {
                                let key = (entry.peer_index, entry.path_id);
                                let again = match before.contains(&key) {
                                    true => Odd::Repeated.into(),
                                    false => RecordOutcome::READ,
                                };
                                before.push(key);
                                let mut body = Vec::new();
                                entry.write_update(&mut body, rib.prefix, rib.add_path);
                                again.and(self.update(*peer, &body, form(true, rib.add_path)))
                            }
                        },
                    });
                }
                let mut entries = rib.entries();
                let whole = entries.by_ref().all(|entry| entry.is_ok());
                if whole && !entries.rest().is_empty() {
                    outcome.add(&Odd::Trailing.into());
                }
                outcome
            }
            Content::TableDump(route) => {
                let mut body = Vec::new();
                route.entry().write_update(&mut body, route.prefix, false);
                self.update((route.peer, route.peer_asn, 0), &body, form(false, false))
            }
            Content::Message(message) => match rutter_mrt::update(&message) {
                (Some(body), outcome) => {
                    let session = &message.session;
                    let form = form(session.as4, message.add_path);
                    let before = message.local.then(|| self.routes.clone());
                    let of_update = self.update((session.peer, session.peer_asn, 0), body, form);
                    // The collector's own messages are no routes of the peer.
                    self.routes = before.unwrap_or_else(|| std::mem::take(&mut self.routes));
                    outcome.and(of_update)
                }
                (None, outcome) => outcome,
            },
            Content::OldUpdate(update) => {
                let peer = (update.session.peer, update.session.peer_asn, 0);
                self.update(peer, update.body, form(false, false))
            }
            Content::StateChange(change) => {
                let peer = (change.session.peer, change.session.peer_asn, 0);
                if change.new != 6 {
                    self.routes.retain(|(of, ..), _| *of != peer);
                }
                RecordOutcome::READ
            }
            Content::Other => Skipped::Type(record.kind, record.subtype).into(),
        }
    }

    fn update(&mut self, peer: Peer, body: &[u8], form: UpdateForm) -> RecordOutcome {
        let update = self.reader.read(body, form);
        apply_update(peer, &update, &mut self.routes);
        update.outcome
    }
}

fn apply_update(peer: Peer, update: &UpdateRoutes<'_>, routes: &mut Routes) {
    for (prefix, path_id) in update.withdrawn {
        routes.remove(&(peer, *prefix, *path_id));
    }
    let parts = [
        (update.announced, update.next_hop),
        (update.mp_announced, update.mp_next_hop_address),
    ];
    for (announced, next_hop) in parts {
        for (prefix, path_id) in announced {
            let columns = AttrColumns::new(&update.attributes, next_hop);
            routes.insert((peer, *prefix, *path_id), columns);
        }
    }
}
