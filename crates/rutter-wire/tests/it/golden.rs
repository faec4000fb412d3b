//! Golden UPDATEs: hex beside the decoded text, read and written.

use std::fmt::Write as _;

use rutter_net::{AfiSafi, Asn};
use rutter_wire::attr::{
    AsPath, AttrContext, Attributes, OPTIONAL, Origin, TRANSITIVE, code, write_as_path_prepended,
    write_attr, write_mp_reach, write_mp_unreach,
};
use rutter_wire::nlri::{parse_ipv4, parse_ipv6, write_ipv4, write_ipv6};
use rutter_wire::update::{self, Writer, is_end_of_rib, split, write_end_of_rib};

use crate::{EXTERNAL, hex, parse};

/// Writes one line for each part of an UPDATE.
fn text(message: &[u8], context: &AttrContext, add_path: bool) -> String {
    let sections = split(&message[19..]).expect("lengths that fit");
    let (attributes, faults) = parse(sections.attributes, context);
    assert_eq!(faults, []);
    let mut out = String::new();
    ipv4(&mut out, "withdraw", sections.withdrawn, add_path);
    attribute_lines(&mut out, &attributes);
    if let Some(unreach) = attributes.mp_unreach() {
        ipv6(&mut out, "withdraw", unreach.withdrawn, add_path);
    }
    if let Some(reach) = attributes.mp_reach() {
        ipv6(&mut out, "announce", reach.nlri, add_path);
    }
    ipv4(&mut out, "announce", sections.nlri, add_path);
    out
}

fn attribute_lines(out: &mut String, attributes: &Attributes<'_>) {
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            writeln!(out, "{name} {value}").expect("strings grow");
        }
    };
    let joined = |items: Vec<String>| (!items.is_empty()).then(|| items.join(" "));
    let a = attributes;
    line("origin", a.origin().map(|v| v.to_string()));
    line("as_path", a.as_path().map(|v| v.to_string()));
    line("next_hop", a.next_hop().map(|v| v.to_string()));
    line("med", a.multi_exit_disc().map(|v| v.to_string()));
    line("local_pref", a.local_pref().map(|v| v.to_string()));
    line("atomic_aggregate", a.atomic_aggregate().then(String::new));
    line(
        "aggregator",
        a.aggregator().map(|v| format!("{} {}", v.asn, v.router_id)),
    );
    line(
        "communities",
        joined(a.communities().map(|c| c.to_string()).collect()),
    );
    line(
        "originator_id",
        a.originator_id().map(|v| format!("{v:08x}")),
    );
    line(
        "cluster_list",
        joined(a.cluster_list().map(|c| format!("{c:08x}")).collect()),
    );
    let extended = a.extended_communities().map(|c| c.to_string()).collect();
    line("extended", joined(extended));
    line("aigp", a.aigp().map(|v| v.to_string()));
    line(
        "large",
        joined(a.large_communities().map(|c| c.to_string()).collect()),
    );
    line("otc", a.only_to_customer().map(|v| v.to_string()));
}

fn ipv4(out: &mut String, what: &str, bytes: &[u8], add_path: bool) {
    let mut prefixes = Vec::new();
    parse_ipv4(bytes, add_path, &mut prefixes).expect("IPv4 NLRI");
    for (path_id, prefix) in prefixes {
        writeln!(out, "{what} {prefix} {path_id}").expect("strings grow");
    }
}

fn ipv6(out: &mut String, what: &str, bytes: &[u8], add_path: bool) {
    let mut prefixes = Vec::new();
    parse_ipv6(bytes, add_path, &mut prefixes).expect("IPv6 NLRI");
    for (path_id, prefix) in prefixes {
        writeln!(out, "{what} {prefix} {path_id}").expect("strings grow");
    }
}

fn golden(wire: &str, expected: &str, context: &AttrContext, add_path: bool, written: &[u8]) {
    let wire = hex(wire);
    let expected: String = expected
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(text(&wire, context, add_path), expected);
    assert_eq!(
        written, wire,
        "\nwritten {written:02x?}\ngolden  {wire:02x?}"
    );
}

#[test]
fn ipv4_with_many_attributes() {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    write_ipv4(writer.out(), None, "198.51.100.0/25".parse().unwrap());
    let attributes = writer.attributes();
    write_attr(
        attributes,
        TRANSITIVE,
        code::ORIGIN,
        &[Origin::Incomplete as u8],
    );
    let path = hex("02 01 0000fbf5");
    let path = AsPath::new(&path, true);
    write_as_path_prepended(attributes, Some(path), Asn(4_200_000_000), 2);
    write_attr(attributes, TRANSITIVE, code::NEXT_HOP, &[192, 0, 2, 1]);
    write_attr(
        attributes,
        OPTIONAL,
        code::MULTI_EXIT_DISC,
        &100u32.to_be_bytes(),
    );
    write_attr(attributes, TRANSITIVE, code::ATOMIC_AGGREGATE, &[]);
    let optional = OPTIONAL | TRANSITIVE;
    write_attr(
        attributes,
        optional,
        code::AGGREGATOR,
        &hex("0000fbf5 c0000209"),
    );
    write_attr(
        attributes,
        optional,
        code::COMMUNITIES,
        &hex("fbf40001 ffffff01"),
    );
    write_attr(
        attributes,
        optional,
        code::EXTENDED_COMMUNITIES,
        &hex("0002fbf400000007"),
    );
    write_attr(
        attributes,
        optional,
        code::LARGE_COMMUNITIES,
        &hex("0000fbf4 00000001 00000002"),
    );
    write_attr(
        attributes,
        optional,
        code::ONLY_TO_CUSTOMER,
        &hex("0000fbf4"),
    );
    let nlri = writer.nlri();
    write_ipv4(nlri, None, "203.0.113.0/24".parse().unwrap());
    write_ipv4(nlri, None, "0.0.0.0/0".parse().unwrap());
    write_ipv4(nlri, None, "10.1.2.3/32".parse().unwrap());
    assert_eq!(writer.finish(), out.len());
    golden(
        "ffffffffffffffffffffffffffffffff 0083 02
         0005 19c6336400
         005d
         400101 02
         40020e 0203 fa56ea00 fa56ea00 0000fbf5
         400304 c0000201
         800404 00000064
         400600
         c00708 0000fbf5 c0000209
         c00808 fbf40001 ffffff01
         c01008 0002fbf400000007
         c0200c 0000fbf4 00000001 00000002
         c02304 0000fbf4
         18cb0071 00 200a010203",
        "withdraw 198.51.100.0/25 0
         origin incomplete
         as_path 4200000000 4200000000 64501
         next_hop 192.0.2.1
         med 100
         atomic_aggregate\u{20}
         aggregator 64501 192.0.2.9
         communities 64500:1 65535:65281
         extended rt:64500:7
         large 64500:1:2
         otc 64500
         announce 203.0.113.0/24 0
         announce 0.0.0.0/0 0
         announce 10.1.2.3/32 0",
        &EXTERNAL,
        false,
        &out,
    );
}

