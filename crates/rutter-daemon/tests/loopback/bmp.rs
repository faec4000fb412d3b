//! Reports to BMP stations. The station is that of Rutter's collector: its table must equal that of the route server.

mod end_of_rib;

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_api::{Line, Request, StationRow, StationState};
use rutter_config::Bmp;
use rutter_daemon::{Handle, StopOrder};
use rutter_ingest::bmp::Station;
use rutter_net::{Family, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{DestinationPlace, Rib, RibConfig, View};
use rutter_service::{Context, Service, ShutdownSignal, StatusRegistry};
use rutter_wire::frame::KEEPALIVE;

use crate::restart::{announce_all, exchange, graceful};
use crate::support::{Folder, Received, Speaker, member, start, text};
use crate::{ask, two_members};

/// Exceeds the time that any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A route: the table and the neighbor, the prefix, and the path identifier of received routes.
type Key = (&'static str, IpAddr, Prefix, u32);
/// Its attributes and its next hop.
type Value = (Vec<u8>, Option<IpAddr>);
type Routes = BTreeMap<Key, Value>;

/// The station of a collector.
struct Collector {
    context: Context,
    station: Station,
}

impl Collector {
    fn start(address: SocketAddr) -> Self {
        let context = Context {
            rib: Arc::new(Rib::new(RibConfig {
                shards: 1,
                cluster_id: 1,
                log_limit: 1 << 20,
                export: Arc::new(ExportPolicy::new(ExportSettings::default())),
                seed: 7,
                always_compare_med: false,
            })),
            collector: "here".into(),
            shutdown: ShutdownSignal::new(),
            status: StatusRegistry::default(),
        };
        let settings = Bmp::new(vec![address]);
        let station = Station::start(&context, &settings).expect("a station");
        Collector { context, station }
    }

    fn address(&self) -> SocketAddr {
        self.station.listen_addresses()[0]
    }

    fn routes(&self) -> Routes {
        let snapshot = self.context.rib.snapshot();
        let mut routes = Routes::new();
        for family in Family::ALL {
            for destination in snapshot.destinations(family) {
                for route in &destination.routes {
                    // A session that began while the snapshot was taken.
                    let Some(peer) = snapshot.peer(route.peer) else {
                        continue;
                    };
                    let view = peer.neighbor.monitored.as_ref().expect("BMP").view;
                    let address = match view {
                        View::LocRib => IpAddr::from([0; 4]),
                        _ => peer.neighbor.address,
                    };
                    let key = (view.name(), address, destination.prefix, route.path_id);
                    let value = (route.attrs.block().to_vec(), route.attrs.next_hop());
                    routes.insert(key, value);
                }
            }
        }
        routes
    }

    fn end(self) {
        self.context.shutdown.trigger();
        Box::new(self.station).stop();
    }
}

/// The tables of a route server without filters, whose import policy changes no attributes.
fn tables(rib: &Rib) -> Routes {
    let snapshot = rib.snapshot();
    let mut routes = Routes::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for (place, route) in destination.routes.iter().enumerate() {
                let address = snapshot.peer(route.peer).expect("a peer").neighbor.address;
                let value = (route.attrs.block().to_vec(), route.attrs.next_hop());
                let mut insert = |view: View, address| {
                    let key = (view.name(), address, destination.prefix, route.path_id);
                    routes.insert(key, value.clone());
                };
                insert(View::AdjRibInPre, address);
                if route.reject.is_none() {
                    insert(View::AdjRibInPost, address);
                    if place == 0 {
                        insert(View::LocRib, IpAddr::from([0; 4]));
                    }
                }
            }
        }
        add_sent(rib, family, &mut routes);
    }
    routes
}

/// The routes that each neighbor is sent.
fn add_sent(rib: &Rib, family: Family, routes: &mut Routes) {
    let peers = rib.peers();
    let mut place = Some(DestinationPlace::default());
    while let Some(from) = place {
        place = rib.visit_exports(
            family,
            from,
            |_| true,
            |destination| {
                for peer in &peers {
                    for route in destination.to(peer.id).filter_map(|route| route.sent()) {
                        let (view, address) = (View::AdjRibOutPost, peer.neighbor.address);
                        let key = (view.name(), address, destination.prefix, 0);
                        let value = (route.block().to_vec(), Some(route.next_hop));
                        routes.insert(key, value);
                    }
                }
                ControlFlow::Continue(())
            },
        );
    }
}

const ALL_TABLES: &str =
    "report = [\"adj-rib-in-pre\", \"adj-rib-in-post\", \"loc-rib\", \"adj-rib-out\"]";

