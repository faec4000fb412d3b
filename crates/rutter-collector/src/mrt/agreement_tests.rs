//! The printed lines lead to the table that the loader builds, for every file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rutter_api::RouteSelector;
use rutter_ingest::MrtLoader;
use rutter_mrt::{Input, Progress, Reader, RecordOutcome};
use rutter_net::Family;
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_wire::mrt::Records;
use serde_json::Value;

use super::printer::Printer;

/// Peer, AS, prefix and path identifier.
type Key = (String, u64, String, u64);
/// The text of the attributes of each route.
type Routes = BTreeMap<Key, String>;

/// The routes that remain after the JSON lines of a file.
fn printed(bytes: &[u8]) -> (Routes, Vec<RecordOutcome>) {
    let (rows, outcomes) = remaining(bytes);
    let routes = rows.into_iter().map(|(key, row)| (key, attributes(&row)));
    (routes.collect(), outcomes)
}

/// The JSON lines of a file whose routes remain.
pub(crate) fn printed_rows(bytes: &[u8]) -> Vec<Value> {
    remaining(bytes).0.into_values().collect()
}

fn remaining(bytes: &[u8]) -> (BTreeMap<Key, Value>, Vec<RecordOutcome>) {
    let mut printer = Printer::new(true);
    let records = Records::new(bytes).map_while(Result::ok);
    let outcomes = records.map(|record| printer.record(&record)).collect();
    let mut routes: BTreeMap<Key, Value> = BTreeMap::new();
    for line in std::str::from_utf8(printer.text()).expect("UTF-8").lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| row[name].as_u64().unwrap_or_default();
        let (peer, asn) = (text("peer_address"), number("peer_asn"));
        let key = (peer.clone(), asn, text("prefix"), number("path_id"));
        let is_local = row["local"] == Value::Bool(true);
        match &*text("kind") {
            _ if is_local => {}
            "state-change" if row["new"] == 6 => {}
            "state-change" => routes.retain(|key, _| (&key.0, key.1) != (&peer, asn)),
            "withdraw" => drop(routes.remove(&key)),
            _ => drop(routes.insert(key, row)),
        }
    }
    (routes, outcomes)
}

fn attributes(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let (path, origin, next_hop) = (text("as_path"), text("origin"), text("next_hop"));
    let communities = row["communities"].to_string();
    format!(
        "[{path}] {} {origin} {next_hop} {} {} {communities}",
        row["origin_as"], row["med"], row["local_pref"]
    )
}

/// The routes of the table, and the outcomes of the loader.
fn loaded(bytes: &[u8]) -> (Routes, Vec<RecordOutcome>) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 1,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let mut loader = MrtLoader::new(&rib, "a file");
    let records = Records::new(bytes).map_while(Result::ok);
    let outcomes = records.map(|record| loader.take(&record).expect("room for the peer"));
    let outcomes = outcomes.collect();
    loader.finish();
    let snapshot = rib.snapshot();
    let mut routes = Routes::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                let peer = &snapshot.peer(route.peer).expect("its peer").neighbor;
                let key = (
                    peer.address.to_string(),
                    u64::from(peer.remote_asn.0),
                    destination.prefix.to_string(),
                    u64::from(route.path_id),
                );
                let columns = rutter_events::AttrColumns::of(route.attrs);
                let communities = columns.communities.iter().map(ToString::to_string);
                let row = serde_json::json!({
                    "as_path": columns.as_path,
                    "origin_as": route.attrs.origin_as().map(|asn| asn.0),
                    "origin": columns.origin_name(),
                    "next_hop": columns.next_hop.map(|next_hop| next_hop.to_string()),
                    "med": columns.med,
                    "local_pref": columns.local_pref,
                    "communities": communities.collect::<Vec<_>>(),
                });
                routes.insert(key, attributes(&row));
            }
        }
    }
    (routes, outcomes)
}

/// The notes of `rutter mrt` about a file, its verdict, and the JSON lines.
fn printed_report(file: &Path) -> (Vec<String>, Result<(), String>, Vec<Value>) {
    let lines = RefCell::new(Vec::new());
    let report = |line: &str| lines.borrow_mut().push(line.to_owned());
    let mut reader = Reader::new(&Progress::new(), &report);
    let mut printer = Printer::new(true);
    let read = reader.read(&Input::File(file.to_owned()), |record| {
        Ok::<_, ()>(printer.record(record))
    });
    read.expect("a printer without faults");
    let verdict = reader.verdict();
    let rows = std::str::from_utf8(printer.text()).expect("UTF-8").lines();
    let rows = rows.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    (lines.into_inner(), verdict, rows.collect())
}

/// Compares a look-up's table with the printed lines: the same notes, and each answer is a printed route.
fn look_ups_agree(bytes: &[u8], file: &Path) {
    std::fs::write(file, bytes).expect("a file for the mutant");
    let lines = RefCell::new(Vec::new());
    let report = |line: &str| lines.borrow_mut().push(line.to_owned());
    let dump = rutter_table::from_mrt(file, &RouteSelector::default(), &report);
    let (expected, verdict, rows) = printed_report(file);
    assert_eq!(lines.into_inner(), expected, "{bytes:02x?}");
    let Ok(dump) = dump else {
        return;
    };
    assert_eq!(dump.verdict, verdict, "{bytes:02x?}");
    for route in dump.table.routes() {
        let set = &dump.table.sets()[route.set as usize];
        let is_it = |row: &Value| {
            row["kind"] == "state"
                && row["prefix"] == route.prefix.to_string()
                && row["peer_address"] == set.peer.address.to_string()
                && row["peer_asn"] == set.peer.asn
                && row["origin_as"].as_u64() == set.origin_as.map(u64::from)
                && row["as_path"].as_str() == set.attributes.as_path.as_deref()
                && row["next_hop"].as_str()
                    == set.attributes.next_hop.map(|a| a.to_string()).as_deref()
        };
        assert!(rows.iter().any(is_it), "{} in {bytes:02x?}", route.prefix);
    }
}

/// Each seed, and each seed with one octet changed.
#[test]
fn printer_loader_and_look_up_agree_on_every_mutant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/mrt");
    let name = format!("rutter-agreement-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut compared = 0;
    for seed in std::fs::read_dir(folder).expect("the seeds") {
        let seed = std::fs::read(seed.expect("a seed").path()).expect("a readable seed");
        let mutants = (0..seed.len()).flat_map(|at| {
            [0, 0xff, seed[at] ^ 0x10].map(|octet| {
                let mut mutant = seed.clone();
                mutant[at] = octet;
                mutant
            })
        });
        for mutant in mutants {
            assert_eq!(printed(&mutant), loaded(&mutant), "{mutant:02x?}");
            look_ups_agree(&mutant, &file);
            compared += 1;
        }
    }
    std::fs::remove_file(file).expect("the file of the last mutant");
    assert!(compared > 3_000, "{compared}");
}
