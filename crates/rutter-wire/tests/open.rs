//! OPEN and its capabilities: golden vectors both ways, faults with their NOTIFICATIONs, round trips.

use proptest::prelude::*;
use rutter_net::{AfiSafi, Asn};
use rutter_wire::capability::{
    AddPathFamily, AddPathMode, Capability, ExtendedNextHop, Fqdn, GracefulRestart,
    GracefulRestartFamily, LongLivedFamily, Role,
};
use rutter_wire::frame::{HEADER_LEN, MAX_LEN, next_frame};
use rutter_wire::notification::Notification;
use rutter_wire::open::Open;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect()
}

const IPV4: AfiSafi = AfiSafi::IPV4_UNICAST;
const IPV6: AfiSafi = AfiSafi::IPV6_UNICAST;

/// The octets of each capability beside its meaning.
fn vectors() -> Vec<(&'static str, Capability)> {
    let gr = |afi_safi, forwarding| GracefulRestartFamily {
        afi_safi,
        forwarding,
    };
    vec![
        ("01 04 0001 00 01", Capability::MultiProtocol(IPV4)),
        ("01 04 0002 00 01", Capability::MultiProtocol(IPV6)),
        ("02 00", Capability::RouteRefresh),
        (
            "05 06 0001 0001 0002",
            Capability::ExtendedNextHop(vec![ExtendedNextHop {
                nlri: IPV4,
                next_hop_afi: 2,
            }]),
        ),
        ("06 00", Capability::ExtendedMessage),
        ("09 01 01", Capability::Role(Role::RouteServer)),
        (
            "40 0a c078 000101 80 000201 00",
            Capability::GracefulRestart(GracefulRestart {
                restart_state: true,
                notification: true,
                restart_time_s: 120,
                families: vec![gr(IPV4, true), gr(IPV6, false)],
            }),
        ),
        (
            "41 04 fbf00001",
            Capability::FourOctetAs(Asn(4_226_809_857)),
        ),
        (
            "45 08 000101 03 000201 01",
            Capability::AddPath(vec![
                AddPathFamily {
                    afi_safi: IPV4,
                    mode: AddPathMode::Both,
                },
                AddPathFamily {
                    afi_safi: IPV6,
                    mode: AddPathMode::Receive,
                },
            ]),
        ),
        ("46 00", Capability::EnhancedRouteRefresh),
        (
            "47 07 000101 80 015180",
            Capability::LongLivedGracefulRestart(vec![LongLivedFamily {
                afi_safi: IPV4,
                forwarding: true,
                stale_time_s: 86_400,
            }]),
        ),
        (
            "49 08 03 727331 03 697870",
            Capability::Fqdn(Fqdn {
                host: "rs1".into(),
                domain: "ixp".into(),
            }),
        ),
        ("4b 04 03 312e30", Capability::SoftwareVersion("1.0".into())),
        (
            "80 02 beef",
            Capability::Unknown {
                code: 128,
                value: vec![0xbe, 0xef],
            },
        ),
    ]
}

#[test]
fn each_capability_both_ways() {
    for (text, meaning) in vectors() {
        let wire = hex(text);
        assert_eq!(
            Capability::parse(wire[0], &wire[2..]),
            Ok(meaning.clone()),
            "{text}"
        );
        let mut written = Vec::new();
        meaning.encode(&mut written);
        assert_eq!(written, wire, "{text}");
    }
}

/// An invalid capability is kept as received where it has no effect on the encoding; otherwise it is a fault.
#[test]
fn malformed_capabilities() {
    for (code, value) in [
        (2, "00"),
        (6, "01"),
        (9, "07"),
        (9, "0001"),
        (64, "00"),
        (71, "00"),
        (5, "00"),
    ] {
        let value = hex(value);
        let kept = Capability::Unknown {
            code,
            value: value.clone(),
        };
        assert_eq!(Capability::parse(code, &value), Ok(kept));
    }
    for (code, value) in [(1, "000100"), (65, "0000fbf0ff"), (69, "000101")] {
        assert_eq!(Capability::parse(code, &hex(value)).unwrap_err().code, code);
    }
    // An undefined mode drops the family, not the capability (RFC 7911 §4).
    assert_eq!(
        Capability::parse(69, &hex("00010104")),
        Ok(Capability::AddPath(vec![]))
    );
}

fn body(open: &Open) -> Vec<u8> {
    let mut wire = Vec::new();
    open.encode(&mut wire);
    wire.split_off(HEADER_LEN)
}

