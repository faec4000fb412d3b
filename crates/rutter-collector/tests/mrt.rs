//! `rutter mrt` prints the same lines as bgpdump.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rutter_net::{Asn, Prefix};
use rutter_wire::attr::{OPTIONAL, TRANSITIVE, code, write_attr, write_mp_reach};
use rutter_wire::mrt::{
    BgpSession, PeerEntry, Route, Timestamp, write_message, write_peer_index_table, write_rib,
    write_state_change,
};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update::{Sections, write};

const TIME: u32 = 1_700_000_000;
const V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11];

/// Returns a file as a collector writes it: paths with sets, communities with names, an aggregator.
fn file() -> Vec<u8> {
    let mut out = Vec::new();
    let peer = |address: &str, asn| PeerEntry {
        bgp_id: 9,
        address: address.parse().unwrap(),
        asn: Asn(asn),
    };
    let peers = [peer("192.0.2.11", 64501), peer("2001:db8::11", 200_000)];
    write_peer_index_table(&mut out, TIME, 1, "", &peers);
    let (rich, plain) = (rich(), plain());
    let route = |peer_index, attributes, next_hop| Route {
        peer_index,
        originated_s: TIME,
        path_id: 0,
        attributes,
        next_hop,
    };
    let near = route(0, &rich[..], &[192, 0, 2, 1][..]);
    write_rib(&mut out, TIME, 0, prefix("198.51.100.0/24"), false, [near]);
    let far = route(1, &plain[..], &V6[..]);
    write_rib(&mut out, TIME, 1, prefix("2001:db8:1::/48"), false, [far]);
    messages(&mut out);
    out
}

fn messages(out: &mut Vec<u8>) {
    let session = BgpSession {
        peer_asn: Asn(64501),
        local_asn: Asn(64500),
        interface: 0,
        peer: "192.0.2.11".parse().unwrap(),
        local: "192.0.2.1".parse().unwrap(),
        as4: true,
    };
    let time = Timestamp::Seconds(TIME);
    write_state_change(out, time, &session, 5, 6);
    let mut nlri = Vec::new();
    ipv4(&mut nlri, "203.0.113.0/24");
    ipv4(&mut nlri, "198.51.100.128/25");
    let mut gone = Vec::new();
    ipv4(&mut gone, "192.0.2.0/24");
    write_message(out, time, &session, false, &update(&gone, &rich(), &nlri));
    let mut attributes = plain();
    let ipv6 = rutter_net::AfiSafi::IPV6_UNICAST;
    write_mp_reach(&mut attributes, ipv6, &V6, |out| {
        match prefix("2001:db8:2::/48") {
            Prefix::V6(prefix) => write_ipv6(out, None, prefix),
            Prefix::V4(_) => unreachable!(),
        }
    });
    let exact = Timestamp::Microseconds(u64::from(TIME) * 1_000_000 + 250_000);
    write_message(out, exact, &session, false, &update(&[], &attributes, &[]));
    write_state_change(out, exact, &session, 6, 1);
}

