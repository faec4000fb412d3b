//! Dumps of the whole table (TABLE_DUMP_V2) from a snapshot.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rutter_config::Mrt;
use rutter_net::Family;
use rutter_rib::{AttrSet, DestinationView, PeerId, RouteView, Snapshot};
use rutter_wire::mrt::{PeerEntry, Route, write_peer_index_table, write_rib};

use super::file::{ArchiveFile, when};
use super::{POLL_INTERVAL, next_boundary, now_s, was_set_back};
use crate::shared::Shared;

/// Dumps the table at every multiple of the interval.
pub(super) fn run(shared: &Shared, config: &Mrt, stop: &AtomicBool) {
    let mut due = next_boundary(now_s(), config.table_interval_s);
    while !stop.load(Ordering::Acquire) {
        if was_set_back(now_s(), due, config.table_interval_s) {
            due = next_boundary(now_s(), config.table_interval_s);
        }
        if now_s() < due {
            thread::sleep(POLL_INTERVAL);
            continue;
        }
        let started = Instant::now();
        match dump(shared, config, due) {
            Ok(dumped) => tracing::info!(
                file = %dumped.path.display(), destinations = dumped.destinations,
                left_out = dumped.left_out, seconds = started.elapsed().as_secs_f32(),
                "table dumped"
            ),
            Err(error) => tracing::error!(at = %when(due), %error, "the table was not dumped"),
        }
        due = next_boundary(now_s(), config.table_interval_s);
    }
}

/// The result of a dump.
pub(super) struct Dumped {
    path: PathBuf,
    destinations: u32,
    left_out: usize,
}

fn dump(shared: &Shared, config: &Mrt, unix_s: u64) -> io::Result<Dumped> {
    let mut file = ArchiveFile::create(&config.directory, "rib", unix_s, config.gzip)?;
    let router_id = u32::from(shared.config.read().router_id);
    let snapshot = shared.rib.snapshot();
    match write_snapshot(&mut file, &snapshot, router_id, unix_s as u32) {
        Ok((destinations, left_out)) => Ok(Dumped {
            path: file.finish()?,
            destinations,
            left_out,
        }),
        Err(error) => {
            file.abandon();
            Err(error)
        }
    }
}

/// Writes the table. Returns the number of destinations, and the number of routes that do not fit into a record.
fn write_snapshot(
    file: &mut ArchiveFile,
    snapshot: &Snapshot,
    router_id: u32,
    unix_s: u32,
) -> io::Result<(u32, usize)> {
    let mut out = Vec::with_capacity(FLUSH_AT * 2);
    let index = write_peers(&mut out, snapshot, router_id, unix_s);
    let (mut sequence, mut left_out) = (0, 0);
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            left_out += write_destination(&mut out, &index, &destination, unix_s, sequence);
            sequence += 1;
            if out.len() >= FLUSH_AT {
                file.write(&out)?;
                out.clear();
            }
        }
    }
    file.write(&out)?;
    Ok((sequence, left_out))
}

const FLUSH_AT: usize = 256 * 1024;

fn write_peers(
    out: &mut Vec<u8>,
    snapshot: &Snapshot,
    router_id: u32,
    unix_s: u32,
) -> HashMap<PeerId, u16> {
    let entry = |peer: &rutter_rib::PeerSummary| PeerEntry {
        bgp_id: peer.session.as_ref().map_or(0, |s| s.remote_bgp_id),
        address: peer.neighbor.address,
        asn: peer.neighbor.remote_asn,
    };
    let entries: Vec<PeerEntry> = snapshot.peers().iter().map(entry).collect();
    write_peer_index_table(out, unix_s, router_id, "rutter", &entries);
    let ids = snapshot.peers().iter().map(|peer| peer.id);
    ids.zip(0..).collect()
}

fn write_destination(
    out: &mut Vec<u8>,
    index: &HashMap<PeerId, u16>,
    destination: &DestinationView<'_>,
    unix_s: u32,
    sequence: u32,
) -> usize {
    let known = |route: &&RouteView<'_>| index.contains_key(&route.peer);
    let add_path = destination.routes.iter().any(|route| route.path_id != 0);
    let next_hops: Vec<([u8; 32], usize)> = destination
        .routes
        .iter()
        .filter(known)
        .map(|route| next_hop(route.attrs))
        .collect();
    let routes = destination.routes.iter().filter(known).zip(&next_hops);
    let routes = routes.map(|(route, (next_hop, len))| Route {
        peer_index: index[&route.peer],
        // The table does not store the times of routes.
        originated_s: 0,
        path_id: route.path_id,
        attributes: route.attrs.block(),
        next_hop: &next_hop[..*len],
    });
    let prefix = destination.prefix;
    write_rib(out, unix_s, sequence, prefix, add_path, routes)
}

/// The octets of a next hop, and their number; 0 without a next hop.
fn next_hop(attrs: &AttrSet) -> ([u8; 32], usize) {
    let mut octets = [0; 32];
    let len = match attrs.next_hop() {
        None => 0,
        Some(IpAddr::V4(address)) => {
            octets[..4].copy_from_slice(&address.octets());
            4
        }
        Some(IpAddr::V6(address)) => {
            octets[..16].copy_from_slice(&address.octets());
            16
        }
    };
    match attrs.link_local_next_hop() {
        Some(link_local) if len == 16 => {
            octets[16..].copy_from_slice(&link_local.octets());
            (octets, 32)
        }
        _ => (octets, len),
    }
}