#[test]
fn a_whole_open_both_ways() {
    let open = Open::new(
        Asn(4_226_809_857),
        90,
        0xc000_0201,
        vec![
            Capability::RouteRefresh,
            Capability::FourOctetAs(Asn(4_226_809_857)),
        ],
    );
    let mut wire = Vec::new();
    open.encode(&mut wire);
    let expected = "ffffffffffffffffffffffffffffffff 0027 01
        04 5ba0 005a c0000201 0a 02 08 0200 4104fbf00001";
    assert_eq!(wire, hex(expected));
    assert_eq!(Open::parse(&wire[HEADER_LEN..]), Ok(open));
}

#[test]
fn parameters_in_any_arrangement() {
    let expected = |wire: &str| Open::parse(&hex(wire)).map(|o| o.capabilities);
    let two = Ok(vec![Capability::RouteRefresh, Capability::ExtendedMessage]);
    // One parameter for each; one for both; the extended form where it is not needed (RFC 9072 §2).
    assert_eq!(
        expected("04 fbf4 005a c0000201 08 02 02 0200 02 02 0600"),
        two
    );
    assert_eq!(expected("04 fbf4 005a c0000201 06 02 04 0200 0600"), two);
    assert_eq!(
        expected("04 fbf4 005a c0000201 ff ff 0007 02 0004 0200 0600"),
        two
    );
    assert_eq!(
        expected("04 fbf4 005a c0000201 01 ff 0007 02 0004 0200 0600"),
        two
    );
    assert_eq!(expected("04 fbf4 005a c0000201 00"), Ok(vec![]));
}

#[test]
fn faults_and_their_notifications() {
    let rows = [
        ("03 fbf4 005a c0000201 00", 1, "0004"),
        ("05 fbf4 005a c0000201 00", 1, "0004"),
        // A parameter type from before capabilities.
        ("04 fbf4 005a c0000201 03 01 01 00", 4, ""),
        // Inconsistent lengths.
        ("04 fbf4 005a c0000201 00 00", 0, ""),
        ("04 fbf4 005a c0000201 04 02 02 0200 00", 0, ""),
        ("04 fbf4 005a c0000201 05 02 02 0200", 0, ""),
        ("04 fbf4 005a c0000201 04 02 05 0200", 0, ""),
        ("04 fbf4 005a c0000201 04 02 02 0201", 0, ""),
        ("04 fbf4 005a c0000201 ff ff 0008 02 0004 0200 0600", 0, ""),
        ("04 fbf4 005a c0000201 ff ff 00", 0, ""),
        ("04 fbf4 005a", 0, ""),
    ];
    for (wire, subcode, data) in rows {
        let expected = Notification::new(2, subcode, hex(data));
        assert_eq!(Open::parse(&hex(wire)), Err(expected), "{wire}");
    }
}

/// Lengths around the limit of the usual form.
#[test]
fn long_capabilities_take_the_extended_form() {
    for len in 240..=255 {
        let unknown = Capability::Unknown {
            code: 200,
            value: vec![7; len],
        };
        let open = Open::new(Asn(64_500), 90, 1, vec![unknown]);
        let body = body(&open);
        assert_eq!(body[10] == 255, len + 2 > 252, "{len}");
        assert_eq!(Open::parse(&body), Ok(open));
    }
}

fn capability() -> impl Strategy<Value = Capability> {
    let code = any::<u8>();
    let value = prop::collection::vec(any::<u8>(), 0..=40);
    (code, value).prop_filter_map("a fault", |(code, value)| {
        Capability::parse(code, &value).ok()
    })
}

proptest! {
    #[test]
    fn round_trip(
        asn in any::<u32>(),
        hold_time_s in any::<u16>(),
        bgp_id in any::<u32>(),
        mut capabilities in prop::collection::vec(capability(), 0..40),
    ) {
        capabilities.push(Capability::FourOctetAs(Asn(asn)));
        capabilities.retain(|c| c.code() != 65 || *c == Capability::FourOctetAs(Asn(asn)));
        let open = Open::new(Asn(asn), hold_time_s, bgp_id, capabilities);
        let mut wire = Vec::new();
        open.encode(&mut wire);
        let frame = next_frame(&wire, MAX_LEN).unwrap().unwrap();
        // Reserved octets are not kept, so only a second round trip must change nothing.
        let once = Open::parse(frame.body).unwrap();
        let mut again = Vec::new();
        once.encode(&mut again);
        prop_assert_eq!(wire, again);
    }

    #[test]
    fn any_body_has_an_answer(body in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = Open::parse(&body);
        let mut shaped = vec![4, 0, 1, 0, 90, 1, 2, 3, 4, body.len() as u8];
        shaped.extend_from_slice(&body);
        let _ = Open::parse(&shaped);
    }
}
