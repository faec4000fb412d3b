//! The table without sockets: P peers announce a table in UPDATEs of about five prefixes, one monitor hears the
//! best. Prints nanoseconds and octets a route.
//!
//! `cargo bench -p rutter-rib --bench pipeline -- [PEERS] [PREFIXES] [SHARDS]`

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use rutter_net::{Asn, Ipv4Prefix};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::*;
use rutter_wire::attr::{self, code};
use rutter_wire::nlri;

fn neighbor(peer: u32) -> Neighbor {
    let asn = Asn(1_000 + peer);
    Neighbor {
        name: "".into(),
        address: IpAddr::V4(Ipv4Addr::from_bits(0xc000_0200 + peer)),
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(64_500),
        remote_asn: asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(64_500),
            peer_asn: asn,
            ..ImportSettings::default()
        })),
        monitored: None,
        export_allowed: true,
        default_local_pref: 100,
        block_above: [None; 2],
        add_path_limit: 0,
        role: None,
    }
}

fn session(peer: u32) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: peer + 1,
        remote_asn: Asn(1_000 + peer),
        as4: true,
        max_message_len: 4096,
        families: [Some(FamilyInfo::default()); 2],
        enhanced_refresh: false,
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(below)) >> 32) as u32
    }
}

/// UPDATE bodies of one peer for all prefixes in an order of its own.
fn updates(peer: u32, prefixes: u32) -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_97f4_a7c1 ^ u64::from(peer + 1) << 20);
    let mut order: Vec<u32> = (0..prefixes).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.next(index as u32 + 1) as usize);
    }
    let body = |prefixes: &[u32]| {
        let mut attributes = Vec::new();
        attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, 0];
        path.extend((1_000 + peer).to_be_bytes());
        for _ in 0..1 + random.next(4) {
            path.extend((10_000 + random.next(50_000)).to_be_bytes());
        }
        path[1] = (path.len() / 4) as u8;
        attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
        let next_hop = (0xc000_0200 + peer).to_be_bytes();
        attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &next_hop);
        let count = random.next(8) as usize;
        let communities: Vec<u8> = (0..count)
            .flat_map(|_| (3_000 << 16 | random.next(5_000)).to_be_bytes())
            .collect();
        if count > 0 {
            attr::write_attr(&mut attributes, 0xc0, code::COMMUNITIES, &communities);
        }
        let mut out = vec![0, 0];
        out.extend((attributes.len() as u16).to_be_bytes());
        out.extend(attributes);
        for prefix in prefixes {
            let bits = 0x0100_0000 + (prefix << 8);
            nlri::write_ipv4(&mut out, None, Ipv4Prefix::new(bits, 24).unwrap());
        }
        out
    };
    order.chunks(5).map(body).collect()
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|p| p.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn drain(stream: &mut ClientStream, rib: &Rib) -> usize {
    let mut total = 0;
    loop {
        stream.fill(rib, 1 << 20);
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        stream.slices(&mut slices);
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        drop(slices);
        if len == 0 {
            return total;
        }
        total += len;
        stream.consume(len, 0);
    }
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
    let rib = Rib::new(RibConfig {
        shards,
        router_id: 1,
        log_limit: 32 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    });
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
