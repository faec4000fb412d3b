//! Framing, NOTIFICATION and ROUTE-REFRESH: golden vectors, faults, totality.

use proptest::prelude::*;
use rutter_net::AfiSafi;
use rutter_wire::frame::{
    self, Frame, HEADER_LEN, KEEPALIVE, MAX_EXTENDED_LEN, MAX_LEN, MessageType, next_frame,
};
use rutter_wire::notification::{Notification, cease, fsm, open};
use rutter_wire::refresh::{RouteRefresh, Subtype};

fn message(len: u16, kind: u8) -> Vec<u8> {
    let mut wire = vec![0xff; 16];
    wire.extend_from_slice(&len.to_be_bytes());
    wire.push(kind);
    wire.resize(usize::from(len).max(HEADER_LEN), 0);
    wire
}

fn fault(wire: &[u8], max_len: usize) -> (u8, u8, Vec<u8>) {
    let n = next_frame(wire, max_len).unwrap_err();
    (n.code, n.subcode, n.data)
}

#[test]
fn header_faults() {
    let mut desynchronized = KEEPALIVE.to_vec();
    desynchronized[15] = 0xfe;
    assert_eq!(fault(&desynchronized, MAX_LEN), (1, 1, vec![]));
    let lengths = [
        (18, 4),
        (20, 4),
        (28, 1),
        (22, 2),
        (20, 3),
        (22, 5),
        (4_097, 2),
        (0, 2),
        (65_535, 3),
    ];
    for (len, kind) in lengths {
        let data = u16::to_be_bytes(len).to_vec();
        assert_eq!(
            fault(&message(len, kind), MAX_LEN),
            (1, 2, data),
            "{len} {kind}"
        );
    }
    // RFC 8654 §4: OPEN and KEEPALIVE keep their limits.
    assert_eq!(
        fault(&message(4_097, 1), MAX_EXTENDED_LEN),
        (1, 2, vec![0x10, 0x01])
    );
    for kind in [0, 6, 128, 255] {
        assert_eq!(fault(&message(30, kind), MAX_LEN), (1, 3, vec![kind]));
    }
}

#[test]
fn extended_messages_where_agreed() {
    for (kind, name) in [(2, MessageType::Update), (5, MessageType::RouteRefresh)] {
        let wire = message(65_535, kind);
        let frame = next_frame(&wire, MAX_EXTENDED_LEN).unwrap().unwrap();
        assert_eq!(
            (frame.kind, frame.body.len(), frame.wire.len()),
            (name, 65_516, 65_535)
        );
    }
}

#[test]
fn a_stream_is_framed_at_any_cut() {
    let mut stream = KEEPALIVE.to_vec();
    stream.extend(message(23, 2));
    cease::with_text(cease::ADMIN_SHUTDOWN, "see you at 04:00").encode(&mut stream);
    let kinds = |cut: usize| {
        let (mut kinds, mut at) = (Vec::new(), 0);
        for end in [cut, stream.len()] {
            while let Ok(Some(frame)) = next_frame(&stream[at..end], MAX_LEN) {
                at += frame.wire.len();
                kinds.push(frame.kind);
            }
        }
        kinds
    };
    for cut in 0..=stream.len() {
        use MessageType::*;
        assert_eq!(kinds(cut), [Keepalive, Update, Notification], "{cut}");
    }
}

