//! The printed lines lead to the table that the loader builds, for every file.

use std::collections::BTreeMap;
use std::sync::Arc;

use rutter_ingest::MrtLoader;
use rutter_mrt::RecordOutcome;
use rutter_net::Family;
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_wire::mrt::Records;
use serde_json::Value;

use super::printer::Printer;

/// Peer, AS, prefix and path identifier, and the text of the attributes.
type Routes = BTreeMap<(String, u64, String, u64), String>;

/// The routes that remain after the JSON lines of a file.
fn printed(bytes: &[u8]) -> (Routes, Vec<RecordOutcome>) {
    let mut printer = Printer::new(true);
    let records = Records::new(bytes).map_while(Result::ok);
    let outcomes = records.map(|record| printer.record(&record)).collect();
    let mut routes = Routes::new();
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
            _ => drop(routes.insert(key, attributes(&row))),
        }
    }
    (routes, outcomes)
}

fn attributes(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let (path, origin, next_hop) = (text("as_path"), text("origin"), text("next_hop"));
    let communities = row["communities"].to_string();
    format!(
        "[{path}] {origin} {next_hop} {} {} {communities}",
        row["med"], row["local_pref"]
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

/// Each seed, and each seed with one octet changed.
#[test]
fn printer_and_loader_agree_on_every_mutant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/mrt");
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
            compared += 1;
        }
    }
    assert!(compared > 3_000, "{compared}");
}
