//! UPDATEs of other routers and of files: everything that can be read stays as it stands.

use rutter_wire::attr::{self, AttrContext, Attributes, Malformed};

use crate::hex;

const REPORT: AttrContext = AttrContext {
    as4: true,
    external: false,
    accept_as_set: true,
    has_ipv4_nlri: true,
};

fn reported<'a>(block: &'a [u8], context: &AttrContext) -> (Attributes<'a>, Vec<Malformed>) {
    let mut faults = Vec::new();
    let attributes = attr::parse_reported(block, context, &mut faults);
    (attributes, faults)
}

/// The readable values, and each fault with the word for what it does.
fn read(block: &str) -> (String, Vec<String>) {
    let block = hex(block);
    let (attributes, faults) = reported(&block, &REPORT);
    let or = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let values = format!(
        "{} | {} | {} | {}",
        or(attributes.origin().map(|origin| origin.to_string())),
        or(attributes.as_path().map(|path| path.to_string())),
        or(attributes.next_hop().map(|next_hop| next_hop.to_string())),
        or(attributes
            .aggregator()
            .map(|a| format!("{} {}", a.asn, a.router_id))),
    );
    let fault = |fault: &Malformed| match attributes.is_hidden_by(fault) {
        true => format!("hidden: {}", fault.summary()),
        false => format!("shown: {}", fault.summary()),
    };
    (values, faults.iter().map(fault).collect())
}

const ORIGIN: &str = "400101 00";
const PATH: &str = "400206 0201 0000fbf5";
const NEXT_HOP: &str = "400304 c0000201";

#[test]
fn malformed_values_stay_as_they_stand() {
    let zero = "40020a 0202 0000fbf5 00000000";
    let unknown_type = "40020c 0201 0000fbf5 0901 0000fbf6";
    let overrun = "400208 0201 0000fbf5 0205";
    let aggregator = |value: &str| format!("{ORIGIN} {PATH} {NEXT_HOP} {value}");
    for (block, values, faults) in [
        (
            format!("{ORIGIN} {zero} {NEXT_HOP}"),
            "IGP | 64501 0 | 192.0.2.1 | -",
            vec!["shown: AS_PATH: AS number 0 (RFC 7607 §2)"],
        ),
        (
            format!("{ORIGIN} {unknown_type} {NEXT_HOP}"),
            "IGP | 64501 ? | 192.0.2.1 | -",
            vec!["hidden: AS_PATH: undefined path segment type (RFC 7606 §7.2)"],
        ),
        (
            format!("{ORIGIN} {overrun} {NEXT_HOP}"),
            "IGP | 64501 ? | 192.0.2.1 | -",
            vec!["hidden: AS_PATH: path segment exceeds the attribute (RFC 7606 §7.2)"],
        ),
        (
            format!("400102 0000 {PATH} {NEXT_HOP}"),
            "IGP | 64501 | 192.0.2.1 | -",
            vec!["hidden: ORIGIN: wrong length (RFC 7606 §7.1)"],
        ),
        (
            format!("400101 07 {PATH} {NEXT_HOP}"),
            "- | 64501 | 192.0.2.1 | -",
            vec!["hidden: ORIGIN: undefined value (RFC 7606 §7.1)"],
        ),
        (
            aggregator("c00708 00000000 c0000209"),
            "IGP | 64501 | 192.0.2.1 | 0 192.0.2.9",
            vec!["shown: AGGREGATOR: AS number 0 (RFC 7607 §2)"],
        ),
        (
            aggregator("c00706 fbf6 c0000209"),
            "IGP | 64501 | 192.0.2.1 | 64502 192.0.2.9",
            vec!["shown: AGGREGATOR: wrong length (RFC 7606 §7.7)"],
        ),
        (
            aggregator("c00703 010203"),
            "IGP | 64501 | 192.0.2.1 | -",
            vec!["hidden: AGGREGATOR: wrong length (RFC 7606 §7.7)"],
        ),
        (
            aggregator("c008c8 0102"),
            "IGP | 64501 | 192.0.2.1 | -",
            vec!["hidden: COMMUNITIES: the length exceeds the attributes (RFC 7606 §4)"],
        ),
        (
            aggregator("400304 c0000202"),
            "IGP | 64501 | 192.0.2.1 | -",
            vec!["shown: NEXT_HOP: occurs more than once (RFC 7606 §3 (g))"],
        ),
        (
            format!("{ORIGIN} {PATH}"),
            "IGP | 64501 | - | -",
            vec!["shown: NEXT_HOP: mandatory, but missing (RFC 7606 §3 (d))"],
        ),
        (
            format!("c00101 00 {PATH} {NEXT_HOP}"),
            "IGP | 64501 | 192.0.2.1 | -",
            vec!["shown: ORIGIN: wrong Optional or Transitive flag (RFC 7606 §3 (c))"],
        ),
    ] {
        let (found, found_faults) = read(&block);
        assert_eq!(found, values, "{block}");
        assert_eq!(found_faults, faults, "{block}");
    }
}

