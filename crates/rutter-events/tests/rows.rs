//! The feed as rows: their contents, their numbers, and the golden file of their JSON form.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rutter_events::{COLUMNS, Decoder, JsonRow, Now, Row, state_rows};
use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::*;
use rutter_wire::attr::{self, code};
use rutter_wire::{nlri, update};

const START: Now = Now {
    unix_us: 1_795_000_000_000_000,
    monotonic_us: 0,
};

fn at(ms: u64) -> Now {
    Now {
        unix_us: START.unix_us + ms * 1000,
        monotonic_us: ms * 1000,
    }
}

fn table() -> Rib {
    Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    })
}

fn neighbor() -> Neighbor {
    Neighbor {
        name: "amsterdam 1".into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        kind: PeerKind::Collector,
        local_asn: Asn(64_500),
        remote_asn: Asn(64_501),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(64_500),
            peer_asn: Asn(64_501),
            reject_as_set: false,
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

fn session(add_path_receive: bool) -> SessionInfo {
    let family = FamilyInfo {
        add_path_receive,
        ..FamilyInfo::default()
    };
    SessionInfo {
        remote_bgp_id: 7,
        remote_asn: Asn(64_501),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(family)),
        enhanced_refresh: false,
    }
}

fn block() -> Vec<u8> {
    let mut block = Vec::new();
    let path = [
        2, 2, 0, 0, 0xfb, 0xf5, 0, 0, 0xfb, 0xf6, 1, 2, 0, 0, 0, 8, 0, 0, 0, 9,
    ];
    attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
    attr::write_attr(&mut block, 0x40, code::AS_PATH, &path);
    attr::write_attr(&mut block, 0x40, code::NEXT_HOP, &[192, 0, 2, 1]);
    attr::write_attr(&mut block, 0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 50]);
    attr::write_attr(
        &mut block,
        0xc0,
        code::COMMUNITIES,
        &[0xfb, 0xf4, 0, 1, 0xff, 0xff, 2, 0x9a],
    );
    let large = [0, 0, 0xfb, 0xf4, 0, 0, 0, 1, 0, 0, 0, 2];
    attr::write_attr(&mut block, 0xc0, code::LARGE_COMMUNITIES, &large);
    block
}

/// An UPDATE body with withdrawn and announced routes, and with path identifiers if the session negotiated them.
fn body(withdrawn: &[&str], announced: &[&str], path_id: Option<u32>) -> Vec<u8> {
    let encode = |prefixes: &[&str]| {
        let mut out = Vec::new();
        for prefix in prefixes {
            nlri::write_ipv4(&mut out, path_id, prefix.parse().unwrap());
        }
        out
    };
    let block = if announced.is_empty() {
        Vec::new()
    } else {
        block()
    };
    let mut body = Vec::new();
    for section in [encode(withdrawn), block] {
        body.extend((section.len() as u16).to_be_bytes());
        body.extend(section);
    }
    body.extend(encode(announced));
    body
}

fn end_of_rib() -> Vec<u8> {
    let mut message = Vec::new();
    update::write_end_of_rib(&mut message, Family::Ipv6Unicast.afi_safi());
    message.split_off(rutter_wire::frame::HEADER_LEN)
}

fn push(rib: &Rib, peer: PeerId, body: &[u8], ms: u64) {
    let mut batch = Batch::new();
    let pushed = batch.push(rib, peer, body, at(ms).unix_us);
    assert!(pushed.reset.is_none(), "{pushed:?}");
    rib.commit(&mut batch);
}

fn json(row: &Row<'_>) -> String {
    serde_json::to_string(&JsonRow::from(row)).unwrap()
}

/// The life of one peer with an event of every kind, as JSON lines.
fn history() -> Vec<String> {
    let rib = table();
    let (reader, peers) = rib.subscribe(64);
    let mut decoder = Decoder::new("test", &peers, START);
    let mut lines = Vec::new();
    let mut note = |row: &Row<'_>| lines.push(json(row));
    decoder.start(START, &mut note);
    let peer = rib.add_neighbor(neighbor()).unwrap();
    rib.session_up(peer, session(false));
    rib.publish_peer_up(peer, at(10).unix_us);
    push(
        &rib,
        peer,
        &body(&[], &["203.0.113.0/24", "198.51.100.0/24"], None),
        20,
    );
    push(&rib, peer, &end_of_rib(), 30);
    push(&rib, peer, &body(&["198.51.100.0/24"], &[], None), 40);
    let retain = PerFamily::new(Retain::Stale, Retain::Nothing);
    rib.publish_peer_down(peer, retain, "the connection was lost", at(50).unix_us);
    rib.session_down(peer, retain);
    // The next session negotiates path identifiers. Its updates are decoded with them, although the reader is late.
    rib.session_up(peer, session(true));
    rib.publish_peer_up(peer, at(60).unix_us);
    push(&rib, peer, &body(&[], &["192.0.2.0/24"], Some(7)), 70);
    rib.sweep_stale(peer, Family::Ipv4Unicast);
    while let Some(event) = reader.next(Duration::ZERO) {
        decoder.decode(&event, at(80), &mut note);
    }
    decoder.decode(&FeedEvent::Gap { lost: 3 }, at(90), &mut note);
    let stepped = Now {
        unix_us: at(100).unix_us + 3_600_000_000,
        ..at(100)
    };
    decoder.decode(&FeedEvent::Gap { lost: 1 }, stepped, &mut note);
    let state = (decoder.run(), decoder.next_seq());
    state_rows(&rib.snapshot(), "test", state, at(110).unix_us, &mut note);
    decoder.stop(stepped, &mut note);
    lines
}

#[test]
fn the_json_form_is_the_golden_one() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schema/events.jsonl"
    );
    let now = history().join("\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        now, golden,
        "write it anew with UPDATE_GOLDEN=1 if the change is meant"
    );
}

#[test]
fn every_column_of_the_schema_is_one_that_rows_have() {
    let known: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
    for line in history() {
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line).unwrap();
        for key in row.keys() {
            assert!(known.contains(&key.as_str()), "{key} is not in COLUMNS");
        }
    }
}

#[test]
fn events_are_numbered_without_holes() {
    let number = |line: &String| -> u64 {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["seq"].as_u64().unwrap()
    };
    let events: Vec<_> = history()
        .iter()
        .filter(|line| !line.contains(r#""kind":"state""#))
        .map(number)
        .collect();
    assert_eq!(events, (0..events.len() as u64).collect::<Vec<_>>());
}

#[test]
fn malformed_attributes_are_a_withdrawal_as_in_the_table() {
    let rib = table();
    let (reader, peers) = rib.subscribe(64);
    let mut decoder = Decoder::new("test", &peers, START);
    let peer = rib.add_neighbor(neighbor()).unwrap();
    rib.session_up(peer, session(false));
    rib.publish_peer_up(peer, START.unix_us);
    push(&rib, peer, &body(&[], &["203.0.113.0/24"], None), 1);
    let mut broken = body(&[], &["203.0.113.0/24"], None);
    // ORIGIN is 9 (RFC 7606 §7.1).
    let origin = broken
        .windows(4)
        .position(|w| w == [0x40, 1, 1, 0])
        .unwrap();
    broken[origin + 3] = 9;
    push(&rib, peer, &broken, 2);
    assert!(rib.snapshot().is_empty());
    let mut kinds = Vec::new();
    while let Some(event) = reader.next(Duration::ZERO) {
        decoder.decode(&event, at(3), &mut |row| kinds.push(row.kind.name()));
    }
    assert_eq!(kinds, ["peer-up", "announce", "withdraw"]);
}
