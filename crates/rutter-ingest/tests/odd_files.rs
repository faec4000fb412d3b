//! Odd MRT files: they are loaded as they stand, and every reader of a file says the same about it.

#[path = "mrt_model/mod.rs"]
mod mrt_model;
#[path = "../../rutter-mrt/tests/records/mod.rs"]
mod records;

use std::sync::Arc;

use mrt_model::{Loaded, Model};
use records::{announcing, hex, peers, record, table_record, update_record};
use rutter_mrt::Finding;

/// 198.51.100.0/24 of the first peer.
fn ipv4(attributes: &str) -> Vec<u8> {
    [
        peers(),
        table_record(2, "18 c63364", &[(0, "", attributes)]),
    ]
    .concat()
}

/// 2001:db8:1::/48 of the second peer.
fn ipv6(attributes: &str) -> Vec<u8> {
    let entry = (1, "", attributes);
    [peers(), table_record(4, "30 20010db80001", &[entry])].concat()
}

/// An UPDATE from 192.0.2.11 with four-octet AS numbers.
fn update(attributes: &str, nlri: &str) -> Vec<u8> {
    update_record(&announcing(attributes, nlri))
}

/// Each route as `prefix path next-hop`, and the outcome of the last record in words.
fn load(bytes: &[u8]) -> (Vec<String>, String) {
    let loaded = Loaded::of(bytes);
    let model = Model::of(bytes);
    assert_eq!(loaded.routes, model.routes);
    assert_eq!(loaded.outcomes, model.outcomes);
    let routes = loaded.routes.iter().map(|((_, prefix, _), columns)| {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let next_hop = columns.next_hop.map(|next_hop| next_hop.to_string());
        format!(
            "{prefix} [{}] {}",
            or(columns.as_path.clone()),
            or(next_hop)
        )
    });
    (routes.collect(), words(&loaded))
}

/// The outcome of the last record in words.
fn words(loaded: &Loaded) -> String {
    let outcome = loaded.outcomes.last().expect("a record");
    let words = outcome.findings().iter().map(|finding| match finding {
        Finding::Skipped(skipped) => format!("skipped: {skipped}"),
        Finding::Odd(odd) => format!("odd: {odd}"),
        Finding::Unreadable(fault) => format!("unreadable: {fault}"),
    });
    match outcome.is_read() {
        true => "read".into(),
        false => words.collect::<Vec<_>>().join("; "),
    }
}

fn check(bytes: &[u8], routes: &[&str], outcome: &str) {
    let (found, found_outcome) = load(bytes);
    assert_eq!(found, routes, "{found_outcome}");
    assert_eq!(found_outcome, outcome);
}

const ORIGIN: &str = "400101 00";
const PATH: &str = "400206 0201 0000fbf5";
const NEXT_HOP: &str = "400304 c0000201";
const NLRI: &str = "18 cb0071";

#[test]
fn malformed_attributes_of_table_entries_and_updates() {
    for (attributes, route, outcome) in [
        (
            format!("{ORIGIN} 40020a 0202 0000fbf5 00000000 {NEXT_HOP}"),
            "[64501 0] 192.0.2.1",
            "odd: AS_PATH: AS number 0 (RFC 7607 §2)",
        ),
        (
            format!("{ORIGIN} 400206 0901 0000fbf5 {NEXT_HOP}"),
            "[?] 192.0.2.1",
            "unreadable: AS_PATH: undefined path segment type (RFC 7606 §7.2)",
        ),
        (
            format!("400102 0000 {PATH} {NEXT_HOP}"),
            "[64501] 192.0.2.1",
            "unreadable: ORIGIN: wrong length (RFC 7606 §7.1)",
        ),
        (
            format!("{ORIGIN} {PATH} {NEXT_HOP} c008c8 0102"),
            "[64501] 192.0.2.1",
            "unreadable: COMMUNITIES: the length exceeds the attributes (RFC 7606 §4)",
        ),
        (
            format!("{ORIGIN} {PATH} {NEXT_HOP} c00708 00000000 c0000209"),
            "[64501] 192.0.2.1",
            "odd: AGGREGATOR: AS number 0 (RFC 7607 §2)",
        ),
        (
            format!("{ORIGIN} {PATH} {NEXT_HOP} c00706 fbf6 c0000209"),
            "[64501] 192.0.2.1",
            "odd: AGGREGATOR: wrong length (RFC 7606 §7.7)",
        ),
        (
            format!("{ORIGIN} {PATH}"),
            "[64501] -",
            "odd: NEXT_HOP: mandatory, but missing (RFC 7606 §3 (d))",
        ),
        (
            format!("{ORIGIN} {PATH} 400304 00000000"),
            "[64501] 0.0.0.0",
            "read",
        ),
    ] {
        check(
            &ipv4(&attributes),
            &[&format!("198.51.100.0/24 {route}")],
            outcome,
        );
        check(
            &update(&attributes, NLRI),
            &[&format!("203.0.113.0/24 {route}")],
            outcome,
        );
    }
}

