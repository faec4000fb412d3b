//! The table without sockets: P peers announce a table in UPDATEs of about five prefixes, one monitor hears the
//! best. Prints nanoseconds and octets a route.
//!
//! `cargo bench -p rutter-rib --bench pipeline -- [PEERS] [PREFIXES] [SHARDS]`

use std::time::Instant;

mod exchange;

use exchange::{drain, neighbor, session, updates};
use rutter_rib::*;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let args: Vec<u32> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let peers = args.first().copied().unwrap_or(2);
    let prefixes = args.get(1).copied().unwrap_or(1_000_000);
    let shards = args.get(2).copied().unwrap_or(1) as usize;
    let bodies: Vec<Vec<Vec<u8>>> = (0..peers).map(|peer| updates(peer, prefixes)).collect();
    let before = resident();
    let rib = exchange::rib(shards);
    let mut streams: Vec<ClientStream> = (0..=peers)
        .map(|peer| {
            let id = rib.add_neighbor(neighbor(peer)).expect("few neighbors");
            rib.session_up(id, session(peer)).expect("a client")
        })
        .collect();
    streams.iter_mut().for_each(|stream| {
        drain(stream, &rib);
    });
    let mut batch = Batch::new();
    let mut sent = 0;
    let start = Instant::now();
    let longest = bodies.iter().map(Vec::len).max().unwrap_or(0);
    // Peers take turns, with what one read of a socket brings.
    for turn in (0..longest).step_by(500) {
        for (peer, bodies) in bodies.iter().enumerate() {
            let end = bodies.len().min(turn + 500);
            for body in bodies.get(turn..end).unwrap_or_default() {
                batch.push(&rib, PeerId(peer as u16), body, 0);
            }
            rib.commit(&mut batch);
        }
        rib.flush();
        sent += streams.iter_mut().map(|s| drain(s, &rib)).sum::<usize>();
    }
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
    rib.session_down(PeerId(0), [Retain::Nothing; 2]);
    println!("peer down: {} ms", start.elapsed().as_millis());
}
