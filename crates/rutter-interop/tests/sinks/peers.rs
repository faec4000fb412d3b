//! Peers of one address that differ only in their type (RFC 7854 §4.2) are two peers in the tables, even in tables that
//! an earlier version created.

use std::net::IpAddr;
use std::sync::Arc;

use rutter_events::AttrColumns;
use rutter_interop::Lab;
use rutter_interop::mariadb::MariaDb;
use rutter_interop::postgres::Postgres;
use rutter_net::Asn;
use rutter_sinks::{Batch, Change, PeerKey, Position, Store, StoredPeer};
use rutter_wire::bmp::PeerType;

use crate::{mariadb, postgres};

fn peer(peer_type: PeerType, distinguisher: u64, name: &str) -> Arc<StoredPeer> {
    Arc::new(StoredPeer {
        key: PeerKey {
            router: "edge1".into(),
            address: IpAddr::from([192, 0, 2, 11]),
            distinguisher,
            view: "adj-in-pre",
            peer_type,
        },
        name: name.into(),
        asn: Asn(64_501),
        bgp_id: 7,
        source: "bmp",
    })
}

/// The contents of a schema of the first version: its peers, a position, and events.
const DATA: &str = "
INSERT INTO rutter_collectors (collector, run, next_seq) VALUES ('lab', 7, 3);
INSERT INTO rutter_peers (collector_id, router, peer_address, distinguisher, view, peer_name, peer_asn, source, state, detail) VALUES
    (1, 'edge1', '192.0.2.11', 0, 'adj-in-pre', '192.0.2.11', 64501, 'bmp', 'up', ''),
    (1, 'edge1', '192.0.2.11', 7, 'adj-in-pre', '192.0.2.11 0:7', 64501, 'bmp', 'up', ''),
    (1, 'edge1', '192.0.2.11', 8, 'adj-in-pre', '192.0.2.11 0:8 local', 64501, 'bmp', 'up', ''),
    (1, 'edge1', '127.0.0.1', 0, 'loc-rib', 'loc-rib', 64500, 'bmp', 'up', ''),
    (1, 'a.mrt', '192.0.2.11', 1, 'adj-in-pre', '192.0.2.11 AS9', 9, 'mrt', 'up', ''),
    (1, '', '192.0.2.11', 0, 'adj-in-pre', 'alpha', 64501, 'bgp', 'up', '');
INSERT INTO rutter_events (collector_id, run, seq, time, peer_id, kind, detail) VALUES
    (1, 7, 1, '2026-11-22 12:00:00', 2, 'peer-up', ''), (1, 7, 2, '2026-11-22 12:00:01', 3, 'peer-up', '')";

/// The tables with their rows are migrated, and later events find their peers.
fn is_migrated(store: &mut dyn Store, ask: impl Fn(&str) -> Vec<String>) {
    let first = "CREATE TABLE rutter_schema (version int NOT NULL PRIMARY KEY, applied timestamp NOT NULL DEFAULT now());
        INSERT INTO rutter_schema (version) VALUES (1)";
    ask(first);
    ask(DATA);
    let at = Position {
        run: 7,
        next_seq: 3,
    };
    let held = store.open().unwrap();
    assert_eq!((held.position, held.time_us), (Some(at), None));
    let types = "SELECT peer_id, peer_type FROM rutter_peers ORDER BY peer_id";
    let of_data = [
        "1|global",
        "2|rd",
        "3|local",
        "4|loc-rib",
        "5|global",
        "6|global",
    ];
    assert_eq!(ask(types), of_data);
    assert_eq!(
        ask("SELECT count(*) FROM rutter_history WHERE router = 'edge1'"),
        ["2"]
    );
    let known = [
        peer(PeerType::Global, 0, "192.0.2.11"),
        peer(PeerType::RouteDistinguisher, 7, "192.0.2.11 0:7"),
        peer(PeerType::Local, 8, "192.0.2.11 0:8 local"),
    ];
    let new = [
        peer(PeerType::RouteDistinguisher, 0, "192.0.2.11 0:0"),
        peer(PeerType::Local, 7, "192.0.2.11 0:7 local"),
    ];
    write(store, known.into_iter().chain(new).collect(), at);
    assert_eq!(ask(types)[..6], of_data);
    let routes = "SELECT distinguisher, peer_type, count(*) FROM rutter_routes JOIN rutter_peers USING (peer_id)
        GROUP BY 1, 2 ORDER BY 1, 2";
    let of_all = ["0|global|1", "0|rd|1", "7|local|1", "7|rd|1", "8|local|1"];
    assert_eq!(ask(routes), of_all);
    // Opening migrated tables works the same way.
    store.close();
    rutter_interop::eventually("the collector's lock is free", || {
        store.open().map_err(|why| why.to_string())
    });
    assert_eq!(ask("SELECT max(version) FROM rutter_schema"), ["3"]);
    assert_eq!(ask(routes), of_all);
    store.close();
}

/// Each of the peers announces one prefix.
fn write(store: &mut dyn Store, peers: Vec<Arc<StoredPeer>>, behind: Position) {
    let change = Change {
        time_us: 1_795_000_000_000_000,
        attrs: Some(Arc::new(attrs())),
    };
    let prefix = "198.51.100.0/24".parse().unwrap();
    let of_each = (0..peers.len()).map(|peer| ((peer, prefix, 0), change.clone()));
    let batch = Batch {
        end: Position {
            next_seq: behind.next_seq + 1,
            ..behind
        },
        changes: of_each.collect(),
        peers,
        ..Batch::default()
    };
    store.write(&batch).unwrap();
}

fn attrs() -> AttrColumns {
    AttrColumns {
        origin: None,
        as_path: Some("64501".into()),
        origin_as: Some(Asn(64_501)),
        path_len: 1,
        next_hop: None,
        med: None,
        local_pref: None,
        atomic_aggregate: false,
        aggregator: None,
        communities: Vec::new(),
        extended_communities: Vec::new(),
        large_communities: Vec::new(),
    }
}

#[test]
fn postgres_distinguishes_types_of_peers_in_older_tables() {
    let lab = Lab::new();
    let server = Postgres::start(&lab);
    server.query(include_str!("../../../rutter-sinks/src/postgres/001.sql"));
    let mut store =
        rutter_sinks::postgres::Postgres::new("lab", postgres::database(&server, "postgres"));
    is_migrated(&mut store, |sql| server.query(sql));
}

#[test]
fn mariadb_distinguishes_types_of_peers_in_older_tables() {
    let lab = Lab::new();
    let server = MariaDb::start(&lab);
    server.query(include_str!("../../../rutter-sinks/src/mariadb/001.sql"));
    let mut store =
        rutter_sinks::mariadb::MariaDb::new("lab", mariadb::database(&server, "rutter"));
    is_migrated(&mut store, |sql| server.query(sql));
}
