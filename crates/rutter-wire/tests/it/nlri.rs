//! NLRI: bits beyond the prefix length, prefixes that are cut off, lengths out of range.

use proptest::collection::vec;
use proptest::prelude::*;
use rutter_net::{AfiSafi, Ipv4Prefix};
use rutter_wire::attr::{Disposition, Fault, Malformed, code};
use rutter_wire::nlri::{parse_ipv4, parse_ipv6, write_ipv4_all};

use crate::hex;

fn ipv4(bytes: &str, add_path: bool) -> Result<String, Malformed> {
    let mut out = Vec::new();
    parse_ipv4(&hex(bytes), add_path, &mut out)?;
    Ok(format!("{out:?}"))
}

fn ipv6(bytes: &str, add_path: bool) -> Result<String, Malformed> {
    let mut out = Vec::new();
    parse_ipv6(&hex(bytes), add_path, &mut out)?;
    Ok(format!("{out:?}"))
}

#[test]
fn good_ones() {
    for (bytes, add_path, text) in [
        ("", false, "[]"),
        ("00", false, "[(0, 0.0.0.0/0)]"),
        ("0affff", false, "[(0, 255.192.0.0/10)]"),
        (
            "08ff 20c0000201",
            false,
            "[(0, 255.0.0.0/8), (0, 192.0.2.1/32)]",
        ),
        ("00000007 08ff", true, "[(7, 255.0.0.0/8)]"),
        (
            "ffffffff 00 00000001 20c0000201",
            true,
            "[(4294967295, 0.0.0.0/0), (1, 192.0.2.1/32)]",
        ),
    ] {
        assert_eq!(ipv4(bytes, add_path).as_deref(), Ok(text), "{bytes}");
    }
    for (bytes, add_path, text) in [
        ("2020010db8", false, "[(0, 2001:db8::/32)]"),
        ("0320", false, "[(0, 2000::/3)]"),
        ("0000000120 20010db8", true, "[(1, 2001:db8::/32)]"),
        (
            "80 20010db8000000000000000000000001 00",
            false,
            "[(0, 2001:db8::1/128), (0, ::/0)]",
        ),
    ] {
        assert_eq!(ipv6(bytes, add_path).as_deref(), Ok(text), "{bytes}");
    }
}

#[test]
fn bad_ones() {
    type Of = fn(AfiSafi) -> Fault;
    let cases: [(&str, bool, usize, Of); 9] = [
        ("21c000020100", false, 0, Fault::PrefixLength),
        ("08ff 21c000020100", false, 2, Fault::PrefixLength),
        ("ff", false, 0, Fault::PrefixLength),
        ("18c000", false, 0, Fault::PrefixTruncated),
        ("08ff 20c00002", false, 2, Fault::PrefixTruncated),
        ("000000", true, 0, Fault::PrefixTruncated),
        ("00000001", true, 0, Fault::PrefixTruncated),
        ("00000001 18c000", true, 0, Fault::PrefixTruncated),
        (
            "00000001 00 00000001 21c000020100",
            true,
            5,
            Fault::PrefixLength,
        ),
    ];
    for (bytes, add_path, offset, fault) in cases {
        let malformed = ipv4(bytes, add_path).expect_err(bytes);
        let expected = Malformed {
            code: None,
            offset,
            fault: fault(AfiSafi::IPV4_UNICAST),
        };
        assert_eq!(malformed, expected, "{bytes}");
        assert_eq!(malformed.disposition(), Disposition::SessionReset(10));
        assert_eq!(malformed.rfc(), "RFC 7606 §5.3");
    }
    let malformed = ipv6("81", false).expect_err("a length of 129");
    let inside = malformed.within(code::MP_REACH_NLRI, 30);
    assert_eq!(inside.offset, 30);
    let family = AfiSafi::IPV6_UNICAST;
    assert_eq!(inside.disposition(), Disposition::AfiSafiDisable(family));
}

#[test]
fn prefixes_before_a_fault_are_kept() {
    let mut out = Vec::new();
    assert!(parse_ipv4(&hex("08ff 21"), false, &mut out).is_err());
    assert_eq!(out.len(), 1);
}

proptest! {
    /// Compares long lists, with runs of prefixes of the same size, to a reader that reads one octet at a time.
    #[test]
    fn lists_of_prefixes(prefixes in vec((any::<u32>(), prop_oneof![4 => 17u8..=24, 1 => 0u8..=32]), 0..40)) {
        let prefixes: Vec<Ipv4Prefix> = prefixes
            .iter()
            .filter_map(|(bits, len)| Ipv4Prefix::new(*bits, *len))
            .collect();
        let (mut one_by_one, mut together) = (Vec::new(), vec![7]);
        for prefix in &prefixes {
            let octets = usize::from(prefix.len().div_ceil(8));
            one_by_one.push(prefix.len());
            one_by_one.extend_from_slice(&prefix.bits().to_be_bytes()[..octets]);
        }
        write_ipv4_all(&mut together, &prefixes);
        prop_assert_eq!(&together[1..], &one_by_one[..]);
        let mut parsed = Vec::new();
        prop_assert!(parse_ipv4(&one_by_one, false, &mut parsed).is_ok());
        let parsed: Vec<Ipv4Prefix> = parsed.into_iter().map(|(_, prefix)| prefix).collect();
        prop_assert_eq!(parsed, prefixes);
    }
}