/// FRR's Loc-RIB: a route of the router's own.
#[test]
fn the_next_hop_of_a_local_route_is_kept() {
    let block = "40010100 50020000 400304 00000000 800404 00000000";
    let (values, faults) = read(block);
    assert_eq!(values, "IGP |  | 0.0.0.0 | -");
    assert_eq!(
        faults,
        ["shown: NEXT_HOP: not the address of a host (RFC 7606 §3 (e))"]
    );
}

#[test]
fn without_faults_both_readers_agree() {
    let block = hex(&format!("{ORIGIN} {PATH} {NEXT_HOP} e06302 ab01"));
    let (attributes, faults) = reported(&block, &REPORT);
    assert_eq!(faults, []);
    assert_eq!(attributes.canonical_slice(), Some(&block[..]));
}

#[test]
fn next_hops_in_mp_reach_nlri() {
    let global = "20010db8000000000000000000000011";
    let context = AttrContext {
        has_ipv4_nlri: false,
        ..REPORT
    };
    let rest = format!("{ORIGIN} {PATH} ");
    for (reach, next_hop, hidden) in [
        (
            format!("800e1a 000201 10 {global} 00 2020010db8"),
            Some("2001:db8::11"),
            None,
        ),
        // An IPv4 next hop for IPv6 routes can be shown.
        (
            "800e0e 000201 04 c0000201 00 2020010db8".into(),
            Some("192.0.2.1"),
            Some(false),
        ),
        ("800e0a 000201 00 00 2020010db8".into(), None, Some(false)),
        (
            "800e0d 000201 03 010203 00 2020010db8".into(),
            None,
            Some(true),
        ),
        ("800e06 000201 40 2001".into(), None, Some(true)),
        ("800e02 0002".into(), None, Some(true)),
    ] {
        let block = hex(&(rest.clone() + &reach));
        let (attributes, faults) = reported(&block, &context);
        let found = attributes
            .mp_next_hop()
            .map(|next_hop| next_hop.to_string());
        assert_eq!(found.as_deref(), next_hop, "{reach}");
        let found = faults.first().map(|fault| attributes.is_hidden_by(fault));
        assert_eq!(found, hidden, "{reach}: {faults:?}");
    }
}

/// The end of a path that cannot be read hides its origin.
#[test]
fn an_unreadable_path_has_no_origin() {
    for (path, text, origin) in [
        ("0201 0000fbf5", "64501", Some(64501)),
        ("0202 0000fbf5 00000000", "64501 0", Some(0)),
        ("0901 0000fbf5", "?", None),
        ("0201 0000fbf5 0901 00030d40", "64501 ?", None),
        ("0201 0000fbf5 02", "64501 ?", None),
    ] {
        let value = hex(path);
        let path = attr::AsPath::new(&value, true);
        let found = (path.to_string(), path.origin().map(|asn| asn.0));
        assert_eq!(found, (text.to_owned(), origin));
    }
}
