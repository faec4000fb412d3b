//! Measures the IRR source of a large exchange: 320 members with 3.2 million entries over a million prefixes.
//!
//! `cargo run --release -p rutter-sources --example irr_exchange` prints time and peak memory. It fetches from a server on
//! loopback, refreshes with 0.5 % changed prefixes, and restarts from the copy on disk. With the argument `files`, the
//! entries are in a list of bgpq4 for each member, and with `text` in lists of lines with prefix and origin.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use rutter_irr::{Changed, IrrData, IrrRules};
use rutter_sources::Source;
use rutter_sources::irr::{IrrMemberSettings, IrrSettings, IrrSource};

const MEMBERS: u32 = 320;
const ORIGINS: u32 = 83_333;
const PREFIXES_OF_ORIGIN: u32 = 12;
const MEMBERSHIPS: u32 = 266_666;
const ENTRIES_OF_MEMBER: u32 = 10_000;

/// The number of refreshes. Each changes the prefixes of another 0.5 % of the origins.
static ROUND: AtomicU32 = AtomicU32::new(0);

fn main() -> std::io::Result<()> {
    let folder = std::env::temp_dir().join(format!("rutter-irr-exchange-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let argument = std::env::args().nth(1);
    let write_files = match argument.as_deref() {
        Some("files") => Some(write_json as WriteList),
        Some("text") => Some(write_text as WriteList),
        _ => None,
    };
    let settings = match write_files {
        Some(write) => files(&folder, write)?,
        None => server()?,
    };
    run(&settings, &folder, write_files)?;
    std::fs::remove_dir_all(&folder)
}

type WriteList = fn(&mut dyn Write, u32) -> std::io::Result<()>;

fn run(
    settings: &IrrSettings,
    folder: &Path,
    write_files: Option<WriteList>,
) -> std::io::Result<()> {
    let (source, published) = start(settings, folder)?;
    let mut data = next("first data", &published);
    wait_live(&source);
    for _ in 0..2 {
        ROUND.fetch_add(1, Ordering::Relaxed);
        if let Some(write) = write_files {
            files(folder, write)?;
        }
        let (start, cpu) = (Instant::now(), cpu_seconds());
        source.refresh();
        let new = next("refresh", &published);
        println!(
            "    {:.3} s after the request, {:.2} CPU s",
            start.elapsed().as_secs_f64(),
            cpu_seconds() - cpu
        );
        let changed = Changed::between(&data, &new);
        println!("    {} changed prefixes", changed.prefix_count());
        data = new;
        wait_live(&source);
    }
    source.stop(std::time::Duration::MAX);
    drop(data);
    let start_again = Instant::now();
    let (source, published) = start(settings, folder)?;
    next("restart", &published);
    println!("    {:.1} s", start_again.elapsed().as_secs_f64());
    source.stop(std::time::Duration::MAX);
    let copy = std::fs::metadata(folder.join("irr"))?.len();
    println!("the copy on disk has {:.1} MiB", copy as f64 / MIB);
    Ok(())
}

fn start(
    settings: &IrrSettings,
    folder: &Path,
) -> std::io::Result<(IrrSource, Receiver<Arc<IrrData>>)> {
    let (sender, published) = mpsc::channel();
    let publish = move |data| drop(sender.send(data));
    let source = IrrSource::start(settings.clone(), folder, publish)?;
    Ok((source, published))
}

fn next(name: &str, published: &Receiver<Arc<IrrData>>) -> Arc<IrrData> {
    let start = Instant::now();
    let data = published.recv().expect("the source runs");
    println!(
        "{name}: {:.1} s, {} entries in {:.1} MiB; peak of the process {:.0} MiB, now {:.0} MiB",
        start.elapsed().as_secs_f64(),
        data.entries(),
        data.memory() as f64 / MIB,
        process_memory("VmHWM:"),
        process_memory("VmRSS:")
    );
    data
}

fn wait_live(source: &IrrSource) {
    while source.status()[0].state != rutter_sources::SourceState::Live {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    println!("    {}", source.status()[0].detail);
}

/// A figure of the process in MiB.
fn process_memory(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// The CPU time of the process in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let times = behind_name.split_whitespace().skip(11).take(2);
    let ticks: f64 = times.filter_map(|word| word.parse::<f64>().ok()).sum();
    ticks / 100.0
}

const MIB: f64 = 1024.0 * 1024.0;

fn member_settings(bound: bool) -> Vec<Option<IrrMemberSettings>> {
    let member = |number: u32| IrrMemberSettings {
        asn: 4_200_000_000 + number,
        as_sets: vec![format!("AS-M{number}")],
        rules: IrrRules {
            origin: true,
            prefix: true,
            bound,
            ..IrrRules::default()
        },
        ..IrrMemberSettings::default()
    };
    (0..MEMBERS).map(|number| Some(member(number))).collect()
}

/// Settings with a server that answers from formulas.
fn server() -> std::io::Result<IrrSettings> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let settings = IrrSettings {
        servers: vec![listener.local_addr()?.to_string()],
        members: member_settings(true),
        ..IrrSettings::default()
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(&stream));
        }
    });
    Ok(settings)
}

