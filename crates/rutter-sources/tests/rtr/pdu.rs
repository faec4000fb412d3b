//! The codec: known bytes, and values that return.

use proptest::prelude::*;
use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_sources::rtr::{Frame, Pdu, PduFault, RtrErrorCode, RtrIntervals, VrpRecord};

use crate::script::vrp;

/// The layouts of RFC 8210 §5 and draft-ietf-sidrops-8210bis §5.12, with values.
#[test]
fn pdus_have_the_layout_of_the_standards() {
    let intervals = Some(RtrIntervals {
        refresh_s: 0x0e10,
        retry_s: 0x0258,
        expire_s: 0x1c20,
    });
    for (version, pdu, hex) in [
        (
            1,
            Pdu::SerialNotify {
                session: 0x1234,
                serial: 5,
            },
            "0100 1234 0000000c 00000005",
        ),
        (
            0,
            Pdu::SerialQuery {
                session: 0x1234,
                serial: 5,
            },
            "0001 1234 0000000c 00000005",
        ),
        (2, Pdu::ResetQuery, "0202 0000 00000008"),
        (
            1,
            Pdu::CacheResponse { session: 0x1234 },
            "0103 1234 00000008",
        ),
        (
            1,
            vrp("+192.0.2.0/24-25 AS64500"),
            "0104 0000 00000014 01 18 19 00 c0000200 0000fbf4",
        ),
        (
            1,
            vrp("-2001:db8::/32-48 AS64500"),
            "0106 0000 00000020 00 20 30 00 20010db8000000000000000000000000 0000fbf4",
        ),
        (
            1,
            Pdu::EndOfData {
                session: 0x1234,
                serial: 5,
                intervals,
            },
            "0107 1234 00000018 00000005 00000e10 00000258 00001c20",
        ),
        (
            0,
            Pdu::EndOfData {
                session: 0x1234,
                serial: 5,
                intervals: None,
            },
            "0007 1234 0000000c 00000005",
        ),
        (1, Pdu::CacheReset, "0108 0000 00000008"),
        (
            1,
            Pdu::ErrorReport {
                code: RtrErrorCode(2),
                erroneous: &[1, 2, 0, 0, 0, 0, 0, 8],
                text: b"no",
            },
            "010a 0002 0000001a 00000008 0102000000000008 00000002 6e6f",
        ),
        (
            2,
            Pdu::Aspa {
                announce: true,
                customer: 64_500,
                providers: vec![1, 2],
            },
            "020b 0100 00000014 0000fbf4 00000001 00000002",
        ),
        (
            2,
            Pdu::Aspa {
                announce: false,
                customer: 64_500,
                providers: vec![],
            },
            "020b 0000 0000000c 0000fbf4",
        ),
    ] {
        let bytes = bytes(hex);
        let mut written = Vec::new();
        pdu.write(version, &mut written);
        assert_eq!(written, bytes, "{pdu:?}");
        let frame = Frame::next(&bytes).unwrap().unwrap();
        assert_eq!((frame.decode(), frame.version), (Ok(pdu), version));
        for cut in 0..bytes.len() {
            assert_eq!(Frame::next(&bytes[..cut]), Ok(None), "{hex} cut at {cut}");
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn bits_below_the_prefix_length_are_cleared() {
    let wire = bytes("0104 0000 00000014 01 18 18 00 c00002ff 0000fbf4");
    let frame = Frame::next(&wire).unwrap().unwrap();
    assert_eq!(frame.decode(), Ok(vrp("+192.0.2.0/24-24 AS64500")));
}

#[test]
fn lists_of_providers_are_checked() {
    for (hex, result) in [
        (
            "020b 0100 00000018 00000009 00000003 00000001 00000003",
            Ok(vec![1, 3]),
        ),
        ("020b 0100 00000010 00000009 00000000", Ok(vec![0])),
        ("020b 0100 0000000c 00000009", Err(())),
        ("020b 0100 00000014 00000009 00000000 00000001", Err(())),
        ("020b 0000 00000010 00000009 00000001", Err(())),
    ] {
        let wire = bytes(hex);
        let decoded = Frame::next(&wire).unwrap().unwrap().decode();
        let providers = decoded.map(|pdu| match pdu {
            Pdu::Aspa { providers, .. } => providers,
            other => panic!("{other:?}"),
        });
        let fault = PduFault::AspaProviders { customer: 9 };
        assert_eq!(providers, result.map_err(|()| fault), "{hex}");
    }
}

fn prefixes() -> impl Strategy<Value = Prefix> {
    let ipv4 = (any::<u32>(), 0_u8..=32)
        .prop_map(|(bits, len)| Prefix::V4(Ipv4Prefix::new(bits, len).unwrap()));
    let ipv6 = (any::<u128>(), 0_u8..=128)
        .prop_map(|(bits, len)| Prefix::V6(Ipv6Prefix::new(bits, len).unwrap()));
    prop_oneof![ipv4, ipv6]
}

fn vrps() -> impl Strategy<Value = VrpRecord> {
    (prefixes(), any::<u8>(), any::<u32>()).prop_map(|(prefix, more, asn)| {
        let span = prefix.max_len() - prefix.len();
        let max_len = prefix.len() + more % (span + 1);
        VrpRecord::new(prefix, max_len, asn).unwrap()
    })
}

proptest! {
    #[test]
    fn vrps_return(vrp in vrps(), announce: bool, version in 0_u8..=2) {
        let pdu = Pdu::Vrp { announce, vrp };
        let mut wire = Vec::new();
        pdu.write(version, &mut wire);
        prop_assert_eq!(Frame::next(&wire).unwrap().unwrap().decode(), Ok(pdu));
        prop_assert_eq!(VrpRecord::new(vrp.prefix(), vrp.max_len(), vrp.asn()), Some(vrp));
    }

    #[test]
    fn aspas_return(customer: u32, providers in proptest::collection::btree_set(1_u32.., 1..40)) {
        let providers = providers.into_iter().collect();
        let pdu = Pdu::Aspa { announce: true, customer, providers };
        let mut wire = Vec::new();
        pdu.write(2, &mut wire);
        prop_assert_eq!(Frame::next(&wire).unwrap().unwrap().decode(), Ok(pdu));
    }

    /// The order of VRPs is that of their prefixes, so that two ways to the same set give the same list.
    #[test]
    fn vrps_are_ordered_by_family_and_address(one in vrps(), other in vrps()) {
        let key = |vrp: &VrpRecord| (vrp.prefix(), vrp.max_len(), vrp.asn());
        prop_assert_eq!(one.cmp(&other), key(&one).cmp(&key(&other)));
    }
}
