//! Odd records: each reader gets the same entries, and the report names each kind of finding.

mod records;

use std::cell::RefCell;
use std::convert::Infallible;
use std::fs;

use records::{announcing, hex, record, table_record, update_record};
use rutter_mrt::{FilePeer, Input, PeerEvent, PeerReader, Progress, Reader, RecordOutcome};
use rutter_mrt::{UpdateReader, find_files};
use rutter_wire::mrt::Records;

/// Two equal peers, as BIRD lists its own routes.
const PEERS: &str =
    "09090909 0000 0002 02 00000009 00000000 00000000 02 00000009 00000000 00000000";

const ATTRIBUTES: &str = "400101 00 400206 0201 0000fbf5 400304 c0000201";

/// A record of 10.23.1.0/24 with an entry for each peer and path identifier, or nothing.
fn rib(subtype: u16, entries: &[(u16, &str)]) -> Vec<u8> {
    let entry = |&(peer, path_id)| (peer, path_id, ATTRIBUTES);
    let entries: Vec<_> = entries.iter().map(entry).collect();
    table_record(subtype, "18 0a1701", &entries)
}

/// The peer of each route, and the outcome of the last record in words.
fn read(bytes: &[u8]) -> (Vec<FilePeer>, Vec<String>) {
    let (mut reader, mut updates) = (PeerReader::new(), UpdateReader::default());
    let (mut peers, mut last) = (Vec::new(), RecordOutcome::READ);
    for record in Records::new(bytes) {
        last = reader.read(&record.unwrap(), |_, peer, event| match event {
            PeerEvent::Update(update) => {
                peers.push(*peer);
                updates.read(update.body, update.form).outcome
            }
            _ => RecordOutcome::READ,
        });
    }
    let words = last.findings().iter().map(ToString::to_string);
    (peers, words.collect())
}

const AGAIN: &str = "a peer has two routes of one path identifier, and the later one counts";

#[test]
fn each_entry_of_a_peer_index_table_is_a_peer() {
    let table = record(13, 1, &hex(PEERS));
    let both = rib(2, &[(0, ""), (1, "")]);
    let (peers, words) = read(&[table.clone(), both.clone(), table, both].concat());
    assert!(words.is_empty(), "{words:?}");
    let listed: Vec<u32> = peers.iter().map(|peer| peer.listed_before).collect();
    assert_eq!(listed, [0, 1, 0, 1]);
}

#[test]
fn a_route_that_occurs_again_is_noted() {
    let table = record(13, 1, &hex(PEERS));
    let read = |entries| read(&[table.clone(), entries].concat()).1;
    let (one, two) = ("00000001", "00000002");
    assert_eq!(read(rib(2, &[(0, ""), (0, "")])), [AGAIN]);
    assert_eq!(read(rib(8, &[(0, one), (0, one)])), [AGAIN]);
    assert!(read(rib(8, &[(0, one), (0, two), (1, one)])).is_empty());
}

