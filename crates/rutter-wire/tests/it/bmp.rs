//! BMP: golden bytes, round trips and faults. For hostile streams see `tests/corpus.rs`.

use std::net::IpAddr;

use rutter_net::{AfiSafi, Asn};
use rutter_wire::bmp::{
    BmpFault, Message, Mirrored, PeerDown, PeerHeader, PeerType, RibView, Statistic, Tlv,
    information, next_packet, termination, write_initiation, write_peer_down, write_peer_up,
    write_route_monitoring, write_statistics_report, write_termination,
};
use rutter_wire::open::Open;

use crate::hex;

const MOST: usize = 1 << 20;
/// Global peer 192.0.2.11, AS 64500, identifier 192.0.2.11, at 1,700,000,000.25 s.
const PEER: &str =
    "00 00 0000000000000000 000000000000000000000000c000020b 0000fbf4 c000020b 6553f100 0003d090";
/// An UPDATE that withdraws 198.51.100.0/24.
const UPDATE: &str = "ffffffffffffffffffffffffffffffff 001b 02 0004 18c63364 0000";
const NOTIFICATION: &str = "ffffffffffffffffffffffffffffffff 0015 03 06 02";

fn decode(bytes: &[u8]) -> Message<'_> {
    let packet = next_packet(bytes, MOST).unwrap().unwrap();
    assert_eq!(packet.len, bytes.len());
    packet.decode().unwrap()
}

