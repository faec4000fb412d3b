//! The warnings about a router: one for each session and kind, or for each family that is not kept.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rutter_net::Asn;
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_service::ShutdownSignal;
use rutter_wire::bmp::{PeerHeader, RibView, next_packet, write_peer_up, write_route_monitoring};
use rutter_wire::open::Open;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, span};

use super::peer_shares::PeerShares;
use super::router::Router;
use super::status::RouterStatus;
use crate::writer::Writer;

/// Keeps the messages of all warnings.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.0 += &format!("{value:?}"),
            "peer" | "family" => self.0 += &format!(": {value:?}"),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "fault" {
            self.0 += &format!(": {value}");
        }
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().expect("the log").push(message.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(self.1.fetch_add(1, Ordering::Relaxed) as u64 + 1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The neighbor 192.0.2.x of AS 64501.
fn neighbor(last_octet: u8) -> PeerHeader {
    let address = [192, 0, 2, last_octet].into();
    PeerHeader::global(address, Asn(64_501), 9, RibView::AdjRibInPre)
}

/// A Route Monitoring message with an UPDATE, whose body is hex.
fn monitoring(peer: &PeerHeader, body: &str) -> Vec<u8> {
    let body: Vec<u8> = body
        .split(' ')
        .flat_map(|part| (0..part.len() / 2).map(move |at| &part[2 * at..2 * at + 2]))
        .map(|octet| u8::from_str_radix(octet, 16).expect("hex"))
        .collect();
    let mut update = vec![0xff; 16];
    update.extend((body.len() as u16 + 19).to_be_bytes());
    update.push(2);
    update.extend(body);
    let mut out = Vec::new();
    write_route_monitoring(&mut out, peer, &update);
    out
}

/// A Peer Up of a session without path identifiers.
fn up(peer: &PeerHeader) -> Vec<u8> {
    let (mut open, mut out) = (Vec::new(), Vec::new());
    Open::new(Asn(64_501), 90, 9, Vec::new()).encode(&mut open);
    let local = "192.0.2.1".parse().expect("an address");
    write_peer_up(&mut out, peer, local, (179, 179), &open, &open, &[]);
    out
}

/// The router after these messages, and its warnings.
fn warnings(messages: &[Vec<u8>]) -> (RouterStatus, Vec<String>) {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 1,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        let writer = Writer::new(rib, ShutdownSignal::new());
        let address = "192.0.2.9:50000".parse().expect("an address");
        let mut router = Router::new(writer, address, 100, &PeerShares::default(), 0);
        for bytes in messages {
            let packet = next_packet(bytes, 1 << 20).expect("framing");
            let packet = packet.expect("a whole message");
            router.handle(&packet.decode().expect("a message"), 0);
        }
        let warnings = log.0.lock().expect("the log").clone();
        (router.status(), warnings)
    })
}

#[test]
fn routes_without_a_peer_up_are_logged_once_for_each_session() {
    let end_of_rib = |last_octet| monitoring(&neighbor(last_octet), "0000 0000");
    let (status, warnings) = warnings(&[11, 12, 11, 12, 11].map(end_of_rib));
    assert_eq!(status.unknown, 5);
    let why = "the router reports routes, but there is no Peer Up in force for their session: they are not shown";
    let expected = ["192.0.2.11", "192.0.2.12"].map(|peer| format!("{why}: {peer}"));
    assert_eq!(warnings, expected);
}

/// The field with the malformed prefix, and the offset in it.
#[test]
fn a_malformed_prefix_is_logged_with_its_field() {
    let peer = neighbor(11);
    for (body, field) in [
        ("0005 180a1400 18 0000", "Withdrawn Routes at octet 4"),
        (
            "0000 0014 40010100 400206 0201 0000fbf5 400304 c0000201 18cb0071 18",
            "NLRI at octet 4",
        ),
        (
            "0000 000f 800f0c 0002 01 30 20010db80001 30 20",
            "MP_UNREACH_NLRI at octet 10",
        ),
        (
            "0000 0028 40010100 400206 0201 0000fbf5 800e18 0002 01 10 20010db8000000000000000000000011 00 30 20 01",
            "MP_REACH_NLRI at octet 21",
        ),
    ] {
        let (status, warnings) = warnings(&[up(&peer), monitoring(&peer, body)]);
        assert_eq!(status.malformed, 1, "{body}");
        let what = "the router reports a malformed UPDATE: what can be read of it is shown";
        let expected = format!("{what}: 192.0.2.11: {field}: prefix cut off (RFC 7606 §5.3)");
        assert_eq!(warnings, [expected], "{body}");
    }
}

/// 203.0.113.0/24 as a multicast route.
const MULTICAST: &str =
    "0000 001d 40010100 400206 0201 0000fbf5 800e0d 0001 02 04 c0000201 00 18 cb0071";

/// Routes of other families are counted by family, and logged once for all sessions of the router.
#[test]
fn other_families_are_counted_and_logged_once() {
    let (one, two) = (neighbor(11), neighbor(12));
    let (status, warnings) = warnings(&[
        up(&one),
        up(&two),
        monitoring(&one, MULTICAST),
        monitoring(&two, MULTICAST),
        // Withdrawn.
        monitoring(&one, "0000 000a 800f07 0001 02 18 cb0071"),
        monitoring(&one, "0000 0009 800f06 4004 47 000000"),
        // End-of-RIB has no routes, and unicast is kept.
        monitoring(&one, "0000 0006 800f03 0001 02"),
        monitoring(&one, "0000 000d 800f0a 0002 01 30 20010db80001"),
    ]);
    let counts = status.other_families.iter();
    let counts = counts.map(|one| (one.afi_safi.map(|of| of.to_string()), one.updates));
    let name = |name: &str| Some(name.to_owned());
    let expected = [(name("ipv4-multicast"), 3), (name("bgp-ls"), 1)];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    assert_eq!((status.malformed, status.unknown), (0, 0));
    let what = "the router reports routes of a family that Rutter does not keep: they are left out. \
                Let it report IPv4 and IPv6 unicast alone, or ignore this line";
    let expected = ["ipv4-multicast", "bgp-ls"].map(|family| format!("{what}: {family}"));
    assert_eq!(warnings, expected);
}