fn update(withdrawn: &[u8], attributes: &[u8], nlri: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let sections = Sections {
        withdrawn,
        attributes,
        nlri,
    };
    write(&mut out, &sections);
    out
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

fn ipv4(out: &mut Vec<u8>, text: &str) {
    if let Prefix::V4(prefix) = prefix(text) {
        write_ipv4(out, None, prefix);
    }
}

fn rich() -> Vec<u8> {
    let mut out = Vec::new();
    write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[2]);
    // 64501 200000 {64502,64503}
    let path = [
        2, 2, 0, 0, 0xfb, 0xf5, 0, 3, 0x0d, 0x40, 1, 2, 0, 0, 0xfb, 0xf6, 0, 0, 0xfb, 0xf7,
    ];
    write_attr(&mut out, TRANSITIVE, code::AS_PATH, &path);
    write_attr(&mut out, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    write_attr(&mut out, OPTIONAL, code::MULTI_EXIT_DISC, &[0, 0, 0, 7]);
    write_attr(&mut out, TRANSITIVE, code::LOCAL_PREF, &[0, 0, 0, 200]);
    write_attr(&mut out, TRANSITIVE, code::ATOMIC_AGGREGATE, &[]);
    let aggregator = [0, 3, 0x0d, 0x40, 192, 0, 2, 9];
    write_attr(
        &mut out,
        OPTIONAL | TRANSITIVE,
        code::AGGREGATOR,
        &aggregator,
    );
    let communities = [0xfb, 0xf4, 0, 1, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 2];
    write_attr(
        &mut out,
        OPTIONAL | TRANSITIVE,
        code::COMMUNITIES,
        &communities,
    );
    out
}

fn plain() -> Vec<u8> {
    let mut out = Vec::new();
    write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
    write_attr(
        &mut out,
        TRANSITIVE,
        code::AS_PATH,
        &[2, 1, 0, 3, 0x0d, 0x40],
    );
    out
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("rutter-print-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn rutter(arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
    command.arg("mrt").args(arguments).arg(file);
    command
}

#[test]
fn the_lines_are_those_of_bgpdump() {
    let folder = folder("lines");
    let path = folder.join("file");
    fs::write(&path, file()).unwrap();
    let ours = output(&mut rutter(&[], &path));
    let of_bgpdump = output(Command::new("bgpdump").args(["-m", "-v"]).arg(&path));
    fs::remove_dir_all(folder).unwrap();
    assert_eq!(ours.lines().count(), 8, "{ours}");
    assert_eq!(ours, of_bgpdump);
}

/// The reader closes the pipe early, as with `2>&1 | head -1`.
#[test]
fn a_closed_stderr_ends_nothing() {
    let folder = folder("unheard");
    for name in ["a", "b"] {
        fs::write(folder.join(name), "no MRT").unwrap();
    }
    let (ours, of_bgpdump) = UnixStream::pair().unwrap();
    drop(of_bgpdump);
    let ended = rutter(&[], &folder)
        .stdout(Stdio::null())
        .stderr(OwnedFd::from(ours))
        .status();
    fs::remove_dir_all(folder).unwrap();
    assert_eq!(ended.unwrap().code(), Some(1));
}

#[test]
fn json_has_the_columns_of_every_schema() {
    let folder = folder("json");
    let path = folder.join("file");
    fs::write(&path, file()).unwrap();
    let text = output(&mut rutter(&["--json"], &path));
    fs::remove_dir_all(folder).unwrap();
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = rows
        .iter()
        .map(|row| row["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "state",
            "state",
            "state-change",
            "withdraw",
            "announce",
            "announce",
            "announce",
            "state-change"
        ]
    );
    assert_eq!(
        rows[0],
        serde_json::json!({
            "time": 1_700_000_000_000_000_u64, "kind": "state", "peer_address": "192.0.2.11",
            "peer_asn": 64501, "prefix": "198.51.100.0/24", "path_id": 0, "origin": "incomplete",
            "as_path": "64501 200000 {64502,64503}", "med": 7, "local_pref": 200,
            "next_hop": "192.0.2.1", "extended_communities": [], "large_communities": [],
            "communities": ["64500:1", "65535:65281", "65535:65282"]
        })
    );
    assert_eq!(rows[6]["time"], 1_700_000_000_250_000_u64);
    assert_eq!(rows[6]["next_hop"], "2001:db8::11");
}

#[test]
fn standard_input_is_read_and_counted() {
    let mut child = rutter(&["--count"], Path::new("-"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&file()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "7 records, 6 routes\n");
}

#[test]
fn unreadable_records_are_reported_and_the_rest_is_printed() {
    let folder = folder("broken");
    // The entry of an unknown peer, between two valid entries.
    let mut bytes = file();
    let at = bytes.len();
    let other_peer = Route {
        peer_index: 7,
        originated_s: TIME,
        path_id: 0,
        attributes: &plain(),
        next_hop: &[192, 0, 2, 1],
    };
    let routes = [other_peer];
    write_rib(&mut bytes, TIME, 2, prefix("10.0.0.0/8"), false, routes);
    bytes.extend(file());
    fs::write(folder.join("bad"), &bytes).unwrap();
    for (arguments, lines) in [(&[][..], 16), (&["--json"], 16), (&["--count"], 1)] {
        let output = rutter(arguments, &folder.join("bad")).output().unwrap();
        let output_text = String::from_utf8(output.stderr).unwrap();
        let place = format!("bad: MRT record at octet {at}: peer ");
        let place = output_text.split_once(&place).map(|(_, after)| after);
        let why = place.and_then(|after| after.split_once(' '));
        assert!(
            why.is_some_and(|(_, why)| why.starts_with("is in no PEER_INDEX_TABLE before it\n")),
            "{output_text}"
        );
        assert!(
            output_text.contains("1 of 15 records could not be read"),
            "{output_text}"
        );
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), lines, "{text}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A collector continues with the readable routes, and reports at its end that some are missing.
#[test]
fn a_collector_whose_files_were_broken_ends_with_1() {
    let folder = folder("collect");
    fs::write(folder.join("bad"), &file()[..file().len() - 1]).unwrap();
    let text = format!(
        "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n[daemon]\nlisten = [\"127.0.0.1:0\"]\ncontrol-socket = \"{}\"\n",
        folder.join("s").display()
    );
    fs::write(folder.join("c.toml"), text).unwrap();
    let mut collector = Command::new(env!("CARGO_BIN_EXE_rutter-collect"))
        .arg("collect")
        .arg(folder.join("c.toml"))
        .arg("--mrt")
        .arg(folder.join("bad"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output_text = BufReader::new(collector.stderr.take().unwrap()).lines();
    let mut output_text = || output_text.next().unwrap().unwrap();
    while !output_text().contains("MRT files loaded") {}
    // The collector handles signals only now. Before, TERM ends it without output.
    let status = format!("/proc/{}/status", collector.id());
    let caught = || {
        let text = fs::read_to_string(&status).unwrap();
        let line = text.lines().find(|line| line.starts_with("SigCgt:"));
        u64::from_str_radix(line.unwrap()[7..].trim(), 16).unwrap()
    };
    while caught() & 1 << (15 - 1) == 0 {
        std::thread::yield_now();
    }
    let kill = format!("kill -TERM {}", collector.id());
    Command::new("sh").args(["-c", &kill]).status().unwrap();
    while !output_text().starts_with("error: --mrt: the file could not be read completely") {}
    assert_eq!(collector.wait().unwrap().code(), Some(1));
    fs::remove_dir_all(folder).unwrap();
}

/// Runs the queries of docs/collector.md on MRT files, exactly as they are written there.
#[test]
fn the_questions_of_the_documentation_are_answered() {
    let folder = std::env::temp_dir().join(format!("rutter-mrt-questions-{}", std::process::id()));
    fs::create_dir_all(folder.join("updates")).unwrap();
    fs::write(folder.join("rib.bz2"), file()).unwrap();
    fs::write(folder.join("updates/1"), file()).unwrap();
    let text = include_str!("../../../docs/collector.md");
    let (_, text) = text.split_once("## Ten questions about MRT files").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let questions = text.lines().filter(|line| line.contains(". "));
    let questions: Vec<&str> = questions
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert_eq!(questions.len(), 10);
    for question in questions {
        let output = Command::new("sh")
            .args([
                "-c",
                &format!("rutter() {{ \"$PROGRAM\" \"$@\"; }}; {question}"),
            ])
            .env("PROGRAM", env!("CARGO_BIN_EXE_rutter-collect"))
            .current_dir(&folder)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{question}: {error}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
