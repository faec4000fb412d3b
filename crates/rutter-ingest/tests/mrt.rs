//! The routes of MRT files of all kinds enter the table as recorded.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use rutter_ingest::{LoadCounts, MrtLoader};
use rutter_mrt::{Input, Progress, Reader, Stream, find_files};
use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_wire::attr::{TRANSITIVE, code, write_attr};
use rutter_wire::mrt::{
    BgpSession, PeerEntry, Route, Timestamp, write_message, write_peer_index_table, write_rib,
    write_state_change,
};
use rutter_wire::nlri::write_ipv4;
use rutter_wire::update::{Sections, write};

const TIME: u32 = 1_700_000_000;

fn rib() -> Arc<Rib> {
    Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }))
}

/// Each route as `peer prefix#path path-of-AS-numbers via next-hop`.
fn routes(rib: &Rib) -> Vec<String> {
    let snapshot = rib.snapshot();
    let mut routes = Vec::new();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                let peer = &snapshot.peer(route.peer).unwrap().neighbor;
                let attributes = route.attrs.attributes();
                routes.push(format!(
                    "{} {}#{} {} via {}",
                    peer.address,
                    destination.prefix,
                    route.path_id,
                    attributes.as_path().unwrap(),
                    route.attrs.next_hop().unwrap()
                ));
            }
        }
    }
    routes.sort();
    routes
}