/// RFC 6396 §4.3.4 shortens MP_REACH_NLRI. Some collectors write all of it, or none.
#[test]
fn ipv6_entries_with_every_form_of_next_hop() {
    let global = "20010db8000000000000000000000011";
    let short = format!("{ORIGIN} {PATH} 800e11 10 {global}");
    let whole = format!("{ORIGIN} {PATH} 800e1c 0002 01 10 {global} 00 30 20010db80001");
    for attributes in [short, whole] {
        check(
            &ipv6(&attributes),
            &["2001:db8:1::/48 [64501] 2001:db8::11"],
            "read",
        );
    }
    let none = format!("{ORIGIN} {PATH}");
    let missing = "odd: NEXT_HOP: mandatory, but missing (RFC 7606 §3 (d))";
    check(&ipv6(&none), &["2001:db8:1::/48 [64501] -"], missing);
}

#[test]
fn broken_mp_reach_nlri_is_counted() {
    let own = format!("{ORIGIN} {PATH} {NEXT_HOP}");
    let route = ["203.0.113.0/24 [64501] 192.0.2.1"];
    for (reach, outcome) in [
        (
            "800e02 0002",
            "unreadable: MP_REACH_NLRI: too short for its fixed fields (RFC 7606 §7.11)",
        ),
        (
            "800e06 000201 40 2001",
            "unreadable: MP_REACH_NLRI: wrong next hop length (RFC 7606 §7.11)",
        ),
        (
            "800ec8 0002",
            "unreadable: MP_REACH_NLRI: the length exceeds the attributes (RFC 7606 §3 (j))",
        ),
    ] {
        check(&update(&format!("{own} {reach}"), NLRI), &route, outcome);
        let alone = format!("{ORIGIN} {PATH} {reach}");
        check(&update(&alone, ""), &[], outcome);
    }
    let cut = format!("{ORIGIN} {PATH} 800e0c 000201 04 c0000201 00 30 2001");
    // The next hop has the length of IPv4, too.
    let outcome = "unreadable: MP_REACH_NLRI: prefix cut off (RFC 7606 §5.3); \
                   odd: MP_REACH_NLRI: wrong next hop length (RFC 7606 §7.11)";
    check(&update(&cut, ""), &[], outcome);
}

#[test]
fn the_routes_before_a_malformed_prefix_are_loaded() {
    let attributes = format!("{ORIGIN} {PATH} {NEXT_HOP}");
    check(
        &update(&attributes, "18 cb0071 21 0102030405"),
        &["203.0.113.0/24 [64501] 192.0.2.1"],
        "unreadable: NLRI: prefix length out of range (RFC 7606 §5.3)",
    );
    check(
        &update_record(&hex("0005 180a1400 18 0000")),
        &[],
        "unreadable: withdrawn routes: prefix cut off (RFC 7606 §5.3)",
    );
}

/// The part whose length exceeds the UPDATE ends with it.
#[test]
fn an_update_whose_lengths_exceed_it_is_read_up_to_its_end() {
    let attributes = format!("{ORIGIN} {PATH} {NEXT_HOP}");
    let announced = update(&attributes, "18 0a1400 18 cb0071");
    let left = ["203.0.113.0/24 [64501] 192.0.2.1"];
    let exceeds = "unreadable: the lengths inside its UPDATE do not add up";
    for body in [
        format!("0004 180a1400 01f4 {attributes}"),
        "01f4 180a1400".to_owned(),
    ] {
        let bytes = [announced.clone(), update_record(&hex(&body))].concat();
        check(&bytes, &left, exceeds);
    }
    let cut = [announced, update_record(&hex("0004 180a1400"))].concat();
    check(&cut, &left, exceeds);
}

