//! rutter-rib beside rustbgpd-rib, row by row of rustbgpd's published table: `cargo run --release [-- --json FILE]
//! [--rounds N] [WORD]`.
//!
//! rutter-rib starts from UPDATEs on the wire, of up to 500 prefixes. It does all of the daemon's work: it parses, checks,
//! interns, chooses for each client and encodes. rustbgpd's tables start from routes made before the clock starts, as in
//! its own benchmarks. Its figures do not include parsing and sending.

mod rustbgpd;
mod rutter;

use std::time::Duration;

use harness::{Report, Row};

fn main() {
    let mut rounds = 5;
    let (mut json, mut word) = (None, String::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => json = args.next(),
            "--rounds" => {
                let number = args.next().and_then(|n| n.parse().ok());
                rounds = number.expect("--rounds wants a number");
            }
            "--memory-of" => {
                let (who, count) = (args.next(), args.next().and_then(|n| n.parse().ok()));
                return print_memory(&who.unwrap_or_default(), count.unwrap_or(0));
            }
            _ => word = arg,
        }
    }
    let mut report = Report::default();
    report.section("time of a prefix (of a comparison), × ours, [allocations of a turn]");
    for row in rows(&word) {
        let name = row.name.clone();
        let figures = row.measure(rounds, Duration::from_millis(30));
        report.add(&name, &figures);
    }
    memory(&mut report, &word);
    if let Some(file) = json {
        std::fs::write(&file, report.json()).unwrap_or_else(|e| panic!("cannot write {file}: {e}"));
    }
}

fn rows(word: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |name: String, per: u32, ours: fn(u32) -> _, theirs: fn(u32) -> _, arg: u32| {
        if name.contains(word) {
            let contestants = vec![ours(arg), theirs(arg)];
            rows.push(Row {
                name,
                per,
                contestants,
            });
        }
    };
    for (kind, name) in (0..).zip(["equal", "LOCAL_PREF differs", "peers differ"]) {
        let name = format!("best path comparison, {name}");
        add(name, 1_000, rutter::comparison, rustbgpd::comparison, kind);
    }
    for count in [10_000, 100_000, 500_000] {
        let name = format!("Adj-RIB-In insert {count}");
        add(name, count, rutter::insert, rustbgpd::insert, count);
    }
    for candidates in [1, 2, 4, 8] {
        let name = format!("Loc-RIB: candidate {candidates} of a prefix comes");
        add(
            name,
            1_000,
            rutter::candidate,
            rustbgpd::candidate,
            candidates,
        );
    }
    for count in [1_000, 10_000, 50_000] {
        let name = format!("whole pipeline, 2 peers x {count}");
        add(name, count, rutter::pipeline, rustbgpd::pipeline, count);
    }
    let name = "churn: 10k routes, 1k come and go".to_string();
    add(name, 1_000, rutter::churn, rustbgpd::churn, 1_000);
    rows
}

fn memory(report: &mut Report, word: &str) {
    for count in [100_000, 500_000, 900_000] {
        let name = format!("memory, 2 peers x {count}");
        if name.contains(word) {
            let prefixes = u64::from(count);
            report.add_octets(
                &name,
                &[
                    ("rutter", grown("rutter", count), prefixes),
                    ("rustbgpd-rib", grown("rustbgpd-rib", count), prefixes),
                ],
            );
        }
    }
}

/// The growth of resident memory, measured in a process of its own: memory that one leaves free would hide the growth of
/// the other.
fn grown(who: &str, count: u32) -> u64 {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--memory-of", who, &count.to_string()])
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("a number of bytes")
}

/// The measured process of [`grown`].
fn print_memory(who: &str, count: u32) {
    let before = resident();
    let kept: Box<dyn std::any::Any> = match who {
        "rutter" => Box::new(rutter::both_peers(count)),
        _ => Box::new(rustbgpd::both_peers(count)),
    };
    println!("{}", resident() - before);
    std::mem::forget(kept);
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok());
    pages.expect("a number") * 4_096
}
