//! Look-ups in a running daemon while a full table is announced and withdrawn, compared with a slow reference at every
//! quiet point.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rutter_bench::daemons::rutter_config;
use rutter_bench::oracle::{Oracle, PrefixIndex, Visibility};
use rutter_bench::rng::Rng;
use rutter_bench::speaker::{Fleet, FleetSettings, Offer};
use rutter_bench::tracker::Bench;
use rutter_bench::workload::{FULL_TABLE, Settings, Shape, Workload, synthetic_table};
use rutter_interop::rutter::program;
use rutter_interop::{Lab, Process, eventually};
use rutter_net::Prefix;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(300);
/// Addresses per request.
const ADDRESSES: usize = 20_000;

/// The slow reference: every announced prefix with the origin AS of its paths.
type Twin = HashMap<Prefix, u32>;

/// The routes of these peers together.
fn twin(workload: &Workload, peers: &[u32]) -> Twin {
    let mut twin = Twin::new();
    for route in workload
        .routes
        .iter()
        .filter(|route| peers.contains(&route.peer))
    {
        let group = workload.groups[route.group as usize];
        let members = group.first as usize..(group.first + group.len) as usize;
        let members = workload.destinations[members].iter();
        twin.extend(members.map(|prefix| (*prefix, group.origin_as.0)));
    }
    twin
}

/// Tries each length, the longest first.
fn longest(twin: &Twin, addr: IpAddr) -> Option<(Prefix, u32)> {
    let most = if addr.is_ipv4() { 32 } else { 128 };
    let lengths = (0..=most)
        .rev()
        .filter_map(|len| Prefix::from_addr(addr, len));
    lengths
        .filter_map(|prefix| Some((prefix, *twin.get(&prefix)?)))
        .next()
}

/// The first and last address of prefixes, their neighbors, and random addresses.
fn addresses(workload: &Workload) -> Vec<IpAddr> {
    let mut rng = Rng::new(5);
    let around =
        |first: u128, last: u128| [first.wrapping_sub(1), first, last, last.wrapping_add(1)];
    let mut all = Vec::new();
    while all.len() < ADDRESSES {
        let at = rng.below(workload.destinations.len() as u64) as usize;
        match workload.destinations[at] {
            Prefix::V4(p) => {
                let around = around(p.bits().into(), p.last_bits().into());
                all.extend(around.map(|bits| IpAddr::V4((bits as u32).into())));
            }
            Prefix::V6(p) => {
                let around = around(p.bits(), p.last_bits());
                all.extend(around.map(|bits| IpAddr::V6(bits.into())));
            }
        }
        all.push(IpAddr::V4((rng.next_u64() as u32).into()));
    }
    all
}

/// A daemon with or without a look-up mirror.
struct Daemon {
    socket: PathBuf,
    _process: Process,
}

impl Daemon {
    fn start(lab: &Lab, workload: &Workload, listen: SocketAddrV4, sections: &str) -> Daemon {
        let folder = lab.folder("full");
        let socket = folder.join("s");
        let text = rutter_config(&workload.peers, &listen, &socket, 2) + sections;
        fs::write(folder.join("c.toml"), text).unwrap();
        let mut command = Command::new(program());
        command.arg("run").arg(folder.join("c.toml"));
        let process = Process::start("Rutter", &folder, &mut command);
        eventually("the daemon answers", || {
            lookup(&socket, &[[192, 0, 2, 1].into()]).map(drop)
        });
        Daemon {
            socket,
            _process: process,
        }
    }
}

