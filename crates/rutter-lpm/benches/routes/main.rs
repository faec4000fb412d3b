//! Akvorado's benchmarks of its BMP RIB, defined as in its sources, on [`rutter_lpm::Routes`]: 16 shards; 500,000 routes with
//! 8 writers and 32 readers; insertion of 100,000 routes of each of 5 peers; flush of one of them.
//!
//! `cargo bench -p rutter-lpm --bench routes -- AKVORADO_TEST PREFIXES`: the first is the test binary that
//! `go test -c ./outlet/routing/provider/bmp` makes in a checkout of Akvorado, or `-`; with it both sides take turns and
//! ratios are printed. The second is a file with a prefix a line: the concurrent benchmark runs on these prefixes, too.
//! Routes are the same on both sides, drawn by the same generator from the same seeds.

mod akvorado;
#[path = "../lookup/data.rs"]
#[allow(dead_code, reason = "only the file is read here")]
mod data;
mod numbers;
mod ours;
mod workload;

use std::path::{Path, PathBuf};

use ours::{Concurrent, Peers};

const ROUNDS: usize = 3;

/// A line of the table: what is measured, its samples, those of the other side.
struct Figure {
    name: &'static str,
    unit: &'static str,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

fn main() {
    // Cargo adds options of its own, as `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let other = arguments.first().filter(|a| *a != "-").map(PathBuf::from);
    let paths = workload::AsPaths::new();
    workload::check(&paths);
    let figure = |name, unit| Figure {
        name,
        unit,
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    let mut figures = [
        figure("a read, 8 writers, 32 readers", "ns/read"),
        figure("a write, 8 writers, 32 readers", "ns/write"),
        figure("insertion, 5 peers", "ns/route"),
        figure("its memory, a prefix", "bytes/route"),
        figure("flush of one of 5 peers", "ms/op"),
        figure("a read, of a processor", "CPU ns/read"),
        figure("a write, of a processor", "CPU ns/write"),
        figure("insertion, of a processor", "CPU ns/route"),
        figure("flush, of a processor", "CPU ms/op"),
    ];
    let concurrent = Concurrent::new(&paths, &[]);
    let peers = Peers::new(&paths);
    let mut memory = None;
    for _ in 0..ROUNDS {
        let (route, bytes, table) = peers.insert();
        // Later tables lie where earlier ones were.
        let bytes = *memory.get_or_insert(bytes);
        let flush = Peers::flush(&table);
        drop(table);
        let (read, write) = concurrent.run();
        let times = [read.ns, write.ns, route.ns, bytes, flush.ns / 1e6];
        let of_processor = [read.cpu_ns, write.cpu_ns, route.cpu_ns, flush.cpu_ns / 1e6];
        let values = times.into_iter().chain(of_processor);
        for (figure, value) in figures.iter_mut().zip(values) {
            figure.ours.push(value);
        }
        if let Some(binary) = &other {
            ask(binary, &mut figures);
        }
    }
    print(&mut figures);
    if let Some(path) = arguments.get(1) {
        real(&paths, Path::new(path));
    }
}

/// One turn of the other side.
fn ask(binary: &Path, figures: &mut [Figure]) {
    let names = [
        "RIBConcurrent/16_shards,_500000_routes,_8_writers,_32_readers$",
        "RIBInsertion/100000_routes,_5_peers$",
        "RIBFlush/100000_routes,_5_peers$",
    ];
    for (unit, value) in names.iter().flat_map(|name| akvorado::run(binary, name)) {
        if let Some(figure) = figures.iter_mut().find(|figure| figure.unit == unit) {
            figure.theirs.push(value);
        }
    }
}

fn print(figures: &mut [Figure]) {
    println!("{:34}{:>12}{:>12}{:>10}", "", "rutter", "Akvorado", "ratio");
    for figure in figures {
        let (ours, theirs) = (median(&mut figure.ours), median(&mut figure.theirs));
        print!("{:34}{ours:>12.1}", figure.name);
        match theirs.is_nan() {
            true => print!("{:>12}{:>10}", "-", "-"),
            false => print!("{theirs:>12.1}{:>10.4}", ours / theirs),
        }
        println!("  {}", figure.unit);
    }
}

/// The concurrent benchmark on the prefixes of a file.
fn real(paths: &workload::AsPaths, path: &Path) {
    let prefixes = match data::Data::read(path) {
        Ok(data) => data.ipv4,
        Err(error) => return println!("{}: {error}", path.display()),
    };
    let concurrent = Concurrent::new(paths, &prefixes);
    let runs = (0..ROUNDS).map(|_| concurrent.run());
    let (mut reads, mut writes): (Vec<_>, Vec<_>) = runs.map(|(r, w)| (r.ns, w.ns)).unzip();
    let (read, write) = (median(&mut reads), median(&mut writes));
    println!(
        "on the prefixes of {}: {read:.1} ns a read, {write:.1} ns a write",
        path.display()
    );
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
