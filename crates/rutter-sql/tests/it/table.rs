//! A table of two peers and a few routes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_events::{Decoder, Now};
use rutter_net::{Asn, PerFamily, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::{Batch, FamilyInfo, Neighbor, PeerId, PeerKind, Rib, RibConfig, SessionInfo};
use rutter_sql::{Database, EventLog, Limits, Router, live_database, with_routers};
use rutter_wire::attr::{self, code};
use rutter_wire::nlri;

/// The AS numbers of the peers; their addresses end in 1 and 2.
pub const PEERS: [u32; 2] = [64_501, 64_502];

/// A database over [`rib`] with its events.
pub fn database() -> Database {
    let (rib, log) = rib();
    let database = live_database(rib, Some(log), &Limits::default()).unwrap();
    with_routers(database, || vec![router()]).unwrap()
}

fn router() -> Router {
    Router {
        name: "edge 1".into(),
        address: "192.0.2.9:50000".parse().unwrap(),
        description: "a router".into(),
        since_us: 1_795_000_000_000_000,
        peers: 2,
        messages: 10,
        faults: 0,
        unknown: 0,
        malformed: 0,
        without_next_hop: 0,
        without_peer_up: 0,
        mirrored: 0,
        other_families: 0,
    }
}

/// Four prefixes of the first peer, two of the second; one route is rejected for its path.
pub fn rib() -> (Arc<Rib>, EventLog) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    }));
    let now = Now {
        unix_us: 1_795_000_000_000_000,
        monotonic_us: 0,
    };
    let (reader, peers) = rib.subscribe(1 << 10);
    let mut decoder = Decoder::new("test", &peers, now);
    for (index, asn) in PEERS.into_iter().enumerate() {
        let peer = rib.add_neighbor(neighbor(index as u8 + 1, asn)).unwrap();
        rib.session_up(peer, session(asn));
        rib.publish_peer_up(peer, now.unix_us);
    }
    announce(
        &rib,
        0,
        &[64_501, 64_510],
        Some(50),
        &["10.0.0.0/8", "10.1.0.0/16"],
    );
    announce(&rib, 0, &[64_501, 64_511], None, &["203.0.113.0/24"]);
    announce(&rib, 0, &[64_501, 64_500], None, &["198.51.100.0/24"]);
    announce(
        &rib,
        1,
        &[64_502, 64_512, 64_510],
        None,
        &["10.1.0.0/16", "2001:db8::/32"],
    );
    let log = EventLog::new(1_000, 1 << 20);
    while let Some(event) = reader.next(std::time::Duration::ZERO) {
        decoder.decode(&event, now, &mut |row| log.push(row));
    }
    (rib, log)
}

/// Announces prefixes with a path, the community `64500:1` and a large community.
pub fn announce(rib: &Rib, peer: u16, path: &[u32], med: Option<u32>, prefixes: &[&str]) {
    let prefixes: Vec<Prefix> = prefixes.iter().map(|p| p.parse().unwrap()).collect();
    let mut segment = vec![2, path.len() as u8];
    path.iter()
        .for_each(|asn| segment.extend(asn.to_be_bytes()));
    let mut block = Vec::new();
    attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
    attr::write_attr(&mut block, 0x40, code::AS_PATH, &segment);
    attr::write_attr(
        &mut block,
        0x40,
        code::NEXT_HOP,
        &[192, 0, 2, peer as u8 + 1],
    );
    if let Some(med) = med {
        attr::write_attr(&mut block, 0x80, code::MULTI_EXIT_DISC, &med.to_be_bytes());
    }
    attr::write_attr(&mut block, 0xc0, code::COMMUNITIES, &[0xfb, 0xf4, 0, 1]);
    let mut ipv4 = Vec::new();
    for prefix in prefixes {
        match prefix {
            Prefix::V4(prefix) => nlri::write_ipv4(&mut ipv4, None, prefix),
            Prefix::V6(prefix) => {
                let mut reach = vec![0, 2, 1, 16];
                reach.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
                nlri::write_ipv6(&mut reach, None, prefix);
                attr::write_attr(&mut block, 0x80, code::MP_REACH_NLRI, &reach);
            }
        }
    }
    let mut body = vec![0, 0];
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    body.extend(ipv4);
    let mut batch = Batch::new();
    let pushed = batch.push(rib, PeerId(peer), &body, 1_795_000_001_000_000);
    assert!(
        pushed.reset.is_none() && pushed.faults.is_empty(),
        "{pushed:?}"
    );
    rib.commit(&mut batch);
    rib.flush();
}

fn neighbor(index: u8, asn: u32) -> Neighbor {
    Neighbor {
        name: format!("peer {index}").into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, index)),
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(64_500),
        remote_asn: Asn(asn),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(64_500),
            peer_asn: Asn(asn),
            ..ImportSettings::default()
        })),
        export_allowed: false,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
        monitored: None,
    }
}

fn session(asn: u32) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: asn,
        remote_asn: Asn(asn),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(FamilyInfo::default())),
        enhanced_refresh: false,
    }
}
