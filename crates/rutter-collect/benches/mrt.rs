//! Twelve full feeds as an MRT table dump: read, printed, loaded into the table, beside `bgpdump` where there is one.
//!
//!     cargo bench -p rutter-collect --bench mrt -- --prefixes FILE [--keep FILE] [--runs N]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use rutter_collector::mrt::{Input, Loader, Progress, Stream};
use rutter_load::rng::Rng;
use rutter_load::workload::attributes::{
    Family as Form, NextHops, draw, origin_asn, write_attributes,
};
use rutter_load::workload::{read_prefix_file, synthetic_table};
use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_wire::mrt::{PeerEntry, Route, write_peer_index_table, write_rib};

/// Feeds of each family.
const FEEDS: usize = 6;
/// Prefixes that share an attribute set.
const SHARED: usize = 5;
const TIME: u32 = 1_700_000_000;

struct Options {
    prefixes: Option<PathBuf>,
    keep: Option<PathBuf>,
    runs: usize,
}

fn main() {
    let options = options();
    let prefixes = match &options.prefixes {
        Some(path) => read_prefix_file(path, true).expect("prefixes").prefixes,
        None => synthetic_table(200_000, &Rng::new(1)),
    };
    let temporary = std::env::temp_dir().join(format!("rutter-mrt-{}", std::process::id()));
    let file = options.keep.clone().unwrap_or_else(|| temporary.clone());
    let routes = write_dump(&file, &prefixes);
    let size = fs::metadata(&file).expect("the dump").len();
    println!(
        "{routes} routes of {} destinations, {size} octets",
        prefixes.len()
    );
    load(&file, routes);
    for run in 1..=options.runs {
        println!("run {run}");
        let program = env!("CARGO_BIN_EXE_rutter-collect");
        time(
            "rutter mrt --count",
            routes,
            Command::new(program).args(["mrt", "--count"]).arg(&file),
        );
        time(
            "rutter mrt",
            routes,
            Command::new(program).arg("mrt").arg(&file),
        );
        time(
            "rutter mrt --json",
            routes,
            Command::new(program).args(["mrt", "--json"]).arg(&file),
        );
        time(
            "bgpdump -m",
            routes,
            Command::new("bgpdump").args(["-m", "-v"]).arg(&file),
        );
    }
    let _ = fs::remove_file(temporary);
}

fn options() -> Options {
    let mut options = Options {
        prefixes: None,
        keep: None,
        runs: 3,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--prefixes" => options.prefixes = words.next().map(PathBuf::from),
            "--keep" => options.keep = words.next().map(PathBuf::from),
            "--runs" => options.runs = words.next().and_then(|n| n.parse().ok()).unwrap_or(3),
            _ => {}
        }
    }
    options
}

/// A table dump of all feeds; returns its routes.
fn write_dump(file: &Path, prefixes: &[Prefix]) -> usize {
    let mut out = BufWriter::new(File::create(file).expect("the dump"));
    let mut buffer = Vec::new();
    let peers: Vec<PeerEntry> = (0..2 * FEEDS).map(peer).collect();
    write_peer_index_table(&mut buffer, TIME, 1, "bench", &peers);
    let mut rng = Rng::new(7);
    let mut count = 0;
    for family in Family::ALL {
        let members: Vec<Prefix> = prefixes
            .iter()
            .copied()
            .filter(|prefix| prefix.family() == family)
            .collect();
        for (number, group) in members.chunks(SHARED).enumerate() {
            let origin = origin_asn(&mut rng);
            let sets: Vec<Vec<u8>> = (0..FEEDS).map(|feed| set(feed, origin, &mut rng)).collect();
            for (at, prefix) in group.iter().enumerate() {
                let hops: Vec<Vec<u8>> = (0..FEEDS).map(|feed| next_hop(family, feed)).collect();
                let routes = (0..FEEDS).map(|feed| Route {
                    peer_index: (family.index() * FEEDS + feed) as u16,
                    originated_s: TIME,
                    path_id: 0,
                    attributes: &sets[feed],
                    next_hop: &hops[feed],
                });
                let sequence = (number * SHARED + at) as u32;
                write_rib(&mut buffer, TIME, sequence, *prefix, false, routes);
                count += FEEDS;
            }
            if buffer.len() > 1 << 20 {
                out.write_all(&buffer).expect("the dump");
                buffer.clear();
            }
        }
    }
    out.write_all(&buffer).expect("the dump");
    out.flush().expect("the dump");
    count
}

fn peer(feed: usize) -> PeerEntry {
    PeerEntry {
        bgp_id: 1 + feed as u32,
        address: match feed < FEEDS {
            true => [10, 99, 0, feed as u8].into(),
            false => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, feed as u16).into(),
        },
        asn: Asn(200_001 + feed as u32),
    }
}

fn set(feed: usize, origin: Asn, rng: &mut Rng) -> Vec<u8> {
    let set = draw(Asn(200_001 + feed as u32), origin, rng);
    let hops = NextHops {
        v4: [10, 99, 0, feed as u8].into(),
        v6: Ipv6Addr::LOCALHOST,
    };
    let mut out = Vec::new();
    write_attributes(&mut out, &set, &hops, Form::V4, &[]);
    out
}

fn next_hop(family: Family, feed: usize) -> Vec<u8> {
    match family {
        Family::Ipv4Unicast => vec![10, 99, 0, feed as u8],
        Family::Ipv6Unicast => {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, feed as u16 + 1);
            address.octets().to_vec()
        }
    }
}

/// Loads the dump into a table of its own; says how fast, and what it takes.
fn load(file: &Path, routes: usize) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 2,
        router_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let before = resident();
    let begun = Instant::now();
    let mut loader = Loader::new(&rib, "bench");
    let input = Input::File(file.to_owned());
    let mut stream = Stream::open(&input, &Progress::new()).expect("the dump");
    while let Some(record) = stream.next_record().expect("a record") {
        loader.take(&record).expect("room for the peers");
    }
    let loaded = loader.finish();
    drop(stream);
    assert_eq!(loaded.announced, routes as u64);
    say("load into the table", routes, begun.elapsed().as_secs_f64());
    let grown = resident() - before;
    println!(
        "{:24} {:6.1} octets a route resident",
        "",
        grown as f64 / routes as f64
    );
    for row in rib.memory() {
        println!(
            "{:24} {:6.1} {}",
            "",
            row.bytes as f64 / routes as f64,
            row.what
        );
    }
}

fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse().ok());
    pages.unwrap_or(0) * 4_096
}

fn time(what: &str, routes: usize, command: &mut Command) {
    let begun = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => say(what, routes, begun.elapsed().as_secs_f64()),
        Ok(_) => println!("{what:24} failed"),
        Err(_) => println!("{what:24} is not here"),
    }
}

fn say(what: &str, routes: usize, seconds: f64) {
    let rate = routes as f64 / seconds / 1e6;
    println!("{what:24} {seconds:6.2} s {rate:7.2} M routes/s");
}
