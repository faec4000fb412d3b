//! Akvorado's benchmarks of its BMP RIB, defined as in its sources, on [`rutter_lpm::Routes`] with 16 shards.
//! They are: 500,000 routes with 8 writers and 32 readers; insertion of 100,000 routes of each of 5 peers;
//! flush of one of these peers.
//!
//! `cargo bench -p rutter-lpm --bench routes -- AKVORADO_TEST PREFIXES`: the first argument is `-` or the test
//! binary that `go test -c ./outlet/routing/provider/bmp` makes in a checkout of Akvorado. With it both sides
//! take turns, and ratios are printed. The second argument is a file with a prefix a line: the concurrent
//! benchmark runs on these prefixes, too. A third argument, `rotonda`, builds the program of `benches/rotonda`,
//! which then takes turns as well. All sides use the same routes, drawn by the same generator from the same
//! seeds.

#[path = "../lookup/data.rs"]
#[allow(dead_code, reason = "only the file is read here")]
mod data;
mod numbers;
mod others;
mod ours;
mod workload;

use std::path::{Path, PathBuf};

use others::Benchmark;
use ours::{Concurrent, Cost, Peers, Quiet};

const ROUNDS: usize = 3;

/// The number of changes in a batch of ours, as in a message or in one read from a BMP router's socket. The
/// other sides have no batches.
const TOGETHER: [usize; 2] = [16, 64];
const AT_A_TIME: &str = " at a time";

/// The sides that take turns.
const SIDES: [&str; 3] = ["rutter", "Akvorado", "rotonda-store"];

/// A line of the table: the figure, and the samples of each side.
struct Figure {
    name: &'static str,
    unit: &'static str,
    samples: [Vec<f64>; SIDES.len()],
}

/// The figures of our rounds, in their order. The other sides return figures by unit.
const FIGURES: [(&str, &str); 15] = [
    ("a read, 8 writers, 32 readers", "ns/read"),
    ("a write, 8 writers, 32 readers", "ns/write"),
    ("a write, 16 at a time", "ns/write, 16 at a time"),
    ("a write, 64 at a time", "ns/write, 64 at a time"),
    ("insertion, 5 peers", "ns/route"),
    ("its memory, a prefix", "bytes/route"),
    ("flush of one of 5 peers", "ms/op"),
    ("a read, no writer, 1 reader", "ns/quiet read"),
    ("a read, no writer, 2 readers", "ns/quiet read, each of 2"),
    ("a read, of a processor", "CPU ns/read"),
    ("a write, of a processor", "CPU ns/write"),
    ("16 at a time, of a processor", "CPU ns/write, 16 at a time"),
    ("64 at a time, of a processor", "CPU ns/write, 64 at a time"),
    ("insertion, of a processor", "CPU ns/route"),
    ("flush, of a processor", "CPU ms/op"),
];

fn main() {
    // Cargo adds its own options, such as `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    if arguments.first().is_some_and(|first| first == ours::MEMORY) {
        return ours::print_memory().expect("routes on standard input");
    }
    let akvorado = arguments.first().filter(|a| *a != "-").map(PathBuf::from);
    let wants_rotonda = arguments.get(2).is_some_and(|a| a == "rotonda");
    let rotonda = wants_rotonda.then(others::build_rotonda).flatten();
    let paths = workload::AsPaths::new();
    workload::check(&paths);
    let mut figures = FIGURES.map(|(name, unit)| Figure {
        name,
        unit,
        samples: Default::default(),
    });
    let (concurrent, peers) = (Concurrent::new(&paths, &[]), Peers::new(&paths));
    let quiet = Quiet::new(&paths, concurrent.targets());
    let bytes = peers.memory();
    for _ in 0..ROUNDS {
        let (route, table) = peers.insert();
        let flush = Peers::flush(&table);
        drop(table);
        let (read, write) = concurrent.run(1);
        let [few, many] = TOGETHER.map(|together| concurrent.run(together).1);
        let times = [
            read.ns,
            write.ns,
            few.ns,
            many.ns,
            route.ns,
            bytes,
            flush.ns / 1e6,
        ];
        let of_readers = [quiet.run(1), quiet.run(2)];
        let of_processor = [
            read.cpu_ns,
            write.cpu_ns,
            few.cpu_ns,
            many.cpu_ns,
            route.cpu_ns,
            flush.cpu_ns / 1e6,
        ];
        let values = times.into_iter().chain(of_readers).chain(of_processor);
        for (figure, value) in figures.iter_mut().zip(values) {
            figure.samples[0].push(value);
        }
        if let Some(binary) = &akvorado {
            ask_akvorado(binary, &mut figures);
        }
        if let Some(program) = &rotonda {
            take(&mut figures, 2, others::rotonda(program));
        }
    }
    print(&mut figures);
    if let Some(path) = arguments.get(1).filter(|path| *path != "-") {
        real(&paths, Path::new(path));
    }
}