/// A next hop in MP_REACH_NLRI that is cut off is not missing.
#[test]
fn an_unreadable_next_hop_of_an_entry_is_an_error() {
    let head = "400101 00 400206 0201 0000fbf6";
    for reach in [
        "800e05 10 20010db8",
        "800e02 ffff",
        "800e08 0002 01 10 20010db8",
    ] {
        check(
            &ipv6(&format!("{head} {reach}")),
            &["2001:db8:1::/48 [64502] -"],
            "unreadable: MP_REACH_NLRI: wrong next hop length (RFC 7606 §7.11)",
        );
    }
    check(
        &ipv6(&format!("{head} 800e20 10 20010db8")),
        &["2001:db8:1::/48 [64502] -"],
        "unreadable: MP_REACH_NLRI: the length exceeds the attributes (RFC 7606 §3 (j))",
    );
    check(
        &ipv6(&format!("{head} {NEXT_HOP}")),
        &["2001:db8:1::/48 [64502] 192.0.2.1"],
        "odd: IPv6 routes whose next hop is in NEXT_HOP alone",
    );
}

#[test]
fn octets_after_the_content_of_a_record_are_noted() {
    let trailing = "odd: octets after its BGP message or last entry, which are left out";
    let attributes = format!("{ORIGIN} {PATH} {NEXT_HOP}");
    let mut message = update(&attributes, NLRI);
    let mut rib = ipv4(&attributes);
    let start = peers().len();
    for (record, start) in [(&mut message, 0), (&mut rib, start)] {
        record.push(0xff);
        record[start + 11] += 1;
    }
    check(&message, &["203.0.113.0/24 [64501] 192.0.2.1"], trailing);
    check(&rib, &["198.51.100.0/24 [64501] 192.0.2.1"], trailing);
}

#[test]
fn other_families_are_named() {
    let reach = format!("{ORIGIN} {PATH} 800e0d 0001 02 04 c0000201 00 18 cb0071");
    check(
        &update(&reach, ""),
        &[],
        "skipped: UPDATE with IPv4 multicast routes",
    );
    // Its End-of-RIB has no routes.
    check(&update("800f03 000102", ""), &[], "read");
    let multicast = [peers(), record(13, 3, &[0; 9])].concat();
    check(&multicast, &[], "skipped: RIB_IPV4_MULTICAST");
}

/// A table record with two entries of 198.51.100.0/24: peers, path identifiers or nothing, and paths.
fn two_entries(subtype: u16, entries: [(u16, &str, &str); 2]) -> Vec<u8> {
    let [one, two] = entries.map(|(peer, path_id, asn)| {
        let attributes = format!("{ORIGIN} 400206 0201 {asn} {NEXT_HOP}");
        (peer, path_id, attributes)
    });
    let entries = [(one.0, one.1, &*one.2), (two.0, two.1, &*two.2)];
    table_record(subtype, "18 c63364", &entries)
}

/// If a peer has two routes of one path identifier in a record, the later one counts.
#[test]
fn a_peer_that_occurs_again_in_a_record_is_noted() {
    let again = "odd: a peer has two routes of one path identifier, and the later one counts";
    let plain = two_entries(2, [(0, "", "0000fbf5"), (0, "", "0000fbf6")]);
    let later = ["198.51.100.0/24 [64502] 192.0.2.1"];
    check(&[peers(), plain].concat(), &later, again);
    let same = [(0, "00000007", "0000fbf5"), (0, "00000007", "0000fbf6")];
    check(&[peers(), two_entries(8, same)].concat(), &later, again);
    let other = [(0, "00000007", "0000fbf5"), (0, "00000008", "0000fbf6")];
    let both = [
        "198.51.100.0/24 [64501] 192.0.2.1",
        "198.51.100.0/24 [64502] 192.0.2.1",
    ];
    check(&[peers(), two_entries(8, other)].concat(), &both, "read");
}

