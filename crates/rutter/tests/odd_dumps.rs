//! `lookup`, `enrich` and `export` read odd dumps as `rutter mrt` does: what can be read counts, with the same notes and
//! the same exit status.

#[path = "../../rutter-mrt/tests/records/mod.rs"]
mod records;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use records::{hex, record, table_record};

/// The peers 192.0.2.11 AS64501 and 192.0.2.12 AS64502.
fn peers() -> Vec<u8> {
    let body = "09090909 0000 0002 02 00000009 c000020b 0000fbf5 02 0000000a c000020c 0000fbf6";
    record(13, 1, &hex(body))
}

/// A table record: the peer and the attributes of each entry.
fn rib(prefix: &str, entries: &[(u16, &str)]) -> Vec<u8> {
    let entry = |&(peer, attributes)| (peer, "", attributes);
    let entries: Vec<_> = entries.iter().map(entry).collect();
    table_record(2, prefix, &entries)
}

const SOUND: &str = "400101 00 400206 0201 0000fbf5 400304 c0000201";
const LONGER: &str = "400101 00 40020a 0202 0000fbf5 00030d40 400304 c0000201";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("rutter-odd-dumps-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, parts: &[Vec<u8>]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, parts.concat()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Exit status, standard output and standard error.
fn run(arguments: &[&str], dump: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rutter"));
    let output = command.args(arguments).arg("--mrt").arg(dump).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

fn lookup(address: &str, dump: &Path) -> (i32, String, String) {
    run(&["lookup", address], dump)
}

#[test]
fn records_that_cannot_be_read_are_reported_and_the_others_answer() {
    let folder = Folder::new("lookup");
    let parts = [
        peers(),
        rib("18 c63364", &[(0, SOUND)]),
        hex("5f5e105b 0011 0001 00000002 0000"),
        rib("18 c63365", &[(9, SOUND), (0, SOUND)]),
    ];
    let at = parts[0].len() + parts[1].len();
    let dump = folder.file("dump", &parts);
    let name = dump.display().to_string();
    for address in ["198.51.100.9", "198.51.101.9"] {
        let (code, text, report) = lookup(address, &dump);
        assert!(text.contains("AS64501"), "{text} {report}");
        for line in [
            format!("error: {name}: MRT record at octet {at}: the record ends too early"),
            format!(
                "octet {}: peer 9 is in no PEER_INDEX_TABLE before it",
                at + 14
            ),
            format!("error: {name}: 2 of 4 records could not be read, or not completely: "),
            "the file could not be read completely".to_owned(),
        ] {
            assert!(report.contains(&line), "{line} in {report}");
        }
        assert_eq!(code, 1);
    }
    let rows = folder.file("rows.csv", &[b"ip\n198.51.100.9\n".to_vec()]);
    let rows = rows.to_str().unwrap();
    let (code, text, _) = run(&["enrich", "-c", "ip", "--add", "asn", rows], &dump);
    assert_eq!((code, &*text), (1, "ip,asn\n198.51.100.9,64501\n"));
    let database = folder.0.join("out.mmdb");
    let (code, text, _) = run(&["export", "mmdb", database.to_str().unwrap()], &dump);
    assert_eq!(code, 1);
    assert!(text.contains("2 routes") && database.exists(), "{text}");
}

/// A download that ended early must not replace a good file.
#[test]
fn a_dump_that_is_cut_off_answers_but_exports_nothing() {
    let folder = Folder::new("cut");
    let mut whole = [peers(), rib("18 c63364", &[(0, SOUND)]), peers()].concat();
    whole.truncate(whole.len() - 5);
    let dump = folder.file("dump", &[whole]);
    let (code, text, report) = lookup("198.51.100.9", &dump);
    assert_eq!(code, 1);
    assert!(text.contains("AS64501"), "{text} {report}");
    let database = folder.file("out.mmdb", &[b"good".to_vec()]);
    let (code, _, report) = run(&["export", "mmdb", database.to_str().unwrap()], &dump);
    assert_eq!(code, 1);
    assert!(report.contains("out.mmdb was not changed"), "{report}");
    assert_eq!(fs::read(database).unwrap(), b"good");
}

#[test]
fn values_that_an_rfc_forbids_are_notes() {
    let folder = Folder::new("notes");
    let zero = "400101 00 40020a 0202 0000fbf5 00000000 400304 c0000201";
    let twice = format!("{SOUND} 400206 0201 00030d40");
    let parts = [
        peers(),
        rib("18 c63364", &[(0, zero)]),
        rib("18 c63365", &[(0, &twice)]),
    ];
    let dump = folder.file("dump", &parts);
    let (code, text, report) = lookup("198.51.100.9", &dump);
    assert!(
        text.contains("\tAS0\t") && text.contains("64501 0"),
        "{text}"
    );
    assert!(
        report.contains("note: ") && report.contains("AS number 0"),
        "{report}"
    );
    assert_eq!(code, 0);
    // The first of two attributes counts.
    let (_, text, _) = lookup("198.51.101.9", &dump);
    assert!(text.contains("\tAS64501\t"), "{text}");
}

#[test]
fn a_path_that_cannot_be_read_loses_and_is_marked() {
    let folder = Folder::new("path");
    let broken = "400101 00 400206 0901 0000fbf6 400304 c000020c";
    let parts = [
        peers(),
        rib("18 c63364", &[(0, LONGER), (1, broken)]),
        rib("18 c63365", &[(1, broken)]),
    ];
    let dump = folder.file("dump", &parts);
    let (code, text, _) = lookup("198.51.100.9", &dump);
    assert_eq!(code, 1);
    assert!(text.ends_with("\t64501 200000\n"), "{text}");
    let (_, text, _) = lookup("198.51.101.9", &dump);
    assert!(text.ends_with("\t?\n"), "{text}");
}

/// TABLE_DUMP has a record for each route; those of a prefix may be far apart.
#[test]
fn dumps_of_the_older_format_are_read() {
    let folder = Folder::new("old");
    let route = |prefix: &str, peer: &str, path: &str| {
        let attributes = hex(&format!("400101 00 {path} 400304 c0000201"));
        let head = format!("0000 0000 {prefix} 18 01 6553f100 {peer}");
        let mut body = hex(&head);
        body.extend((attributes.len() as u16).to_be_bytes());
        body.extend(attributes);
        record(12, 1, &body)
    };
    let parts = [
        route("c6336400", "c000020b fbf5", "400206 0202 fbf5 fbf7"),
        route("c6336500", "c000020b fbf5", "400204 0201 fbf5"),
        route("c6336400", "c000020c fbf6", "400204 0201 fbf6"),
    ];
    let dump = folder.file("dump", &parts);
    let (code, text, report) = lookup("198.51.100.9", &dump);
    assert!(text.contains("\tAS64502\t"), "{text} {report}");
    assert_eq!((code, &*report), (0, ""));
    let arguments = ["lookup", "198.51.100.9", "--peer", "AS64501"];
    let (_, text, _) = run(&arguments, &dump);
    assert!(text.contains("\tAS64503\t"), "{text}");
}

#[test]
fn a_file_without_a_table_dump_is_an_error() {
    let folder = Folder::new("none");
    let empty = folder.file("empty", &[]);
    let (code, _, report) = lookup("198.51.100.9", &empty);
    assert_eq!(code, 1);
    assert!(report.contains("there are no records in it"), "{report}");
    assert!(report.contains("contains no table dump"), "{report}");
}
