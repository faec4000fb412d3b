//! MRT table dumps read by Rutter, bgpkit-parser and bgpdump:
//! `cargo run --release -- [--prefixes FILE | --dump FILE] [--runs N] [--rutter PROGRAM]`.
//!
//! Without a dump, it writes one with twelve full feeds, of the prefixes of a list (one a line, plain or gzip) or of
//! generated prefixes. `--rutter` names the program `rutter-collect`, whose `rutter mrt` is timed beside `bgpdump -m`.

mod bgpkit;
mod dump;
mod rutter;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rutter_bench::rng::Rng;
use rutter_bench::workload::{read_prefix_file, synthetic_table};

/// The counts of a reader, which show that all readers do the same work.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sum {
    /// Routes.
    pub routes: u64,
    /// AS numbers in their paths.
    pub hops: u64,
    /// Their standard communities.
    pub communities: u64,
    /// Routes with a next hop.
    pub next_hops: u64,
}

/// Wall and CPU seconds.
#[derive(Clone, Copy)]
struct Spent {
    wall: f64,
    cpu: f64,
}

struct Options {
    prefixes: Option<PathBuf>,
    dump: Option<PathBuf>,
    runs: usize,
    rutter: Option<PathBuf>,
}

type Reader<'a> = (&'static str, Box<dyn Fn() -> Option<Sum> + 'a>);

fn main() {
    let options = options();
    let made = std::env::temp_dir().join(format!("rutter-mrt-{}", std::process::id()));
    let file = options.dump.clone().unwrap_or_else(|| {
        let prefixes = match &options.prefixes {
            Some(path) => read_prefix_file(path, true).expect("prefixes").prefixes,
            None => synthetic_table(200_000, &Rng::new(1)),
        };
        dump::write(&made, &prefixes);
        made.clone()
    });
    let sum = rutter::read(&file);
    let size = fs::metadata(&file).expect("the dump").len();
    println!("{sum:?}, {size} octets");
    println!("compared route by route: {}", bgpkit::compare(&file));
    let readers = readers(&options, &file);
    let mut spent: Vec<Vec<Spent>> = vec![Vec::new(); readers.len()];
    for _ in 0..options.runs {
        for ((name, read), spent) in readers.iter().zip(&mut spent) {
            let (begun, before) = (Instant::now(), cpu());
            let found = read();
            spent.push(Spent {
                wall: begun.elapsed().as_secs_f64(),
                cpu: cpu() - before,
            });
            assert!(found.is_none_or(|found| found == sum), "{name}: {found:?}");
        }
    }
    if options.runs > 0 {
        report(&readers, &spent, sum.routes);
    }
    let _ = fs::remove_file(made);
}

fn readers<'a>(options: &'a Options, file: &'a Path) -> Vec<Reader<'a>> {
    let mut readers: Vec<Reader<'a>> = vec![
        (
            "Rutter, every value read",
            Box::new(|| Some(rutter::read(file))),
        ),
        (
            "Rutter, into the table",
            Box::new(|| {
                rutter::load(file);
                None
            }),
        ),
        (
            "bgpkit-parser, every value read",
            Box::new(|| Some(bgpkit::read(file))),
        ),
    ];
    if let Some(rutter) = &options.rutter {
        let command = move || run(Command::new(rutter).arg("mrt").arg(file));
        readers.push(("rutter mrt, printed", Box::new(command)));
    }
    let there = Command::new("bgpdump").stderr(Stdio::null()).status();
    if there.is_ok() {
        let command = move || run(Command::new("bgpdump").args(["-m", "-v"]).arg(file));
        readers.push(("bgpdump -m, printed", Box::new(command)));
    }
    readers
}

fn run(command: &mut Command) -> Option<Sum> {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.status().expect("the program runs");
    assert!(status.success(), "{command:?}");
    None
}

/// Prints medians, and the ratio of the first reader's rate to each other's.
fn report(readers: &[Reader<'_>], spent: &[Vec<Spent>], routes: u64) {
    let median = |spent: &[Spent], of: fn(&Spent) -> f64| {
        let mut all: Vec<f64> = spent.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!("| | routes a second | a second of processors | Rutter is × faster, by processors |");
    println!("| --- | --- | --- | --- |");
    let first = median(&spent[0], |s| s.cpu);
    for ((name, _), spent) in readers.iter().zip(spent) {
        let (wall, cpu) = (median(spent, |s| s.wall), median(spent, |s| s.cpu));
        let rate = |seconds: f64| routes as f64 / seconds / 1e6;
        let times = cpu / first;
        println!(
            "| {name} | {:.2} M | {:.2} M | {times:.1} |",
            rate(wall),
            rate(cpu)
        );
    }
}

/// The CPU seconds of this process and of the programs that it ran.
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok());
    // utime, stime, cutime and cstime, in hundredths.
    (11..15).filter_map(ticks).sum::<f64>() / 100.0
}

fn options() -> Options {
    let mut options = Options {
        prefixes: None,
        dump: None,
        runs: 3,
        rutter: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || {
            words
                .next()
                .unwrap_or_else(|| panic!("{word} wants a value"))
        };
        match word.as_str() {
            "--prefixes" => options.prefixes = Some(next().into()),
            "--dump" => options.dump = Some(next().into()),
            "--runs" => options.runs = next().parse().expect("a number of runs"),
            "--rutter" => options.rutter = Some(next().into()),
            other => panic!("{other} is not known; see the top of src/main.rs"),
        }
    }
    options
}
