//! RFC 7606 fault by fault: the consequence, the offset and the section of each.

use rutter_net::AfiSafi;
use rutter_wire::attr::{AttrContext, Disposition, Fault, code};

use crate::{EXTERNAL, INTERNAL, NO_NLRI, TWO_OCTET, hex, parse};
use Disposition::{AfiSafiDisable, AttributeDiscard, SessionReset, TreatAsWithdraw};

/// ORIGIN, AS_PATH 64500, NEXT_HOP: 20 octets that are correct in each case below.
const MANDATORY: &str = "40010100 40020602010000fbf4 400304c0000201";
/// The same with two-octet AS numbers: 18 octets.
const MANDATORY_TWO_OCTET: &str = "40010100 40020402 01fbf4 400304c0000201";
/// MP_REACH_NLRI: 2001:db8::/32 via 2001:db8::1, 29 octets.
const REACH: &str = "800e1a 0002 01 10 20010db8000000000000000000000001 00 2020010db8";
/// MP_REACH_NLRI of IPv6 via 2001:db8::1 without prefixes, 24 octets.
const EMPTY_REACH: &str = "800e15 0002 01 10 20010db8000000000000000000000001 00";

struct Case {
    name: &'static str,
    context: AttrContext,
    block: String,
    /// Code, offset, fault, disposition and section, in the order found.
    faults: Vec<(u8, usize, Fault, Disposition, &'static str)>,
}

fn check(cases: Vec<Case>) {
    for case in cases {
        let block = hex(&case.block);
        let (_, faults) = parse(&block, &case.context);
        let found: Vec<_> = faults
            .iter()
            .map(|m| {
                (
                    m.code.unwrap_or(0),
                    m.offset,
                    m.fault,
                    m.disposition(),
                    m.rfc(),
                )
            })
            .collect();
        assert_eq!(found, case.faults, "{}", case.name);
        for malformed in &faults {
            assert!(!malformed.to_string().is_empty());
            assert_eq!(malformed.notification().code, 3);
            if let SessionReset(subcode) = malformed.disposition() {
                assert_eq!(malformed.notification().subcode, subcode, "{}", case.name);
            }
        }
    }
}

/// A fault in one attribute after the mandatory ones, at `inside` of the attribute.
fn after(
    name: &'static str,
    context: AttrContext,
    attribute: &str,
    fault: (u8, usize, Fault, Disposition, &'static str),
) -> Case {
    let mandatory = match context.as4 {
        true => MANDATORY,
        false => MANDATORY_TWO_OCTET,
    };
    let at = hex(mandatory).len();
    Case {
        name,
        context,
        block: format!("{mandatory} {attribute}"),
        faults: vec![(fault.0, at + fault.1, fault.2, fault.3, fault.4)],
    }
}

/// A fault in one of the mandatory attributes, with the others around it.
fn instead(
    name: &'static str,
    context: AttrContext,
    attribute: &str,
    fault: (u8, usize, Fault, Disposition, &'static str),
) -> Case {
    let all = [
        (code::ORIGIN, "40010100"),
        (code::AS_PATH, "40020602010000fbf4"),
        (code::NEXT_HOP, "400304c0000201"),
    ];
    let others: String = all
        .iter()
        .filter(|(code, _)| *code != fault.0)
        .map(|(_, text)| *text)
        .collect();
    let at = hex(&others).len();
    Case {
        name,
        context,
        block: format!("{others} {attribute}"),
        faults: vec![(fault.0, at + fault.1, fault.2, fault.3, fault.4)],
    }
}

#[test]
fn well_formed_attributes_have_no_faults() {
    for (name, context, block) in [
        ("mandatory", EXTERNAL, MANDATORY.to_owned()),
        ("two octets", TWO_OCTET, MANDATORY_TWO_OCTET.to_owned()),
        (
            "IPv6 alone",
            NO_NLRI,
            format!("{REACH} 40010100 40020602010000fbf4"),
        ),
        ("only withdrawn", NO_NLRI, "800f03000201".to_owned()),
        ("nothing", NO_NLRI, String::new()),
        (
            "empty AS_PATH",
            INTERNAL,
            "40010100 400200 400304c0000201 40050400000064".to_owned(),
        ),
        (
            "confederation inside",
            INTERNAL,
            "40010100 40020603010000fbf4 400304c0000201".to_owned(),
        ),
        (
            "NEXT_HOP without NLRI",
            NO_NLRI,
            format!("{REACH} 40010100 400200 40030400000000"),
        ),
        (
            "extended length",
            EXTERNAL,
            "5001000100 5002000602010000fbf4 400304c0000201".to_owned(),
        ),
        (
            "unknown, optional",
            EXTERNAL,
            format!("{MANDATORY} e0c80101 80c901ff"),
        ),
    ] {
        let block = hex(&block);
        let (_, faults) = parse(&block, &context);
        assert_eq!(faults, [], "{name}");
    }
    let lenient = AttrContext {
        accept_as_set: true,
        ..EXTERNAL
    };
    let block = hex("40010100 40020601010000fbf4 400304c0000201");
    assert_eq!(parse(&block, &lenient).1, []);
}

#[test]
fn lengths_and_headers() {
    let overrun = |code, cost, rfc| (code, 0, Fault::LengthOverrun, cost, rfc);
    check(vec![
        after(
            "one octet left",
            EXTERNAL,
            "40",
            (0, 0, Fault::HeaderTruncated, TreatAsWithdraw, "RFC 7606 §4"),
        ),
        after(
            "extended length cut",
            EXTERNAL,
            "500400",
            (4, 0, Fault::HeaderTruncated, TreatAsWithdraw, "RFC 7606 §4"),
        ),
        after(
            "MED overruns",
            EXTERNAL,
            "80040500000001",
            overrun(4, TreatAsWithdraw, "RFC 7606 §4"),
        ),
        after(
            "MP_REACH overruns",
            EXTERNAL,
            "800e1a0002",
            overrun(14, SessionReset(5), "RFC 7606 §3 (j)"),
        ),
        after(
            "MP_UNREACH overruns",
            EXTERNAL,
            "800f1a0002",
            overrun(15, SessionReset(5), "RFC 7606 §3 (j)"),
        ),
        after(
            "MP_REACH header cut",
            EXTERNAL,
            "900e00",
            (
                14,
                0,
                Fault::HeaderTruncated,
                SessionReset(1),
                "RFC 7606 §3 (j)",
            ),
        ),
        after(
            "MP_UNREACH header cut",
            EXTERNAL,
            "800f",
            (
                15,
                0,
                Fault::HeaderTruncated,
                SessionReset(1),
                "RFC 7606 §3 (j)",
            ),
        ),
        after(
            "unknown overruns",
            EXTERNAL,
            "c0c80200",
            overrun(200, TreatAsWithdraw, "RFC 7606 §4"),
        ),
    ]);
}

#[test]
fn flags() {
    let bad = |code| (code, 0, Fault::Flags, TreatAsWithdraw, "RFC 7606 §3 (c)");
    check(vec![
        instead("ORIGIN optional", EXTERNAL, "c0010100", bad(1)),
        instead(
            "AS_PATH not transitive",
            EXTERNAL,
            "00020602010000fbf4",
            bad(2),
        ),
        instead("NEXT_HOP optional", EXTERNAL, "800304c0000201", bad(3)),
        after("MED transitive", EXTERNAL, "c00404 00000001", bad(4)),
        after("LOCAL_PREF optional", INTERNAL, "c00504 00000001", bad(5)),
        after("ATOMIC_AGGREGATE optional", EXTERNAL, "c00600", bad(6)),
        after(
            "AGGREGATOR well-known",
            EXTERNAL,
            "400708 0000fbf4 c0000201",
            bad(7),
        ),
        after(
            "COMMUNITIES not transitive",
            EXTERNAL,
            "800804 fbf40001",
            bad(8),
        ),
        after(
            "MP_REACH transitive",
            EXTERNAL,
            &REACH.replacen("80", "c0", 1),
            bad(14),
        ),
        after(
            "LARGE well-known",
            EXTERNAL,
            "40200c 000000010000000200000003",
            bad(32),
        ),
        after("OTC not transitive", EXTERNAL, "802304 0000fbf4", bad(35)),
        after(
            "PREFIX_SID not transitive",
            EXTERNAL,
            "80280a 01000700000000000064",
            bad(40),
        ),
        after(
            "AIGP transitive",
            INTERNAL,
            "c01a0b 01000b 0000000000000001",
            (26, 0, Fault::Flags, AttributeDiscard, "RFC 7311 §3.2"),
        ),
        after(
            "unknown well-known",
            EXTERNAL,
            "40c80101",
            (
                200,
                0,
                Fault::UnrecognizedWellKnown,
                SessionReset(2),
                "RFC 4271 §6.3",
            ),
        ),
    ]);
    // The Partial flag and the reserved flags have no effect.
    let block = hex("6f010100 4f020602010000fbf4 400304c0000201 ");
    let block = [&[0x6f & !0x10], &block[1..4], &[0x4f], &block[5..]].concat();
    assert_eq!(parse(&block, &EXTERNAL).1, []);
}

#[test]
fn mandatory_ones_missing() {
    let missing = |code, at| (code, at, Fault::Missing, TreatAsWithdraw, "RFC 7606 §3 (d)");
    let case = |name, context, block: &str, faults| Case {
        name,
        context,
        block: block.to_owned(),
        faults,
    };
    check(vec![
        case(
            "ORIGIN",
            EXTERNAL,
            "40020602010000fbf4 400304c0000201",
            vec![missing(1, 16)],
        ),
        case(
            "AS_PATH",
            EXTERNAL,
            "40010100 400304c0000201",
            vec![missing(2, 11)],
        ),
        case(
            "NEXT_HOP",
            EXTERNAL,
            "40010100 40020602010000fbf4",
            vec![missing(3, 13)],
        ),
        case(
            "all",
            EXTERNAL,
            "",
            vec![missing(1, 0), missing(2, 0), missing(3, 0)],
        ),
        case(
            "beside MP_REACH",
            NO_NLRI,
            REACH,
            vec![missing(1, 29), missing(2, 29)],
        ),
    ]);
}

#[test]
fn duplicates() {
    let again = |code| {
        (
            code,
            0,
            Fault::Duplicate,
            AttributeDiscard,
            "RFC 7606 §3 (g)",
        )
    };
    check(vec![
        after("ORIGIN", EXTERNAL, "40010102", again(1)),
        after("even malformed", EXTERNAL, "400102ffff", again(1)),
        Case {
            name: "unknown",
            context: EXTERNAL,
            block: format!("{MANDATORY} e0c80101 e0c80102"),
            faults: vec![(
                200,
                24,
                Fault::Duplicate,
                AttributeDiscard,
                "RFC 7606 §3 (g)",
            )],
        },
        Case {
            name: "MP_REACH",
            context: EXTERNAL,
            block: format!("{MANDATORY} {REACH} {REACH}"),
            faults: vec![(14, 49, Fault::Duplicate, SessionReset(1), "RFC 7606 §3 (g)")],
        },
        Case {
            name: "MP_UNREACH",
            context: EXTERNAL,
            block: format!("{MANDATORY} 800f03000201 800f03000201"),
            faults: vec![(15, 26, Fault::Duplicate, SessionReset(1), "RFC 7606 §3 (g)")],
        },
    ]);
    let block = hex(&format!("{MANDATORY} 40010102 e0c80101 e0c80102"));
    let (attributes, _) = parse(&block, &EXTERNAL);
    assert_eq!(attributes.origin(), Some(rutter_wire::attr::Origin::Igp));
    assert_eq!(attributes.value(200), Some(&[1][..]));
    assert_eq!(attributes.iter().count(), 4);
}

#[test]
fn origin_and_next_hop() {
    let wrong = |code, at, fault, rfc| (code, at, fault, TreatAsWithdraw, rfc);
    check(vec![
        instead(
            "value",
            EXTERNAL,
            "40010103",
            wrong(1, 0, Fault::OriginValue, "RFC 7606 §7.1"),
        ),
        instead(
            "empty",
            EXTERNAL,
            "400100",
            wrong(1, 0, Fault::Length, "RFC 7606 §7.1"),
        ),
        instead(
            "long",
            EXTERNAL,
            "4001020000",
            wrong(1, 0, Fault::Length, "RFC 7606 §7.1"),
        ),
        instead(
            "short",
            EXTERNAL,
            "400303c00002",
            wrong(3, 0, Fault::Length, "RFC 7606 §7.3"),
        ),
        instead(
            "0.0.0.0",
            EXTERNAL,
            "40030400000000",
            wrong(3, 0, Fault::NextHopNotHost, "RFC 7606 §3 (e)"),
        ),
        instead(
            "multicast",
            EXTERNAL,
            "400304e0000001",
            wrong(3, 0, Fault::NextHopNotHost, "RFC 7606 §3 (e)"),
        ),
    ]);
}

#[test]
fn as_path() {
    let wrong = |at, fault, rfc| (2, at, fault, TreatAsWithdraw, rfc);
    let seven_two = |at, fault| wrong(at, fault, "RFC 7606 §7.2");
    check(vec![
        instead(
            "type 0",
            EXTERNAL,
            "40020600010000fbf4",
            seven_two(0, Fault::SegmentType),
        ),
        instead(
            "type 5",
            EXTERNAL,
            "40020605010000fbf4",
            seven_two(0, Fault::SegmentType),
        ),
        instead(
            "empty segment",
            EXTERNAL,
            "4002020200",
            seven_two(4, Fault::SegmentEmpty),
        ),
        instead(
            "overrun",
            EXTERNAL,
            "40020602020000fbf4",
            seven_two(4, Fault::SegmentOverrun),
        ),
        instead(
            "lone octet",
            EXTERNAL,
            "40020702010000fbf402",
            seven_two(9, Fault::SegmentOverrun),
        ),
        instead(
            "AS_SET",
            EXTERNAL,
            "40020c 02010000fbf4 01010000fbf5",
            wrong(9, Fault::AsSet, "RFC 9774 §3"),
        ),
        instead(
            "AS_CONFED_SET",
            INTERNAL,
            "40020604010000fbf5",
            wrong(0, Fault::AsSet, "RFC 9774 §3"),
        ),
        instead(
            "AS_CONFED_SEQUENCE",
            EXTERNAL,
            "40020603010000fbf5",
            wrong(0, Fault::ConfederationSegment, "RFC 5065 §5"),
        ),
        instead(
            "AS 0",
            EXTERNAL,
            "40020a02020000fbf400000000",
            wrong(9, Fault::AsZero, "RFC 7607 §2"),
        ),
    ]);
}

#[test]
fn lengths_by_attribute() {
    let wrong = |code, cost, rfc| (code, 0, Fault::Length, cost, rfc);
    check(vec![
        after(
            "MED",
            EXTERNAL,
            "800403000000",
            wrong(4, TreatAsWithdraw, "RFC 7606 §7.4"),
        ),
        after(
            "LOCAL_PREF",
            INTERNAL,
            "400503000000",
            wrong(5, TreatAsWithdraw, "RFC 7606 §7.5"),
        ),
        after(
            "ATOMIC",
            EXTERNAL,
            "40060100",
            wrong(6, AttributeDiscard, "RFC 7606 §7.6"),
        ),
        after(
            "AGGREGATOR of a two-octet speaker",
            EXTERNAL,
            "c00706 fbf4 c0000201",
            wrong(7, AttributeDiscard, "RFC 7606 §7.7"),
        ),
        after(
            "AGGREGATOR of a four-octet speaker",
            TWO_OCTET,
            "c00708 0000fbf4 c0000201",
            wrong(7, AttributeDiscard, "RFC 7606 §7.7"),
        ),
        after(
            "COMMUNITIES",
            EXTERNAL,
            "c00803fbf400",
            wrong(8, TreatAsWithdraw, "RFC 7606 §7.8"),
        ),
        after(
            "no COMMUNITIES",
            EXTERNAL,
            "c00800",
            wrong(8, TreatAsWithdraw, "RFC 7606 §7.8"),
        ),
        after(
            "ORIGINATOR_ID",
            INTERNAL,
            "800903000000",
            wrong(9, TreatAsWithdraw, "RFC 7606 §7.9"),
        ),
        after(
            "CLUSTER_LIST",
            INTERNAL,
            "800a00",
            wrong(10, TreatAsWithdraw, "RFC 7606 §7.10"),
        ),
        after(
            "EXTENDED",
            EXTERNAL,
            "c01004 00020000",
            wrong(16, TreatAsWithdraw, "RFC 7606 §7.14"),
        ),
        after(
            "IPv6 EXTENDED",
            EXTERNAL,
            "c01900",
            wrong(25, TreatAsWithdraw, "RFC 7606 §7.15"),
        ),
        after(
            "LARGE",
            EXTERNAL,
            "c02004 00020000",
            wrong(32, TreatAsWithdraw, "RFC 8092 §6"),
        ),
        after(
            "OTC",
            EXTERNAL,
            "c02303 000200",
            wrong(35, TreatAsWithdraw, "RFC 9234 §5"),
        ),
    ]);
}

#[test]
fn discarded_for_where_they_come_from() {
    let outside = |code, rfc| (code, 0, Fault::FromExternal, AttributeDiscard, rfc);
    let four = |code| {
        let fault = Fault::FromFourOctetSpeaker;
        (code, 0, fault, AttributeDiscard, "RFC 6793 §6")
    };
    let as4 = |code, at, fault, rfc| (code, at, fault, AttributeDiscard, rfc);
    check(vec![
        after(
            "LOCAL_PREF",
            EXTERNAL,
            "40050400000064",
            outside(5, "RFC 7606 §7.5"),
        ),
        after(
            "ORIGINATOR_ID",
            EXTERNAL,
            "800904c0000201",
            outside(9, "RFC 7606 §7.9"),
        ),
        after(
            "CLUSTER_LIST",
            EXTERNAL,
            "800a04c0000201",
            outside(10, "RFC 7606 §7.10"),
        ),
        after(
            "AIGP",
            EXTERNAL,
            "801a0b 01000b 0000000000000001",
            outside(26, "RFC 7311 §3.3"),
        ),
        after(
            "AIGP TLV",
            INTERNAL,
            "801a0b 01000a 0000000000000001",
            (26, 0, Fault::AigpTlv, AttributeDiscard, "RFC 7311 §3.2"),
        ),
        after("AS4_PATH", EXTERNAL, "c01106 02010003 0d40", four(17)),
        after(
            "AS4_AGGREGATOR",
            EXTERNAL,
            "c01208 00030d40 c0000201",
            four(18),
        ),
        after(
            "AS4_PATH malformed",
            TWO_OCTET,
            "c01106 02020003 0d40",
            as4(17, 4, Fault::SegmentOverrun, "RFC 6793 §6"),
        ),
        after(
            "AS4_AGGREGATOR malformed",
            TWO_OCTET,
            "c01206 fbf4 c0000201",
            as4(18, 0, Fault::Length, "RFC 6793 §6"),
        ),
        after(
            "AGGREGATOR AS 0",
            EXTERNAL,
            "c00708 00000000 c0000201",
            as4(7, 0, Fault::AsZero, "RFC 7607 §2"),
        ),
    ]);
    let block = hex(&format!("{MANDATORY} 40050400000064"));
    assert_eq!(parse(&block, &EXTERNAL).0.local_pref(), None);
    assert_eq!(parse(&block, &INTERNAL).0.local_pref(), Some(100));
}

#[test]
fn multiprotocol() {
    let short = |code, rfc| (code, 0, Fault::MultiprotocolTooShort, SessionReset(9), rfc);
    let next_hop = |family| {
        let (fault, cost) = (Fault::NextHopLength(family), AfiSafiDisable(family));
        (14, 6, fault, cost, "RFC 7606 §7.11")
    };
    let (v4, v6) = (AfiSafi::IPV4_UNICAST, AfiSafi::IPV6_UNICAST);
    check(vec![
        after(
            "MP_REACH short",
            EXTERNAL,
            "800e0400020100",
            short(14, "RFC 7606 §7.11"),
        ),
        after(
            "MP_UNREACH short",
            EXTERNAL,
            "800f020002",
            short(15, "RFC 7606 §7.12"),
        ),
        after(
            "next hop cut",
            EXTERNAL,
            "800e05 0002 01 10 00",
            next_hop(v6),
        ),
        after(
            "IPv6 via 4 octets",
            EXTERNAL,
            "800e09 0002 01 04 c0000201 00",
            next_hop(v6),
        ),
        after(
            "IPv4 via 5 octets",
            EXTERNAL,
            "800e0a 0001 01 05 c000020100 00",
            next_hop(v4),
        ),
    ]);
    for (next_hop, family) in [
        (4, "0001"),
        (16, "0001"),
        (32, "0001"),
        (16, "0002"),
        (32, "0002"),
    ] {
        let value = format!("{family}01{next_hop:02x}{}00", "20".repeat(next_hop));
        let block = hex(&format!("{MANDATORY} 800e{:02x}{value}", value.len() / 2));
        let (attributes, faults) = parse(&block, &EXTERNAL);
        assert_eq!(faults, []);
        let reach = attributes.mp_reach().map(|reach| reach.next_hop.len());
        assert_eq!(reach, Some(next_hop));
    }
}

#[test]
fn without_reachable_nlri_a_withdraw_becomes_a_reset() {
    let med = (4, 0, Fault::Length, TreatAsWithdraw, "RFC 7606 §7.4");
    let reset = (
        4,
        0,
        Fault::NothingToWithdraw,
        SessionReset(1),
        "RFC 7606 §5.2",
    );
    let discard = (6, 0, Fault::Length, AttributeDiscard, "RFC 7606 §7.6");
    let unreach = "800f03000201";
    check(vec![
        Case {
            name: "a bad MED",
            context: NO_NLRI,
            block: format!("800403000000 {unreach}"),
            faults: vec![med, reset],
        },
        Case {
            name: "a discard stays one",
            context: NO_NLRI,
            block: format!("40060100 {unreach}"),
            faults: vec![discard],
        },
        Case {
            name: "a bad MED beside an MP_REACH without prefixes",
            context: NO_NLRI,
            block: format!("{EMPTY_REACH} 40010100 40020602010000fbf4 800403000000"),
            faults: vec![
                (4, 37, Fault::Length, TreatAsWithdraw, "RFC 7606 §7.4"),
                (4, 37, reset.2, reset.3, reset.4),
            ],
        },
        Case {
            name: "an MP_REACH without prefixes and with wrong flags",
            context: NO_NLRI,
            block: format!(
                "{} 40010100 40020602010000fbf4",
                EMPTY_REACH.replacen("80", "c0", 1)
            ),
            faults: vec![
                (14, 0, Fault::Flags, TreatAsWithdraw, "RFC 7606 §3 (c)"),
                (14, 0, reset.2, reset.3, reset.4),
            ],
        },
        Case {
            name: "a discard beside an MP_REACH without prefixes",
            context: NO_NLRI,
            block: format!("{EMPTY_REACH} 40010100 40020602010000fbf4 40060100"),
            faults: vec![(6, 37, Fault::Length, AttributeDiscard, "RFC 7606 §7.6")],
        },
        Case {
            name: "MP_UNREACH alone with wrong flags",
            context: NO_NLRI,
            block: "c00f03000201".to_owned(),
            faults: vec![(15, 0, Fault::Flags, TreatAsWithdraw, "RFC 7606 §3 (c)")],
        },
    ]);
}

#[test]
fn dispositions_are_ordered_by_strength() {
    let family = AfiSafi::IPV6_UNICAST;
    assert!(AttributeDiscard < TreatAsWithdraw);
    assert!(TreatAsWithdraw < AfiSafiDisable(family));
    assert!(AfiSafiDisable(family) < SessionReset(0));
}

#[test]
fn a_fault_is_displayed() {
    let block = hex(&MANDATORY.replace("0000fbf4", "00000000"));
    let (_, faults) = parse(&block, &EXTERNAL);
    assert_eq!(
        faults[0].to_string(),
        "AS_PATH at octet 9: AS number 0 (RFC 7607 §2): treat-as-withdraw"
    );
}

#[test]
fn routes_to_withdraw_survive_other_faults() {
    let block = hex(&format!("{REACH} 40010103 40020602010000fbf4"));
    let (attributes, faults) = parse(&block, &NO_NLRI);
    assert_eq!(faults.len(), 1);
    let reach = attributes.mp_reach().expect("MP_REACH_NLRI is fine");
    assert_eq!(reach.nlri, hex("2020010db8"));
}

#[test]
fn mp_unreach_with_wrong_flags_still_withdraws() {
    let withdrawn = hex("2020010db8");
    for (context, block) in [
        (NO_NLRI, "c00f08 000201 2020010db8".to_owned()),
        (NO_NLRI, "000f08 000201 2020010db8".to_owned()),
        (EXTERNAL, format!("{MANDATORY} c00f08 000201 2020010db8")),
        (EXTERNAL, format!("400f08 000201 2020010db8 {MANDATORY}")),
    ] {
        let block = hex(&block);
        let (attributes, faults) = parse(&block, &context);
        let dispositions: Vec<_> = faults.iter().map(|fault| fault.disposition()).collect();
        assert_eq!(dispositions, [TreatAsWithdraw]);
        let unreach = attributes.mp_unreach().expect("it is kept");
        assert_eq!(unreach.withdrawn, withdrawn);
    }
}

#[test]
fn a_malformed_prefix_sid_is_discarded() {
    let wrong = |inside, fault| (40, inside, fault, AttributeDiscard, "RFC 8669 §6");
    let tlv = |inside| wrong(inside, Fault::PrefixSidTlv);
    check(vec![
        after("empty", EXTERNAL, "c02800", wrong(0, Fault::Length)),
        after("header of a TLV cut", EXTERNAL, "c02802 0100", tlv(0)),
        after("Label-Index overruns", EXTERNAL, "c02804 01000700", tlv(0)),
        after(
            "Label-Index of 6 octets",
            EXTERNAL,
            "c02809 010006 000000000064",
            tlv(0),
        ),
        after(
            "Originator SRGB of 7 octets",
            EXTERNAL,
            "c02814 010007 00000000000064 030007 00003e80000bb8",
            tlv(13),
        ),
        after(
            "Originator SRGB without a range",
            EXTERNAL,
            "c02805 030002 0000",
            tlv(0),
        ),
        after(
            "unknown TLV overruns",
            EXTERNAL,
            "c0280b 010007 00000000000064 c8",
            tlv(13),
        ),
    ]);
    let kept = "c02819 010007 00000000000064 030008 0000003e80000bb8 c80001ff";
    let block = hex(&format!("{MANDATORY} {kept}"));
    let (attributes, faults) = parse(&block, &EXTERNAL);
    assert_eq!(faults, []);
    assert_eq!(attributes.canonical_slice(), Some(&block[..]));
    // A malformed one is not passed on.
    let block = hex(&format!("{MANDATORY} c02804 01000700"));
    let (attributes, _) = parse(&block, &EXTERNAL);
    let mut canonical = Vec::new();
    attributes.write_canonical(&mut canonical);
    assert_eq!(canonical, hex(MANDATORY));
    assert_eq!(attributes.value(40), None);
}
