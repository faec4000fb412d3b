//! The table without sockets: P peers announce a table in UPDATEs of about five prefixes, and one more client
//! receives the best routes. Prints nanoseconds and bytes a route.
//!
//! `cargo bench -p rutter-rib --bench pipeline -- [PEERS] [PREFIXES] [SHARDS] [unique] [checks]`; with `unique` each
//! peer has prefixes of its own, and with `checks` routes are compared with IRR data and VRPs.

use std::time::Instant;

mod exchange;

use exchange::{checked_neighbor, drain, neighbor, outside_data, session, updates};
use rutter_net::PerFamily;
use rutter_rib::*;
use rutter_wire::frame;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

/// Messages as reads of a socket return them: some 64 KiB of complete messages each.
fn reads(bodies: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let message = |body: &Vec<u8>| {
        let mut message = vec![0xff; 16];
        message.extend_from_slice(&(19 + body.len() as u16).to_be_bytes());
        message.push(2);
        message.extend_from_slice(body);
        message
    };
    let some = bodies.chunks(500);
    some.map(|bodies| bodies.iter().flat_map(message).collect())
        .collect()
}

/// From the bytes of all peers, in turns, to the bytes for all clients.
#[inline(never)]
fn measured(rib: &Rib, streams: &mut [ClientStream], inputs: &[Vec<Vec<u8>>]) -> usize {
    let mut batch = Batch::new();
    let mut sent = 0;
    let longest = inputs.iter().map(Vec::len).max().unwrap_or(0);
    for turn in 0..longest {
        for (peer, reads) in inputs.iter().enumerate() {
            let mut rest = reads.get(turn).map_or(&[][..], Vec::as_slice);
            while let Ok(Some(frame)) = frame::next_frame(rest, frame::MAX_LEN) {
                batch.push(rib, PeerId(peer as u16), frame.body, 0);
                rest = &rest[frame.wire.len()..];
            }
            rib.commit(&mut batch);
        }
        rib.flush();
        sent += streams.iter_mut().map(|s| drain(s, rib)).sum::<usize>();
    }
    sent
}

fn main() {
    let args: Vec<u32> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let peers = args.first().copied().unwrap_or(2);
    let prefixes = args.get(1).copied().unwrap_or(1_000_000);
    let shards = args.get(2).copied().unwrap_or(1) as usize;
    let unique = std::env::args().any(|arg| arg == "unique");
    let first = |peer| if unique { peer * prefixes } else { 0 };
    let bodies: Vec<Vec<Vec<u8>>> = (0..peers)
        .map(|peer| updates(peer, prefixes, first(peer)))
        .collect();
    let has_checks = std::env::args().any(|arg| arg == "checks");
    let data = has_checks.then(|| outside_data(&bodies));
    let inputs: Vec<Vec<Vec<u8>>> = bodies.iter().map(|bodies| reads(bodies)).collect();
    drop(bodies);
    let before = resident();
    let rib = exchange::rib(shards);
    let member = if has_checks {
        checked_neighbor
    } else {
        neighbor
    };
    if let Some(data) = data {
        rib.replace_outside_data(data, || {});
    }
    let mut streams: Vec<ClientStream> = (0..=peers)
        .map(|peer| {
            let id = rib.add_neighbor(member(peer)).expect("few neighbors");
            rib.session_up(id, session(peer)).expect("a client")
        })
        .collect();
    streams.iter_mut().for_each(|stream| {
        drain(stream, &rib);
    });
    let start = Instant::now();
    let sent = measured(&rib, &mut streams, &inputs);
    let took = start.elapsed();
    let routes = f64::from(peers) * f64::from(prefixes);
    let memory = resident() - before;
    println!(
        "{peers} peers x {prefixes} prefixes, {shards} shards: {:.0} ns a route, {:.1} B a route ({:.0} MiB), {} MiB sent",
        took.as_nanos() as f64 / routes,
        memory as f64 / routes,
        memory as f64 / 1048576.0,
        sent >> 20
    );
    for row in rib.memory() {
        println!("  {:>10} {:>12} B  {}", row.count, row.bytes, row.what);
    }
    let start = Instant::now();
    drop(streams.remove(0));
    rib.session_down(PeerId(0), PerFamily::both(Retain::Nothing));
    println!("peer down: {} ms", start.elapsed().as_millis());
}
