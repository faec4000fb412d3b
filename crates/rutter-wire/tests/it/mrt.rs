//! MRT: bgpdump and our reader read the files that we write; hostile files cause no panic.

use std::net::IpAddr;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;
use rutter_net::{AfiSafi, Asn, Prefix};
use rutter_wire::attr::write_mp_reach;
use rutter_wire::mrt::{
    BgpSession, Content, MrtError, MrtFault, PeerEntry, Record, Records, Rib, RibEntry, Route,
    Timestamp, next_record, write_message, write_peer_index_table, write_rib, write_state_change,
};
use rutter_wire::update::Writer;

use crate::hex;

const TIME: u32 = 1_700_000_000;
/// ORIGIN IGP, AS_PATH 64500 200000, MED 7, COMMUNITIES 64500:1.
const V6_BLOCK: &str = "40010100 40020a02020000fbf400030d40 80040400000007 c00804fbf40001";
/// The same with NEXT_HOP 192.0.2.1.
const V4_BLOCK: &str =
    "40010100 40020a02020000fbf400030d40 400304c0000201 80040400000007 c00804fbf40001";
const GLOBAL: &str = "20010db8000000000000000000000001";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn peers() -> [PeerEntry; 2] {
    [("192.0.2.11", 64500), ("2001:db8::11", 4_200_000_000)].map(|(ip, asn)| PeerEntry {
        bgp_id: 0xc000_020b,
        address: address(ip),
        asn: Asn(asn),
    })
}

fn session(ipv6: bool, as4: bool) -> BgpSession {
    let (peer, local) = match ipv6 {
        true => ("2001:db8::11", "2001:db8::1"),
        false => ("192.0.2.11", "192.0.2.1"),
    };
    BgpSession {
        peer_asn: Asn(64500),
        local_asn: Asn(64501),
        interface: 0,
        peer: address(peer),
        local: address(local),
        as4,
    }
}

/// A dump of three prefixes. For one IPv4 prefix the second next hop is IPv6 (RFC 8950).
fn dump(add_path: bool) -> Vec<u8> {
    let mut out = Vec::new();
    write_peer_index_table(&mut out, TIME, 0xc000_0201, "main", &peers());
    let (v4, v6) = (hex(V4_BLOCK), hex(V6_BLOCK));
    let (near, far) = (hex("c0000201"), hex(GLOBAL));
    let route = |peer_index, attributes, next_hop| Route {
        peer_index,
        originated_s: TIME - 60,
        path_id: 5,
        attributes,
        next_hop,
    };
    let rows: [(&str, Vec<Route<'_>>); 3] = [
        (
            "198.51.100.0/24",
            vec![route(0, &v4, &near), route(1, &v4, &near)],
        ),
        ("203.0.113.0/25", vec![route(1, &v6, &far)]),
        ("2001:db8:5::/48", vec![route(1, &v6, &far)]),
    ];
    for (sequence, (prefix, routes)) in (0..).zip(rows) {
        let prefix: Prefix = prefix.parse().expect("a prefix");
        let left_out = write_rib(&mut out, TIME, sequence, prefix, add_path, routes);
        assert_eq!(left_out, 0);
    }
    out
}

fn update(as4: bool, path_id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let path = if as4 {
        "40020602010000fbf4"
    } else {
        "4002040201fbf4"
    };
    let attributes = hex(&format!("40010100 {path} 400304c0000201"));
    writer.attributes().extend_from_slice(&attributes);
    writer.nlri().extend(hex(&format!("{path_id} 18c63364")));
    writer.finish();
    out
}

fn update_ipv6() -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let attributes = writer.attributes();
    write_mp_reach(attributes, AfiSafi::IPV6_UNICAST, &hex(GLOBAL), |nlri| {
        nlri.extend(hex("3020010db80005"));
    });
    attributes.extend(hex("40010100 40020602010000fbf4"));
    writer.nlri();
    writer.finish();
    out
}

