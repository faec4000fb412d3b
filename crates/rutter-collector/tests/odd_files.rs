//! Odd MRT files: `rutter mrt` prints them like bgpdump where that is right, and `rutter sql --mrt` says the same.

#[path = "../../rutter-mrt/tests/records/mod.rs"]
mod records;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use records::{announcing, hex, peers, record, table_record};
use serde_json::Value;

/// A table record with one entry.
fn entry(subtype: u16, prefix: &str, peer: u16, path_id: &str, attributes: &str) -> Vec<u8> {
    table_record(subtype, prefix, &[(peer, path_id, attributes)])
}

fn ipv4(attributes: &str) -> Vec<u8> {
    entry(2, "18 c63364", 0, "", attributes)
}

/// An UPDATE of a BGP4MP record. Two-octet subtypes have two-octet AS numbers in the record, too.
fn message(kind: u16, subtype: u16, attributes: &str, nlri: &str) -> Vec<u8> {
    let as4 = matches!(subtype, 4 | 7 | 9 | 11);
    let mut body = match kind {
        17 => 250_000u32.to_be_bytes().to_vec(),
        _ => Vec::new(),
    };
    body.extend(hex(if as4 {
        "0000fbf5 0000fbf4"
    } else {
        "fbf5 fbf4"
    }));
    body.extend(hex("0000 0001 c000020b c0000201"));
    body.extend(records::message(&announcing(attributes, nlri)));
    record(kind, subtype, &body)
}

const WIDE: &str = "400101 00 400206 0201 0000fbf5 400304 c0000201";
const NARROW: &str = "400101 00 400204 0201 fbf5 400304 c0000201";
const NLRI: &str = "18 cb0071";
/// The same with path identifier 5.
const NLRI_5: &str = "00000005 18 cb0071";

/// Records in which `bgpdump -m` and we agree.
fn like_bgpdump() -> Vec<u8> {
    let global = "20010db8000000000000000000000011";
    let short = format!("400101 00 400206 0201 00030d40 800e11 10 {global}");
    let whole =
        format!("400101 00 400206 0201 00030d40 800e1c 0002 01 10 {global} 00 30 20010db80001");
    let v6 = "30 20010db80001";
    [
        peers(),
        entry(8, "18 c63364", 0, "00000007", WIDE),
        entry(10, v6, 1, "00000009", &short),
        entry(4, v6, 1, "", &short),
        entry(4, v6, 1, "", &whole),
        ipv4(&format!("{WIDE} c00708 00000000 c0000209")),
        ipv4("400101 00 40020a 0202 0000fbf5 00000000 400304 c0000201"),
        ipv4("400101 00 400206 0201 0000fbf5 400304 00000000"),
        message(16, 9, WIDE, NLRI_5),
        message(16, 8, NARROW, NLRI_5),
        message(17, 9, WIDE, NLRI_5),
        message(16, 7, WIDE, NLRI),
        message(16, 6, NARROW, NLRI),
        message(17, 7, WIDE, NLRI),
        message(16, 4, &format!("{WIDE} c008c8 0102"), NLRI),
    ]
    .concat()
}

/// A path that ends in AS 0, and one whose end cannot be read.
const OF_AS_0: &str = "400101 00 40020a 0202 0000fbf5 00000000 400304 c0000201";
const PARTLY: &str = "400101 00 40020c 0201 0000fbf5 0901 00030d40 400304 c0000201";

/// A file with everything that is odd.
fn odd() -> Vec<u8> {
    [
        like_bgpdump(),
        hex("5f5e105b 0011 0001 00000002 0000"),
        ipv4("400101 00 400206 0901 0000fbf5 400304 c0000201"),
        ipv4("400101 00 400206 0201 0000fbf5"),
        entry(2, "18 c63366", 0, "", OF_AS_0),
        entry(2, "18 c63367", 0, "", PARTLY),
        entry(
            4,
            "30 20010db80002",
            1,
            "",
            "400101 00 400206 0201 00030d40",
        ),
        message(16, 4, "400101 00 400206 0201 0000fbf5 800e02 0002", ""),
        message(
            16,
            4,
            "400101 00 400206 0201 0000fbf5 800e0d 0001 02 04 c0000201 00 18 cb0071",
            "",
        ),
        record(
            5,
            1,
            &[
                &hex("fbf5 c000020b fbf4 c0000201 0000 0012")[..],
                &hex(NARROW),
                &hex(NLRI),
            ]
            .concat(),
        ),
        record(13, 3, &[0; 9]),
        entry(2, "18 c63365", 9, "", WIDE),
        message(16, 4, WIDE, "18 cb0072"),
    ]
    .concat()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rutter-odd-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter-collect"));
    command.args(arguments).arg(file).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn path_identifiers_local_messages_and_aggregators_are_printed_like_bgpdump() {
    let folder = Folder::new("like");
    let file = folder.file("file", &like_bgpdump());
    let ours = text(run(&["mrt"], &file).stdout);
    let bgpdump = Command::new("bgpdump")
        .args(["-m", "-v"])
        .arg(&file)
        .output();
    let of_bgpdump = text(bgpdump.unwrap().stdout);
    assert_eq!(ours.lines().count(), 14, "{ours}");
    assert_eq!(ours, of_bgpdump);
}

/// bgpdump reads these AS numbers wrongly.
#[test]
fn aggregators_with_as_numbers_of_the_other_size_are_printed() {
    let folder = Folder::new("aggregator");
    let bytes = [
        peers(),
        ipv4(&format!("{WIDE} c00706 fbf6 c0000209")),
        message(16, 1, &format!("{NARROW} c00708 0000fbf6 c0000209"), NLRI),
        message(16, 11, WIDE, NLRI_5),
    ];
    let output = run(&["mrt"], &folder.file("file", &bytes.concat()));
    let lines = text(output.stdout);
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[0].ends_with("|NAG|64502 192.0.2.9|"), "{lines:?}");
    assert!(lines[1].ends_with("|NAG|64502 192.0.2.9|"), "{lines:?}");
    let local = "BGP4MP_LOCAL_AP|1700000000|A|192.0.2.11|64501|203.0.113.0/24|5|64501|IGP|";
    assert!(lines[2].starts_with(local), "{lines:?}");
    assert_eq!(output.status.code(), Some(0));
}