/// BIRD lists its own routes as peers 0.0.0.0 AS 0. Each entry of the PEER_INDEX_TABLE is a peer of its own.
#[test]
fn equal_entries_of_a_peer_index_table_are_two_peers() {
    let peers =
        hex("09090909 0000 0002 02 00000009 00000000 00000000 02 00000009 00000000 00000000");
    let entries = [(0, "", "0000fbf5"), (1, "", "0000fbf6")];
    let dump = [record(13, 1, &peers), two_entries(2, entries)].concat();
    // A second dump replaces the first.
    let loaded = Loaded::of(&[dump.clone(), dump].concat());
    assert_eq!(words(&loaded), "read");
    let paths = loaded
        .routes
        .values()
        .map(|columns| columns.as_path.clone());
    assert_eq!(
        paths.collect::<Vec<_>>(),
        [Some("64501".into()), Some("64502".into())]
    );
}

/// A route of another family and a fault in one UPDATE are both reported.
#[test]
fn each_kind_of_finding_of_a_record_counts() {
    let reach = format!(
        "{ORIGIN} 40020a 0202 0000fbf5 00000000 {NEXT_HOP} 800e0d 0001 02 04 c0000201 00 18 cb0071"
    );
    check(
        &update(&reach, NLRI),
        &["203.0.113.0/24 [64501 0] 192.0.2.1"],
        "skipped: UPDATE with IPv4 multicast routes; odd: AS_PATH: AS number 0 (RFC 7607 §2)",
    );
    let twice = format!("{ORIGIN} 400206 0901 0000fbf5 {NEXT_HOP} c00707 00000000000000");
    check(
        &ipv4(&twice),
        &["198.51.100.0/24 [?] 192.0.2.1"],
        "unreadable: AS_PATH: undefined path segment type (RFC 7606 §7.2); \
         unreadable: AGGREGATOR: wrong length (RFC 7606 §7.7)",
    );
}

/// The records of 1999 and 2000 (RFC 6396 appendix B.2).
#[test]
fn the_oldest_type_of_log_is_read() {
    let update = hex("fbf5 c000020b fbf4 c0000201 0000 0012
        400101 00 400204 0201 fbf5 400304 c0000201 18 cb0071");
    let routes = ["203.0.113.0/24 [64501] 192.0.2.1"];
    check(&record(5, 1, &update), &routes, "read");
    let down = record(5, 3, &hex("fbf5 c000020b 0006 0001"));
    check(&[record(5, 1, &update), down].concat(), &[], "read");
    check(
        &record(5, 1, &update[..5]),
        &[],
        "unreadable: the record ends too early",
    );
    check(&record(5, 7, &[]), &[], "skipped: BGP without an UPDATE");
    check(&record(9, 1, &[]), &[], "skipped: BGP4PLUS");
}

/// A record of BGP4MP_ET that is shorter than its microseconds.
#[test]
fn a_short_record_does_not_end_the_file() {
    let attributes = format!("{ORIGIN} {PATH} {NEXT_HOP}");
    let bytes = [
        hex("5f5e105b 0011 0001 00000002 0000"),
        update(&attributes, NLRI),
    ]
    .concat();
    let loaded = Loaded::of(&bytes);
    assert_eq!((loaded.outcomes.len(), loaded.routes.len()), (2, 1));
    assert!(loaded.outcomes[0].unreadable().is_some());
}

/// Each seed, each seed cut anywhere, and each seed with one octet changed.
#[test]
fn loader_feed_and_reader_agree_on_every_mutant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/mrt");
    let mut seeds: Vec<_> = std::fs::read_dir(folder).expect("the seeds").collect();
    assert!(seeds.len() >= 3);
    let mut compared = 0;
    for seed in seeds.drain(..) {
        let seed = std::fs::read(seed.expect("a seed").path()).expect("a readable seed");
        let seed = Arc::new(seed);
        let cuts = (0..=seed.len()).map(|at| seed[..at].to_vec());
        let changed = (0..seed.len()).flat_map(|at| {
            let seed = Arc::clone(&seed);
            [0, 1, 0x7f, 0xff, seed[at] ^ 0x10, seed[at].wrapping_add(1)].map(move |octet| {
                let mut mutant = seed.to_vec();
                mutant[at] = octet;
                mutant
            })
        });
        for mutant in cuts.chain(changed) {
            let (loaded, model) = (Loaded::of(&mutant), Model::of(&mutant));
            assert_eq!(loaded.routes, model.routes, "{mutant:02x?}");
            assert_eq!(loaded.outcomes, model.outcomes, "{mutant:02x?}");
            compared += 1;
        }
    }
    assert!(compared > 3_000, "{compared}");
}