fn load(rib: &Arc<Rib>, bytes: &[u8]) -> LoadCounts {
    let folder = Folder::new("load");
    let file = folder.file("a", bytes);
    let mut stream = Stream::open(&Input::File(file), &Progress::new()).unwrap();
    let mut loader = MrtLoader::new(rib, "a file");
    while let Some(record) = stream.next_record().unwrap() {
        loader.take(&record).unwrap();
    }
    loader.finish()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let unique = format!("rutter-mrt-{name}-{:?}", std::thread::current().id());
        let path = std::env::temp_dir().join(format!("{unique}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

/// ORIGIN, AS_PATH and, if requested, NEXT_HOP 192.0.2.1.
fn block(asns: &[u32], as4: bool, next_hop: bool) -> Vec<u8> {
    let mut path = vec![2, asns.len() as u8];
    for asn in asns {
        match as4 {
            true => path.extend_from_slice(&asn.to_be_bytes()),
            false => path.extend_from_slice(&(*asn as u16).to_be_bytes()),
        }
    }
    let mut out = Vec::new();
    write_attr(&mut out, TRANSITIVE, code::ORIGIN, &[0]);
    write_attr(&mut out, TRANSITIVE, code::AS_PATH, &path);
    if next_hop {
        write_attr(&mut out, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    }
    out
}

fn table(add_path: bool) -> Vec<u8> {
    let peer = |address: &str, asn| PeerEntry {
        bgp_id: 9,
        address: address.parse().unwrap(),
        asn: Asn(asn),
    };
    let peers = [peer("192.0.2.11", 64501), peer("2001:db8::11", 200_000)];
    let mut out = Vec::new();
    write_peer_index_table(&mut out, TIME, 1, "", &peers);
    let (near, far) = (
        block(&[64501, 64502], true, true),
        block(&[200_000], true, false),
    );
    let v6: std::net::Ipv6Addr = "2001:db8::11".parse().unwrap();
    let v6 = v6.octets();
    let route = |peer_index, path_id, attributes, next_hop| Route {
        peer_index,
        originated_s: TIME,
        path_id,
        attributes,
        next_hop,
    };
    let near = route(0, 4, &near, &[192, 0, 2, 1]);
    let (a, b) = (route(1, 1, &far, &v6), route(1, 2, &far, &v6));
    write_rib(
        &mut out,
        TIME,
        0,
        prefix("198.51.100.0/24"),
        add_path,
        [near, a],
    );
    write_rib(
        &mut out,
        TIME,
        1,
        prefix("2001:db8:1::/48"),
        add_path,
        [a, b],
    );
    out
}

#[test]
fn a_table_dump() {
    let rib = rib();
    let loaded = load(&rib, &table(false));
    assert_eq!(
        (loaded.peers, loaded.announced, loaded.malformed),
        (2, 4, 0)
    );
    assert_eq!(
        routes(&rib),
        [
            "192.0.2.11 198.51.100.0/24#0 64501 64502 via 192.0.2.1",
            "2001:db8::11 198.51.100.0/24#0 200000 via 2001:db8::11",
            "2001:db8::11 2001:db8:1::/48#0 200000 via 2001:db8::11",
        ]
    );
}

#[test]
fn a_table_dump_with_path_identifiers() {
    let rib = rib();
    load(&rib, &table(true));
    assert_eq!(
        routes(&rib),
        [
            "192.0.2.11 198.51.100.0/24#4 64501 64502 via 192.0.2.1",
            "2001:db8::11 198.51.100.0/24#1 200000 via 2001:db8::11",
            "2001:db8::11 2001:db8:1::/48#1 200000 via 2001:db8::11",
            "2001:db8::11 2001:db8:1::/48#2 200000 via 2001:db8::11",
        ]
    );
}

/// A record of the older form with one route and two-octet AS numbers.
fn old(subtype: u16, prefix: &[u8], len: u8, peer: &[u8], attributes: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 7];
    body.extend_from_slice(prefix);
    body.extend_from_slice(&[len, 1]);
    body.extend_from_slice(&TIME.to_be_bytes());
    body.extend_from_slice(peer);
    body.extend_from_slice(&64501u16.to_be_bytes());
    body.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
    body.extend_from_slice(attributes);
    let mut out = TIME.to_be_bytes().to_vec();
    out.extend_from_slice(&[0, 12]);
    out.extend_from_slice(&subtype.to_be_bytes());
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    out
}

#[test]
fn an_older_table_dump() {
    let rib = rib();
    let ipv4 = block(&[64501, 64502], false, true);
    let address: std::net::Ipv6Addr = "2001:db8::11".parse().unwrap();
    let mut ipv6 = block(&[64501], false, false);
    let reach = [&[16][..], &address.octets()].concat();
    write_attr(&mut ipv6, 0x80, code::MP_REACH_NLRI, &reach);
    let mut bytes = old(1, &[198, 51, 100, 0], 24, &[192, 0, 2, 11], &ipv4);
    let net: std::net::Ipv6Addr = "2001:db8:1::".parse().unwrap();
    bytes.extend(old(2, &net.octets(), 48, &address.octets(), &ipv6));
    let loaded = load(&rib, &bytes);
    assert_eq!((loaded.announced, loaded.malformed), (2, 0));
    assert_eq!(
        routes(&rib),
        [
            "192.0.2.11 198.51.100.0/24#0 64501 64502 via 192.0.2.1",
            "2001:db8::11 2001:db8:1::/48#0 64501 via 2001:db8::11",
        ]
    );
}

fn session(as4: bool) -> BgpSession {
    BgpSession {
        peer_asn: Asn(64501),
        local_asn: Asn(64500),
        interface: 0,
        peer: "192.0.2.11".parse().unwrap(),
        local: "192.0.2.1".parse().unwrap(),
        as4,
    }
}

fn update(announced: &[&str], withdrawn: &[&str], as4: bool, path_id: Option<u32>) -> Vec<u8> {
    let nlri = |texts: &[&str]| {
        let mut out = Vec::new();
        for text in texts {
            let Prefix::V4(prefix) = prefix(text) else {
                panic!("{text}");
            };
            write_ipv4(&mut out, path_id, prefix);
        }
        out
    };
    let attributes = match announced {
        [] => Vec::new(),
        _ => block(&[64501, 64502], as4, true),
    };
    let mut out = Vec::new();
    let sections = Sections {
        withdrawn: &nlri(withdrawn),
        attributes: &attributes,
        nlri: &nlri(announced),
    };
    write(&mut out, &sections);
    out
}

#[test]
fn logs_of_messages() {
    let rib = rib();
    let time = Timestamp::Seconds(TIME);
    let exact = Timestamp::Microseconds(u64::from(TIME) * 1_000_000 + 5);
    let mut bytes = Vec::new();
    let both = ["198.51.100.0/24", "203.0.113.0/24"];
    write_message(
        &mut bytes,
        time,
        &session(true),
        false,
        &update(&both, &[], true, None),
    );
    let gone = update(&[], &["203.0.113.0/24"], true, None);
    write_message(&mut bytes, exact, &session(true), false, &gone);
    // The form of AS numbers may differ from one record to the next.
    let more = update(&["192.0.2.0/24"], &[], false, None);
    write_message(&mut bytes, time, &session(false), false, &more);
    load(&rib, &bytes);
    let kept = [
        "192.0.2.11 192.0.2.0/24#0 64501 64502 via 192.0.2.1",
        "192.0.2.11 198.51.100.0/24#0 64501 64502 via 192.0.2.1",
    ];
    assert_eq!(routes(&rib), kept);
}

#[test]
fn a_session_that_ends_takes_its_routes_along() {
    let rib = rib();
    let time = Timestamp::Seconds(TIME);
    let mut bytes = Vec::new();
    let with_path = update(&["198.51.100.0/24"], &[], true, Some(7));
    write_state_change(&mut bytes, time, &session(true), 5, 6);
    write_message(&mut bytes, time, &session(true), true, &with_path);
    // A second connection that fails is not the end of the session.
    write_state_change(&mut bytes, time, &session(true), 4, 1);
    load(&rib, &bytes);
    assert_eq!(
        routes(&rib),
        ["192.0.2.11 198.51.100.0/24#7 64501 64502 via 192.0.2.1"]
    );
    write_state_change(&mut bytes, time, &session(true), 6, 1);
    let again = update(&["203.0.113.0/24"], &[], true, None);
    write_message(&mut bytes, time, &session(true), false, &again);
    let rib = self::rib();
    load(&rib, &bytes);
    assert_eq!(
        routes(&rib),
        ["192.0.2.11 203.0.113.0/24#0 64501 64502 via 192.0.2.1"]
    );
}

#[test]
fn every_packing_is_known_by_its_octets() {
    let folder = Folder::new("packed");
    let bytes = table(false);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&bytes).unwrap();
    let bzip2 = bzip2.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], level);
    for packed in [&bytes, &gzip, &bzip2, &zstd] {
        // Two compressed members in sequence are one file.
        let file = folder.file("file", &[&packed[..], packed].concat());
        let progress = Progress::new();
        let mut stream = Stream::open(&Input::File(file), &progress).unwrap();
        let (mut records, mut before) = (0, 0);
        while stream.next_record().unwrap().is_some() {
            records += 1;
            // Bytes that are read ahead do not count as progress.
            let octets = progress.bytes();
            assert!(before < octets && (records < 6) == (octets < 2 * packed.len() as u64));
            before = octets;
        }
        assert_eq!(records, 6);
        assert_eq!(progress.bytes(), 2 * packed.len() as u64);
    }
}