fn station(address: SocketAddr, more: &str) -> String {
    format!("[[bmp-station]]\naddress = \"{address}\"\nretry = \"1s\"\n{more}\n")
}

/// Waits until the station has the tables of the route server.
fn expect_equal(daemon: &Handle, collector: &Collector) {
    let begun = Instant::now();
    loop {
        let (ours, theirs) = (tables(&daemon.rib()), collector.routes());
        if ours == theirs {
            return;
        }
        let differs = |one: &Routes, other: &Routes| -> Vec<Key> {
            let keys = one
                .iter()
                .filter(|(key, value)| other.get(*key) != Some(*value));
            keys.map(|(key, _)| *key).take(10).collect()
        };
        assert!(
            begun.elapsed() < TIMEOUT,
            "{} routes here, {} at the station; not there {:?}, only there {:?}",
            ours.len(),
            theirs.len(),
            differs(&ours, &theirs),
            differs(&theirs, &ours)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn row(folder: &Folder) -> StationRow {
    let rows = ask(folder, Request::Stations);
    let Some(Line::Station(row)) = rows.into_iter().next() else {
        panic!("a station");
    };
    *row
}

fn expect_row(folder: &Folder, what: &str, holds: impl Fn(&StationRow) -> bool) -> StationRow {
    let begun = Instant::now();
    loop {
        let row = row(folder);
        if holds(&row) {
            return row;
        }
        assert!(begun.elapsed() < TIMEOUT, "{what}: {row:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn reload(folder: &Folder, more: &str) {
    let file = folder.0.join("rutter.toml");
    fs::write(file, text(folder, 2, more)).expect("write");
    let answer = ask(folder, Request::Reload);
    assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

#[test]
fn a_station_has_the_tables_of_the_route_server() {
    let folder = Folder::new("bmp");
    let collector = Collector::start(any_port());
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let more = format!("{members}{}", station(collector.address(), ALL_TABLES));
    let (daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    // The AS path of the last one begins with another AS, so the route is rejected.
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[65010]);
    let mut two = Speaker::establish(2, 64502, address);
    two.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    expect_equal(&daemon, &collector);
    let names: Vec<&str> = collector.routes().keys().map(|key| key.0).collect();
    for view in ["adj-in-pre", "adj-in-post", "loc-rib", "adj-out-post"] {
        assert!(names.contains(&view), "{view}: {names:?}");
    }
    let row = expect_row(&folder, "live", |row| row.state == StationState::Live);
    assert_eq!((row.sessions, row.connects, row.resyncs), (2, 1, 0));
    // Another policy rejects a route: it stays before the policy, and leaves the other tables.
    let strict = member(1, 64501, "black-list = [\"9.9.9.0/24\"]");
    let more = format!(
        "{strict}{}{}",
        member(2, 64502, ""),
        station(collector.address(), ALL_TABLES)
    );
    reload(&folder, &more);
    two.expect_table(&["8.8.8.0/24"]);
    expect_equal(&daemon, &collector);
    drop(one);
    two.expect_table(&[]);
    expect_equal(&daemon, &collector);
    assert_eq!(expect_row(&folder, "connects", |_| true).connects, 1);
    daemon.stop("test over");
    let begun = Instant::now();
    while !collector.routes().is_empty() {
        assert!(begun.elapsed() < TIMEOUT, "{:?}", collector.routes());
        std::thread::sleep(Duration::from_millis(20));
    }
    collector.end();
}

#[test]
fn filters_show_after_the_policy_only() {
    let folder = Folder::new("bmp-filter");
    let collector = Collector::start(any_port());
    let filter = |community: &str| {
        format!(
            "[[filter]]\nname = \"f\"\ndefault = \"accept\"\n[[filter.rule]]\naction = \"accept\"\n\
             add-communities = [\"{community}\"]\nlocal-pref = 70\n{}{}{}",
            member(1, 64501, "import-filter = \"f\""),
            member(2, 64502, ""),
            station(collector.address(), ALL_TABLES)
        )
    };
    let (daemon, address) = start(&folder, 2, &filter("64500:1"));
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce_with(&["8.8.8.0/24"], &[], &[(64501, 7)]);
    two.expect_table(&["8.8.8.0/24"]);
    let expect = |community: u16| {
        let begun = Instant::now();
        loop {
            let routes = collector.routes();
            let shown = |view: &str| {
                let route = routes.iter().find(|(key, _)| key.0 == view);
                route.map(|(_, (block, _))| {
                    let attributes = rutter_wire::attr::Attributes::from_canonical(block);
                    let communities: Vec<u32> = attributes.communities().map(|c| c.0).collect();
                    (communities, attributes.local_pref())
                })
            };
            let (received, added) = ((64501 << 16) | 7, (64500 << 16) | u32::from(community));
            let after = vec![received, added];
            let changed = Some((after.clone(), Some(70)));
            let tables = ["adj-in-pre", "adj-in-post", "loc-rib", "adj-out-post"].map(shown);
            let expected = [
                Some((vec![received], None)),
                changed.clone(),
                changed,
                Some((after, None)),
            ];
            if tables == expected {
                return;
            }
            assert!(
                begun.elapsed() < TIMEOUT,
                "{tables:?} instead of {expected:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    expect(1);
    reload(&folder, &filter("64500:2"));
    expect(2);
    daemon.stop("test over");
    collector.end();
}

/// Stations are added, changed and removed while the sessions go on.
#[test]
fn a_reload_adds_changes_and_removes_a_station() {
    let folder = Folder::new("bmp-reload");
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let (daemon, address) = start(&folder, 2, &members);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    let collector = Collector::start(any_port());
    let views = |expected: &[&str]| {
        let begun = Instant::now();
        loop {
            let views: Vec<&str> = collector.routes().keys().map(|key| key.0).collect();
            if views == expected {
                return;
            }
            assert!(
                begun.elapsed() < TIMEOUT,
                "{views:?} instead of {expected:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let with = |more: &str| format!("{members}{}", station(collector.address(), more));
    reload(&folder, &with("name = \"lab\""));
    views(&["adj-in-post", "adj-in-pre"]);
    assert_eq!(row(&folder).name, "lab");
    reload(&folder, &with("report = [\"loc-rib\"]"));
    views(&["loc-rib"]);
    reload(&folder, &members);
    views(&[]);
    assert!(matches!(
        ask(&folder, Request::Stations)[..],
        [Line::Done(_)]
    ));
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    daemon.stop("test over");
    collector.end();
}

/// A station that reads nothing is disconnected, costs a bounded amount of memory, and delays no route.
#[test]
fn a_stuck_station_is_disconnected() {
    let folder = Folder::new("bmp-stuck");
    let stuck = TcpListener::bind(any_port()).expect("bind");
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let there = stuck.local_addr().expect("an address");
    let more = format!(
        "{members}{}",
        station(there, &format!("send-timeout = \"1s\"\n{ALL_TABLES}"))
    );
    let (daemon, address) = start(&folder, 2, &more);
    let (_unread, _) = stuck.accept().expect("the daemon connects");
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    // Each route of a round has other attributes, so that the socket's buffers fill.
    let prefixes: Vec<String> = (0..100_u32).map(|i| format!("20.{i}.0.0/16")).collect();
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    let mut round = 0_u32;
    let begun = Instant::now();
    while row(&folder).connects < 2 {
        for prefix in &prefixes {
            round += 1;
            let path: Vec<u32> = (0..200).map(|at| 65_536 + round * 200 + at).collect();
            one.announce(&[prefix], &path);
        }
        assert!(row(&folder).unsent_bytes < 8 << 20);
        assert!(begun.elapsed() < TIMEOUT, "{:?}", row(&folder));
        std::thread::sleep(Duration::from_millis(10));
    }
    // Routes with long paths are rejected, and this one is not.
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
    let error = row(&folder).last_error.expect("an error");
    assert!(error.starts_with("the station has taken "), "{error}");
    // A station that reads takes its place.
    drop((stuck, _unread));
    let collector = Collector::start(there);
    expect_equal(&daemon, &collector);
    daemon.stop("test over");
    collector.end();
}

/// The number of routes in the Adj-RIBs-In.
fn received(daemon: &Handle) -> u32 {
    let peers = daemon.rib().peers();
    let counts = peers.iter().flat_map(|peer| &peer.counts);
    counts.map(|counts| counts.received).sum()
}

/// After a restart nothing is advertised until all members have sent their routes.
#[test]
fn a_station_learns_what_is_sent_when_advertisement_begins() {
    let folder = Folder::new("bmp-deferral");
    let (daemon, speakers) = exchange(&folder);
    daemon.stop_as(&StopOrder::Restart);
    drop(speakers);
    let collector = Collector::start(any_port());
    let station = station(collector.address(), ALL_TABLES);
    let (daemon, address) = start(&folder, 2, &format!("{}{station}", two_members()));
    let (mut one, mut two) = (graceful(1, address), graceful(2, address));
    expect_row(&folder, "sessions", |row| row.sessions == 2);
    for prefix in ["8.8.8.0/24", "8.8.4.0/24"] {
        announce_all(&mut one, &[prefix]);
        let begun = Instant::now();
        let expected: Prefix = prefix.parse().expect("a prefix");
        while !collector.routes().keys().any(|key| key.2 == expected) {
            assert!(begun.elapsed() < TIMEOUT, "{:?}", collector.routes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let sent = |(view, ..): &&Key| *view == "adj-out-post";
    assert_eq!(collector.routes().keys().find(sent), None);
    announce_all(&mut two, &["9.9.9.0/24"]);
    two.expect_table(&["8.8.8.0/24", "8.8.4.0/24"]);
    expect_equal(&daemon, &collector);
    assert!(collector.routes().keys().any(|key| sent(&key)));
    daemon.stop("test over");
    collector.end();
}

/// More changes at once than the log of changes keeps.
#[test]
fn a_burst_of_changes_leads_to_the_same_tables() {
    let folder = Folder::new("bmp-burst");
    let collector = Collector::start(any_port());
    let members = format!("{}{}", member(1, 64501, ""), member(2, 64502, ""));
    let more = format!("{members}{}", station(collector.address(), ALL_TABLES));
    let (daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let _two = Speaker::establish(2, 64502, address);
    for high in 0..200_u32 {
        let prefixes: Vec<String> = (0..250)
            .map(|low| format!("30.{high}.{low}.0/24"))
            .collect();
        let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        one.announce(&prefixes, &[65_010 + high % 7]);
    }
    let full = |count: u32| {
        let begun = Instant::now();
        while received(&daemon) != count {
            assert!(begun.elapsed() < TIMEOUT, "{} routes", received(&daemon));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    full(50_000);
    expect_equal(&daemon, &collector);
    drop(one);
    expect_equal(&daemon, &collector);
    daemon.stop("test over");
    collector.end();
}

/// Members announce, withdraw and flap, policies change, and the station comes and goes. Whenever all is quiet, the tables
/// are equal.
#[test]
fn the_tables_are_equal_after_any_history() {
    let folder = Folder::new("bmp-history");
    let mut collector = Some(Collector::start(any_port()));
    let there = collector
        .as_ref()
        .map(Collector::address)
        .expect("a station");
    let strict = "black-list = [\"20.0.0.0/14\"]";
    let config = |is_strict: [bool; 3]| {
        let of = |n: usize| {
            member(
                n as u8 + 1,
                64_501 + n as u32,
                if is_strict[n] { strict } else { "" },
            )
        };
        let members: String = (0..3).map(of).collect();
        format!("{members}{}", station(there, ALL_TABLES))
    };
    let mut is_strict = [false; 3];
    let (daemon, address) = start(&folder, 2, &config(is_strict));
    let establish = |n: usize| establish_again(n as u8 + 1, 64_501 + n as u32, address);
    let mut speakers: Vec<Option<Speaker>> = (0..3).map(|n| Some(establish(n))).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for step in 0..120 {
        let n = random.below(3);
        let prefix = format!("20.{}.0.0/16", random.below(12));
        match (random.below(20), &mut speakers[n]) {
            (0, speaker @ Some(_)) => *speaker = None,
            (_, speaker @ None) => *speaker = Some(establish(n)),
            (1, _) => {
                is_strict[n] ^= true;
                reload(&folder, &config(is_strict));
            }
            (2, _) => match collector.take() {
                Some(running) => running.end(),
                None => collector = Some(Collector::start(there)),
            },
            (3..9, Some(speaker)) => speaker.withdraw(&[&prefix]),
            (_, Some(speaker)) => {
                // A first AS of the path that is not the sender's is a reason of rejection.
                let path = [65_010 + random.below(4) as u32];
                let action = [(0, 64_501 + random.below(3) as u16), (64_500, 1)];
                speaker.announce_with(&[&prefix], &path, &action[random.below(2)..][..1]);
            }
        }
        if step % 15 == 14 {
            let running = collector.get_or_insert_with(|| Collector::start(there));
            expect_equal(&daemon, running);
        }
    }
    daemon.stop("test over");
    collector.into_iter().for_each(Collector::end);
}

/// Establishes a session. The daemon refuses a connection while it holds the end of the one before.
fn establish_again(last_octet: u8, asn: u32, address: SocketAddr) -> Speaker {
    let begun = Instant::now();
    loop {
        let mut speaker = Speaker::connect(last_octet, asn, address);
        speaker.send_open(last_octet);
        loop {
            match speaker.receive() {
                Received::Open(_) if speaker.try_send(&KEEPALIVE) => {}
                Received::Keepalive => return speaker,
                _ => break,
            }
        }
        assert!(begun.elapsed() < TIMEOUT, "no session");
        std::thread::sleep(Duration::from_millis(50));
    }
}

struct Random(u64);

impl Random {
    /// A number below this one.
    fn below(&mut self, end: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end) as usize
    }
}