/// The report names each fault with its number of records, and printer and SQL report the same.
#[test]
fn one_report_and_one_status_for_printer_and_sql() {
    let folder = Folder::new("report");
    let file = folder.file("odd", &odd());
    let printer = run(&["mrt"], &file);
    let query = "SELECT count(*) AS n FROM routes";
    let sql = run(&["sql", query, "--mrt"], &file);
    let report = text(printer.stderr);
    let summary = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("odd: "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(summary(&report), summary(&text(sql.stderr)));
    assert_eq!(
        (printer.status.code(), sql.status.code()),
        (Some(1), Some(1))
    );
    for line in [
        "error: FILE: 6 of 27 records could not be read, or not completely: ",
        "1 × the record ends too early",
        "2 × AS_PATH: undefined path segment type (RFC 7606 §7.2)",
        "1 × MP_REACH_NLRI: too short for its fixed fields (RFC 7606 §7.11)",
        "1 × COMMUNITIES: the length exceeds the attributes (RFC 7606 §4)",
        "1 × its peer is in no PEER_INDEX_TABLE before it",
        "note: FILE: 5 of 27 records were read as they stand, although an RFC forbids it: ",
        "2 × NEXT_HOP: mandatory, but missing (RFC 7606 §3 (d))",
        "1 × AGGREGATOR: AS number 0 (RFC 7607 §2)",
        "2 × AS_PATH: AS number 0 (RFC 7607 §2)",
        "note: FILE: 2 of 27 records hold other things than IPv4 and IPv6 unicast routes: ",
        "1 × UPDATE with IPv4 multicast routes",
        "1 × RIB_IPV4_MULTICAST",
    ] {
        let line = line.replace("FILE", &file.display().to_string());
        assert!(report.contains(&line), "{line} in {report}");
    }
}

/// A file whose values are forbidden, but complete, is no failure.
#[test]
fn a_file_that_can_be_read_completely_exits_with_0() {
    let folder = Folder::new("status");
    let zero = ipv4("400101 00 40020a 0202 0000fbf5 00000000 400304 c0000201");
    let file = folder.file("zero", &[peers(), zero].concat());
    for arguments in [
        &["mrt"][..],
        &["sql", "SELECT as_path FROM routes", "--csv", "--mrt"],
    ] {
        let output = run(arguments, &file);
        let report = text(output.stderr);
        assert!(
            report.contains("note: ") && report.contains("AS number 0"),
            "{report}"
        );
        assert!(text(output.stdout).contains("64501 0"));
        assert_eq!(output.status.code(), Some(0));
    }
}

/// `peer,AS,prefix,path-id,path,origin AS,origin,next hop,MED` of each route that remains after the lines.
fn printed(file: &Path) -> Vec<String> {
    let mut routes = std::collections::BTreeMap::new();
    for line in text(run(&["mrt", "--json"], file).stdout).lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| match &row[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let peer = format!("{},{}", of("peer_address"), of("peer_asn"));
        let key = (peer.clone(), format!("{},{}", of("prefix"), of("path_id")));
        match &*of("kind") {
            _ if row["local"] == true => {}
            "state-change" if row["new"] == 6 => {}
            "state-change" => routes.retain(|(known, _), _| *known != peer),
            "withdraw" => drop(routes.remove(&key)),
            _ => {
                let names = ["as_path", "origin_as", "origin", "next_hop", "med"];
                let values = names.map(of);
                routes.insert(key, values.join(","));
            }
        }
    }
    let lines = routes.into_iter();
    let mut lines: Vec<String> = lines
        .map(|((peer, key), values)| format!("{peer},{key},{values}"))
        .collect();
    lines.sort();
    lines
}

fn asked(file: &Path) -> Vec<String> {
    let query = "SELECT peer_address, peer_asn, prefix, path_id, as_path, origin_as, origin, next_hop, med FROM routes";
    let output = text(run(&["sql", query, "--csv", "--mrt"], file).stdout);
    let mut lines: Vec<String> = output
        .lines()
        .skip(1)
        .map(|line| line.replace('"', ""))
        .collect();
    lines.sort();
    lines
}

/// SQL has NULL for a next hop that is not there, so that a cast leaves the other routes.
#[test]
fn a_missing_next_hop_is_null() {
    let folder = Folder::new("null");
    let without = ipv4("400101 00 400206 0201 0000fbf5");
    let with = entry(2, "18 c63365", 0, "", WIDE);
    let file = folder.file("file", &[peers(), without, with].concat());
    let query = "SELECT prefix, next_hop::inet AS hop FROM routes ORDER BY prefix";
    let output = run(&["sql", query, "--csv", "--mrt"], &file);
    let report = text(output.stderr);
    let expected = "prefix,hop\n198.51.100.0/24,\n198.51.101.0/24,192.0.2.1\n";
    assert_eq!(text(output.stdout), expected, "{report}");
    let query = "SELECT count(*) AS n FROM best WHERE next_hop IS NULL";
    let output = run(&["sql", query, "--csv", "--mrt"], &file);
    assert_eq!(text(output.stdout), "n\n1\n");
}

/// An ORIGIN and an AS_PATH that are not there are NULL in SQL, and absent from the lines of `rutter mrt`. An empty path is
/// an empty string.
#[test]
fn a_missing_origin_or_path_is_null() {
    let folder = Folder::new("origin");
    let empty = entry(2, "18 c63365", 0, "", "400101 00 400200 400304 c0000201");
    let missing = ipv4("400304 c0000201");
    let file = folder.file("file", &[peers(), missing, empty].concat());
    let query = "SELECT origin, as_path FROM routes ORDER BY prefix";
    let output = run(&["sql", query, "--json", "--mrt"], &file);
    let expected = "{\"origin\":null,\"as_path\":null}\n{\"origin\":\"igp\",\"as_path\":\"\"}\n";
    assert_eq!(text(output.stdout), expected, "{}", text(output.stderr));
    let query = "SELECT count(*) AS n FROM routes WHERE origin IS NULL AND as_path IS NULL";
    let output = run(&["sql", query, "--csv", "--mrt"], &file);
    assert_eq!(text(output.stdout), "n\n1\n");
    let lines = text(run(&["mrt", "--json"], &file).stdout);
    let rows = lines.lines();
    let mut rows = rows.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (missing, empty) = (rows.next().unwrap(), rows.next().unwrap());
    assert!(missing.get("origin").is_none() && missing.get("as_path").is_none());
    assert_eq!(
        (empty["origin"].as_str(), empty["as_path"].as_str()),
        (Some("igp"), Some(""))
    );
}

/// A path that cannot be read is marked, and is not the best one.
#[test]
fn an_unreadable_path_is_marked_and_comes_last() {
    let folder = Folder::new("path");
    let broken = "400101 00 400206 0901 00030d40 400304 c000020c";
    let longer = "400101 00 40020a 0202 0000fbf5 00030d40 400304 c0000201";
    let bytes = [
        peers(),
        entry(2, "18 c63364", 1, "", broken),
        entry(2, "18 c63364", 0, "", longer),
    ];
    let file = folder.file("file", &bytes.concat());
    let best = run(
        &["sql", "SELECT as_path FROM best", "--csv", "--mrt"],
        &file,
    );
    assert_eq!(text(best.stdout), "as_path\n64501 200000\n");
    let query = "SELECT as_path, path_len(as_path) AS n, origin_as FROM routes WHERE not best";
    let other = run(&["sql", query, "--csv", "--mrt"], &file);
    assert_eq!(text(other.stdout), "as_path,n,origin_as\n?,0,\n");
    let lines = text(run(&["mrt"], &file).stdout);
    assert!(lines.contains("|200000|198.51.100.0/24|?|IGP|"), "{lines}");
}

/// A file or a folder without a record is not silent.
#[test]
fn nothing_to_read_is_a_note() {
    let folder = Folder::new("nothing");
    let empty = folder.file("empty", &[]);
    let below = folder.0.join("below");
    fs::create_dir_all(&below).unwrap();
    let query = "SELECT count(*) AS n FROM routes";
    for arguments in [&["mrt"][..], &["sql", query, "--mrt"]] {
        let output = run(arguments, &empty);
        let report = text(output.stderr);
        let note = format!("note: {}: there are no records in it", empty.display());
        assert!(report.contains(&note), "{report}");
        assert_eq!(output.status.code(), Some(0));
        let output = run(arguments, &below);
        let report = text(output.stderr);
        assert!(
            report.contains("note: there is no file to read"),
            "{report}"
        );
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn printer_and_sql_agree_on_every_file_of_the_corpus() {
    let folder = Folder::new("corpus");
    let mut files = vec![folder.file("odd", &odd())];
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/mrt");
    files.extend(
        fs::read_dir(corpus)
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    assert!(files.len() >= 4);
    for file in files {
        let printed = printed(&file);
        assert!(!printed.is_empty(), "{}", file.display());
        assert_eq!(printed, asked(&file), "{}", file.display());
    }
}