#[test]
fn folders_are_read_in_the_order_of_names() {
    let folder = Folder::new("names");
    for name in ["b", "a/2", "a/1", ".hidden", "c"] {
        folder.file(name, b"");
    }
    let found = find_files(&[folder.0.clone(), "-".into()]).unwrap();
    let names: Vec<String> = found
        .iter()
        .map(|input| match input {
            Input::File(path) => path.strip_prefix(&folder.0).unwrap().display().to_string(),
            Input::Stdin => "-".into(),
        })
        .collect();
    assert_eq!(names, ["a/1", "a/2", "b", "c", "-"]);
    let missing = find_files(&[folder.0.join("nowhere")]).unwrap_err();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
}

#[test]
fn errors_in_a_file_name_its_place() {
    let folder = Folder::new("broken");
    let bytes = table(false);
    let failure = |bytes: &[u8]| {
        let file = folder.file("file", bytes);
        let mut stream = Stream::open(&Input::File(file), &Progress::new()).unwrap();
        loop {
            match stream.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    assert_eq!(failure(&bytes), None);
    assert_eq!(failure(&[]), None);
    let cut = failure(&bytes[..bytes.len() - 1]).unwrap();
    assert!(cut.contains("ends inside the record"), "{cut}");
    let text = failure(b"\xff\xff\xff\xff this is not an MRT file at all").unwrap();
    assert!(text.contains("not an MRT file"), "{text}");
    let packed = failure(&[0x1f, 0x8b, 8, 0, 1, 2, 3]).unwrap();
    assert!(packed.contains("file: "), "{packed}");
}

/// A record of any type with any body.
fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let mut out = TIME.to_be_bytes().to_vec();
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&subtype.to_be_bytes());
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(body);
    out
}

/// Records with one fault each, and the words of its report.
fn broken() -> Vec<(Vec<u8>, &'static str)> {
    // A prefix of 33 bits; a route of peer 9; attributes that are longer than their block.
    let long = [0, 0, 0, 0, 33, 1, 2, 3, 4, 0, 0, 0];
    let unknown = [&[0, 0, 0, 0, 8, 10, 0, 1, 0, 9][..], &[0; 6]].concat();
    let cut = [
        &[0, 0, 0, 0, 8, 10, 0, 1, 0, 0][..],
        &[0; 4],
        &[0, 3, 64, 1, 9],
    ]
    .concat();
    let mut message = Vec::new();
    let time = Timestamp::Seconds(TIME);
    let mut noise = update(&["198.51.100.0/24"], &[], true, None);
    noise[3] = 0;
    write_message(&mut message, time, &session(true), false, &noise);
    let mut lengths = Vec::new();
    let mut cut_short = update(&["198.51.100.0/24"], &[], true, None);
    cut_short[19] = 0xff;
    write_message(&mut lengths, time, &session(true), false, &cut_short);
    vec![
        (record(13, 2, &[0, 0]), "ends too early"),
        (record(13, 2, &long), "prefix length"),
        (record(13, 2, &unknown), "peer 9 is in no PEER_INDEX_TABLE"),
        (
            record(13, 2, &cut),
            "ORIGIN: the length exceeds the attributes",
        ),
        (record(16, 4, &[0; 40]), "address family"),
        (message, "its BGP message is malformed"),
        (lengths, "inside its UPDATE do not add up"),
    ]
}