fn log() -> Vec<u8> {
    let mut out = Vec::new();
    let seconds = Timestamp::Seconds(TIME);
    let exact = Timestamp::Microseconds(u64::from(TIME) * 1_000_000 + 123_456);
    write_state_change(&mut out, seconds, &session(false, true), 5, 6);
    write_message(
        &mut out,
        seconds,
        &session(false, true),
        false,
        &update(true, ""),
    );
    write_message(&mut out, exact, &session(true, true), false, &update_ipv6());
    write_message(
        &mut out,
        seconds,
        &session(false, false),
        false,
        &update(false, ""),
    );
    let with_id = update(true, "00000009");
    write_message(&mut out, exact, &session(false, true), true, &with_id);
    write_state_change(&mut out, exact, &session(true, true), 6, 1);
    out
}

/// The lines that `bgpdump -m` prints. The test fails where bgpdump is not installed.
fn bgpdump(name: &str, bytes: &[u8]) -> Vec<String> {
    // Tests run side by side, and each removes its folder.
    let folder = std::env::temp_dir().join(format!("rutter-wire-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the dump");
    let file = folder.join(name);
    std::fs::write(&file, bytes).expect("the dump is written");
    let output = Command::new("bgpdump")
        .arg("-m")
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .expect("bgpdump runs: install the package bgpdump");
    std::fs::remove_file(&file).expect("the dump is removed");
    let _ = std::fs::remove_dir(&folder);
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bgpdump_reads_table_dumps() {
    let tail = "64500 200000|IGP";
    assert_eq!(
        bgpdump("table", &dump(false)),
        [
            format!(
                "TABLE_DUMP2|1700000000|B|192.0.2.11|64500|198.51.100.0/24|{tail}|192.0.2.1|0|7|64500:1|NAG||"
            ),
            format!(
                "TABLE_DUMP2|1700000000|B|2001:db8::11|4200000000|198.51.100.0/24|{tail}|192.0.2.1|0|7|64500:1|NAG||"
            ),
            format!(
                "TABLE_DUMP2|1700000000|B|2001:db8::11|4200000000|203.0.113.0/25|{tail}|2001:db8::1|0|7|64500:1|NAG||"
            ),
            format!(
                "TABLE_DUMP2|1700000000|B|2001:db8::11|4200000000|2001:db8:5::/48|{tail}|2001:db8::1|0|7|64500:1|NAG||"
            ),
        ]
    );
}

#[test]
fn bgpdump_reads_table_dumps_with_path_identifiers() {
    let lines = bgpdump("addpath", &dump(true));
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(
        lines.iter().all(|line| line.contains("64500 200000|IGP")),
        "{lines:#?}"
    );
}

#[test]
fn bgpdump_reads_logs() {
    assert_eq!(
        bgpdump("log", &log()),
        [
            "BGP4MP|1700000000|STATE|192.0.2.11|64500|5|6",
            "BGP4MP|1700000000|A|192.0.2.11|64500|198.51.100.0/24|64500|IGP|192.0.2.1|0|0||NAG||",
            "BGP4MP_ET|1700000000.123456|A|2001:db8::11|64500|2001:db8:5::/48|64500|IGP|2001:db8::1|0|0||NAG||",
            "BGP4MP|1700000000|A|192.0.2.11|64500|198.51.100.0/24|64500|IGP|192.0.2.1|0|0||NAG||",
            "BGP4MP_ET_AP|1700000000.123456|A|192.0.2.11|64500|198.51.100.0/24|9|64500|IGP|192.0.2.1|0|0||NAG||",
            "BGP4MP_ET|1700000000.123456|STATE|2001:db8::11|64500|6|1",
        ]
    );
}

fn contents(bytes: &[u8]) -> Vec<(Record<'_>, Content<'_>)> {
    Records::new(bytes)
        .map(|record| {
            let record = record.expect("a record");
            (record, record.decode().expect("its content"))
        })
        .collect()
}

#[test]
fn the_reader_reads_table_dumps() {
    for add_path in [false, true] {
        let bytes = dump(add_path);
        let contents = contents(&bytes);
        assert_eq!(contents.len(), 4);
        let Content::PeerIndexTable(table) = contents[0].1 else {
            panic!("{:?}", contents[0]);
        };
        assert_eq!((table.collector_id, &*table.view()), (0xc000_0201, "main"));
        let found: Result<Vec<_>, _> = table.peers().collect();
        assert_eq!(found, Ok(peers().to_vec()));
        let ribs: Vec<Rib<'_>> = contents[1..]
            .iter()
            .map(|(record, content)| match content {
                Content::Rib(rib) if record.unix_us == u64::from(TIME) * 1_000_000 => *rib,
                other => panic!("{other:?}"),
            })
            .collect();
        check_ribs(&ribs, add_path);
    }
}

fn check_ribs(ribs: &[Rib<'_>], add_path: bool) {
    let mut rows = Vec::new();
    for rib in ribs {
        assert_eq!(rib.add_path, add_path);
        for entry in rib.entries() {
            let entry = entry.expect("an entry");
            let mut block = Vec::new();
            entry.view().write_canonical(&mut block);
            let next_hop = entry.next_hop().expect("a next hop").to_vec();
            assert_eq!(entry.originated_s, TIME - 60);
            assert_eq!(entry.path_id, if add_path { 5 } else { 0 });
            rows.push((
                rib.sequence,
                rib.prefix.to_string(),
                entry.peer_index,
                block,
                next_hop,
            ));
        }
    }
    let row = |sequence, prefix: &str, peer, block, next_hop| {
        (sequence, prefix.to_owned(), peer, hex(block), hex(next_hop))
    };
    let expected = [
        row(0, "198.51.100.0/24", 0, V4_BLOCK, "c0000201"),
        row(0, "198.51.100.0/24", 1, V4_BLOCK, "c0000201"),
        row(1, "203.0.113.0/25", 1, V6_BLOCK, GLOBAL),
        row(2, "2001:db8:5::/48", 1, V6_BLOCK, GLOBAL),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn next_hops_of_entries_that_are_not_shortened() {
    let whole = format!("800e1a 0002 01 10 {GLOBAL} 00 20 20010db8");
    let without_nlri = format!("800e15 0002 01 10 {GLOBAL} 00");
    let without_reserved = format!("800e14 0002 01 10 {GLOBAL}");
    let short = format!("800e11 10 {GLOBAL}");
    for (attribute, expected) in [
        (&*whole, GLOBAL),
        (&*without_nlri, GLOBAL),
        (&*without_reserved, GLOBAL),
        (&*short, GLOBAL),
        ("400304 c0000201", "c0000201"),
    ] {
        let attributes = hex(attribute);
        let entry = RibEntry {
            peer_index: 0,
            originated_s: TIME,
            path_id: 0,
            attributes: &attributes,
        };
        assert_eq!(entry.next_hop(), Some(&hex(expected)[..]), "{attribute}");
    }
    let attributes = hex("40010100 800e05 0002 01 10 20");
    let entry = RibEntry {
        peer_index: 0,
        originated_s: TIME,
        path_id: 0,
        attributes: &attributes,
    };
    assert_eq!(entry.next_hop(), None, "cut off");
}

#[test]
fn the_reader_reads_logs() {
    let bytes = log();
    let seconds = u64::from(TIME) * 1_000_000;
    let text: Vec<String> = contents(&bytes)
        .into_iter()
        .map(|(record, content)| {
            let micros = record.unix_us - seconds;
            match content {
                Content::StateChange(s) => {
                    format!("{micros} {} {}>{}", s.session.peer, s.old, s.new)
                }
                Content::Message(m) => format!(
                    "{micros} {} as4 {} add-path {} {}",
                    m.session.peer,
                    m.session.as4,
                    m.add_path,
                    m.message.len()
                ),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(
        text,
        [
            "0 192.0.2.11 5>6",
            "0 192.0.2.11 as4 true add-path false 47",
            "123456 2001:db8::11 as4 true add-path false 68",
            "0 192.0.2.11 as4 false add-path false 45",
            "123456 192.0.2.11 as4 true add-path true 51",
            "123456 2001:db8::11 6>1",
        ]
    );
}

#[test]
fn golden_records() {
    let mut out = Vec::new();
    write_state_change(
        &mut out,
        Timestamp::Seconds(TIME),
        &session(false, true),
        5,
        6,
    );
    let state = "6553f100 0010 0005 00000018
                 0000fbf4 0000fbf5 0000 0001 c000020b c0000201 0005 0006";
    assert_eq!(out, hex(state));
    out.clear();
    let exact = Timestamp::Microseconds(u64::from(TIME) * 1_000_000 + 1);
    write_message(&mut out, exact, &session(false, false), true, &[0xab]);
    let message = "6553f100 0011 0008 00000015
                   00000001 fbf4 fbf5 0000 0001 c000020b c0000201 ab";
    assert_eq!(out, hex(message));
    out.clear();
    write_peer_index_table(&mut out, TIME, 0xc000_0201, "", &peers()[..1]);
    let table = "6553f100 000d 0001 00000015
                 c0000201 0000 0001 02 c000020b c000020b 0000fbf4";
    assert_eq!(out, hex(table));
    out.clear();
    let route = Route {
        peer_index: 1,
        originated_s: TIME,
        path_id: 0,
        attributes: &hex("40010100 c00804fbf40001"),
        next_hop: &hex(GLOBAL),
    };
    let prefix = "2001:db8::/32".parse().expect("a prefix");
    write_rib(&mut out, TIME, 7, prefix, false, [route]);
    let rib = format!(
        "6553f100 000d 0004 00000032 00000007 20 20010db8 0001
         0001 6553f100 001f 40010100 c00804fbf40001 800e1110{GLOBAL}"
    );
    assert_eq!(out, hex(&rib));
}

#[test]
fn faults_of_a_file() {
    let cut = hex("6553f100 000d 0001 00000015 c0000201");
    assert_eq!(next_record(&cut), Ok(None));
    let error = |offset, fault| MrtError { offset, fault };
    let whole = hex("6553f100 0063 0000 00000000");
    let file = [&whole[..], &cut].concat();
    let results: Vec<_> = Records::new(&file).map(|r| r.map(|r| r.kind)).collect();
    assert_eq!(
        results,
        [Ok(0x63), Err(error(12, MrtFault::RecordTruncated))]
    );
    // BGP4MP_ET without room for its microseconds: the next record can be read.
    let short = hex("5f5e105b 0011 0001 00000002 0000");
    let file = [&short[..], &whole].concat();
    let records: Vec<_> = Records::new(&file).flatten().collect();
    assert_eq!(records.len(), 2);
    let fault = records[0].decode().err();
    assert_eq!(fault, Some(error(0, MrtFault::BodyTruncated)));
    let long = hex("6553f100 000d 0001 ffffffff");
    assert_eq!(next_record(&long), Err(error(0, MrtFault::RecordTooLong)));
    for (body, fault) in [
        ("000d 0002 00000004 00000000", MrtFault::BodyTruncated),
        (
            "000d 0002 0000000a 00000000 21 0000000000",
            MrtFault::PrefixLength,
        ),
        (
            "0010 0004 0000000c 0000fbf4 0000fbf4 0000 0003",
            MrtFault::AddressFamily,
        ),
    ] {
        let file = hex(&format!("6553f100 {body}"));
        let record = next_record(&file).ok().flatten().expect(body);
        assert_eq!(record.decode().err(), Some(error(0, fault)), "{body}");
    }
}

proptest! {
    #[test]
    fn hostile_files_harm_nobody(
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in 0usize..800,
        table: bool,
        add_path: bool,
    ) {
        let mut bytes = if table { dump(add_path) } else { log() };
        for (index, octet) in edits {
            let at = index.index(bytes.len());
            bytes[at] = octet;
        }
        bytes.truncate(keep);
        for record in Records::new(&bytes) {
            match record.map(|record| record.decode()) {
                Ok(Ok(Content::PeerIndexTable(table))) => drop(table.peers().count()),
                Ok(Ok(Content::Rib(rib))) => {
                    for entry in rib.entries().flatten() {
                        let mut block = Vec::new();
                        entry.view().write_canonical(&mut block);
                        prop_assert!(entry.next_hop().is_none_or(|hop| hop.len() <= 255));
                    }
                }
                Ok(_) => {}
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }
}
