//! The queries that run on the thread that reads them.

use std::sync::Arc;

use rutter_net::{Asn, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::{Batch, FamilyInfo, Neighbor, PeerKind, Rib, RibConfig, SessionInfo};
use rutter_wire::attr::{self, code};
use rutter_wire::nlri;

use super::RoutesTable;
use crate::{Database, Limits, live_database};

fn rib() -> Rib {
    Rib::new(RibConfig {
        shards: 1,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    })
}

fn database() -> Database {
    live_database(Arc::new(rib()), None, &Limits::default()).unwrap()
}

/// A table in which one peer has this many routes of 192.0.2.0/24.
fn with_routes(count: usize) -> Database {
    let rib = rib();
    let asn = Asn(64_501);
    let neighbor = Neighbor {
        name: "many".into(),
        address: "192.0.2.1".parse().unwrap(),
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
        export_allowed: false,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
        monitored: None,
    };
    let peer = rib.add_neighbor(neighbor).unwrap();
    let family = FamilyInfo {
        add_path_receive: true,
        ..FamilyInfo::default()
    };
    let session = SessionInfo {
        remote_bgp_id: 1,
        remote_asn: asn,
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(family)),
        enhanced_refresh: false,
    };
    rib.session_up(peer, session);
    let mut block = Vec::new();
    attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
    attr::write_attr(&mut block, 0x40, code::AS_PATH, &[2, 1, 0, 0, 0xfb, 0xf5]);
    attr::write_attr(&mut block, 0x40, code::NEXT_HOP, &[192, 0, 2, 1]);
    let mut body = vec![0, 0];
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    for path_id in 0..count as u32 {
        nlri::write_ipv4(&mut body, Some(path_id), "192.0.2.0/24".parse().unwrap());
    }
    let mut batch = Batch::new();
    let pushed = batch.push(&rib, peer, &body, 0);
    assert!(pushed.faults.is_empty(), "{pushed:?}");
    rib.commit(&mut batch);
    live_database(Arc::new(rib), None, &Limits::default()).unwrap()
}

#[tokio::test]
async fn look_ups_of_many_routes_are_not_inline() {
    let few = with_routes(RoutesTable::FEW);
    let many = with_routes(RoutesTable::FEW + 1);
    for from in [
        "lookup('192.0.2.1')",
        "routes WHERE prefix = '192.0.2.0/24'",
    ] {
        let sql = format!("SELECT as_path FROM {from}");
        assert!(short(&few, &sql).await, "{sql}");
        assert!(!short(&many, &sql).await, "{sql}");
    }
}

async fn short(database: &Database, sql: &str) -> bool {
    database.runs_inline(&database.plan(sql).await.unwrap().into_parts().1)
}

#[tokio::test]
async fn look_ups_of_one_prefix_are_inline() {
    let database = database();
    for sql in [
        "SELECT prefix, peer_name, as_path, next_hop, best FROM lookup('192.0.2.1')",
        "SELECT * FROM lookup('2001:db8::/32') AS l",
        "SELECT as_path AS path FROM lookup('192.0.2.1') WHERE best ORDER BY peer_asn LIMIT 1",
        "SELECT as_path FROM lookup('192.0.2.1') WHERE peer_asn = 64500 AND NOT stale",
        "SELECT as_path FROM routes WHERE prefix = '192.0.2.0/24'",
        "SELECT as_path FROM best WHERE prefix = '192.0.2.0/24' AND peer_asn > 64500",
        "SELECT p FROM (SELECT prefix AS p FROM lookup('192.0.2.1')) AS l",
    ] {
        assert!(short(&database, sql).await, "{sql}");
    }
}

#[tokio::test]
async fn queries_that_may_take_long_are_not_inline() {
    let database = database();
    let text = "x".repeat(2_000);
    for sql in [
        "SELECT * FROM routes",
        "SELECT * FROM routes LIMIT 1",
        "SELECT * FROM peers",
        "SELECT 1",
        "SELECT as_path FROM routes WHERE prefix = '192.0.2.0/24' OR best",
        "SELECT as_path FROM routes WHERE prefix >>= '192.0.2.0/24'",
        "SELECT as_path FROM routes WHERE prefix <<= '192.0.2.0/24'",
        "SELECT count(*) FROM lookup('192.0.2.1')",
        "SELECT repeat(as_path, 1000000) FROM lookup('192.0.2.1')",
        "SELECT as_path || as_path FROM lookup('192.0.2.1')",
        "SELECT as_path FROM lookup('192.0.2.1') WHERE as_path ~ '^(1+)+$'",
        "SELECT as_path FROM lookup('192.0.2.1') WHERE peer_asn IN (SELECT peer_asn FROM routes)",
        "SELECT a.prefix FROM lookup('192.0.2.1') AS a, routes AS b",
        "SELECT prefix FROM lookup('192.0.2.1') UNION ALL SELECT prefix FROM routes",
        "SELECT x = y FROM (SELECT as_path = next_hop AS x, as_path < next_hop AS y FROM lookup('192.0.2.1')) AS l",
        &format!("SELECT '{text}' FROM lookup('192.0.2.1')"),
    ] {
        assert!(!short(&database, sql).await, "{sql}");
    }
}