/// A message around a body in hex.
fn message(version: u8, kind: u8, body: &str) -> Vec<u8> {
    let body = hex(body);
    let len = (body.len() as u32 + 6).to_be_bytes();
    [&[version], &len[..], &[kind], &body].concat()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn open(asn: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Open::new(Asn(asn), 90, 0xc000_020b, Vec::new()).encode(&mut out);
    out
}

#[test]
fn an_update_of_a_monitored_peer() {
    let bytes = message(3, 0, &format!("{PEER} {UPDATE}"));
    let Message::RouteMonitoring(monitored) = decode(&bytes) else {
        panic!("route monitoring");
    };
    let peer = monitored.peer;
    assert_eq!(peer.kind, PeerType::Global);
    assert_eq!(peer.address, address("192.0.2.11"));
    assert_eq!(
        (peer.asn, peer.bgp_id, peer.distinguisher),
        (Asn(64500), 0xc000_020b, 0)
    );
    assert_eq!(peer.unix_us, Some(1_700_000_000_250_000));
    assert_eq!(peer.view(), RibView::AdjRibInPre);
    assert!(peer.as4());
    assert_eq!(monitored.message, hex(UPDATE));
    assert_eq!(monitored.update(), hex("0004 18c63364 0000"));
    let mut again = Vec::new();
    write_route_monitoring(&mut again, &peer, monitored.message);
    assert_eq!(again, bytes);
}

#[test]
fn flags_say_which_table_and_which_form() {
    let with = |kind: u8, flags: u8| {
        let body = format!("{kind:02x}{flags:02x}{} {UPDATE}", &PEER[5..]);
        let bytes = message(3, 0, &body);
        match decode(&bytes) {
            Message::RouteMonitoring(monitored) => (
                monitored.peer.view(),
                monitored.peer.as4(),
                monitored.peer.is_filtered(),
            ),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(with(0, 0x40), (RibView::AdjRibInPost, true, false));
    assert_eq!(with(1, 0x20), (RibView::AdjRibInPre, false, false));
    assert_eq!(with(0, 0x10), (RibView::AdjRibOutPre, true, false));
    assert_eq!(with(2, 0x50), (RibView::AdjRibOutPost, true, false));
    assert_eq!(with(3, 0x80), (RibView::LocRib, true, true));
}

#[test]
fn more_tlvs_are_passed_over() {
    let trailing = message(3, 0, &format!("{PEER} {UPDATE} 0005 0002 abcd"));
    // Version 4: an unknown TLV, then the TLV with the UPDATE, each with an index.
    let later = message(
        4,
        0,
        &format!("{PEER} 0009 0001 0000 ff 0004 001b 0000 {UPDATE}"),
    );
    for bytes in [trailing, later] {
        let Message::RouteMonitoring(monitored) = decode(&bytes) else {
            panic!("route monitoring");
        };
        assert_eq!(monitored.message, hex(UPDATE));
    }
}

#[test]
fn a_session_goes_up_and_down() {
    let peer = PeerHeader::global(
        address("2001:db8::11"),
        Asn(200_000),
        7,
        RibView::AdjRibInPre,
    );
    let mut bytes = Vec::new();
    let (sent, received) = (open(64500), open(200_000));
    let local = address("2001:db8::1");
    let table = Tlv {
        kind: information::TABLE_NAME,
        value: b"blue",
    };
    let ports = (179, 4711);
    write_peer_up(&mut bytes, &peer, local, ports, &sent, &received, &[table]);
    assert!(bytes.ends_with(&hex("0003 0004 626c7565")));
    let Message::PeerUp(up) = decode(&bytes) else {
        panic!("peer up");
    };
    assert_eq!(up.peer, peer);
    assert_eq!(
        (up.local_address, up.local_port, up.remote_port),
        (local, 179, 4711)
    );
    assert_eq!(Open::parse(up.sent_open).unwrap().my_as_field, 64500);
    assert_eq!(Open::parse(up.received_open).unwrap().my_as_field, 23456);
    let name = up.information.find(information::TABLE_NAME).unwrap();
    assert_eq!(name.text(), "blue");
    assert_eq!(
        words(PeerDown::REMOTE_NO_DATA, ""),
        "the peer ended the session"
    );
}

/// The description of a Peer Down with these data.
fn words(reason: u8, data: &str) -> String {
    let peer = PeerHeader::global(address("192.0.2.11"), Asn(64500), 7, RibView::AdjRibInPre);
    let mut bytes = Vec::new();
    write_peer_down(&mut bytes, &peer, reason, &hex(data));
    match decode(&bytes) {
        Message::PeerDown(down) => down.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_down_displays_its_reason() {
    let text = words(PeerDown::REMOTE_NOTIFICATION, NOTIFICATION);
    assert!(
        text.starts_with("the peer sent a NOTIFICATION: ") && text.contains("Shutdown"),
        "{text}"
    );
    assert_eq!(
        words(PeerDown::LOCAL_NOTIFICATION, "00"),
        "the router sent a NOTIFICATION"
    );
    assert_eq!(
        words(PeerDown::LOCAL_EVENT, "000a"),
        "the router ended the session (event 10)"
    );
    assert_eq!(
        words(PeerDown::LOCAL_SYSTEM_CLOSED, "0003 0003 726564"),
        "the router's table red was closed"
    );
    assert_eq!(words(9, ""), "reason 9");
}

#[test]
fn initiation_and_termination_are_decoded() {
    let mut bytes = Vec::new();
    write_initiation(&mut bytes, "edge1.example", "Rutter 0.1");
    let Message::Initiation(tlvs) = decode(&bytes) else {
        panic!("initiation");
    };
    let text = |kind| tlvs.find(kind).unwrap().text();
    assert_eq!(text(information::SYS_NAME), "edge1.example");
    assert_eq!(text(information::SYS_DESCR), "Rutter 0.1");
    bytes.clear();
    write_termination(&mut bytes, 2, "no memory");
    let Message::Termination(tlvs) = decode(&bytes) else {
        panic!("termination");
    };
    assert_eq!(tlvs.find(termination::STRING).unwrap().text(), "no memory");
    assert_eq!(tlvs.find(termination::REASON).unwrap().value, [0, 2]);
    assert_eq!(termination::words(2), "out of resources");
}

#[test]
fn counters_of_all_forms() {
    let body = format!(
        "{PEER} 00000004 0000 0004 00000005 0007 0008 00000000000f4240 0009 000b 000201 0000000000000007 0063 0002 0000"
    );
    let bytes = message(3, 1, &body);
    let Message::StatisticsReport(report) = decode(&bytes) else {
        panic!("statistics");
    };
    let found: Vec<_> = report
        .iter()
        .map(|one| (one.name().unwrap(), one.afi_safi, one.value))
        .collect();
    assert_eq!(
        found,
        [
            ("prefixes rejected by inbound policy", None, 5),
            ("routes in Adj-RIB-In", None, 1_000_000),
            (
                "routes in Adj-RIB-In of a family",
                Some(AfiSafi::IPV6_UNICAST),
                7
            ),
        ]
    );
}

#[test]
fn counters_are_written_in_the_form_of_their_type() {
    let peer = PeerHeader {
        unix_us: Some(1_700_000_000_250_000),
        ..PeerHeader::global(
            address("192.0.2.11"),
            Asn(64500),
            0xc000_020b,
            RibView::AdjRibInPre,
        )
    };
    let written = [
        Statistic::new(Statistic::REJECTED_PREFIXES, 5),
        Statistic::new(Statistic::ADJ_RIB_IN, 1_000_000),
        Statistic::of_family(Statistic::ADJ_RIB_IN_OF_FAMILY, AfiSafi::IPV6_UNICAST, 7),
        Statistic::new(Statistic::TREATED_AS_WITHDRAW, (1 << 32) + 2),
    ];
    let mut bytes = Vec::new();
    write_statistics_report(&mut bytes, &peer, &written);
    let body = format!(
        "{PEER} 00000004 0000 0004 00000005 0007 0008 00000000000f4240 0009 000b 000201 0000000000000007 000b 0004 00000002"
    );
    assert_eq!(bytes, message(3, 1, &body));
    let Message::StatisticsReport(report) = decode(&bytes) else {
        panic!("statistics");
    };
    let read: Vec<_> = report.iter().collect();
    assert_eq!(read[..3], written[..3]);
    assert_eq!(read[3].value, 2, "a counter of 32 bits wraps around");
}

#[test]
fn mirrored_messages() {
    let body = format!("{PEER} 0001 0002 0000 0000 001b {UPDATE} 0001 0002 0001 0007 0000");
    let bytes = message(3, 6, &body);
    let Message::RouteMirroring(mirroring) = decode(&bytes) else {
        panic!("mirroring");
    };
    let update = hex(UPDATE);
    let found: Vec<_> = mirroring.iter().collect();
    assert_eq!(
        found,
        [
            Mirrored::Errored,
            Mirrored::Message(&update),
            Mirrored::Lost
        ]
    );
}

#[test]
fn faults_are_reported() {
    assert_eq!(
        next_packet(b"GET / HTTP", MOST),
        Err(BmpFault::Version(b'G'))
    );
    assert_eq!(
        next_packet(&hex("03 00000005 00"), MOST),
        Err(BmpFault::Length(5))
    );
    assert_eq!(
        next_packet(&hex("03 7fffffff 00"), MOST),
        Err(BmpFault::Length(0x7fff_ffff))
    );
    assert_eq!(next_packet(&hex("03 000000"), MOST), Ok(None));
    let fault = |kind, body: &str| {
        let bytes = message(3, kind, body);
        let packet = next_packet(&bytes, MOST).unwrap().unwrap();
        packet.decode().map(|_| ()).unwrap_err()
    };
    for kind in [0, 1, 2, 3, 6] {
        assert_eq!(fault(kind, "0000"), BmpFault::BodyTruncated);
    }
    assert_eq!(
        fault(0, &format!("{PEER} {NOTIFICATION}")),
        BmpFault::BgpMessage
    );
    assert_eq!(
        fault(0, &format!("{PEER} {}", &UPDATE[..40])),
        BmpFault::BgpMessage
    );
}
