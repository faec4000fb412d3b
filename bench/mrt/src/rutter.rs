//! Rutter's own reader.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rutter_ingest::{MrtLoader};
use rutter_mrt::{Input, Progress, Stream};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_wire::mrt::{Content, PeerEntry, Record, RibEntry};

use crate::Sum;

fn stream(file: &Path) -> Stream {
    Stream::open(&Input::File(file.to_owned()), &Progress::new()).expect("the dump")
}

/// Reads every value of every route.
pub fn read(file: &Path) -> Sum {
    let mut sum = Sum::default();
    let mut stream = stream(file);
    let mut peers = Vec::new();
    while let Some(record) = stream.next_record().expect("a record") {
        each(&record, &mut peers, &mut |_, _, entry| {
            let attributes = entry.view();
            sum.routes += 1;
            let path = attributes.as_path();
            sum.hops += path.map_or(0, |path| path.asns().count() as u64);
            sum.communities += attributes.communities().count() as u64;
            sum.next_hops += u64::from(entry.next_hop().is_some());
            std::hint::black_box((attributes.origin(), attributes.multi_exit_disc()));
            std::hint::black_box((attributes.local_pref(), attributes.aggregator()));
        });
    }
    sum
}

/// Each route as `prefix peer path next-hop`.
pub fn lines(file: &Path, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut stream = stream(file);
    let mut peers = Vec::new();
    while lines.len() < most
        && let Some(record) = stream.next_record().expect("a record")
    {
        each(&record, &mut peers, &mut |prefix, peer, entry| {
            let attributes = entry.view();
            let path = attributes.as_path().expect("a path");
            let next_hop = match entry.next_hop().expect("a next hop") {
                [a, b, c, d] => IpAddr::from([*a, *b, *c, *d]),
                octets => IpAddr::from(<[u8; 16]>::try_from(&octets[..16]).expect("16 octets")),
            };
            lines.push(format!("{prefix} {} {path} {next_hop}", peer.address));
        });
    }
    lines
}

fn each(
    record: &Record<'_>,
    peers: &mut Vec<PeerEntry>,
    take: &mut dyn FnMut(rutter_net::Prefix, &PeerEntry, &RibEntry<'_>),
) {
    match record.decode().expect("a record that can be read") {
        Content::PeerIndexTable(table) => {
            *peers = table.peers().collect::<Result<_, _>>().expect("peers");
        }
        Content::Rib(rib) => {
            for entry in rib.entries() {
                let entry = entry.expect("a route");
                take(rib.prefix, &peers[usize::from(entry.peer_index)], &entry);
            }
        }
        _ => {}
    }
}

/// Loads all routes into a table.
pub fn load(file: &Path) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let mut loader = MrtLoader::new(&rib, "bench");
    let mut stream = stream(file);
    while let Some(record) = stream.next_record().expect("a record") {
        loader.take(&record).expect("room for the peers");
    }
    assert_eq!(loader.finish().malformed, 0);
}