#[test]
fn unreadable_records_are_named_counted_and_passed_over() {
    let folder = Folder::new("unreadable");
    let mut bytes = table(false);
    let mut offsets = Vec::new();
    for (broken, _) in broken() {
        offsets.push(bytes.len());
        bytes.extend(broken);
    }
    bytes.extend(record(13, 6, &[0; 9]));
    let behind = update(&["203.0.113.0/24"], &[], true, None);
    let time = Timestamp::Seconds(TIME);
    write_message(&mut bytes, time, &session(true), false, &behind);
    let (good, bad) = (
        folder.file("good", &table(false)),
        folder.file("bad", &bytes),
    );
    let rib = rib();
    let lines = std::cell::RefCell::new(Vec::new());
    let report = |line: &str| lines.borrow_mut().push(line.to_owned());
    let mut reader = Reader::new(&Progress::new(), &report);
    let mut loader = MrtLoader::new(&rib, "a file");
    for path in [good, bad] {
        let read = reader.read(&Input::File(path), |record| loader.take(record));
        read.unwrap();
    }
    let loaded = loader.finish();
    // The route whose attributes are cut off is loaded with those before the cut.
    assert_eq!((loaded.announced, loaded.malformed), (10, 2));
    assert_eq!(
        reader.verdict().unwrap_err(),
        "1 of 2 files could not be read completely"
    );
    // In one record of the table a peer has two routes without path identifiers.
    let (twice, lines): (Vec<_>, Vec<_>) = lines
        .into_inner()
        .into_iter()
        .partition(|line| line.contains("two routes of one path identifier"));
    // A line with the offset and a sum for each file.
    assert_eq!(twice.len(), 4, "{twice:#?}");
    for ((line, offset), (_, words)) in lines.iter().zip(&offsets).zip(broken()).take(5) {
        let place = format!("bad: MRT record at octet {offset}: ");
        assert!(line.contains(&place) && line.contains(words), "{line}");
    }
    assert!(
        lines[5].contains("note: ") && lines[5].contains("RIB_GENERIC"),
        "{lines:#?}"
    );
    assert!(lines[6].contains("7 of 12 records could not be read, or not completely: 1 × "));
    let skipped =
        "1 of 12 records hold other things than IPv4 and IPv6 unicast routes: 1 × RIB_GENERIC";
    assert!(lines[7].contains("note: ") && lines[7].ends_with(skipped));
    assert_eq!(lines.len(), 8, "{lines:#?}");
}

#[test]
fn each_fault_of_a_record_has_its_words() {
    for (bytes, words) in broken() {
        let rib = rib();
        let mut loader = MrtLoader::new(&rib, "a file");
        for record in rutter_wire::mrt::Records::new(&table(false)) {
            // In one record a peer has two routes without path identifiers.
            let outcome = loader.take(&record.unwrap()).unwrap();
            assert_eq!(outcome.unreadable(), None);
        }
        let record = rutter_wire::mrt::next_record(&bytes).unwrap().unwrap();
        let outcome = loader.take(&record).unwrap();
        let why = outcome.unreadable().expect(words);
        assert!(why.to_string().contains(words), "{why} instead of {words}");
    }
}

#[test]
fn peers_of_one_address_are_distinct() {
    let mut bytes = Vec::new();
    let address = "192.0.2.11".parse().unwrap();
    let peer = |asn| PeerEntry {
        bgp_id: 9,
        address,
        asn: Asn(asn),
    };
    write_peer_index_table(&mut bytes, TIME, 1, "", &[peer(64501), peer(64502)]);
    let rib = rib();
    assert_eq!(load(&rib, &bytes).peers, 2);
    let mut found: Vec<(u32, u64)> = rib
        .peers()
        .iter()
        .map(|peer| {
            let monitored = peer.neighbor.monitored.as_ref().unwrap();
            (peer.neighbor.remote_asn.0, monitored.distinguisher)
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(64501, 0), (64502, 1)]);
}
