//! Hand-overs to another process, with a BMP station whose routers must not notice.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rutter_api::Request;
use rutter_config::Bmp;
use rutter_daemon::{
    Daemon, GivenService, Handle, HeldServices, MovableServices, NotHeld, Program, StopOrder,
    TakenService,
};
use rutter_ingest::bmp::{HeldStation, Station, StationHandle, TakenStation};
use rutter_net::Asn;
use rutter_rib::Rib;
use rutter_service::{Context, ShutdownSignal, StatusRegistry};
use rutter_wire::attr::{TRANSITIVE, code, write_attr};
use rutter_wire::bmp::{
    PeerHeader, RibView, write_initiation, write_peer_up, write_route_monitoring,
};
use rutter_wire::capability::Capability;
use rutter_wire::open::Open;
use rutter_wire::update::{self, Sections};

use crate::handover::{Daemons, FOLDER, configuration, program};
use crate::support::wait_until;

/// The first daemon of these tests, in a process of its own. It leaves its process to the next.
#[test]
#[ignore = "other tests run it"]
fn first_station() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let (config, source) = configuration(folder.as_ref());
    let prepared = Daemon::prepare(config, Some(source)).expect("prepare");
    let context = context(prepared.rib(), &StatusRegistry::default());
    prepared.attach(Arc::new(context.status.clone()));
    prepared.allow_upgrades(next());
    let daemon = prepared.start().expect("start");
    let station = Station::start(&context, &settings()).expect("a station");
    run(folder.as_ref(), daemon, station);
}

/// A daemon that takes over.
#[test]
#[ignore = "other tests run it"]
fn next_station() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let folder: &Path = folder.as_ref();
    if folder.join("knows no service").exists() {
        let (config, source) = configuration(folder);
        let error = Daemon::take_over(config, source, next()).map(drop);
        return eprintln!("{}", error.expect_err("a refusal"));
    }
    let (config, source) = configuration(folder);
    let status = StatusRegistry::default();
    let mut taken = None;
    let take = |rib: &Arc<Rib>, services: Vec<TakenService>| {
        taken = Some(take(&context(Arc::clone(rib), &status), services)?);
        Ok(())
    };
    let attached = Arc::new(status.clone());
    match Daemon::take_over_collector(config, source, next(), attached, take) {
        Ok(daemon) => {
            let station = taken.expect("a station").start();
            run(folder, daemon, station.expect("a station"));
        }
        Err(error) => eprintln!("{error}"),
    }
}

fn next() -> Program {
    program("station_handover::next_station")
}

fn settings() -> Bmp {
    Bmp::new(vec!["127.0.0.1:0".parse().expect("an address")])
}

fn context(rib: Arc<Rib>, status: &StatusRegistry) -> Context {
    Context {
        rib,
        collector: "here".into(),
        shutdown: ShutdownSignal::new(),
        status: status.clone(),
    }
}

fn take(context: &Context, services: Vec<TakenService>) -> Result<TakenStation, String> {
    let (mut listeners, mut routers) = (Vec::new(), Vec::new());
    for service in services {
        match service.name.as_str() {
            "station" => listeners.extend(service.into_listeners()),
            _ => routers.extend(service.into_connection()),
        }
    }
    Station::take(context, &settings(), listeners, routers)
}

/// Runs a daemon with a station until it stops or hands over.
fn run(folder: &Path, daemon: Handle, station: Station) {
    let address = station.listen_addresses()[0].to_string();
    daemon.move_services(Arc::new(Movable(station.handle())));
    fs::write(folder.join("address.new"), address).expect("write");
    fs::rename(folder.join("address.new"), folder.join("address")).expect("rename");
    let order = daemon.wait_for_stop();
    if order == StopOrder::HandOver {
        std::mem::forget(station);
    }
    daemon.stop_as(&order);
}

struct Movable(StationHandle);
struct Held(HeldStation);

impl MovableServices for Movable {
    fn hold(&self, patience: Duration) -> Result<Box<dyn HeldServices>, NotHeld> {
        let held = self.0.hold(patience);
        let held = held.ok_or_else(|| NotHeld::Busy("the station".to_owned()))?;
        Ok(Box::new(Held(held)))
    }
}

impl HeldServices for Held {
    fn records(&self) -> Vec<GivenService<'_>> {
        let mut records = vec![GivenService {
            name: "station".to_owned(),
            record: Vec::new(),
            sockets: self.0.listeners(),
        }];
        let routers = self.0.connections().map(|(socket, record)| GivenService {
            name: "router".to_owned(),
            record,
            sockets: vec![socket],
        });
        records.extend(routers);
        records
    }

    fn routers(&self) -> usize {
        self.0.routers()
    }

    fn give_up(self: Box<Self>) {
        self.0.give_up();
    }
}

/// A router that reports the routes of one neighbor.
struct Router {
    stream: TcpStream,
    /// The number of routes that it has reported.
    routes: u32,
}

impl Router {
    fn connect(daemons: &Daemons, name: &str) -> Self {
        let address: SocketAddr = daemons.address;
        let mut out = Vec::new();
        write_initiation(&mut out, name, "a test");
        let capabilities = vec![Capability::FourOctetAs(Asn(64_501))];
        let mut open = Vec::new();
        Open::new(Asn(64_501), 90, 9, capabilities).encode(&mut open);
        let local = Ipv4Addr::new(192, 0, 2, 1).into();
        write_peer_up(&mut out, &header(), local, (179, 179), &open, &open, &[]);
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(&out).expect("write");
        Router { stream, routes: 0 }
    }