#[test]
fn notifications_on_the_wire_and_in_words() {
    let hard = cease::hard_reset(&cease::with_text(cease::ADMIN_SHUTDOWN, "bye"));
    let rows: [(Notification, &[u8], &str); 12] = [
        (
            Notification::hold_timer_expired(),
            &[4, 0],
            "Hold Timer Expired",
        ),
        (
            Notification::send_hold_timer_expired(),
            &[8, 0],
            "Send Hold Timer Expired",
        ),
        (
            open::unsupported_version(),
            &[2, 1, 0, 4],
            "OPEN Message Error: Unsupported Version Number",
        ),
        (
            open::role_mismatch(),
            &[2, 11],
            "OPEN Message Error: Role Mismatch",
        ),
        (
            fsm::open_confirm(MessageType::Update),
            &[5, 2, 2],
            "Finite State Machine Error: Unexpected Message in OpenConfirm",
        ),
        (
            cease::with_text(2, "bye"),
            &[6, 2, 3, b'b', b'y', b'e'],
            "Cease: Administrative Shutdown: \"bye\"",
        ),
        (
            cease::with_text(4, ""),
            &[6, 4],
            "Cease: Administrative Reset",
        ),
        (
            hard,
            &[6, 9, 6, 2, 3, b'b', b'y', b'e'],
            "Cease: Hard Reset (Cease: Administrative Shutdown: \"bye\")",
        ),
        (
            cease::max_prefixes(AfiSafi::IPV6_UNICAST, 1_000),
            &[6, 1, 0, 2, 1, 0, 0, 3, 232],
            "Cease: Maximum Number of Prefixes Reached",
        ),
        (
            Notification::refresh_length(&[1, 2]),
            &[7, 1, 1, 2],
            "ROUTE-REFRESH Message Error: Invalid Message Length",
        ),
        (
            Notification::new(3, 11, vec![]),
            &[3, 11],
            "UPDATE Message Error: Malformed AS_PATH",
        ),
        (
            Notification::new(99, 7, vec![]),
            &[99, 7],
            "error code 99: subcode 7",
        ),
    ];
    for (notification, body, words) in rows {
        let mut wire = Vec::new();
        notification.encode(&mut wire);
        assert_eq!(&wire[HEADER_LEN..], body, "{words}");
        assert_eq!(Notification::parse(body), notification);
        assert_eq!(notification.to_string(), words);
    }
}

/// A hostile message neither breaks a log line nor reads beyond its data.
#[test]
fn shutdown_text_is_safe() {
    let text = |data: &[u8]| Notification::new(6, 2, data.to_vec()).shutdown_text();
    assert_eq!(text(b"\x03a\nb").as_deref(), Some("a\u{fffd}b"));
    assert_eq!(text(b"\x02\xff\xfe").as_deref(), Some("\u{fffd}\u{fffd}"));
    assert_eq!(text(b"\x09short"), None);
    assert_eq!(text(b"\x00"), None);
    assert_eq!(text(b""), None);
    let nested = Notification::new(6, 9, [6, 9].repeat(30_000));
    assert_eq!(nested.to_string(), "Cease: Hard Reset");
    let long = cease::with_text(2, &"é".repeat(200));
    assert_eq!((long.data.len(), long.data[0]), (255, 254));
}

fn refresh(body: &[u8]) -> Result<RouteRefresh, Notification> {
    let mut wire = Vec::new();
    let start = frame::begin(&mut wire, MessageType::RouteRefresh);
    wire.extend_from_slice(body);
    frame::finish(&mut wire, start);
    let kind = MessageType::RouteRefresh;
    RouteRefresh::parse(&Frame {
        kind,
        body: &wire[HEADER_LEN..],
        wire: &wire,
    })
}

#[test]
fn refreshes() {
    let expected = |subtype| {
        Ok(RouteRefresh {
            afi_safi: AfiSafi::IPV6_UNICAST,
            subtype,
        })
    };
    assert_eq!(refresh(&[0, 2, 0, 1]), expected(Subtype::Request));
    assert_eq!(refresh(&[0, 2, 1, 1]), expected(Subtype::Begin));
    assert_eq!(refresh(&[0, 2, 2, 1]), expected(Subtype::End));
    assert_eq!(refresh(&[0, 2, 9, 1]), expected(Subtype::Unknown(9)));
    // Outbound filters after a request are ignored; BoRR and EoRR must end there.
    assert_eq!(
        refresh(&[0, 2, 0, 1, 1, 64, 0, 0]),
        expected(Subtype::Request)
    );
    for subtype in [1, 2] {
        let n = refresh(&[0, 2, subtype, 1, 0]).unwrap_err();
        assert_eq!((n.code, n.subcode, n.data.len()), (7, 1, 24));
    }
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..100), extended: bool) {
        let max_len = if extended { MAX_EXTENDED_LEN } else { MAX_LEN };
        let _ = next_frame(&bytes, max_len);
        let mut marked = vec![0xff; 16];
        marked.extend_from_slice(&bytes);
        if let Ok(Some(frame)) = next_frame(&marked, max_len) {
            prop_assert_eq!(frame.wire.len(), frame.body.len() + HEADER_LEN);
        }
        let n = Notification::parse(&bytes);
        let _ = n.to_string();
        n.encode(&mut Vec::new());
        if bytes.len() >= 4 {
            let _ = refresh(&bytes);
        }
    }
}