/// Runs one turn of Akvorado.
fn ask_akvorado(binary: &Path, figures: &mut [Figure]) {
    let benchmarks = [
        Benchmark(
            "RIBConcurrent/16_shards,_500000_routes,_8_writers,_32_readers$",
            "1x",
        ),
        Benchmark("RIBInsertion/100000_routes,_5_peers$", "1x"),
        Benchmark("RIBFlush/100000_routes,_5_peers$", "1x"),
    ];
    for benchmark in &benchmarks {
        take(figures, 1, others::akvorado(binary, benchmark));
    }
    let quiet = Benchmark(
        "RIBConcurrent/16_shards,_500000_routes,_0_writers,_1_readers$",
        "100x",
    );
    let read = others::akvorado(binary, &quiet).into_iter();
    let read = read.filter(|(unit, _)| unit == "ns/read");
    let read = read.map(|(_, ns)| ("ns/quiet read".to_owned(), ns));
    take(figures, 1, read.collect());
}

/// Stores the figures of a side. A write of the other sides is compared with both of ours.
fn take(figures: &mut [Figure], side: usize, given: Vec<(String, f64)>) {
    for (unit, value) in given {
        let is_it = |figure: &&mut Figure| {
            let of_ours = figure.unit.strip_suffix(AT_A_TIME);
            let one = of_ours.and_then(|unit| unit.split_once(','));
            one.map_or(figure.unit, |(unit, _)| unit) == unit
        };
        for figure in figures.iter_mut().filter(is_it) {
            figure.samples[side].push(value);
        }
    }
}

fn print(figures: &mut [Figure]) {
    print!("{:34}", "");
    SIDES.iter().for_each(|side| print!("{side:>14}"));
    println!("{:>12}{:>12}", "of Akvorado", "of rotonda");
    for figure in figures {
        let medians = figure.samples.each_mut().map(|samples| median(samples));
        print!("{:34}", figure.name);
        for value in medians {
            match value.is_nan() {
                true => print!("{:>14}", "-"),
                false => print!("{value:>14.1}"),
            }
        }
        for other in &medians[1..] {
            match other.is_nan() {
                true => print!("{:>12}", "-"),
                false => print!("{:>12.4}", medians[0] / other),
            }
        }
        println!("  {}", figure.unit);
    }
}

/// Runs the concurrent benchmark on the prefixes of a file.
fn real(paths: &workload::AsPaths, path: &Path) {
    let prefixes = match data::Data::read(path) {
        Ok(data) => data.ipv4,
        Err(error) => return println!("{}: {error}", path.display()),
    };
    let concurrent = Concurrent::new(paths, &prefixes);
    println!("on the prefixes of {}:", path.display());
    for together in [1].into_iter().chain(TOGETHER) {
        let runs: Vec<_> = (0..ROUNDS).map(|_| concurrent.run(together)).collect();
        let of = |figure: fn(&(Cost, Cost)) -> f64| {
            median(&mut runs.iter().map(figure).collect::<Vec<_>>())
        };
        let (read, write, cpu) = (of(|r| r.0.ns), of(|r| r.1.ns), of(|r| r.1.cpu_ns));
        println!(
            "{together} at a time: {read:.1} ns a read, {write:.1} ns a write, {cpu:.1} ns of a processor"
        );
    }
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