fn serve(stream: &TcpStream) -> std::io::Result<()> {
    let mut out = BufWriter::new(stream);
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let data = answer(line.trim_end());
        match data.as_str() {
            _ if line == "!!\n" => {}
            "" => out.write_all(b"D\n")?,
            data => write!(out, "A{}\n{data}\nC\n", data.len() + 1)?,
        }
        line.clear();
        if lines.buffer().is_empty() {
            out.flush()?;
        }
    }
    Ok(())
}

fn answer(query: &str) -> String {
    let number = |prefix: &str| query.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut data = String::new();
    if query == "!s-lc" {
        data += "TEST";
    } else if let Some(member) = number("!iAS-M") {
        for place in 0..memberships(member) {
            let _ = write!(data, "AS{} ", mix(member << 16 | place) % ORIGINS + 1);
        }
    } else if let Some(origin) = number("!gAS").filter(|origin| *origin <= ORIGINS) {
        for place in 0..PREFIXES_OF_ORIGIN * 4 / 5 {
            let _ = write!(data, "{} ", prefix(origin * PREFIXES_OF_ORIGIN + place));
        }
    } else if let Some(origin) = number("!6AS").filter(|origin| *origin <= ORIGINS) {
        for place in PREFIXES_OF_ORIGIN * 4 / 5..PREFIXES_OF_ORIGIN {
            let bits = mix(origin * PREFIXES_OF_ORIGIN + place);
            let _ = write!(
                data,
                "2a{:02x}:{:x}:{place}::/48 ",
                bits >> 24 & 15,
                bits & 0xffff
            );
        }
    }
    data
}

/// A tenth of the members have half of the memberships.
fn memberships(member: u32) -> u32 {
    let share = MEMBERSHIPS / 2;
    let small = share / MEMBERS;
    if member < MEMBERS / 10 {
        small + share / (MEMBERS / 10)
    } else {
        small
    }
}

/// An IPv4 prefix with the lengths of real tables. A round gives 0.5 % of the numbers other ones.
fn prefix(number: u32) -> String {
    let round = ROUND.load(Ordering::Relaxed);
    let changed = mix(number) % 200 < round;
    let bits = mix(number.wrapping_add(if changed { 0x4000_0000 } else { 0 }));
    let len = [24, 24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 18, 16][(bits % 14) as usize];
    let bits = 0x0100_0000 + mix(bits) % 0xde00_0000;
    let bits = bits & (u32::MAX << (32 - len));
    format!("{}/{len}", std::net::Ipv4Addr::from_bits(bits))
}

/// Settings with one list for each member.
fn files(folder: &Path, write: WriteList) -> std::io::Result<IrrSettings> {
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for member in 0..MEMBERS {
        let path = folder.join(format!("m{member}"));
        let mut file = BufWriter::new(std::fs::File::create(&path)?);
        write(&mut file, member)?;
        file.flush()?;
        files.push((format!("AS-M{member}"), path));
    }
    Ok(IrrSettings {
        files,
        members: member_settings(false),
        ..IrrSettings::default()
    })
}

fn write_json(out: &mut dyn Write, member: u32) -> std::io::Result<()> {
    write!(out, "{{\"origins\": [{}], \"prefixes\": [", member + 1)?;
    for (place, number) in numbers(member).enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let prefix = prefix(number);
        write!(
            out,
            "{comma}\n{{\"prefix\": \"{prefix}\", \"exact\": true}}"
        )?;
    }
    write!(out, "]}}")
}

fn write_text(out: &mut dyn Write, member: u32) -> std::io::Result<()> {
    numbers(member).try_for_each(|number| {
        let origin = number / PREFIXES_OF_ORIGIN + 1;
        writeln!(out, "{} AS{origin}", prefix(number))
    })
}

/// The prefixes of a member by number, in runs of neighboring numbers.
fn numbers(member: u32) -> impl Iterator<Item = u32> {
    let runs = 0..ENTRIES_OF_MEMBER / 16;
    runs.flat_map(move |run| {
        let first = mix(member << 16 | run) % (1_000_000 - 16);
        first..first + 16
    })
}

/// A permutation of 32-bit numbers that looks random.
fn mix(number: u32) -> u32 {
    let mut mixed = number ^ number >> 16;
    mixed = mixed.wrapping_mul(0x7feb_352d);
    mixed ^= mixed >> 15;
    mixed = mixed.wrapping_mul(0x846c_a68b);
    mixed ^ mixed >> 16
}