/// `rutter lookup -`: all addresses at once.
fn lookup(socket: &Path, addresses: &[IpAddr]) -> Result<Vec<Value>, String> {
    let mut child = Command::new(program())
        .args(["lookup", "-", "--json", "--socket"])
        .arg(socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let text: String = addresses.iter().map(|addr| format!("{addr}\n")).collect();
    let mut input = child.stdin.take().ok_or("no input")?;
    let writer = thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let _ = writer.join();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Ok(rows.collect())
}

fn found(row: &Value) -> Option<(Prefix, u32)> {
    let prefix = row["prefix"].as_str()?.parse().unwrap();
    Some((prefix, row["origin-as"].as_u64().unwrap() as u32))
}

/// Every answer equals the reference.
fn is_exact(daemon: &Daemon, addresses: &[IpAddr], twin: &Twin) {
    let rows = lookup(&daemon.socket, addresses).unwrap();
    assert_eq!(rows.len(), addresses.len());
    for (addr, row) in addresses.iter().zip(&rows) {
        assert_eq!(found(row), longest(twin, *addr), "{addr}: {row}");
    }
}

/// Looks up until `stop` is set. Each answer must be a prefix of the table that contains the address, with its origin.
fn keeps_looking(daemon: &Daemon, addresses: &[IpAddr], whole: &Twin, stop: &AtomicBool) -> usize {
    let mut rounds = 0;
    while !stop.load(Ordering::Acquire) {
        let rows = lookup(&daemon.socket, &addresses[..2_000]).unwrap();
        for (addr, row) in addresses.iter().zip(&rows) {
            let Some((prefix, origin)) = found(row) else {
                continue;
            };
            assert!(prefix.contains(*addr), "{addr}: {row}");
            assert_eq!(whole.get(&prefix), Some(&origin), "{addr}: {row}");
        }
        rounds += 1;
    }
    rounds
}

fn a_table_comes_and_goes(sections: &str) {
    let lab = Lab::new();
    let table = synthetic_table(FULL_TABLE, &Rng::new(3));
    let shape = Shape::shared(3, FULL_TABLE * 5 / 4, FULL_TABLE);
    let workload = Arc::new(Workload::generate(shape, Some(table), Settings::default()));
    let listen = SocketAddrV4::new([127, 0, 0, 1].into(), lab.port());
    let daemon = Daemon::start(&lab, &workload, listen, sections);
    let addresses = addresses(&workload);
    let whole = twin(&workload, &[0, 1, 2]);
    let bench = Arc::new(Bench {
        workload: Arc::clone(&workload),
        index: Arc::new(PrefixIndex::new(&workload.destinations)),
        oracle: Arc::new(Oracle::new(&workload, Visibility::PerClient)),
        deep: false,
        probe: None,
    });
    let settings = FleetSettings {
        target: SocketAddr::V4(listen),
        threads: 1,
        offer: Offer::default(),
    };
    let mut fleet = Fleet::start(bench, settings).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        let looking = threads.spawn(|| keeps_looking(&daemon, &addresses, &whole, &stop));
        fleet.connect(&[0, 1, 2, 3]).unwrap();
        fleet.wait_established(4, PATIENCE, |_| {}).unwrap();
        fleet.feed(&[0, 1, 2]).unwrap();
        fleet.wait_exact(4, 3, PATIENCE, |_| {}).unwrap();
        is_exact(&daemon, &addresses, &whole);
        fleet.set_alive(&[0, 1], false).unwrap();
        fleet.kill(&[0, 1]).unwrap();
        fleet.wait_exact(2, 1, PATIENCE, |_| {}).unwrap();
        is_exact(&daemon, &addresses, &twin(&workload, &[2]));
        fleet.set_alive(&[0], true).unwrap();
        fleet.connect(&[0]).unwrap();
        fleet.wait_exact(3, 2, PATIENCE, |_| {}).unwrap();
        is_exact(&daemon, &addresses, &twin(&workload, &[0, 2]));
        stop.store(true, Ordering::Release);
        assert!(looking.join().unwrap() > 0);
    });
}

#[test]
fn a_full_table_is_looked_up_without_locks() {
    a_table_comes_and_goes("\n[lookup]\nprofile = \"fast\"\n");
}

#[test]
fn a_full_table_is_looked_up_in_its_own_index() {
    a_table_comes_and_goes("");
}
