//! rutter-wire beside other Rust BGP codecs on the same bytes: `cargo run --release [-- --json FILE] [--rounds N] [WORD]`.
//!
//! `WORD` chooses rows by a part of their name.

mod bgpkit;
mod input;
mod routecore;
mod rustbgpd;
mod rutter;
mod zettabgp;

use std::time::Duration;

use harness::{Contestant, Report, Row};
use input::{Random, Values};

/// A measured task, with its input.
pub enum Task {
    /// IPv4 NLRI to prefixes.
    NlriDecode(&'static [u8]),
    /// IPv4 prefixes to NLRI.
    NlriEncode(&'static [(u32, u8)]),
    /// A block of path attributes, checked and split.
    AttributesDecode(&'static [u8]),
    /// The same, and every value read.
    AttributesRead(&'static [u8]),
    /// The same, with the dispositions of RFC 7606.
    AttributesValidate(&'static [u8]),
    /// Path attributes from numbers.
    AttributesEncode(&'static Values, &'static [u8]),
    /// A whole UPDATE to attributes and prefixes, with the faults of RFC 4271.
    UpdateParse(&'static [u8]),
    /// The same with the dispositions of RFC 7606.
    UpdateParseRevised(&'static [u8]),
    /// Attributes from numbers, and prefixes, to a whole UPDATE.
    UpdateBuild(&'static Values, &'static [(u32, u8)], &'static [u8]),
    /// Many different UPDATEs one after the other.
    Corpus(&'static [Vec<u8>]),
}

fn main() {
    let options = Options::read();
    let mut report = Report::default();
    report.section("time of a call, × ours, [allocations of a call]");
    for (name, per, task) in tasks() {
        if !name.contains(&options.word) {
            continue;
        }
        let row = Row {
            name,
            per,
            contestants: contestants(&task),
        };
        let name = row.name.clone();
        let figures = row.measure(options.rounds, Duration::from_micros(150));
        report.add(&name, &figures);
    }
    if let Some(file) = options.json {
        std::fs::write(&file, report.json()).unwrap_or_else(|e| panic!("cannot write {file}: {e}"));
    }
}

struct Options {
    json: Option<String>,
    rounds: usize,
    word: String,
}

impl Options {
    fn read() -> Self {
        let mut options = Options {
            json: None,
            rounds: 201,
            word: String::new(),
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => options.json = args.next(),
                "--rounds" => {
                    let number = args.next().and_then(|n| n.parse().ok());
                    options.rounds = number.expect("--rounds wants a number");
                }
                _ => options.word = arg,
            }
        }
        options
    }
}

fn contestants(task: &Task) -> Vec<Contestant> {
    let all = [
        rutter::contestant_for(task),
        rutter::owned(task),
        rustbgpd::contestant_for(task),
        bgpkit::contestant_for(task),
        routecore::contestant_for(task),
        zettabgp::contestant_for(task),
    ];
    all.into_iter().flatten().collect()
}

fn tasks() -> Vec<(String, u32, Task)> {
    let mut tasks = Vec::new();
    for count in [1, 10, 100, 500] {
        let nlri = keep(input::nlri(&input::prefixes(count)));
        tasks.push((format!("NLRI decode {count}"), 1, Task::NlriDecode(nlri)));
    }
    let mixed = input::mixed_prefixes(500, &mut Random(7));
    let nlri = keep(input::nlri(&mixed));
    tasks.push((
        "NLRI decode 500, lengths mixed".into(),
        1,
        Task::NlriDecode(nlri),
    ));
    for count in [1, 10, 100, 500] {
        let prefixes = keep(input::prefixes(count));
        tasks.push((
            format!("NLRI encode {count}"),
            1,
            Task::NlriEncode(prefixes),
        ));
    }
    tasks.push((
        "NLRI encode 500, lengths mixed".into(),
        1,
        Task::NlriEncode(keep(mixed)),
    ));
    let typical: &'static Values = Box::leak(Box::new(Values::typical()));
    let rich: &'static Values = Box::leak(Box::new(Values::rich()));
    for (name, values) in [
        ("6 attributes", typical),
        ("11 attributes, 128 communities", rich),
    ] {
        let block = keep(values.encode(None));
        tasks.extend([
            (format!("{name}: decode"), 1, Task::AttributesDecode(block)),
            (
                format!("{name}: decode, read all"),
                1,
                Task::AttributesRead(block),
            ),
            (
                format!("{name}: decode, validate"),
                1,
                Task::AttributesValidate(block),
            ),
            (
                format!("{name}: encode"),
                1,
                Task::AttributesEncode(values, block),
            ),
        ]);
    }
    let block = keep(typical.encode(None));
    for count in [1, 10, 100, 500] {
        let prefixes = keep(input::prefixes(count));
        let message = keep(input::update(block, &input::nlri(prefixes)));
        tasks.extend([
            (
                format!("UPDATE parse {count}"),
                1,
                Task::UpdateParse(message),
            ),
            (
                format!("UPDATE parse revised {count}"),
                1,
                Task::UpdateParseRevised(message),
            ),
            (
                format!("UPDATE build {count}"),
                1,
                Task::UpdateBuild(typical, prefixes, message),
            ),
        ]);
    }
    for count in [1, 100] {
        let block = typical.encode(Some(&input::nlri_ipv6(count)));
        let message = keep(input::update(&block, &[]));
        let name = format!("UPDATE parse revised, IPv6, {count}");
        tasks.push((name, 1, Task::UpdateParseRevised(message)));
    }
    let corpus = keep(input::corpus());
    let name = "UPDATE parse, 1,000 different of an exchange".into();
    tasks.push((name, corpus.len() as u32, Task::Corpus(corpus)));
    tasks
}

/// Gives an input the lifetime of the program.
fn keep<T>(items: Vec<T>) -> &'static [T] {
    items.leak()
}