/// The notes about a file.
fn report(name: &str, bytes: &[u8]) -> (Vec<String>, Result<(), String>) {
    let path = std::env::temp_dir().join(format!("rutter-mrt-{name}-{}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let lines = RefCell::new(Vec::new());
    let shown = |line: &str| {
        let line = line.replace(&path.display().to_string(), "FILE");
        lines.borrow_mut().push(line);
    };
    let mut reader = Reader::new(&Progress::new(), &shown);
    let (mut peers, mut updates) = (PeerReader::new(), UpdateReader::default());
    let inputs: Vec<Input> = find_files(std::slice::from_ref(&path)).unwrap();
    let read = reader.read(&inputs[0], |record| {
        Ok::<_, Infallible>(peers.read(record, |_, _, event| match event {
            PeerEvent::Update(update) => updates.read(update.body, update.form).outcome,
            _ => RecordOutcome::READ,
        }))
    });
    read.unwrap();
    fs::remove_file(&path).unwrap();
    let verdict = reader.verdict();
    drop(reader);
    (lines.into_inner(), verdict)
}

/// A multicast route, AS 0 in AGGREGATOR, and an unknown path segment in one UPDATE.
#[test]
fn a_record_counts_for_each_kind_of_finding() {
    let attributes = "400101 00 400206 0901 0000fbf5 c00708 00000000 c0000209
        800e0d 0001 02 04 c0000201 00 18 cb0071";
    let (lines, verdict) = report("findings", &update_record(&announcing(attributes, "")));
    let path = "AS_PATH: undefined path segment type (RFC 7606 §7.2)";
    let aggregator = "AGGREGATOR: AS number 0 (RFC 7607 §2)";
    let multicast = "UPDATE with IPv4 multicast routes";
    let record = "FILE: MRT record at octet 0";
    let one = "FILE: 1 of 1 records";
    let expected = [
        format!("error: {record}: {path}"),
        format!("note: {record}: {aggregator}"),
        format!("note: {record}: {multicast}"),
        format!("error: {one} could not be read, or not completely: 1 × {path}"),
        format!(
            "note: {one} were read as they stand, although an RFC forbids it: 1 × {aggregator}"
        ),
        format!("note: {one} hold other things than IPv4 and IPv6 unicast routes: 1 × {multicast}"),
    ];
    assert_eq!(lines, expected);
    assert!(verdict.is_err());
}

const EXCEEDS: &str = "the lengths inside its UPDATE do not add up";

/// The part whose length exceeds the UPDATE ends with it, and its routes count.
#[test]
fn an_update_whose_lengths_exceed_it_is_read_up_to_its_end() {
    for update in [
        "0004 180a1400 01f4 40010100 40020a 0202 0000fbf5 0000fde8 400304 c0000201",
        "01f4 180a1400",
        "0004 180a1400",
    ] {
        let (mut withdrawn, mut updates) = (Vec::new(), UpdateReader::default());
        let bytes = update_record(&hex(update));
        let mut records = Records::new(&bytes).map(Result::unwrap);
        let outcome = PeerReader::new().read(&records.next().unwrap(), |_, _, event| {
            let PeerEvent::Update(update) = event else {
                panic!("{event:?}");
            };
            let routes = updates.read(update.body, update.form);
            withdrawn.extend(
                routes
                    .withdrawn
                    .iter()
                    .map(|(prefix, _)| prefix.to_string()),
            );
            routes.outcome
        });
        let findings = outcome.findings().iter().map(ToString::to_string);
        assert_eq!(findings.collect::<Vec<_>>(), [EXCEEDS]);
        assert_eq!(withdrawn, ["10.20.0.0/24"]);
    }
}

#[test]
fn a_malformed_withdrawn_prefix_is_named() {
    let words = read(&update_record(&hex("0005 180a1400 18 0000"))).1;
    assert_eq!(words, ["withdrawn routes: prefix cut off (RFC 7606 §5.3)"]);
}

/// A second message in a record, and octets after the last entry.
#[test]
fn octets_after_the_content_of_a_record_are_noted() {
    let table = record(13, 1, &hex(PEERS));
    let (mut message, mut rib) = (update_record(&[0; 4]), rib(2, &[(0, "")]));
    for record in [&mut message, &mut rib] {
        record.push(0xff);
        record[11] += 1;
    }
    let trailing = "octets after its BGP message or last entry, which are left out";
    assert_eq!(read(&message).1, [trailing]);
    assert_eq!(read(&[table, rib].concat()).1, [trailing]);
}

/// 2001:db8:1::/48 with these attributes.
fn ipv6(attributes: &str) -> Vec<u8> {
    let attributes = format!("400101 00 400206 0201 0000fbf6 {attributes}");
    let record_of_it = table_record(4, "30 20010db80001", &[(0, "", &attributes)]);
    [record(13, 1, &hex(PEERS)), record_of_it].concat()
}

/// A next hop in MP_REACH_NLRI that is cut off is not missing.
#[test]
fn an_unreadable_next_hop_of_an_entry_is_an_error() {
    let wrong = "MP_REACH_NLRI: wrong next hop length (RFC 7606 §7.11)";
    for reach in [
        "800e05 10 20010db8",
        "800e02 ffff",
        "800e08 0002 01 10 20010db8",
    ] {
        assert_eq!(read(&ipv6(reach)).1, [wrong], "{reach}");
    }
    let exceeds = "MP_REACH_NLRI: the length exceeds the attributes (RFC 7606 §3 (j))";
    assert_eq!(read(&ipv6("800e20 10 20010db8")).1, [exceeds]);
    let alone = "IPv6 routes whose next hop is in NEXT_HOP alone";
    assert_eq!(read(&ipv6("400304 c0000201")).1, [alone]);
    let missing = "NEXT_HOP: mandatory, but missing (RFC 7606 §3 (d))";
    assert_eq!(read(&ipv6("")).1, [missing]);
}