    /// Reports another route. `between` happens in the middle of the message.
    fn report(&mut self, between: impl FnOnce()) {
        let mut block = Vec::new();
        write_attr(&mut block, TRANSITIVE, code::ORIGIN, &[0]);
        let path = [2, 1, 0, 0, 251, 245];
        write_attr(&mut block, TRANSITIVE, code::AS_PATH, &path);
        write_attr(&mut block, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
        let sections = Sections {
            withdrawn: &[],
            attributes: &block,
            nlri: &[24, 10, (self.routes >> 8) as u8, self.routes as u8],
        };
        let (mut message, mut out) = (Vec::new(), Vec::new());
        update::write(&mut message, &sections);
        write_route_monitoring(&mut out, &header(), &message);
        let (one, two) = out.split_at(60);
        self.stream.write_all(one).expect("write");
        between();
        self.stream.write_all(two).expect("write");
        self.routes += 1;
    }
}

fn header() -> PeerHeader {
    let address = Ipv4Addr::new(192, 0, 2, 11).into();
    PeerHeader::global(address, Asn(64_501), 9, RibView::AdjRibInPre)
}

/// Starts a daemon with a station.
fn start(name: &str) -> Daemons {
    let first = "station_handover::first_station";
    Daemons::start_as(first, name, 2, "[bmp]\nlisten = [\"127.0.0.1:0\"]\n")
}

/// Waits until the table has exactly the routes of these routers.
fn is_exact(daemons: &Daemons, routers: &[Router]) {
    let expected: u32 = routers.iter().map(|router| router.routes).sum();
    wait_until("the table is exact", || {
        let answer = daemons.call(Request::Routes(Default::default()));
        answer.is_ok_and(|answer| answer.matches("\"prefix\":").count() == expected as usize)
    });
}

/// The addresses and ports of the connected routers: each connection has another port.
fn connections(daemons: &Daemons) -> Vec<String> {
    let answer = daemons.call(Request::Routers).expect("an answer");
    let rows = answer.lines();
    let rows = rows.map(|row| serde_json::from_str::<serde_json::Value>(row).expect("JSON"));
    let routers = rows.filter(|row| row["address"].is_string());
    routers.map(|row| row["address"].to_string()).collect()
}

#[test]
fn routers_stay_connected_over_several_hand_overs() {
    let daemons = start("station-handover");
    let mut routers = ["edge1", "edge2"].map(|name| Router::connect(&daemons, name));
    for _ in 0..300 {
        routers.iter_mut().for_each(|router| router.report(|| ()));
    }
    is_exact(&daemons, &routers);
    let before = connections(&daemons);
    assert_eq!(before.len(), 2);
    for _ in 0..3 {
        let [one, two] = &mut routers;
        one.report(|| {
            two.report(|| {
                let answer = daemons.upgrade();
                assert!(answer.contains(", 2 BMP routers and "), "{answer}");
            })
        });
        is_exact(&daemons, &routers);
        assert_eq!(connections(&daemons), before);
    }
    let third = Router::connect(&daemons, "edge3");
    wait_until("another router connects", || {
        connections(&daemons).len() == 3
    });
    drop((third, routers));
    wait_until("their end is noticed", || connections(&daemons).is_empty());
    is_exact(&daemons, &[]);
}

#[test]
fn a_process_without_the_service_is_refused() {
    let daemons = start("station-unknown");
    let mut routers = [Router::connect(&daemons, "edge1")];
    routers[0].report(|| ());
    is_exact(&daemons, &routers);
    let before = (daemons.pid(), connections(&daemons));
    fs::write(daemons.folder.0.join("knows no service"), "").expect("write");
    routers[0].report(|| {
        let error = daemons.call(Request::Upgrade).expect_err("a refusal");
        assert!(
            error.contains("a route server has no service station"),
            "{error}"
        );
    });
    is_exact(&daemons, &routers);
    assert_eq!((daemons.pid(), connections(&daemons)), before);
}

/// `kill -9` of the new process, at moments over the whole length of an upgrade.
#[test]
fn routers_stay_connected_whenever_the_new_process_is_killed() {
    let daemons = start("station-killed");
    let mut routers = [Router::connect(&daemons, "edge1")];
    (0..1_000).for_each(|_| routers[0].report(|| ()));
    is_exact(&daemons, &routers);
    let begun = std::time::Instant::now();
    daemons.upgrade();
    let length = begun.elapsed();
    let before = connections(&daemons);
    for round in 0..10 {
        let old = daemons.pid();
        let mut answer = Ok(String::new());
        routers[0].report(|| {
            std::thread::scope(|scope| {
                let upgrade = scope.spawn(|| daemons.call(Request::Upgrade));
                let mut new = None;
                wait_until("a process starts", || {
                    new = new.take().or_else(|| child_of(&old));
                    new.is_some() || upgrade.is_finished()
                });
                std::thread::sleep(length.mul_f64(f64::from(round) / 20.0));
                // A process that has taken over is not killed: it is the only one.
                if let Some(new) = new.filter(|_| !upgrade.is_finished()) {
                    let kill = format!("kill -9 {new}");
                    let _ = Command::new("/bin/sh").args(["-c", &kill]).status();
                }
                answer = upgrade.join().expect("no panic");
            });
        });
        if answer.is_ok() {
            break;
        }
        assert_eq!(daemons.pid(), old, "round {round}");
        is_exact(&daemons, &routers);
        assert_eq!(connections(&daemons), before, "round {round}");
    }
}

/// A process that a thread of this one started.
fn child_of(pid: &str) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let children = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let children: String = children.collect();
    children.split_whitespace().next().map(str::to_owned)
}