#[test]
fn ipv6_with_path_identifiers() {
    let context = AttrContext {
        external: false,
        has_ipv4_nlri: false,
        ..EXTERNAL
    };
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    let attributes = writer.attributes();
    let next_hop = hex("20010db8000000000000000000000001 fe800000000000000000000000000001");
    write_mp_reach(attributes, AfiSafi::IPV6_UNICAST, &next_hop, |nlri| {
        write_ipv6(nlri, Some(1), "2001:db8::/32".parse().unwrap());
        write_ipv6(nlri, Some(0x01020304), "::/0".parse().unwrap());
    });
    write_attr(attributes, TRANSITIVE, code::ORIGIN, &[0]);
    write_as_path_prepended(attributes, None, Asn(0), 0);
    write_attr(
        attributes,
        TRANSITIVE,
        code::LOCAL_PREF,
        &200u32.to_be_bytes(),
    );
    write_attr(attributes, OPTIONAL, code::ORIGINATOR_ID, &hex("c0000205"));
    write_attr(
        attributes,
        OPTIONAL,
        code::CLUSTER_LIST,
        &hex("c0000206 c0000207"),
    );
    write_mp_unreach(attributes, AfiSafi::IPV6_UNICAST, |nlri| {
        write_ipv6(nlri, Some(9), "2001:db8:8000::/33".parse().unwrap());
    });
    write_attr(
        attributes,
        OPTIONAL,
        code::AIGP,
        &hex("01000b 0000000000000500"),
    );
    writer.nlri();
    writer.finish();
    golden(
        "ffffffffffffffffffffffffffffffff 008d 02
         0000
         0076
         900e0033 0002 01 20 20010db8000000000000000000000001 fe800000000000000000000000000001 00
                  00000001 20 20010db8 01020304 00
         400101 00
         400200
         400504 000000c8
         800904 c0000205
         800a08 c0000206 c0000207
         900f000d 0002 01 00000009 21 20010db880
         801a0b 01000b 0000000000000500",
        "origin IGP
         as_path\u{20}
         local_pref 200
         originator_id c0000205
         cluster_list c0000206 c0000207
         aigp 1280
         withdraw 2001:db8:8000::/33 9
         announce 2001:db8::/32 1
         announce ::/0 16909060",
        &context,
        true,
        &out,
    );
}

#[test]
fn end_of_rib() {
    let vpn = AfiSafi { afi: 1, safi: 128 };
    for (family, wire) in [
        (AfiSafi::IPV4_UNICAST, "0017 02 0000 0000"),
        (AfiSafi::IPV6_UNICAST, "001e 02 0000 0007 900f0003 000201"),
        (vpn, "001e 02 0000 0007 900f0003 000180"),
    ] {
        let wire = hex(&format!("ffffffffffffffffffffffffffffffff {wire}"));
        let mut out = Vec::new();
        write_end_of_rib(&mut out, family);
        assert_eq!(out, wire);
        assert_eq!(is_end_of_rib(&wire[19..]), Some(family));
    }
    let short = hex("0000 0006 800f03 000201");
    assert_eq!(is_end_of_rib(&short), Some(AfiSafi::IPV6_UNICAST));
    for other in [
        "",
        "0000",
        "0001 00 0000",
        "0000 0000 00",
        "0000 0007 800f04 00020100",
        "0000 0006 800e03 000201",
        "0000 0007 900f0003 0002",
    ] {
        assert_eq!(is_end_of_rib(&hex(other)), None, "{other}");
    }
}

#[test]
fn lengths_that_exceed_the_body_are_a_malformed_attribute_list() {
    for body in [
        "",
        "00",
        "0000",
        "0001",
        "0000 00",
        "0000 0001",
        "0002 00 0000",
    ] {
        let notification = split(&hex(body)).expect_err(body);
        assert_eq!((notification.code, notification.subcode), (3, 1), "{body}");
    }
    let mut out = Vec::new();
    let body = hex("0001 00 0004 40010100 08 0a");
    update::write(&mut out, &split(&body).expect("lengths that fit"));
    assert_eq!(out[19..], body);
}
